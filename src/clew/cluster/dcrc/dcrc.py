"""DCRC: a logistic model of groups, fitted to answers and to gaps in the data."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer, guarded_fit
from clew._parallel import Progress
from clew._random import RandomState, derived_seeds
from clew._validation import (
    Allowed,
    check_features,
    check_n_clusters,
    check_parameters,
)
from clew.cluster._n_groups import warn_of_fewer_groups
from clew.cluster.dcrc._em import Errors, Steps
from clew.cluster.dcrc._features import Transform, chances_of, rows_seen
from clew.cluster.dcrc._objective import Penalties
from clew.cluster.dcrc._start import Fit, best_of
from clew.cluster.dcrc._trial import Trial, best_trial
from clew.constraints import Conflict, Constraints, Support
from clew.constraints._support import answers_for, of_some_weight, refuse_contradictions
from clew.metrics import n_violated
from clew.trust import ConfusionMatrices

__all__ = ["DCRC"]

#: Ascents of the weights in each round: few, as answered rows move on in the next.
MAX_SWEEPS, SWEEP_TOL, MAX_ASCENT = 100, 1e-4, 10
ANNOTATORS = "annotators"
#: Answers that weigh as much as what is expected: with fewer, groups go astray now and then where
#: all err alike.
PRIOR_STRENGTH = 50.0


class DCRC(ConstrainedClusterer):
    """Fit a logistic model of groups to answers of all kinds, and to gaps in the data.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of groups at most.
    epsilon : float in [0, 2/3] or "annotators", default=0.05
        Share of answers that are expected to be wrong. 0 takes all for right: each row goes with
        most of its answers, and contradictions are refused. "annotators" estimates a confusion
        matrix for each annotator, see `ConfusionMatrices`.
    tau : float or "cv", default="cv"
        Worth of groups that are far apart, and, with `balance`, of like size. "cv" chooses from
        .1, .5, 1 and 1.5 by answers held out.
    lam : float or "cv", default="cv"
        Price of squared weights. "cv" chooses from 2⁻¹⁰, 2⁻⁸, …, 2⁻² by answers held out. Weights
        are for features that are divided by the root of their mean variance.
    balance : bool, default=True
        Whether groups of like size are preferred. Without it, and with few answers, groups vanish.
    kernel : "cv", "adaptive" or None, default="cv"
        "adaptive" takes the features of a Gaussian kernel whose width follows the density, so that
        groups need not be parted by planes. None takes the features as given. "cv" takes the
        kernel where groups give more of the answers held out, by half a standard error; of more
        than 200,000 rows it does not try.
    rank : int, default=100
        How many of those features.
    init : {"best", "kmeans", "sklr"}, default="best"
        Whose groups to start from: those of k-means on the features, or of k-means in the space
        that soft `SKLR` learns from the answers. "best" goes on from both, and keeps the higher
        lower bound; with "annotators" that before matrices are estimated, which can make up for
        bad groups.
    max_unanswered : int, default=20_000
        Of more rows without answers than these a sample is looked at, the same all through.
    n_init : int, default=10
        Number of starts of k-means.
    max_iter : int, default=100
        Rounds of EM at most.
    tol : float, default=1e-5
        Stop where a round raises the lower bound by less than this share of it.
    random_state : int, RandomState or None, default=None
        Seed of the starts, the samples and the folds.
    n_jobs : int or None, default=None
        Threads over settings and starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        The likeliest group of each row by its features, as `predict` gives it.
    probabilities_ : ndarray of shape (n_samples, n_clusters)
        Chance of each group by the row's features, as `predict_proba` gives it.
    memberships_ : ndarray of shape (n_samples, n_clusters)
        The same, but for rows with answers the chance by features and answers.
    confusion_ : ConfusionMatrices
        Who errs how.
    n_violated_ : int
        Answers that `labels_` go against, of all kinds and whatever their weights.
    conflicts_ : list of Conflict
        The answers, read as pairs (`Constraints.as_pairs`), that contradict others, each with its
        chain of must-links. None of weight 0 is among them.
    lower_bound_ : ndarray of shape (n_rounds,)
        What is raised, after each round; see Notes.
    n_iter_ : int
        Rounds of the start that was kept.
    init_ : {"kmeans", "sklr"}
        The start that was kept.
    tau_, lam_ : float
        Those given or chosen.
    kernel_ : "adaptive" or None
        That given or chosen.
    cv_scores_ : dict of (float, float) to float
        For each setting of tau and lam that was tried with it, the share of held-out answers that
        the groups give; settings that did badly on the first two folds were not tried on the
        others. Empty where nothing was tried.
    coef_, intercept_ : ndarray of shape (n_clusters, n_components) and (n_clusters,)
        Weights of the logistic model for the features that are computed in: those given, shifted
        to mean 0 and divided by one number; or those of the kernel.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InconsistentConstraintsError
        For `epsilon` 0, if answers, read as pairs, contradict each other; it names the chain.

    Warns
    -----
    FewerGroupsWarning
        If groups are left without rows.

    Notes
    -----
    Standardise features first: groups, the penalty and k-means take a feature of larger numbers
    for more.

    Pairs, triplets and odd-one-out answers enter one model. An answer's true form follows from the
    groups of its rows: a pair is the same or different; of a triplet a is with b alone, with c
    alone, or neither; of three rows one is odd, or all are the same, or all differ. What is said
    follows from that by a confusion matrix. So don't-know about three rows tells that no row
    stands out; don't-know about a pair tells nothing, unless an annotator says it more often about
    one kind of pairs. The weight of an answer multiplies its log-likelihood; one of weight 0 says
    nothing. Contradictions are weighed, but for `epsilon` 0.

    The objective is the mean log-likelihood of answers, of which fewer than 50 count as 50, less
    ``lam`` times the squared weights, plus ``tau`` times the entropy of the sizes of groups
    (`balance`) less the mean entropy of rows without answers. Variational EM raises a lower bound
    of it: memberships of rows with answers are updated in turn, then weights by L-BFGS. It never
    falls for ``epsilon > 0``. For 0, of which there is no logarithm, it is that of an error rate
    of .001, and may fall.

    "cv" holds out a fifth of the answers at a time, goes on from the more promising start with the
    others for six rounds, and counts the held-out answers that groups give as well. With fewer
    than 25 answers, don't-knows about pairs aside, tau is 1, lam 2⁻⁸, and there is no kernel.

    Time O(N·d·K) for each step of L-BFGS, 10 in a round at most, and O(A·K) for each sweep over A
    answers; N counts the rows looked at. Memory O(N·(d + K)).

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
        n_clusters: int = 8,
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
        X : array-like of shape (n_samples, n_features)
            Features, standardised.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            What people said; None is nothing.
        callback : callable, default=None
            Called after each start with the number of starts done and of all.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        features = check_features(self, X)
        n = len(features)
        check_n_clusters(self, n)
        known = answers_for(self, constraints, n)
        heard = of_some_weight(known)
        if self.epsilon == 0:
            refuse_contradictions(heard.as_pairs())
        seeds = derived_seeds(self.random_state, 4)
        rows = rows_seen(heard, self.max_unanswered, seeds[0])
        errors = self._errors(len(known.annotators))
        trial = best_trial(self, features[rows], heard.subset(rows), n, errors, seeds[1:])
        choice = trial.choice
        penalties = Penalties.of(choice.tau, choice.lam, balance=self.balance)
        steps = Steps(self.max_iter, self.tol, MAX_SWEEPS, SWEEP_TOL, MAX_ASCENT)
        fit = best_of(trial.starts, trial.view, errors, penalties, steps, self.n_jobs, callback)
        self._set(features, known, rows, trial, fit)
        warn_of_fewer_groups(self, np.unique(self.labels_, return_inverse=True)[1], features)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the chance of each group.

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
        return chances_of(rows, self._map, np.column_stack([self.coef_, self.intercept_]))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give the likeliest group.

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
        """Draw matrices to each other more than where groups are known."""
        return ConfusionMatrices(prior_strength=PRIOR_STRENGTH, pooling_strength=PRIOR_STRENGTH)

    def _errors(self, n_annotators: int) -> Errors:
        n = max(n_annotators, 1)
        if self.epsilon == ANNOTATORS:
            matrices = self._matrices()
            return Errors(matrices.prior_error, matrices._prior, n)
        return Errors(float(self.epsilon), None, n)

    def _set(
        self,
        X: NDArray[np.float64],
        known: Constraints,
        rows: NDArray[np.int64],
        trial: Trial,
        fit: Fit,
    ) -> None:
        """Set the fitted attributes."""
        chances = chances_of(X, trial.map_, fit.found.weights)
        memberships = chances.copy()
        memberships[rows[fit.answers.rows]] = fit.found.q
        if self.epsilon == ANNOTATORS:
            confusion = self._matrices().fit(known, memberships)
        else:
            confusion = ConfusionMatrices.uniform(float(self.epsilon), known.annotators)
        labels = np.asarray(chances.argmax(axis=1), dtype=np.int64)
        self.labels_, self.n_violated_ = labels, n_violated(labels, known)
        self.probabilities_, self.memberships_ = chances, memberships
        self.confusion_ = confusion
        self.conflicts_ = of_some_weight(known).as_pairs().conflicts()
        self.lower_bound_, self.n_iter_ = np.array(fit.found.bounds), len(fit.found.bounds)
        self.init_, self.kernel_ = fit.start, trial.kernel
        self.tau_, self.lam_, self.cv_scores_ = trial.choice
        self.coef_, self.intercept_ = fit.found.weights[:, :-1], fit.found.weights[:, -1]
        self._map = trial.map_
