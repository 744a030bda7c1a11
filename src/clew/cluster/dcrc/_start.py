"""Where DCRC starts: a logistic model of groups that others find; and which start is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress, in_threads
from clew.cluster._kmeans import kmeans
from clew.cluster.dcrc._answers import AnsweredRows
from clew.cluster.dcrc._em import Errors, Found, Steps, run_em
from clew.cluster.dcrc._features import View, rows_seen, seen_by
from clew.cluster.dcrc._objective import Penalties, Seen, ascend
from clew.constraints import Constraints
from clew.similarity import SKLR

__all__ = ["Fit", "Groups", "best_of", "groups_by_sklr", "starts_by"]

#: Rows without answers that SKLR sees at most: its groups are only a start.
MAX_ROWS_OF_SKLR = 3_000
MAX_ITER = 100
PENALTY = 1e-3


class Fit(NamedTuple):
    """The start that was kept, the answers that were learned from, and where it led."""

    start: str
    answers: AnsweredRows
    found: Found


class Groups(NamedTuple):
    """Groups of some of the rows that a fit looks at."""

    rows: NDArray[np.int64]
    group: NDArray[np.int64]


def groups_by_sklr(
    known: Constraints, X: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> Groups:
    """Find groups by k-means in the space that soft SKLR learns from the answers.

    Parameters
    ----------
    known : Constraints
        The answers about the rows that the fit looks at.
    X : ndarray of shape (n_seen, n_features)
        These rows as given.
    n_clusters, n_init : int
        Number of groups, and of starts of k-means.
    seed : int
        Of SKLR, of k-means, and of the rows without answers that SKLR sees.

    Returns
    -------
    Groups
    """
    rows = rows_seen(known, MAX_ROWS_OF_SKLR, seed)
    space = SKLR(random_state=seed).fit(X[rows], constraints=known.subset(rows))
    return Groups(rows, _kmeans(space.embedding_, n_clusters, n_init, seed))


def starts_by(
    init: str, view: View, by_sklr: Groups | None, n_clusters: int, n_init: int, seed: int
) -> dict[str, NDArray[np.float64]]:
    """Give the weights to start from, by name.

    Parameters
    ----------
    init : {"best", "kmeans", "sklr"}
        "best" is both.
    view : View
        What the fit looks at.
    by_sklr : Groups or None
        What SKLR found; None where there are no answers or it was not asked.
    n_clusters, n_init, seed : int
        Number of groups, and of starts of k-means, and their seed.

    Returns
    -------
    dict of str to ndarray of shape (n_clusters, n_features + 1)
    """
    starts = {}
    if init != "sklr" or by_sklr is None:
        group = _kmeans(view.features[:, :-1], n_clusters, n_init, seed)
        starts["kmeans"] = _fitted(view.features, group, n_clusters)
    if by_sklr is not None:
        starts["sklr"] = _fitted(view.features[by_sklr.rows], by_sklr.group, n_clusters)
    return starts


def best_of(
    starts: Mapping[str, NDArray[np.float64]],
    view: View,
    errors: Errors,
    penalties: Penalties,
    steps: Steps,
    n_jobs: int | None,
    callback: Progress | None,
) -> Fit:
    """Go on from each start to the end, and keep the one of highest `Found.merit`."""
    answers = errors.answers_in(view.known)
    seen = seen_by(view, answers, len(view.features), 0)
    found = in_threads(
        lambda weights: run_em(seen, answers, weights, errors, penalties, steps),
        list(starts.values()),
        n_jobs=n_jobs,
        what="starts",
        callback=callback,
    )
    name, best = max(zip(starts, found, strict=True), key=lambda item: item[1].merit)
    return Fit(name, answers, best)


def _kmeans(
    features: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> NDArray[np.int64]:
    k = min(n_clusters, len(features))
    return kmeans(features, k, n_init=n_init, random_state=seed).labels


def _fitted(
    features: NDArray[np.float64], group: NDArray[np.int64], n_clusters: int
) -> NDArray[np.float64]:
    n = len(features)
    seen = Seen(np.ascontiguousarray(features.T), n, np.full(n, 1.0 / n), n)
    weights = np.zeros((n_clusters, features.shape[1]))
    return ascend(weights, seen, np.eye(n_clusters)[:, group], _RIDGE, MAX_ITER)[0]


_RIDGE = Penalties(tau=0.0, balance=0.0, lam=PENALTY)
