"""DistanceClustering: groups from distances, given or learned, whichever held-out answers favor."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from clew._composition import check_part, seeded_part
from clew._estimators import ConstrainedClusterer, OfDistances
from clew._parallel import Progress, ProgressReport, one_blas_thread
from clew._units import Units
from clew._validation import Allowed, RandomState, check_features, derived_seeds
from clew._warnings import silenced
from clew.cluster.kmeans.cop_kmeans import COPKMeans
from clew.constraints import Constraints, Support
from clew.constraints._support import held_out_folds
from clew.exceptions import InvalidConstraintsError, InvalidParameterError
from clew.graphs import check_distances_to_fitted
from clew.metrics import answer_log_likelihood, n_violated
from clew.similarity import DistLQP, ShortestPaths

__all__ = ["DistanceClustering"]

Floats = NDArray[np.float64]
GIVEN = "given"


class _Fitted(NamedTuple):
    """A way to learn distances, and a clusterer fitted to what it learned."""

    similarity: Any
    """None for the given distances."""
    clusterer: Any


class DistanceClustering(OfDistances, ConstrainedClusterer):
    """Cluster given or learned distances: held-out answers choose between them.

    Learned distances do not help on all data: with many answers a clusterer that honors answers may
    do better on the given distances. Each way to learn distances is fitted to a part of the
    answers, its distances are clustered, and the groups are scored on the other answers.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. None is that of the `clusterer`, which then must be given.
    clusterer : estimator, default=None
        A clusterer of distances, with ``metric="precomputed"``; it is given the answers if it takes
        any. None is ``COPKMeans(n_clusters, metric="precomputed")``.
    similarities : list of (name, estimator), default=None
        Ways to learn distances. The given distances are always compared, under the name "given".
        None is `DistLQP` and `ShortestPaths`.
    metric : {"precomputed", "euclidean"}, default="precomputed"
        What `fit` is given: distances, or features whose Euclidean distances are used.
    n_folds : int, default=5
        Number of folds of the answers.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of each part that has no seed of its own.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row.
    n_violated_ : int
        Number of must-links between groups and of cannot-links within groups.
    chosen_ : str
        Name of the distances that were chosen.
    scores_ : dict of str to float
        Log-likelihood of held-out answers, summed over the folds; ``-inf`` if answers were refused.
        Empty without answers.
    similarity_ : estimator or None
        The chosen way to learn distances, fitted to all answers; None for the given distances.
    clusterer_ : estimator
        The fitted clusterer.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or the clusterer does not take distances, or has no
        number of groups although `n_clusters` is given.
    InvalidDataError
        If distances are not square and symmetric, are negative, or the diagonal is not 0.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has, or the clusterer refuses
        them with all distances.

    See Also
    --------
    DistLQP : Distances from answers and triangle inequalities.
    SimilarityClustering : Clusters affinities.

    Notes
    -----
    Without answers the given distances are clustered. Whether contradictory answers are refused
    depends on the clusterer. Don't-knows are ignored.

    Time of ``n_folds + 1`` fits of each way to learn distances and of the clusterer.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import pairwise_distances
    >>> from clew import Constraints
    >>> from clew.cluster import DistanceClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> D = pairwise_distances(X, metric="cityblock")
    >>> c = Constraints.from_labels(y, 60, random_state=0)
    >>> model = DistanceClustering(3, random_state=0).fit(D, constraints=c)
    >>> sorted(model.scores_)
    ['DistLQP', 'ShortestPaths', 'given']
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "metric": Allowed(names=("precomputed", "euclidean")),
        "n_folds": Allowed(kind=int, low=2),
    }

    chosen_: str
    scores_: dict[str, float]
    similarity_: Any
    clusterer_: Any
    _rows: Floats
    _units: Units

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        clusterer: Any = None,
        similarities: Sequence[tuple[str, Any]] | None = None,
        metric: Literal["precomputed", "euclidean"] = "precomputed",
        n_folds: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.clusterer = clusterer
        self.similarities = similarities
        self.metric = metric
        self.n_folds = n_folds
        self.random_state = random_state

    def _solve(self, X: Floats, known: Constraints, callback: Progress | None) -> None:
        ways, clusterer, seed = self._parts()
        distances = X if self.metric == "precomputed" else self._distances(X)
        used = known.select(pairs=~known.is_dont_know & (known.pair_weights > 0))
        folds = list(held_out_folds(used, self.n_folds, seed)) if len(used.pairs) else []
        n_fits = len(folds) * len(ways) + 1
        report = ProgressReport(n_fits, verbose=0, what="fits", callback=callback)
        self.scores_ = {}
        for name, way in ways.items() if len(folds) > 1 else ():
            self.scores_[name] = sum(_held_out(way, clusterer, distances, *fold) for fold in folds)
            report(len(self.scores_) * len(folds))
        in_order = sorted(self.scores_, key=lambda name: -self.scores_[name]) or [GIVEN]
        self.chosen_, found = _first_accepted(in_order, ways, clusterer, distances, known)
        self.similarity_, self.clusterer_ = found
        self.labels_ = np.asarray(self.clusterer_.labels_, np.int64)
        self.n_violated_ = n_violated(self.labels_, known)
        report(n_fits)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the group of rows, from their distances to the fitted rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_samples) or (n_rows, n_features)
            Distances to all fitted rows, or features.

        Returns
        -------
        ndarray of shape (n_rows,), int64
        """
        check_is_fitted(self, "labels_")
        if self.metric == "precomputed":
            distances = check_distances_to_fitted(self, X)
        else:
            rows = self._units.scale(check_features(self, X, reset=False))
            with one_blas_thread():
                distances = euclidean_distances(rows, self._rows)
        if self.similarity_ is not None:
            distances = self.similarity_.transform(distances)
        return np.asarray(self.clusterer_.predict(distances), np.int64)

    def _distances(self, X: Floats) -> Floats:
        self._units = Units.around_median(X)
        self._rows = self._units.scale(X)
        with one_blas_thread():
            found: Floats = euclidean_distances(self._rows)
        return found

    def _parts(self) -> tuple[dict[str, Any], Any, int]:
        """Return the ways to learn distances by name, the clusterer, and a seed."""
        fold_seed, *seeds = derived_seeds(self.random_state, 2)
        check_part(self, "clusterer", self.clusterer)
        given = self.clusterer
        if given is None:
            if self.n_clusters is None:
                raise InvalidParameterError(
                    "DistanceClustering() needs n_clusters, the number of groups, or a clusterer"
                )
            given = COPKMeans(self.n_clusters, metric="precomputed")
        if getattr(given, "metric", None) != "precomputed":
            raise InvalidParameterError(
                f'DistanceClustering: the clusterer must take distances, metric="precomputed", '
                f"got {given!r}"
            )
        if self.n_clusters is not None:
            if "n_clusters" not in given.get_params(deep=False):
                raise InvalidParameterError(
                    f"DistanceClustering(n_clusters={self.n_clusters}): {given!r} has no number of "
                    "groups; leave n_clusters out"
                )
            given = clone(given).set_params(n_clusters=self.n_clusters)
        is_seeded = self.random_state is not None
        ways = self.similarities
        ways = (
            [("DistLQP", DistLQP()), ("ShortestPaths", ShortestPaths())] if ways is None else ways
        )
        is_pair = [isinstance(one, tuple | list) and len(one) == 2 for one in ways]
        if not all(is_pair) or not all(isinstance(way, BaseEstimator) for _, way in ways):
            raise InvalidParameterError(
                f"DistanceClustering(similarities={ways!r}): similarities must be a list of "
                "(name, estimator)"
            )
        clusterer = seeded_part(given, seeds[0], is_seeded=is_seeded)
        return {GIVEN: None, **dict(ways)}, clusterer, fold_seed


def _fit(way: Any, clusterer: Any, distances: Floats, known: Constraints) -> _Fitted:
    """Learn distances and cluster them, with the answers if the clusterer takes any."""
    similarity = None if way is None else clone(way).fit(distances, constraints=known)
    learned = distances if similarity is None else similarity.dense_distances()
    takes_answers = "constraints" in inspect.signature(clusterer.fit).parameters
    extra = {"constraints": known} if takes_answers else {}
    return _Fitted(similarity, clone(clusterer).fit(learned, **extra))


def _held_out(
    way: Any, clusterer: Any, distances: Floats, kept: Constraints, held: Constraints
) -> float:
    """Return the log-likelihood of held-out answers; ``-inf`` if the others are refused."""
    try:
        with silenced():
            found = _fit(way, clusterer, distances, kept)
    except InvalidConstraintsError:
        return -np.inf
    return answer_log_likelihood(found.clusterer.labels_, held)


def _first_accepted(
    names: Sequence[str],
    ways: dict[str, Any],
    clusterer: Any,
    distances: Floats,
    known: Constraints,
) -> tuple[str, _Fitted]:
    """Fit to all answers; if they are refused, take the next best distances."""
    for name in names[:-1]:
        try:
            return name, _fit(ways[name], clusterer, distances, known)
        except InvalidConstraintsError:
            continue
    return names[-1], _fit(ways[names[-1]], clusterer, distances, known)
