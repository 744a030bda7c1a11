"""The pool: ways to group that know nothing of each other, some led by answers."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from clew.cluster.guided._views import LED_VIEWS, View, Views
from clew.cluster.similarity_clustering import SimilarityClustering
from clew.cluster.spectral import SpectralClustering
from clew.constraints import Constraints
from clew.exceptions import InvalidParameterError
from clew.similarity import E2CP, ITML

__all__ = ["Candidate", "checked_pool", "default_pool"]

#: Of more rows, ways that take long are left out.
MANY_ROWS = 5_000
N_INIT = 5
SPREAD_PRIOR, BEST_PRIOR = 0.7, 1.4


#: Names of steps that are scored beside the ways of a pool.
STEADY, AGAIN = "led forest, spread", "led forest, spread, again"
REFINED_BY = "refined by "
UNLED = "no answers"
TAKEN = ("consensus", UNLED, STEADY, AGAIN)


class Candidate(NamedTuple):
    """One way to group."""

    name: str
    """What it is called."""
    estimator: Any
    """A clusterer; it gets answers where it has `supports`."""
    view: View = "features"
    """What it reads, see `Views`."""
    n_neighbors: int | Literal["auto", "paper"] | None = None
    """Neighbours in the graph that it reads; not for features."""
    log_prior: float = 0.0
    """How much likelier than others it is taken to be right, as a logarithm."""
    alone_prior: float = 0.0
    """The same among ways that follow no answers, where these are joined alone."""

    @property
    def follows_answers(self) -> bool:
        """Whether answers change what it does."""
        return hasattr(self.estimator, "supports") or self.view in LED_VIEWS

    def partition(self, views: Views, answers: Constraints | None) -> NDArray[np.int64]:
        """Group the rows.

        Parameters
        ----------
        views : Views
            What there is to read, led by `answers`.
        answers : Constraints or None
            Pairs alone.

        Returns
        -------
        ndarray of shape (n_samples,), int64
            Groups, numbered from 0; rows that a way leaves out (-1) are one group.

        Raises
        ------
        Exception
            Whatever the estimator raises, with a note that names the way.
        """
        estimator, rows = clone(self.estimator), views.read(self.view, self.n_neighbors)
        with warnings.catch_warnings():
            # Whatever it found: answers judge it, and `consensus` tells of too few groups.
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                if hasattr(estimator, "supports"):
                    labels = estimator.fit(rows, constraints=answers).labels_
                else:
                    labels = estimator.fit_predict(rows)
            except Exception as error:
                error.add_note(f"This came of {self.name!r}, a way to group of the pool.")
                raise
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


def default_pool(n_clusters: int, n_samples: int, seed: int = 0) -> list[Candidate]:
    """Give the ways to group that `GuidedClustering` joins.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    n_samples : int
        Number of rows: of many, some ways are left out.
    seed : int, default=0
        Seed of k-means and the like.

    Returns
    -------
    list of Candidate
    """
    kmeans = KMeans(n_clusters, n_init=N_INIT, random_state=seed)
    cut = SpectralClustering(n_clusters, n_neighbors=None, n_init=N_INIT, random_state=seed)
    mixture = GaussianMixture(n_clusters, n_init=2, reg_covar=1e-3, random_state=seed)
    metric = SimilarityClustering(ITML(), kmeans, random_state=seed)

    def spread(alpha: float = 0.8) -> SimilarityClustering:
        propagation = E2CP("precomputed", alpha=alpha, n_neighbors=None)
        return SimilarityClustering(propagation, cut, random_state=seed)

    pool = [
        Candidate("k-means", kmeans),
        Candidate("mixture", mixture, "components"),
        Candidate("neighbors", cut, "neighbors", 20),
        Candidate("trees", cut, "trees", 20, alone_prior=SPREAD_PRIOR),
        Candidate("forest", cut, "forest", 20, alone_prior=BEST_PRIOR),
        Candidate("metric", metric),
        Candidate("led forest", cut, "led forest", 20),
        Candidate("close neighbors, spread", spread(0.9), "neighbors", 10, SPREAD_PRIOR),
        Candidate("led forest, spread", spread(), "led forest", 20, BEST_PRIOR),
    ]
    if n_samples <= MANY_ROWS:
        pool += [
            Candidate("ward", AgglomerativeClustering(n_clusters)),
            Candidate("neighbors, spread", spread(), "neighbors", 20, SPREAD_PRIOR),
            Candidate("trees, spread", spread(), "trees", 20, SPREAD_PRIOR),
            Candidate("forest, spread", spread(), "forest", 20, BEST_PRIOR),
            Candidate("led trees, spread", spread(), "led trees", 20, SPREAD_PRIOR),
        ]
    return pool


def checked_pool(pool: Any, seed: int = 0) -> list[Candidate]:
    """Take ways to group that somebody gave.

    Parameters
    ----------
    pool : sequence of (str, estimator)
        Names and clusterers of features.
    seed : int, default=0
        Seed of those that have none.

    Returns
    -------
    list of Candidate

    Raises
    ------
    InvalidParameterError
        If it is not that, or names are not different, or taken.
    """
    given: list[Any] = list(pool) if isinstance(pool, list | tuple) else [pool]
    is_pair = [isinstance(entry, tuple | list) and len(entry) == 2 for entry in given]
    if not given or not all(is_pair):
        raise InvalidParameterError(
            f"pool must be 'default', or a list of names and clusterers; got {pool!r}"
        )
    names = [name for name, _ in given]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidParameterError(f"names in a pool must be different words, got {names}")
    if taken := [name for name in names if name in TAKEN or name.startswith(REFINED_BY)]:
        raise InvalidParameterError(f"{taken[0]!r} is the name of a step; call that way otherwise")
    for name, estimator in given:
        if isinstance(estimator, type) or not isinstance(estimator, BaseEstimator):
            raise InvalidParameterError(f"{name!r} in the pool is no estimator: {estimator!r}")
        if not hasattr(estimator, "fit_predict"):
            raise InvalidParameterError(
                f"{name!r} in the pool is no clusterer: {type(estimator).__name__} has no "
                "fit_predict"
            )
    return [Candidate(name, _seeded(estimator, seed)) for name, estimator in given]


def _seeded(estimator: Any, seed: int) -> Any:
    """Give a seed where there is none: the same model twice would else not be the same."""
    unset = {
        name: seed
        for name, value in estimator.get_params().items()
        if value is None and name.split("__")[-1] == "random_state"
    }
    return clone(estimator).set_params(**unset) if unset else estimator
