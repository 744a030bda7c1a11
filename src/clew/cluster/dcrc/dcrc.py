"""DCRC: a logistic model of groups, fitted to answers and to unanswered rows."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer
from clew._parallel import Progress
from clew._validation import Allowed, RandomState, check_features, check_n_clusters, derived_seeds
from clew.cluster._kmeans import warn_of_fewer_groups
from clew.cluster.dcrc._em import Errors, Penalties, Steps
from clew.cluster.dcrc._selection import (
    BestSolution,
    Transform,
    Trial,
    best_solution,
    best_trial,
    group_probabilities,
    sampled_rows,
)
from clew.constraints import Conflict, Constraints, Support
from clew.constraints._support import of_some_weight, refuse_contradictions
from clew.metrics import n_violated
from clew.trust import ConfusionMatrices

__all__ = ["DCRC"]

#: Limits of each round. The weights take few steps, since the memberships change in the next round.
MAX_SWEEPS, SWEEP_TOL, MAX_ASCENT = 100, 1e-4, 10
ANNOTATORS = "annotators"
#: The prior of a confusion matrix counts as much as this number of answers. With less, groups were
#: sometimes wrong when all annotators had the same error rate.
PRIOR_STRENGTH = 50.0


class DCRC(ConstrainedClusterer):
    """Fit a logistic model of groups to answers of all kinds and to the unanswered rows.

    Parameters
    ----------
    n_clusters : int
        Largest number of groups.
    epsilon : float in [0, 2/3] or "annotators", default=0.05
        Expected share of wrong answers. With 0, a row may be only in groups that agree with most of
        its answers, and contradictions are refused. "annotators" estimates a confusion matrix for
        each annotator, see `ConfusionMatrices`.
    tau : float or "cv", default="cv"
        Factor of the penalty on uncertain groups of unanswered rows, and, with `balance`, of the
        reward for groups of equal size. "cv" chooses from .1, .5, 1 and 1.5 by cross-validation.
    lam : float or "cv", default="cv"
        Penalty on squared weights. "cv" chooses from 2⁻¹⁰, 2⁻⁸, …, 2⁻² by cross-validation.
        Features are divided by the root of their mean variance first.
    balance : bool, default=True
        Whether groups of equal size are rewarded. If not, and answers are few, groups may be lost.
    kernel : "cv", "adaptive" or None, default="cv"
        "adaptive" uses features of a Gaussian kernel whose width follows the density, for groups
        that no plane separates. None uses the features as given. "cv" uses the kernel if held-out
        answers agree better with its groups by half a standard error; with more than 200,000 rows
        it does not try.
    rank : int, default=100
        Number of kernel features.
    init : {"best", "kmeans", "sklr"}, default="best"
        Initial groups: from k-means on the features, or from k-means in the space that soft `SKLR`
        learns from the answers. "best" runs both and keeps the one of higher lower bound. With
        "annotators" the bounds are compared before matrices are estimated, because with matrices
        bad groups may have a high bound.
    max_unanswered : int, default=20_000
        Largest number of rows without answers that the model is fitted to. With more, a random
        sample is used in all rounds.
    n_init : int, default=10
        Number of starts of k-means.
    max_iter : int, default=100
        Largest number of rounds of EM.
    tol : float, default=1e-5
        EM ends when a round increases the lower bound by less than this share of it.
    random_state : int, RandomState or None, default=None
        Seed of the starts, the samples and the folds.
    n_jobs : int or None, default=None
        Number of threads, in which settings and starts are fitted.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Most probable group of each row given its features; the same as ``predict(X)``.
    probabilities_ : ndarray of shape (n_samples, n_clusters)
        Probability of each group given the features; the same as ``predict_proba(X)``.
    memberships_ : ndarray of shape (n_samples, n_clusters)
        Probability of each group given the features and, for rows with answers, the answers.
    confusion_ : ConfusionMatrices
        The confusion matrix of each annotator.
    n_violated_ : int
        Number of answers of all kinds that `labels_` violate, whatever their weight.
    conflicts_ : list of Conflict
        Answers of positive weight, as pairs (`Constraints.as_pairs`), that contradict others, each
        with its chain of must-links.
    lower_bound_ : ndarray of shape (n_rounds,)
        Lower bound of the objective after each round; see Notes.
    n_iter_ : int
        Rounds of the start that was kept.
    init_ : {"kmeans", "sklr"}
        The start that was kept.
    tau_, lam_ : float
        The given or chosen values.
    kernel_ : "adaptive" or None
        The given or chosen kernel.
    cv_scores_ : dict of (float, float) to float
        For each tried setting of tau and lam, the share of held-out answers that follow from the
        groups. All settings are tried on two of five folds, the best six on the others. Empty if
        nothing was tried.
    coef_, intercept_ : ndarray of shape (n_clusters, n_components) and (n_clusters,)
        Weights of the logistic model, for the scaled features or for those of the kernel.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InconsistentConstraintsError
        With `epsilon` 0, if answers, as pairs, contradict each other; it names the chain.

    Warns
    -----
    FewerGroupsWarning
        If groups have no rows.

    Notes
    -----
    Standardize features first: larger features have more influence on groups, penalty and k-means.

    Pairs, triplets and odd-one-out answers have one model. The groups of the rows determine the
    true case: a pair is the same or different; in a triplet a is with b only, with c only, or with
    neither or both; of three rows one is odd, or all are the same, or all differ. The answer is
    drawn from the row of this case in a confusion matrix. So don't-know about three rows is
    evidence that no row stands out. Don't-know about a pair is evidence only if an annotator's
    matrix has it more often in one of the two cases. The weight of an answer multiplies its
    log-likelihood. Contradictions are allowed unless `epsilon` is 0.

    The objective is the mean log-likelihood of the answers (fewer than 50 are divided by 50), minus
    ``lam`` times the squared weights, plus ``tau`` times the entropy of the group sizes (`balance`)
    minus the mean entropy of unanswered rows. Variational EM increases a lower bound of it: it
    updates the memberships of answered rows one by one, then the weights by L-BFGS. The bound never
    decreases for ``epsilon > 0``. For 0 it is that of an error rate of .001, and may decrease.

    Cross-validation has five folds of answers. It starts from the weights with the higher bound,
    runs six rounds on the training answers, and counts the held-out answers that follow from the
    groups. With fewer than 25 answers, not counting don't-knows about pairs, tau is 1, lam is 2⁻⁸,
    and there is no kernel.

    Time O(N·d·K) for each step of L-BFGS, at most 10 a round, and O(A·K) for each update of the
    memberships, for N sampled rows, d features, K groups and A answers. Memory O(N·(d + K)).

    References
    ----------
    Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative clustering with relative
    constraints", 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from clew import Constraints
    >>> from clew.cluster import DCRC
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_triplets=60, random_state=0)
    >>> model = DCRC(3, tau=0.5, lam=0.01, init="kmeans", random_state=0)
    >>> model.fit(StandardScaler().fit_transform(X), constraints=c).labels_.shape
    (150,)
    """

    supports: ClassVar[Support] = Support(
        pairs=True, triplets=True, odd_one_out=True, dont_know=True
    )
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "epsilon": Allowed(names=(ANNOTATORS,), kind=float, low=0, high=2 / 3),
        "tau": Allowed(names=("cv",), kind=float, low=0, high_open=True),
        "lam": Allowed(names=("cv",), kind=float, low=0, high_open=True),
        "balance": Allowed(kind=bool),
        "kernel": Allowed(names=("cv", "adaptive"), none=True),
        "rank": Allowed(kind=int, low=1),
        "init": Allowed(names=("best", "kmeans", "sklr")),
        "max_unanswered": Allowed(kind=int, low=1),
        "n_init": Allowed(kind=int, low=1),
        "max_iter": Allowed(kind=int, low=1),
        "tol": Allowed(kind=float, low=0, high_open=True),
    }

    probabilities_: NDArray[np.float64]
    memberships_: NDArray[np.float64]
    confusion_: ConfusionMatrices
    conflicts_: list[Conflict]
    lower_bound_: NDArray[np.float64]
    n_iter_: int
    init_: str
    kernel_: Literal["adaptive"] | None
    tau_: float
    lam_: float
    cv_scores_: dict[tuple[float, float], float]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    _map: Transform

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float | Literal["annotators"] = 0.05,
        tau: float | Literal["cv"] = "cv",
        lam: float | Literal["cv"] = "cv",
        balance: bool = True,
        kernel: Literal["cv", "adaptive"] | None = "cv",
        rank: int = 100,
        init: Literal["best", "kmeans", "sklr"] = "best",
        max_unanswered: int = 20_000,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.tau = tau
        self.lam = lam
        self.balance = balance
        self.kernel = kernel
        self.rank = rank
        self.init = init
        self.max_unanswered = max_unanswered
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _solve(self, X: NDArray[np.float64], known: Constraints, callback: Progress | None) -> None:
        n = len(X)
        check_n_clusters(self, n)
        weighted = of_some_weight(known)
        if self.epsilon == 0:
            refuse_contradictions(weighted.as_pairs())
        seeds = derived_seeds(self.random_state, 4)
        rows = sampled_rows(weighted, self.max_unanswered, seeds[0])
        errors = self._errors(len(known.annotators))
        trial = best_trial(self, X[rows], weighted.subset(rows), n, errors, seeds[1:])
        choice = trial.choice
        penalties = Penalties.of(choice.tau, choice.lam, balance=self.balance)
        steps = Steps(self.max_iter, self.tol, MAX_SWEEPS, SWEEP_TOL, MAX_ASCENT)
        best = best_solution(
            trial.starts, trial.problem, errors, penalties, steps, self.n_jobs, callback
        )
        self._set_result(X, known, rows, trial, best)
        warn_of_fewer_groups(self, np.unique(self.labels_, return_inverse=True)[1], X)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each group.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Any rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Rows add up to 1.
        """
        check_is_fitted(self, "labels_")
        rows = check_features(self, X, reset=False)
        return group_probabilities(rows, self._map, np.column_stack([self.coef_, self.intercept_]))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable group.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Any rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            For the fitted rows this is `labels_`.
        """
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)

    def _matrices(self) -> ConfusionMatrices:
        """Return the estimator of the matrices: it shrinks more than for known groups."""
        return ConfusionMatrices(prior_strength=PRIOR_STRENGTH, pooling_strength=PRIOR_STRENGTH)

    def _errors(self, n_annotators: int) -> Errors:
        n = max(n_annotators, 1)
        if self.epsilon == ANNOTATORS:
            matrices = self._matrices()
            return Errors(matrices.prior_error, matrices._prior, n)
        return Errors(float(self.epsilon), None, n)

    def _set_result(
        self,
        X: NDArray[np.float64],
        known: Constraints,
        rows: NDArray[np.int64],
        trial: Trial,
        best: BestSolution,
    ) -> None:
        solution = best.solution
        self.probabilities_ = group_probabilities(X, trial.map_, solution.weights)
        self.memberships_ = self.probabilities_.copy()
        self.memberships_[rows[best.answers.rows]] = solution.q
        if self.epsilon == ANNOTATORS:
            self.confusion_ = self._matrices().fit(known, self.memberships_)
        else:
            self.confusion_ = ConfusionMatrices.uniform(float(self.epsilon), known.annotators)
        self.labels_ = np.asarray(self.probabilities_.argmax(axis=1), dtype=np.int64)
        self.n_violated_ = n_violated(self.labels_, known)
        self.conflicts_ = of_some_weight(known).as_pairs().conflicts()
        self.lower_bound_, self.n_iter_ = np.array(solution.bounds), len(solution.bounds)
        self.init_, self.kernel_ = best.start, trial.kernel
        self.tau_, self.lam_, self.cv_scores_ = trial.choice
        self.coef_, self.intercept_ = solution.weights[:, :-1], solution.weights[:, -1]
        self._map = trial.map_
