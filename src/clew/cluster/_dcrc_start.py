"""Where DCRC starts: a logistic model of groups that another method finds."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from clew.cluster._dcrc_features import View, rows_seen
from clew.cluster._dcrc_objective import Penalties, Seen, ascend
from clew.similarity import SKLR

__all__ = ["kmeans_start", "sklr_start"]

#: Rows without answers that SKLR sees at most: its groups are only a start.
MAX_ROWS_OF_SKLR = 3_000
MAX_ITER = 100
PENALTY = 1e-3


def kmeans_start(view: View, n_clusters: int, n_init: int, seed: int) -> NDArray[np.float64]:
    """Fit the model to the groups of k-means.

    Returns
    -------
    ndarray of shape (n_clusters, n_features + 1)
    """
    features = view.features
    return _fitted(features, _kmeans(features[:, :-1], n_clusters, n_init, seed), n_clusters)


def sklr_start(
    view: View, X: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> NDArray[np.float64]:
    """Fit the model to the groups of k-means in the space that soft SKLR learns from the answers.

    Parameters
    ----------
    view : View
        What the fit looks at.
    X : ndarray of shape (n_seen, n_features)
        The same rows as given.
    n_clusters, n_init : int
        Number of groups, and of starts of k-means.
    seed : int
        Of SKLR, of k-means, and of the rows without answers that SKLR sees.

    Returns
    -------
    ndarray of shape (n_clusters, n_features + 1)
    """
    rows = rows_seen(view.known, MAX_ROWS_OF_SKLR, seed)
    space = SKLR(random_state=seed).fit(X[rows], constraints=view.known.subset(rows))
    group = _kmeans(space.embedding_, n_clusters, n_init, seed)
    return _fitted(view.features[rows], group, n_clusters)


def _kmeans(
    features: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> NDArray[np.int64]:
    kmeans = KMeans(min(n_clusters, len(features)), n_init=n_init, random_state=seed)
    with warnings.catch_warnings():
        # Fewer different rows than groups: DCRC itself says so.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(kmeans.fit_predict(features), dtype=np.int64)


def _fitted(
    features: NDArray[np.float64], group: NDArray[np.int64], n_clusters: int
) -> NDArray[np.float64]:
    n = len(features)
    seen = Seen(np.ascontiguousarray(features.T), n, np.full(n, 1.0 / n), n)
    weights = np.zeros((n_clusters, features.shape[1]))
    return ascend(weights, seen, np.eye(n_clusters)[:, group], _RIDGE, MAX_ITER)[0]


_RIDGE = Penalties(tau=0.0, balance=0.0, lam=PENALTY)
