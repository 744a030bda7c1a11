"""OrdinalEmbedding: a space in which distances explain people's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, islice
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clew._estimators import guarded_fit
from clew._parallel import Progress, ProgressReport
from clew._units import ranks_among
from clew._validation import (
    Allowed,
    AllowedValues,
    RandomState,
    check_features,
    check_parameters,
    derived_seeds,
)
from clew.answers import N_ROWS, Kind, Question, as_kind
from clew.constraints import Constraints, Support, check_constraints
from clew.constraints._support import answers_for, held_out_folds
from clew.exceptions import (
    InvalidArgumentError,
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.graphs import check_dense_size
from clew.similarity._embedding import LearnedSpace
from clew.similarity._ordinal import Form, OrdinalModel, Response, Settings, definite

__all__ = ["OrdinalEmbedding"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: What `predict_proba` takes: questions, or for each kind the rows of its questions.
Questions = Sequence[Question] | Mapping[Kind, ArrayLike]
#: Numbers of components and forms of the response that "cv" tries, and the penalty of each form.
COMPONENTS = (2, 4, 8)
FORMS: tuple[Form, ...] = ("tste", "distance")
PENALTIES = {"tste": 0.3, "distance": 1.0}
#: With few answers, all of `N_FOLDS` folds are held out in turn; with many, one of
#: `N_FOLDS_OF_MANY`; with fewer than `MIN_ANSWERS`, nothing can be chosen.
N_FOLDS, N_FOLDS_OF_MANY = 3, 10
MIN_ANSWERS, MANY_ANSWERS = 10, 30_000
#: Distinct answers above which blocks of answers are used.
MAX_ANSWERS_AT_ONCE = 1_000_000
#: Components of the kernel of features.
N_FEATURES = 60
#: Landmark rows of its Nyström approximation, and rows in the sample that sets its width.
MAX_PIVOTS, SAMPLE_ROWS = 400, 1_000
#: Squared kernel width, as a multiple of the median squared distance.
WIDTH = 0.5
#: Eigenvalues below this share of the largest one are rounding errors.
LEAST_SHARE = 1e-10


class Candidate(NamedTuple):
    """A choice of the response and of the number of components."""

    response: Form
    n_components: int


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
    annotator_slopes : bool, default=True
        Whether each annotator has a slope: how closely the answers follow the distances.
    regularization : float or "auto", default="auto"
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
        are 1 if there is one annotator, or ``annotator_slopes=False``.
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
    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "n_components": Allowed(names=("cv",), kind=int, low=1),
        "response": Allowed(names=("tste", "distance", "cv")),
        "features": Allowed(names=("ridge",), none=True),
        "annotator_slopes": Allowed(kind=bool),
        "regularization": Allowed(names=("auto",), kind=float, low=0, low_open=True),
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
        annotator_slopes: bool = True,
        regularization: float | Literal["auto"] = "auto",
        lapse: float = 0.05,
        max_iter: int = 150,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.response = response
        self.features = features
        self.annotator_slopes = annotator_slopes
        self.regularization = regularization
        self.lapse = lapse
        self.max_iter = max_iter
        self.random_state = random_state

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
        if rows is not None:
            n_samples = len(rows)
        elif self.features is not None:
            raise InvalidDataError(
                f"OrdinalEmbedding(features={self.features!r}) needs X; features=None learns from "
                "answers alone"
            )
        elif constraints is None:
            raise InvalidArgumentError(
                "OrdinalEmbedding.fit needs answers, fit(constraints=constraints), or X; both are "
                "None"
            )
        else:  # anything but a Constraints is refused next
            n_samples = getattr(constraints, "n_samples", 0)
        answers = answers_for(self, constraints, n_samples)
        seed_of_features, *seeds = derived_seeds(self.random_state, 3)
        self._feature_map, features = None, None
        if rows is not None and self.features is not None:
            self._feature_map = RankKernelFeatures(N_FEATURES, seed_of_features).fit(rows)
            features = self._feature_map.transform(rows)
        self._model, self.cv_scores_ = self._best_model(
            definite(answers), features, seeds, callback
        )
        self.embedding_, self.n_components_ = self._model.embedding, self._model.embedding.shape[1]
        self.annotators_, self.annotator_slopes_ = answers.annotators, self._model.slopes
        self.response_ = self._model.response.form
        self.n_iter_ = self._model.n_iter
        self._n_features_out = self.n_components_
        return self

    def _best_model(
        self,
        answers: Constraints,
        features: Floats | None,
        seeds: list[int],
        callback: Progress | None,
    ) -> tuple[OrdinalModel, dict[Candidate, float]]:
        """Choose the candidate with the best held-out answers; return scores, too."""
        forms = FORMS if self.response == "cv" else (self.response,)
        numbers = COMPONENTS if isinstance(self.n_components, str) else (int(self.n_components),)
        candidates = [Candidate(form, number) for form in forms for number in numbers]
        fold_seed, start_seed = seeds
        n_answers = sum(len(table) for table in answers.tables)
        if n_answers < MIN_ANSWERS:
            candidates = candidates[:1]
        n_used = 1 if n_answers > MANY_ANSWERS else N_FOLDS
        n_used = n_used if len(candidates) > 1 else 0
        report = ProgressReport(
            1 + len(candidates) * n_used, verbose=0, what="fits", callback=callback
        )
        done = count(1)
        totals, weight = dict.fromkeys(candidates, 0.0), 0.0
        n_folds = N_FOLDS_OF_MANY if n_used == 1 else N_FOLDS
        # All answers to one question share a fold.
        for train, test in islice(held_out_folds(answers, n_folds, fold_seed), n_used):
            for candidate in candidates:
                model = self._fitted(train, features, candidate, start_seed)
                log_likelihood, test_weight = model.log_likelihood(test, model.slopes)
                totals[candidate] += log_likelihood
                report(next(done))
            weight += test_weight
        scores = {candidate: total / (weight or 1.0) for candidate, total in totals.items()}
        best = max(scores, key=scores.__getitem__)
        model = self._fitted(answers, features, best, start_seed)
        report(next(done))
        return model, scores if n_used else {}

    def _fitted(
        self, answers: Constraints, features: Floats | None, candidate: Candidate, seed: int
    ) -> OrdinalModel:
        form, n_components = candidate
        settings = Settings(
            n_components,
            Response(form, float(self.lapse)),
            PENALTIES[form] if isinstance(self.regularization, str) else float(self.regularization),
            self.max_iter,
            MAX_ANSWERS_AT_ONCE,
            seed,
        )
        return OrdinalModel.fit(
            answers, features, settings, by_annotator=bool(self.annotator_slopes)
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

    def predict_proba(
        self, questions: Questions, *, annotator: str | None = None
    ) -> Floats | dict[Kind, Floats]:
        """Return the probabilities of the answers to questions about fitted rows.

        Parameters
        ----------
        questions : sequence of Question, or dict of str to array-like
            Questions; or for each kind, "pair", "triplet" or "odd_one_out", the rows of its
            questions, (m, 2) or (m, 3).
        annotator : str, default=None
            Name of the annotator whose slope is used. None is slope 1.

        Returns
        -------
        ndarray of shape (n_questions, 2) or (n_questions, 3), or dict of str to ndarray
            Column c has the probability of the answer with code c, see `clew.answers`: "different"
            and "same" for pairs; the first and the second for triplets; the first, second and third
            row for odd-one-out. If questions of several kinds are mixed, there are three columns,
            with 0 for answers that a kind does not have. A dict if a dict was given.

        Raises
        ------
        InvalidArgumentError
            If the annotator is unknown, or questions are of another type.
        InvalidConstraintsError
            If rows are out of range.
        """
        check_is_fitted(self, "embedding_")
        slope = 1.0
        if annotator is not None:
            if annotator not in self.annotators_:
                raise InvalidArgumentError(
                    f"annotator {annotator!r} gave none of the fitted answers; leave annotator=None"
                )
            slope = float(self.annotator_slopes_[self.annotators_.index(annotator)])
        n = len(self.embedding_)
        if isinstance(questions, Mapping):
            checked = [_validated_rows(kind, rows, n) for kind, rows in questions.items()]
            return {kind: self._model.probabilities(kind, rows, slope) for kind, rows in checked}
        by_kind = _rows_by_kind(questions)
        result = np.zeros((len(questions), 3 if "odd_one_out" in by_kind else 2))
        for kind, (places, rows) in by_kind.items():
            p = self._model.probabilities(kind, _validated_rows(kind, rows, n)[1], slope)
            result[places, : p.shape[1]] = p
        return result

    def score(
        self,
        constraints: Constraints,
        *,
        temperature: float = 1.0,
        embedding: ArrayLike | None = None,
    ) -> float:
        """Return the mean log-likelihood of answers, by their weights.

        Parameters
        ----------
        constraints : Constraints
            Answers about the fitted rows, usually held out of the fit. Annotators of the fit, found
            by name, have their slopes, others have slope 1. Don't-know and "all alike" are left
            out.
        temperature : float, default=1.0
            Slopes are divided by it. Above 1 it corrects overconfident probabilities of a space
            that was fitted to few answers.
        embedding : array-like of shape (n_samples, n_components), default=None
            Positions in place of `embedding_`, such as the centers of the rows' groups.

        Returns
        -------
        float
            At most 0, and 0 if there are no answers.

        Raises
        ------
        InvalidConstraintsError
            If the constraints are about another number of rows.
        InvalidParameterError
            If `temperature` is not positive.
        InvalidDataError
            If `embedding` has another shape than `embedding_`.
        """
        check_is_fitted(self, "embedding_")
        check_constraints(self, constraints, len(self.embedding_), self.supports)
        if not 0 < temperature < np.inf:
            raise InvalidParameterError(f"temperature must be positive, got {temperature!r}")
        model = self._model
        if embedding is not None:
            positions = np.asarray(embedding, dtype=np.float64)
            if positions.shape != self.embedding_.shape:
                raise InvalidDataError(
                    f"embedding must have shape {self.embedding_.shape}, got {positions.shape}"
                )
            model = model._replace(embedding=positions)
        slope_of = dict(zip(self.annotators_, self.annotator_slopes_, strict=True))
        slopes = np.array([slope_of.get(name, 1.0) for name in constraints.annotators])
        total, weight = model.log_likelihood(constraints, slopes / temperature)
        return total / weight if weight else 0.0

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


def _rows_by_kind(questions: object) -> dict[Kind, tuple[Integers, Integers]]:
    """Return, for each kind, the positions of its questions in the sequence, and their rows."""
    if isinstance(questions, str) or not isinstance(questions, Sequence):
        raise _refusal(questions)
    by_kind: dict[Kind, tuple[list[int], list[tuple[int, ...]]]] = {}
    for at, question in enumerate(questions):
        if not isinstance(question, Question):
            raise _refusal(question)
        places, rows = by_kind.setdefault(question.kind, ([], []))
        places.append(at)
        rows.append(question.rows)
    return {
        kind: (np.array(places, np.int64), np.array(rows, np.int64))
        for kind, (places, rows) in by_kind.items()
    }


def _refusal(given: object) -> InvalidArgumentError:
    return InvalidArgumentError(
        "predict_proba takes a list of clew.Question, or a dict from kinds of questions "
        f'("pair", "triplet", "odd_one_out") to arrays of rows; got {type(given).__name__}'
    )


def _validated_rows(name: str, rows: ArrayLike, n_samples: int) -> tuple[Kind, Integers]:
    """Check the rows of questions of one kind."""
    kind, array = as_kind(name), np.asarray(rows)
    if array.size == 0:
        return kind, np.zeros((0, N_ROWS[kind]), np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != N_ROWS[kind]:
        raise InvalidConstraintsError(
            f"{kind} questions must be integers of shape (n, {N_ROWS[kind]}); got "
            f"{array.dtype} of shape {array.shape}"
        )
    outside = (array < 0) | (array >= n_samples)
    if outside.any():
        raise InvalidConstraintsError(
            f"row {array[outside][0]} is out of range; the model was fitted to {n_samples} rows"
        )
    return kind, array.astype(np.int64)


class RankKernelFeatures:
    """Principal components of a Gaussian kernel on ranks, free of units and outliers."""

    def __init__(self, n_components: int, seed: int) -> None:
        self.n_components = n_components
        self.seed = seed

    def fit(self, X: Floats) -> Self:
        """Choose pivots and components."""
        random = np.random.RandomState(self.seed)
        self._sorted = np.sort(X, axis=0)
        ranks = ranks_among(self._sorted, X)
        squared = euclidean_distances(_some(ranks, SAMPLE_ROWS, random), squared=True)
        apart = squared[squared > 0]
        self._width = WIDTH * (float(np.median(apart)) if apart.size else 1.0)
        self._pivots = _some(ranks, MAX_PIVOTS, random)
        value, vectors = np.linalg.eigh(self._kernel(self._pivots))
        is_kept = value > LEAST_SHARE * value.max()
        whiten = vectors[:, is_kept] / np.sqrt(value[is_kept])
        features = self._kernel(ranks) @ whiten
        mean = features.mean(axis=0)
        features -= mean
        value, axes = np.linalg.eigh(features.T @ features)
        n_kept = max(1, min(self.n_components, int((value > LEAST_SHARE * value.max()).sum())))
        axes = axes[:, : -n_kept - 1 : -1]
        scale = np.sqrt(max(float(value[-n_kept:].sum()), 0.0) / len(X)) or 1.0
        self._map, self._origin = whiten @ axes / scale, mean @ axes / scale
        return self

    def transform(self, X: Floats) -> Floats:
        """Return the features of rows, (n_rows, n_components)."""
        return np.asarray(self._kernel(ranks_among(self._sorted, X)) @ self._map - self._origin)

    def _kernel(self, ranks: Floats) -> Floats:
        squared = euclidean_distances(ranks, self._pivots, squared=True)
        return np.asarray(np.exp(-squared / self._width))


def _some(rows: Floats, n: int, random: np.random.RandomState) -> Floats:
    if len(rows) <= n:
        return rows
    return rows[np.sort(random.choice(len(rows), n, replace=False))]
