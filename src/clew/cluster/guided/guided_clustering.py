"""Guided clustering: all that clew knows of grouping, joined by what answers say of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from clew._parallel import Progress, Teller, one_library_thread
from clew._random import RandomState, derived_seeds
from clew._units import Units
from clew._validation import (
    Allowed,
    all_or_nothing,
    check_features,
    check_n_clusters,
    check_parameters,
)
from clew.cluster.guided._beliefs import telling
from clew.cluster.guided._ensemble import Labels
from clew.cluster.guided._explanation import Explanation, explanation
from clew.cluster.guided._n_clusters import choose_n_clusters, most_tried
from clew.cluster.guided._pool import Candidate, checked_pool, default_pool
from clew.cluster.guided._progress import Counter
from clew.cluster.guided._smoothers import RidgeSmoother
from clew.cluster.guided._steps import MOST_REFINED, Joined, Steps, folds_of
from clew.cluster.guided._views import Views
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.exceptions import InvalidParameterError
from clew.metrics import n_violated
from clew.trust import AnswerDoubts, answer_posterior

__all__ = ["GuidedClustering"]


class GuidedClustering(ClusterMixin, BaseEstimator):
    """Group rows the way people see them: many ways to group, joined by what answers say of them.

    A pool of ways to group, most of them led by the answers, is fitted to all answers and to parts
    of them. Those that give the answers held out count most in a consensus. The consensus is
    refined, so that groups agree with the rows around each row and with the answers, as far as
    these can be believed; and what comes of that is joined once more.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. None: the one of the largest silhouette, or another one where answers held
        out are clearly better foretold with it; from 2 to half of the rows, 100 at most, and 1 of
        fewer than 4 rows. A pool of one's own needs the number.
    pool : "default" or list of (str, estimator), default="default"
        The ways to group: names, and clusterers of features. Those that have `supports` get the
        answers, read as pairs. Rows that one leaves out (-1) are one group to it.
    standardize : bool or "auto", default="auto"
        Whether to divide features by their standard deviations. "auto" does so where the largest
        is more than five times the median: units differ.
    random_state : int, RandomState or None, default=None
        Seed.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    verbose : int, default=0
        1 logs progress to the logger "clew" every few seconds, 2 logs each step.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of every row, from 0.
    probabilities_ : ndarray of shape (n_samples, n_clusters)
        Chance of each group.
    n_clusters_ : int
        Number of groups that was given or chosen.
    error_rate_ : float
        Estimated share of wrong answers, those about three rows counted as the pairs that they
        say; NaN without answers.
    error_interval_ : tuple of float
        Bounds between which it lies with probability 0.95.
    confusion_ : ConfusionMatrices
        Who errs how.
    answer_posterior_ : AnswerDoubts
        How likely each answer is wrong, by kind; NaN for a don't-know and for weight 0.
    scores_ : dict of str to float
        Mean log-likelihood of the answers held out, for each way to group, for the first consensus
        ("consensus") and for what came of refining it. Ways that were hopelessly behind after some
        parts of the answers went no further. NaN without answers.
    weights_ : dict of str to float
        How much each counted in the consensus that it went into, the most 1.
    n_violated_ : int
        Answers that `labels_` go against; those of weight 0 are not counted.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    See Also
    --------
    SimilarityClustering : One similarity and one clusterer.
    DCRC : A logistic model of groups, led by answers of all kinds.

    Notes
    -----
    Honours pairs, triplets and odd-one-out answers, softly, each by its weight. In the refinement
    they have one likelihood: what is said follows from the groups of an answer's rows by its
    annotator's confusion matrix. Don't-know about three rows tells that none stands out; about a
    pair it tells nothing. Ways to group get triplets and odd-one-out answers read as pairs, and the
    answers of an annotator who errs more than others with less weight.

    Without answers, ways that need none are joined, forests foremost, and nothing is refined.

    Time: about 2 s for 600 rows, 10 s for 2,000, 2 min for 20,000. Beyond 5,000 rows no matrix of
    all pairs is made.

    References
    ----------
    The parts are published: see `COPRF`, `E2CP`, `ITML` and
    `consensus <clew.cluster.guided.consensus>`. How they are joined is clew's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import GuidedClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=150, error=0.1, random_state=0)
    >>> model = GuidedClustering(3, random_state=0).fit(X, constraints=c)
    >>> model.labels_.shape
    (150,)
    """

    supports: ClassVar[Support] = Support(
        pairs=True, triplets=True, odd_one_out=True, dont_know=True
    )
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "standardize": (Allowed(names=("auto",)), Allowed(kind=bool)),
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        pool: Literal["default"] | Sequence[tuple[str, Any]] = "default",
        standardize: bool | Literal["auto"] = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.pool = pool
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            What people said; None is nothing.
        callback : callable, default=None
            Called after each grouping that was made with the number of those that are done and of
            all; those that are not needed are done at the end.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        features = check_features(self, X)
        if self.n_clusters is not None:
            check_n_clusters(self, len(features))
        if not self._has_default_pool:
            checked_pool(self.pool)  # refused before the work
            if self.n_clusters is None:
                raise InvalidParameterError(
                    "GuidedClustering chooses n_clusters for the default pool alone; give it"
                )
        known = answers_for(self, constraints, len(features))
        with one_library_thread():
            self._solve(features, known, callback)
        return self

    def _solve(
        self, features: NDArray[np.float64], known: Constraints, callback: Progress | None
    ) -> None:
        seeds, told = derived_seeds(self.random_state, 4), telling(known)
        units = Units.of(features, self.standardize)
        views = Views(units.applied(features), seeds[0], self.n_jobs)
        folds = folds_of(told, seeds[1])
        n_steps = self._n_steps(len(features), len(folds))
        tell = Teller(n_steps, verbose=self.verbose, what="groupings", callback=callback)
        count = Counter(n_steps, tell)
        n_clusters = self.n_clusters or choose_n_clusters(views, folds, seeds[2], count.step)
        pool = self._pool(n_clusters, len(features), seeds[2])
        ridge = RidgeSmoother(views.X, seeds[3])
        work = self._steps()(views, ridge, told, folds, n_clusters, seeds[3], count.step)
        first = work.grouped(pool)
        last = work.refined(first) if folds else first
        self._set(known, work, units, first, last)
        count.end()

    def _n_steps(self, n_samples: int, n_folds: int) -> int:
        """Give the most groupings that a fit makes."""
        n_tried = 0 if self.n_clusters else most_tried(n_samples, n_folds)
        pool = self._pool(1, n_samples, 0)
        n_unled = sum(not candidate.follows_answers for candidate in pool)
        n_ways = len(pool) + MOST_REFINED if n_folds else n_unled or len(pool)
        return n_tried + n_ways * (n_folds + 1)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the chance of each group, by the rows that were fitted.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Rows add up to 1.
        """
        check_is_fitted(self, "labels_")
        rows = self._units.applied(check_features(self, X, reset=False))
        chances = np.maximum(self._smoother.predict(self.probabilities_, rows), 0.0) + 1e-9
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> Labels:
        """Give rows their likeliest group, by the rows that were fitted.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            For fitted rows `labels_` may differ, as these follow answers too.
        """
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)

    def explain(self, i: int, j: int) -> Explanation:
        """Say why two fitted rows are together or apart.

        Parameters
        ----------
        i, j : int
            Two rows.

        Returns
        -------
        Explanation
            Print it to read it.

        Raises
        ------
        InvalidParameterError
            If they are not two different fitted rows.
        """
        check_is_fitted(self, "labels_")
        return explanation(
            (i, j), self.probabilities_, self._known, self.answer_posterior_, self._graph
        )

    @property
    def _has_default_pool(self) -> bool:
        return isinstance(self.pool, str) and self.pool == "default"

    def _steps(self) -> type[Steps]:
        """Give the steps; a study that leaves some of them out has others."""
        return Steps

    def _pool(self, n_clusters: int, n_samples: int, seed: int) -> list[Candidate]:
        if self._has_default_pool:
            return default_pool(n_clusters, n_samples, seed)
        return checked_pool(self.pool, seed)

    def _set(
        self, known: Constraints, work: Steps, units: Units, first: Joined, last: Joined
    ) -> None:
        """Set the fitted attributes, all at once after the work."""
        chances = last.chances
        doubts = answer_posterior(
            work.known, chances, last.beliefs.confusion, saw_answers=last.saw_answers
        )
        labels = np.asarray(chances.argmax(axis=1), dtype=np.int64)
        rate = last.beliefs.rate
        self.__dict__.update(
            labels_=labels,
            probabilities_=chances,
            n_clusters_=chances.shape[1],
            error_rate_=rate.rate,
            error_interval_=rate.interval,
            confusion_=last.beliefs.confusion,
            answer_posterior_=_of_all(known, doubts),
            scores_=first.ensemble.scores | last.ensemble.scores,
            weights_=first.ensemble.weights | last.ensemble.weights,
            n_violated_=n_violated(labels, work.known),
            _known=known,
            _units=units,
            _graph=work.views.read("neighbors", 10),
            _smoother=work.ridge,
        )


def _of_all(known: Constraints, doubts: AnswerDoubts) -> AnswerDoubts:
    """Put doubts about answers that tell something where these stand; NaN for the others."""
    every = [np.full(len(table), np.nan) for table in known.tables]
    for of_all, table, of_some in zip(every, known.tables, doubts, strict=True):
        of_all[table.weights > 0] = of_some
    return AnswerDoubts(*every)
