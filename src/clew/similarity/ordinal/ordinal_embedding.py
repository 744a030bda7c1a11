"""A space in which distances explain people's answers."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clew._estimators import guarded_fit
from clew._parallel import Progress
from clew._random import RandomState, derived_seeds
from clew._validation import Allowed, check_features, check_parameters
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.graphs import check_dense_size
from clew.similarity._embedding import LearnedSpace
from clew.similarity.ordinal import _predictions
from clew.similarity.ordinal._answers import definite, n_samples_of
from clew.similarity.ordinal._choose import COMPONENTS, FORMS, Candidate, Plan, best_model
from clew.similarity.ordinal._model import OrdinalModel
from clew.similarity.ordinal._rank_kernel import RankKernelFeatures
from clew.similarity.ordinal._response import Form

__all__ = ["OrdinalEmbedding"]

Floats = NDArray[np.float64]

#: Components of the kernel of features.
N_FEATURES = 60


def _uses_features(estimator: OrdinalEmbedding) -> bool:
    if estimator.features is None:
        raise AttributeError(
            "OrdinalEmbedding(features=None) learns positions from answers alone, so it has none "
            "for new rows: use embedding_ for the fitted rows, or features='ridge'"
        )
    return True


class OrdinalEmbedding(LearnedSpace):
    """Find positions of rows whose distances explain the answers, with or without features.

    Answers of all kinds share one space: pairs, triplets, odd-one-out answers, and what
    `Constraints.from_most_central` and `Constraints.from_ratings` make of other questions. The
    nearer two rows are, the more probable are answers that put them together.

    Parameters
    ----------
    n_components : int or "cv", default="cv"
        Number of coordinates. "cv" compares 2, 4 and 8, and takes the one with the highest
        log-likelihood of held-out answers.
    response : {"tste", "distance", "cv"}, default="cv"
        Form of the dissimilarity of two rows at distance d, from which the probabilities of answers
        about three rows follow: ``log(1 + d²)``, as in t-STE, or d. "cv" compares both.
    features : {"ridge"} or None, default=None
        None learns from answers alone. "ridge" adds a ridge regression of the positions on `X`, so
        rows with similar features are near each other unless answers contradict that, and new rows
        have positions too.
    annotators : bool, default=True
        Whether each annotator has a slope: how closely the answers follow the distances.
    penalty : float or "auto", default="auto"
        Weight of the squared positions in the objective. "auto" is 0.3 for "tste", 1 for
        "distance".
    lapse : float, default=0.05
        Share of answers that are random.
    max_iter : int, default=150
        Maximum number of iterations; half as many after the slopes have been estimated.
    random_state : int, RandomState or None, default=None
        Seed of the start, the folds, and the pivots of the features' kernel.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Positions. A row that no answer names is where its features predict, or at the origin.
    n_components_ : int
        Number of coordinates.
    response_ : {"tste", "distance"}
        Form of the response.
    cv_scores_ : dict of (response, n_components) to float
        Mean log-likelihood of a held-out answer for each combination that was compared; empty if
        both parameters are given, or there are fewer than 10 answers.
    annotators_ : tuple of str
        Names of the annotators.
    annotator_slopes_ : ndarray of shape (n_annotators,)
        Slope of each: above 1 if answers follow distances closely, near 0 if they are random. All
        are 1 if there is one annotator, or ``annotators=False``.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Gaussian affinities with local scales, computed when first read.
    n_iter_ : int
        Number of iterations of the last solution; 1 if there are no answers.
    n_features_in_ : int
        Number of features, if `X` was given.

    Raises
    ------
    InvalidArgumentError
        If neither `X` nor constraints are given.
    InvalidDataError
        If features are to be used and `X` is None.
    InvalidParameterError
        If a parameter is outside its range.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Notes
    -----
    Don't-know answers are ignored. "All alike" is three must-links, each with a third of the
    weight. Must-links and cannot-links are weighted so that both count alike;
    `predict_proba` and `score` undo this.

    Equal answers are merged. One iteration takes O(m·d) time for m distinct answers and d
    components, and O(n·d) memory besides the answers; with features, O(60·n·d) time more. Up to
    1,000,000 distinct answers L-BFGS is used, above it Adam on shuffled blocks of 65,536. Above
    30,000 answers, "cv" holds out a tenth of the questions once instead of three folds.

    References
    ----------
    L. van der Maaten and K. Weinberger, "Stochastic triplet embedding", MLSP 2012.
    O. Tamuz, C. Liu, S. Belongie, O. Shamir and A. Kalai, "Adaptively learning the crowd kernel",
    ICML 2011.

    Examples
    --------
    >>> from clew import Constraints, Question
    >>> from clew.similarity import OrdinalEmbedding
    >>> answers = Constraints.from_odd_one_out(
    ...     [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)], [2, 2, 0, 0], n_samples=4
    ... )
    >>> model = OrdinalEmbedding(2, random_state=0).fit(constraints=answers)
    >>> p = model.predict_proba([Question("triplet", (0, 1, 2))])
    >>> bool(p[0, 0] > 0.5)
    True
    """

    supports: ClassVar[Support] = Support(
        pairs=True, triplets=True, odd_one_out=True, dont_know=True
    )
    _allowed: ClassVar[dict[str, Any]] = {
        "n_components": Allowed(names=("cv",), kind=int, low=1),
        "response": Allowed(names=("tste", "distance", "cv")),
        "features": Allowed(names=("ridge",), none=True),
        "annotators": Allowed(kind=bool),
        "penalty": Allowed(names=("auto",), kind=float, low=0, low_open=True),
        "lapse": Allowed(kind=float, low=0, high=1, low_open=True, high_open=True),
        "max_iter": Allowed(kind=int, low=1),
    }

    n_components_: int
    response_: Form
    cv_scores_: dict[Candidate, float]
    annotators_: tuple[str, ...]
    annotator_slopes_: Floats
    n_iter_: int
    _feature_map: RankKernelFeatures | None
    _model: OrdinalModel

    def __init__(
        self,
        n_components: int | Literal["cv"] = "cv",
        *,
        response: Form | Literal["cv"] = "cv",
        features: Literal["ridge"] | None = None,
        annotators: bool = True,
        penalty: float | Literal["auto"] = "auto",
        lapse: float = 0.05,
        max_iter: int = 150,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.response = response
        self.features = features
        self.annotators = annotators
        self.penalty = penalty
        self.lapse = lapse
        self.max_iter = max_iter
        self.random_state = random_state

    predict_proba = _predictions.predict_proba
    score = _predictions.score

    @guarded_fit
    def fit(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Find the positions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Features. If `features` is None, only their number of rows is used, and None is allowed.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            The answers; None for no answers, which requires `X`.
        callback : callable, default=None
            Called as ``callback(n_done, n_steps)`` after each fit of positions.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        rows = None if X is None else check_features(self, X)
        n_samples = n_samples_of(rows, constraints, self.features)
        known = answers_for(self, constraints, n_samples)
        seeds = derived_seeds(self.random_state, 3)
        self._feature_map, features = None, None
        if rows is not None and self.features is not None:
            self._feature_map = RankKernelFeatures(N_FEATURES, seeds[0]).fit(rows)
            features = self._feature_map.transform(rows)
        self._model, self.cv_scores_ = best_model(
            definite(known), features, self._plan(), (seeds[1], seeds[2]), callback
        )
        self.embedding_, self.n_components_ = self._model.embedding, self._model.embedding.shape[1]
        self.annotators_, self.annotator_slopes_ = known.annotators, self._model.slopes
        self.response_ = self._model.response.form
        self.n_iter_ = self._model.n_iter
        self._n_features_out = self.n_components_
        return self

    def _plan(self) -> Plan:
        forms = FORMS if self.response == "cv" else (self.response,)
        numbers = COMPONENTS if isinstance(self.n_components, str) else (int(self.n_components),)
        return Plan(
            [Candidate(form, number) for form in forms for number in numbers],
            None if isinstance(self.penalty, str) else float(self.penalty),
            float(self.lapse),
            self.max_iter,
            bool(self.annotators),
        )

    def _embed(self, X: Floats) -> Floats:
        if self._feature_map is None:  # `features` was changed after the fit
            raise NotFittedError("OrdinalEmbedding was fitted without features; fit it again")
        return np.asarray(self._feature_map.transform(X) @ self._model.feature_weights)

    def fit_transform(
        self,
        X: ArrayLike | None,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Floats:
        """Find the positions and return them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or None
            As `fit` takes it.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            As `fit` takes them.
        callback : callable, default=None
            As `fit` takes it.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            `embedding_`; with ``features="ridge"`` the result of ``transform(X)``.
        """
        self.fit(X, y, constraints=constraints, callback=callback)
        return self.embedding_ if self.features is None or X is None else self.transform(X)

    def transform(self, X: ArrayLike) -> Floats:
        """Return the positions that features predict; only with ``features="ridge"``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of rows, fitted or new. For a fitted row the result differs from its row of
            `embedding_`, which follows the answers about it too.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
        """
        return super().transform(X)

    @property
    def kernel_(self) -> Floats:
        """Inner products of the positions, (n_samples, n_samples); computed at each access."""
        check_is_fitted(self, "embedding_")
        check_dense_size(len(self.embedding_))
        return self.embedding_ @ self.embedding_.T


# Not used as a decorator: scikit-learn replaces the methods of a class by wrappers of their
# output, and the wrapper would be available with every parameter.
OrdinalEmbedding.transform = available_if(_uses_features)(  # type: ignore[method-assign]
    OrdinalEmbedding.transform
)
