"""Guided clustering: all that clew knows of grouping, joined by what answers say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer, guarded_fit
from clew._parallel import Progress, ProgressReport, one_library_thread
from clew._random import RandomState, derived_seeds
from clew._validation import (
    Allowed,
    check_data,
    check_n_clusters,
    check_parameters,
)
from clew.cluster.guided._answer_errors import informative_answers
from clew.cluster.guided._ensemble import Ensemble, Labels
from clew.cluster.guided._explanation import Explanation, explanation
from clew.cluster.guided._feature_space import FeatureSpace, Metric
from clew.cluster.guided._members import Member, checked_members, default_members
from clew.cluster.guided._n_clusters import choose_n_clusters, most_tried
from clew.cluster.guided._progress import Counter, Step
from clew.cluster.guided._result import Result, result_of
from clew.cluster.guided._routing import check_honored
from clew.cluster.guided._smoothers import NeighborSmoother, RidgeSmoother, Smoother
from clew.cluster.guided._steps import (
    MAX_REFINED,
    Answers,
    Consensus,
    consensus_of,
    guarded,
    member_clusterings,
    refinements,
    split_answers,
    unconstrained_clusterings,
    unconstrained_consensus,
    weighted_by_annotator,
)
from clew.cluster.guided._views import Views
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.exceptions import InvalidParameterError
from clew.trust import AnswerDoubts, ConfusionMatrices

__all__ = ["GuidedClustering"]


class GuidedClustering(ConstrainedClusterer):
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
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance of rows. "cosine" compares rows scaled to length 1: for texts and embeddings.
    standardize : bool or "auto", default="auto"
        Whether to divide features by their standard deviations. "auto" does so if the largest
        standard deviation is more than five times the median: then the units differ. It does not
        for sparse features, and not with ``metric="cosine"``.
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

    More than 256 features are reduced to their first 100 principal components, which the members
    read; wide sparse features are never made dense.

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
        "metric": Allowed(names=("euclidean", "cosine")),
        "standardize": (Allowed(names=("auto",)), Allowed(kind=bool)),
    }

    probabilities_: NDArray[np.float64]
    n_clusters_: int
    error_rate_: float
    error_interval_: tuple[float, float]
    confusion_: ConfusionMatrices
    answer_posterior_: AnswerDoubts
    scores_: dict[str, float]
    weights_: dict[str, float]
    _known: Constraints
    _space: FeatureSpace
    _graph: csr_array
    _smoother: RidgeSmoother

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        pool: Literal["default"] | Sequence[tuple[str, Any]] = "default",
        metric: Metric = "euclidean",
        standardize: bool | Literal["auto"] = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.pool = pool
        self.metric = metric
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @guarded_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
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
        features, known = self._checked(X, constraints)
        seeds = derived_seeds(self.random_state, 4)
        n_samples = known.n_samples
        with one_library_thread():
            space = FeatureSpace.fit(features, self.metric, self.standardize, seeds[0])
            views = Views(space.transform(features), seeds[0], self.n_jobs)
            answers = split_answers(informative_answers(known), seeds[1])
            count = self._counter(n_samples, len(answers.folds), callback)
            n_clusters = self.n_clusters or choose_n_clusters(
                views, answers.folds, seeds[2], count.step
            )
            members = self._members(n_clusters, n_samples, seeds[2])
            ridge = RidgeSmoother(views.X, seeds[3])
            neighbors = NeighborSmoother(views.read("neighbors", 10))
            smoothers: dict[str, Smoother] = {"neighbors": neighbors, "ridge": ridge}
            found = _solved(members, smoothers, views, answers, n_clusters, seeds[3], count.step)
            self._set_result(result_of(known, *found))
        self._known, self._space, self._smoother = known, space, ridge
        self._graph = views.read("neighbors", 10)
        count.end()
        return self

    def _checked(
        self, X: ArrayLike, constraints: Constraints | None
    ) -> tuple[NDArray[np.float64] | csr_array, Constraints]:
        check_parameters(self, self._allowed)
        features = self._features(X)
        if self.n_clusters is not None:
            check_n_clusters(self, features.shape[0])
        known = answers_for(self, constraints, features.shape[0])
        if not self._has_default_pool:
            if self.n_clusters is None:
                raise InvalidParameterError(
                    "GuidedClustering chooses n_clusters for the default pool only; give it"
                )
            for member in checked_members(self.pool):
                check_honored(member.name, member.estimator, known)
        return features, known

    def _features(self, X: Any, *, reset: bool = True) -> Any:
        """Validate features, dense or sparse."""
        checked = check_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64,
            ensure_min_samples=2 if reset else 1,
        )  # fmt: skip
        return checked if isinstance(checked, np.ndarray) else csr_array(checked)

    def _counter(self, n_samples: int, n_folds: int, callback: Progress | None) -> Counter:
        """Return a counter of the fits that may be made."""
        n_tried = 0 if self.n_clusters else most_tried(n_samples, n_folds)
        members = self._members(1, n_samples, 0)
        n_unconstrained = sum(not member.is_constrained for member in members)
        if not n_unconstrained and not n_folds:
            n_unconstrained = len(members)
        n_scored = (len(members) + MAX_REFINED) * (n_folds + 1) if n_folds else 0
        n_steps = n_tried + n_unconstrained + n_scored
        report = ProgressReport(
            n_steps, verbose=self.verbose, what="clusterings", callback=callback
        )
        return Counter(n_steps, report)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the chance of each group, by the rows that were fitted.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Rows add up to 1.
        """
        check_is_fitted(self, "labels_")
        rows = self._space.transform(self._features(X, reset=False))
        chances = np.maximum(self._smoother.predict(self.probabilities_, rows), 0.0) + 1e-9
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> Labels:
        """Give rows their likeliest group, by the rows that were fitted.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_rows, n_features)
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

    def _members(self, n_clusters: int, n_samples: int, seed: int) -> list[Member]:
        if self._has_default_pool:
            return default_members(n_clusters, n_samples, seed)
        return checked_members(self.pool, seed)

    def _set_result(self, result: Result) -> None:
        self.labels_ = result.labels
        self.probabilities_ = result.probabilities
        self.n_clusters_ = result.probabilities.shape[1]
        self.error_rate_ = result.error_rate
        self.error_interval_ = result.error_interval
        self.confusion_ = result.confusion
        self.answer_posterior_ = result.answer_posterior
        self.scores_, self.weights_ = result.scores, result.weights
        self.n_violated_ = result.n_violated


def _solved(
    members: Sequence[Member],
    smoothers: Mapping[str, Smoother],
    views: Views,
    answers: Answers,
    n_clusters: int,
    seed: int,
    step: Step,
) -> tuple[Consensus, Consensus]:
    """Return the first consensus and the last; without answers they are the same."""
    # Members. Those that follow no answers are fitted once; their consensus is the baseline.
    unconstrained = unconstrained_clusterings(members, views, answers)
    if not answers.folds:
        only = consensus_of(Ensemble.of(unconstrained, [], step), answers, n_clusters, seed)
        return only, only
    baseline = unconstrained_consensus(unconstrained, answers, n_clusters, seed)
    weighted = weighted_by_annotator(answers, unconstrained)
    clusterings = member_clusterings(members, unconstrained, views, weighted)
    # Scores: held-out answers judge each member.
    scored = Ensemble.of(clusterings, weighted.folds, step)
    # Consensus.
    first = consensus_of(scored, answers, n_clusters, seed)
    # Refinement of the consensus, and a second consensus.
    refined = refinements(first, baseline, answers, smoothers)
    rescored = Ensemble.of(refined, weighted.folds, step)
    last = consensus_of(rescored, answers, n_clusters, seed)
    # Result: the baseline, where answers do not clearly prefer another.
    return first, guarded(last, baseline)
