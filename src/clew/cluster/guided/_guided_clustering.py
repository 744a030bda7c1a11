"""Guided clustering: all that clew knows of grouping, joined by what answers say of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from clew._parallel import Progress, one_blas_thread
from clew._random import RandomState, derived_seeds
from clew._validation import (
    Allowed,
    all_or_nothing,
    check_features,
    check_n_clusters,
    check_parameters,
)
from clew.cluster.guided._beliefs import Beliefs, beliefs_about, credit_of, credited, telling
from clew.cluster.guided._ensemble import Ensemble, Fold, Labels, Way
from clew.cluster.guided._explanation import Explanation, explanation
from clew.cluster.guided._n_clusters import choose_n_clusters
from clew.cluster.guided._pool import (
    AGAIN,
    MANY_ROWS,
    REFINED_BY,
    STEADY,
    Candidate,
    checked_pool,
    default_pool,
)
from clew.cluster.guided._refinement import TiedRows, refine
from clew.cluster.guided._smoothers import NeighborSmoother, RidgeSmoother, Smoother
from clew.cluster.guided._units import Units
from clew.cluster.guided._views import Views
from clew.constraints import Constraints, Support
from clew.constraints._folds import held_out_folds
from clew.constraints._support import answers_for
from clew.exceptions import InvalidParameterError
from clew.metrics import n_violated
from clew.trust import AnswerDoubts, answer_posterior

__all__ = ["GuidedClustering"]

#: Parts of the answers; fewer of many rows, with which each takes long.
N_FOLDS, N_FOLDS_OF_MANY = 3, 2
#: How much smoothers count beside answers.
STRENGTHS = (1.0, 3.0)
#: How much likelier groups without answers are right than any others, as a logarithm: where answers
#: tell next to nothing, they are not followed.
UNLED_PRIOR = 1.0


class GuidedClustering(ClusterMixin, BaseEstimator):
    """Group rows the way people see them: many ways to group, joined by what answers say of them.

    A pool of ways to group, most of them led by the answers, is fitted to all answers and to parts
    of them. Those that give the answers held out count most in a consensus. The consensus is
    refined, so that groups agree with the rows around each row and with the answers, as far as
    these can be believed; and what comes of that is joined once more.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. None: the number that gives answers held out best, or, without answers,
        the one of the largest silhouette; from 2 to half of the rows, 100 at most.
    pool : "default" or list of (str, estimator), default="default"
        The ways to group: names, and clusterers of features. Those that have `supports` get the
        answers, read as pairs.
    standardize : bool or "auto", default="auto"
        Whether to divide features by their standard deviations. "auto" does so where the largest
        is more than five times the median: units differ.
    random_state : int, RandomState or None, default=None
        Seed.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of every row, from 0.
    probabilities_ : ndarray of shape (n_samples, n_clusters)
        Chance of each group.
    n_clusters_ : int
        Number of groups that was given or chosen.
    error_rate_ : float
        Estimated share of wrong answers; NaN without answers.
    error_interval_ : tuple of float
        Bounds between which it lies with probability 0.95.
    confusion_ : ConfusionMatrices
        Who errs how.
    answer_posterior_ : AnswerDoubts
        How likely each answer is wrong, by kind; NaN for a don't-know and for weight 0.
    scores_ : dict of str to float
        Mean log-likelihood of the answers held out, for each way to group, for the first consensus
        ("consensus") and for what came of refining it. Ways that were hopelessly behind after the
        first third of the answers went no further.
    weights_ : dict of str to float
        How much each counted in the consensus that it went into, the most 1.
    n_violated_ : int
        Answers that `labels_` go against.
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

    Without answers, ways that need none count alike, and nothing is refined.

    Time: about 2 s for 600 rows, 8 s for 2,000. Beyond 5,000 rows no matrix of all pairs is made.

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
    ) -> None:
        self.n_clusters = n_clusters
        self.pool = pool
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs

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
            Called after each way to group with the number of those that are done and of all.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        features = check_features(self, X)
        if self.n_clusters is not None:
            check_n_clusters(self, len(features))
        elif self.pool != "default":
            raise InvalidParameterError(
                "GuidedClustering chooses n_clusters for the default pool alone; give it"
            )
        known = answers_for(self, constraints, len(features))
        self._pool(1, len(features), 0)  # refused before the work
        with one_blas_thread():
            self._solve(features, known, callback)
        return self

    def _solve(
        self, features: NDArray[np.float64], known: Constraints, callback: Progress | None
    ) -> None:
        seeds, told = derived_seeds(self.random_state, 4), telling(known)
        units = Units.of(features, self.standardize)
        views = Views(units.applied(features), seeds[0], self.n_jobs)
        folds = _folds(told, seeds[1])
        n_clusters = self.n_clusters or choose_n_clusters(views, folds, seeds[2])
        pool = self._pool(n_clusters, len(features), seeds[2])
        ridge = RidgeSmoother(views.X, seeds[3])
        work = self._steps()(views, ridge, told, folds, n_clusters, seeds[3], callback)
        first = work.grouped(pool)
        last = work.refined(first) if folds else first
        self._set(known, work, units, first, last)

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

    def _steps(self) -> type[_Work]:
        """Give the steps; a study that leaves some of them out has others."""
        return _Work

    def _pool(self, n_clusters: int, n_samples: int, seed: int) -> list[Candidate]:
        if isinstance(self.pool, str) and self.pool == "default":
            return default_pool(n_clusters, n_samples, seed)
        return checked_pool(self.pool, seed)

    def _set(
        self, known: Constraints, work: _Work, units: Units, first: _Joined, last: _Joined
    ) -> None:
        """Set the fitted attributes, all at once after the work."""
        chances = last.chances
        doubts = answer_posterior(work.known, chances, last.beliefs.confusion)
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
            n_violated_=n_violated(labels, known),
            _known=known,
            _units=units,
            _graph=work.views.read("neighbors", 10),
            _smoother=work.ridge,
        )


def _of_all(known: Constraints, doubts: AnswerDoubts) -> AnswerDoubts:
    """Put doubts about answers that tell something where these stand; NaN for the others."""
    weights = (known.pair_weights, known.triplet_weights, known.odd_one_out_weights)
    every = [np.full(len(weight), np.nan) for weight in weights]
    for of_all, weight, of_some in zip(every, weights, doubts, strict=True):
        of_all[weight > 0] = of_some
    return AnswerDoubts(*every)


def _folds(known: Constraints, seed: int) -> list[Fold]:
    """Part the answers; none that lead to anything, no parts."""
    pairs = known.as_pairs()
    if not (pairs.pair_weights[~pairs.is_dont_know] > 0).any():
        return []
    random = np.random.RandomState(seed)
    n_folds = N_FOLDS_OF_MANY if known.n_samples > MANY_ROWS else N_FOLDS
    return [Fold(*parts) for parts in held_out_folds(known, n_folds, random)]


class _Joined(NamedTuple):
    """A consensus, and what it was made of."""

    ensemble: Ensemble
    judges: list[Fold]
    """The answers, as far as their annotators are believed."""
    labels: Labels
    of_folds: list[Labels]
    chances: NDArray[np.float64]
    beliefs: Beliefs
    unled: Labels | None = None
    """The consensus of ways that saw no answers."""


class _Work(NamedTuple):
    """What all steps need."""

    views: Views
    ridge: RidgeSmoother
    known: Constraints
    folds: list[Fold]
    n_clusters: int
    seed: int
    callback: Progress | None

    def grouped(self, pool: list[Candidate]) -> _Joined:
        """Let the pool compete, and join it."""
        unled = [
            _once(candidate, self.views) for candidate in pool if not candidate.follows_answers
        ]
        led = [candidate for candidate in pool if candidate.follows_answers]
        if not self.folds:
            alone = unled or [_once(candidate, self.views) for candidate in pool]
            return self._join(Ensemble.of(alone, [], self.callback), [])
        known, judges = self._believed(unled)
        views = [self.views.given(fold.kept.as_pairs()) for fold in judges]
        views.append(self.views.given(known.as_pairs()))
        ways = [*unled, *(_led(candidate, views) for candidate in led)]
        joined = self._join(self.raced(ways, judges, self.callback), judges)
        if not unled:
            return joined
        labels, _ = Ensemble.of(unled, []).joined(self.n_clusters, self.seed)
        return joined._replace(unled=labels)

    def _believed(self, unled: list[Way]) -> tuple[Constraints, list[Fold]]:
        """Weigh answers by annotators, where ways that saw no answers can tell these apart."""
        if len(self.known.annotators) < 2 or not unled:
            return self.known, self.folds
        credit = credit_of(Ensemble.of(unled, self.folds), self.folds)
        folds = [Fold(*(credited(part, credit) for part in fold)) for fold in self.folds]
        return credited(self.known, credit), folds

    def refined(self, first: _Joined) -> _Joined:
        """Refine the consensus in several ways, and join what comes of it."""
        ways = [Way("consensus", lambda at: first.labels if at is None else first.of_folds[at])]
        if first.ensemble.weights.get(STEADY):
            ways.append(Way(AGAIN, lambda at: _of(first.ensemble, STEADY, at)))
        if (unled := first.unled) is not None:
            ways.append(Way("no answers", lambda at: unled, UNLED_PRIOR))
        parts = [*(fold.kept for fold in self.folds), self.known]
        tied = [TiedRows(part, first.beliefs.confusion) for part in parts]
        starts = [*first.of_folds, first.labels]
        for name, smoother in self.smoothers().items():
            for strength in STRENGTHS:
                run = partial(self._refine, starts, tied, smoother, strength)
                ways.append(Way(f"{REFINED_BY}{name}, {strength:g}", run))
        return self._join(self.raced(ways, first.judges), first.judges)

    def raced(
        self, ways: list[Way], judges: list[Fold], callback: Progress | None = None
    ) -> Ensemble:
        """Let ways to group compete."""
        return Ensemble.of(ways, judges, callback)

    def smoothers(self) -> dict[str, Smoother]:
        """Give what says which groups the rows around each row speak for."""
        graph = self.views.read("neighbors", 10)
        return {"neighbors": NeighborSmoother(graph), "ridge": self.ridge}

    def _refine(
        self,
        starts: list[Labels],
        tied: list[TiedRows],
        smoother: Smoother,
        strength: float,
        at: int | None,
    ) -> NDArray[np.float64]:
        part = -1 if at is None else at
        return refine(starts[part], self.n_clusters, tied[part], smoother, strength)

    def _join(self, ensemble: Ensemble, judges: list[Fold]) -> _Joined:
        labels, of_folds = ensemble.joined(self.n_clusters, self.seed)
        chances = _voted(labels, self.n_clusters, ensemble)
        beliefs = beliefs_about(ensemble, self.folds, self.known.annotators)
        return _Joined(ensemble, judges, labels, of_folds, chances, beliefs)


def _once(candidate: Candidate, views: Views) -> Way:
    """Make a way of a candidate that no answers lead: its groups are always the same."""
    made = cache(lambda: candidate.partition(views, None))
    return Way(candidate.name, lambda at: made(), candidate.log_prior)


def _led(candidate: Candidate, views: list[Views]) -> Way:
    """Make a way of a candidate that is led by the answers of a fold, or by all, the last."""

    def group(at: int | None) -> Labels:
        led = views[-1 if at is None else at]
        return candidate.partition(led, led.answers)

    return Way(candidate.name, group, candidate.log_prior)


def _of(ensemble: Ensemble, name: str, at: int | None) -> Any:
    return ensemble.whole[name] if at is None else ensemble.of_folds[at][name]


def _voted(labels: Labels, n_clusters: int, ensemble: Ensemble) -> NDArray[np.float64]:
    """Let partitions vote: the groups of each stand for those that their rows have in `labels`."""
    groups = np.eye(n_clusters)[labels]
    votes = np.zeros_like(groups)
    for name in ensemble.best:
        votes += ensemble.weights[name] * _translated(ensemble.whole[name], groups)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _translated(partition: Any, groups: NDArray[np.float64]) -> NDArray[np.float64]:
    members = np.eye(partition.max() + 1)[partition] if partition.ndim == 1 else partition
    shared = members.T @ groups
    return np.asarray(members @ (shared / np.maximum(shared.sum(axis=1, keepdims=True), 1e-12)))
