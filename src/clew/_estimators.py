"""Base classes of all estimators, with types, and the guard around `fit`.

scikit-learn has no types, so mypy would accept any attribute of its subclasses, misspelled ones
too. Therefore mypy reads the short declarations below in place of scikit-learn's base classes, and
estimators declare their fitted attributes in the class body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._parallel import Progress
from clew._validation import AllowedValues, check_features, check_parameters
from clew.answers import ANSWER_WORDS, Answer
from clew.constraints import Constraints
from clew.constraints._support import answers_for, refuse_another_order
from clew.exceptions import InvalidArgumentError
from clew.graphs import check_distances

F = TypeVar("F", bound=Callable[..., Any])

#: What errors say to those who give answers to a method that takes none.
WITH_ANSWERS = (
    "GuidedClustering does, as do COPKMeans, PCKMeans, ConstrainedLinkage, DCRC, and "
    "SimilarityClustering with a similarity such as E2CP or COPRF"
)

if TYPE_CHECKING:
    from sklearn.utils import Tags

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def __sklearn_tags__(self) -> Tags: ...

    class ClusterMixin:
        pass

    class TransformerMixin:
        def set_output(
            self, *, transform: Literal["default", "pandas", "polars"] | None = None
        ) -> Self: ...

    class ClassNamePrefixFeaturesOutMixin:
        _n_features_out: int

        def get_feature_names_out(
            self, input_features: ArrayLike | None = None
        ) -> NDArray[np.object_]: ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        TransformerMixin,
    )


def guarded_fit(fit: F) -> F:
    """Refuse answers as `y` or about ids in another order; on errors the estimator is as before."""

    @functools.wraps(fit)
    def guarded(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get("X")
        y = args[1] if len(args) > 1 else kwargs.get("y")
        if "constraints" in kwargs and not isinstance(self, ConstrainedEstimator):
            raise InvalidArgumentError(
                f"{type(self).__name__}.{fit.__name__}() takes no answers (constraints=...); "
                f"{WITH_ANSWERS}"
            )
        if isinstance(X, Constraints) and isinstance(self, ConstrainedEstimator):
            raise InvalidArgumentError(
                f"{type(self).__name__} got constraints as its first argument, X; give them by "
                f"name: {fit.__name__}(X, constraints=constraints)"
            )
        if y is not None:
            _refuse_answers_as_y(self, X, y)
        refuse_another_order(X, kwargs.get("constraints"))
        before = dict(self.__dict__)
        try:
            if fit.__name__ == "fit":
                _remove_fitted_attributes(self)
            return fit(self, *args, **kwargs)
        except BaseException:
            if fit.__name__ == "fit":
                self.__dict__.clear()
            for name in self.__dict__.keys() - before.keys():
                del self.__dict__[name]
            # Old attributes are never missing, even for a moment, as another thread may read them
            # while `partial_fit` fails.
            self.__dict__.update(before)
            raise

    return cast(F, guarded)


def _remove_fitted_attributes(estimator: Any) -> None:
    """Remove fitted attributes: those that end in an underscore or are declared in the class."""
    bodies = [base for base in type(estimator).__mro__ if not base.__module__.startswith("sklearn")]
    declared = {name for base in bodies for name in (*get_annotations(base), *vars(base))}
    parameters = estimator.get_params(deep=False)
    for name in list(vars(estimator)):
        if (name.endswith("_") or name in declared) and name not in parameters:
            delattr(estimator, name)


def _refuse_answers_as_y(estimator: object, X: Any, y: Any) -> None:
    """Raise an error if `y` holds answers, or does not have one entry for each row."""
    n_samples, n_entries = _length(X), _length(y)
    is_sequence = isinstance(y, list | tuple) or (
        isinstance(y, np.ndarray) and y.dtype == np.object_
    )
    holds_answers = is_sequence and any(
        isinstance(entry, Answer | Mapping | list | tuple) for entry in y
    )
    holds_answers |= bool(n_entries) and isinstance(y, Iterable) and all(map(_is_answer_word, y))
    is_table = len(getattr(y, "shape", ())) > 1 and y.shape[1] > 1
    fits_rows = not is_table and (n_samples is None or n_entries == n_samples)
    if not isinstance(y, Constraints | Mapping | str) and not holds_answers and fits_rows:
        return
    name = type(estimator).__name__
    got = type(y).__name__ if n_entries is None else f"{type(y).__name__} of length {n_entries}"
    do = (
        "give answers by name: fit(X, constraints=constraints), likewise fit_predict and "
        "fit_transform; Constraints.from_pairs, from_triplets and from_answers make constraints"
        if isinstance(estimator, ConstrainedEstimator)
        else f"{name} takes no answers; {WITH_ANSWERS}"
    )
    raise InvalidArgumentError(
        f"{name} got a {got} as its second argument, y, which is ignored and may only be None or "
        f"one label for each row of X; {do}"
    )


def _is_answer_word(entry: object) -> bool:
    return isinstance(entry, str) and entry in ANSWER_WORDS["pair"]


def _length(values: Any) -> int | None:
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple):
        return int(shape[0]) if shape else None
    return len(values) if hasattr(values, "__len__") else None


class Estimator(BaseEstimator):
    """An estimator with declared attributes."""

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _allowed: ClassVar[Mapping[str, AllowedValues]]

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:
        """Check the rows that `fit` is given."""
        return check_features(self, X)


class OfDistances(Estimator):
    """An estimator of features, or of distances if its `metric` is "precomputed"."""

    metric: Any  # a parameter of subclasses

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        return tags

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:
        if self.metric != "precomputed":
            return super()._checked(X)
        distances: NDArray[np.float64] = check_distances(X, estimator=self)
        return distances


class ConstrainedEstimator(Estimator):
    """An estimator whose `fit` takes answers."""

    if TYPE_CHECKING:

        def fit(
            self,
            X: ArrayLike,
            y: ArrayLike | None = None,
            *,
            constraints: Constraints | None = None,
            callback: Progress | None = None,
        ) -> Self: ...

        def set_fit_request(
            self, *, constraints: bool | str | None = None, callback: bool | str | None = None
        ) -> Self: ...


class Clusterer(ClusterMixin, Estimator):
    """A clusterer that takes no answers."""

    labels_: NDArray[np.int64]

    if TYPE_CHECKING:

        def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self: ...

    @guarded_fit
    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray[np.int64]:
        """Fit the model, and return the group of each row.

        Parameters
        ----------
        X : array-like
            As `fit` takes it.
        y : ignored
            Present by convention.

        Returns
        -------
        ndarray of shape (n_samples,), int64
            `labels_`.
        """
        return self.fit(X, y).labels_


class ConstrainedClusterer(ClusterMixin, ConstrainedEstimator):
    """A clusterer that takes answers."""

    labels_: NDArray[np.int64]
    n_violated_: int

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
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features; or, with ``metric="precomputed"``, the distances between rows, square or
            condensed, as SciPy's ``pdist`` returns them.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            Answers of the kinds that `supports` lists; None for no answers.
        callback : callable, default=None
            Called as ``callback(n_done, n_steps)`` after each step: a start, a fit of
            `DistanceClustering`, or the whole fit of methods that start only once.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        checked = self._checked(X)
        self._solve(checked, answers_for(self, constraints, len(checked)), callback)
        return self

    def _solve(self, X: NDArray[np.float64], known: Constraints, callback: Progress | None) -> None:
        """Set `labels_` and the other fitted attributes."""
        raise NotImplementedError

    def fit_predict(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> NDArray[np.int64]:
        """Fit the model, and return the group of each row.

        Parameters
        ----------
        X : array-like
            As `fit` takes it.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            As `fit` takes them.
        callback : callable, default=None
            As `fit` takes it.

        Returns
        -------
        ndarray of shape (n_samples,), int64
            `labels_`.
        """
        return self.fit(X, y, constraints=constraints, callback=callback).labels_


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A similarity with `transform` that takes no answers."""

    if TYPE_CHECKING:

        def fit(
            self, X: ArrayLike, y: ArrayLike | None = None, *, callback: Progress | None = None
        ) -> Self: ...

        def transform(self, X: ArrayLike) -> NDArray[Any]: ...

    @guarded_fit
    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, *, callback: Progress | None = None
    ) -> NDArray[Any]:
        """Fit the model, and transform the rows that it was fitted on.

        Parameters
        ----------
        X : array-like
            As `fit` takes it.
        y : ignored
            Present by convention.
        callback : callable, default=None
            As `fit` takes it.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            As `transform` returns it.
        """
        return self.fit(X, y, callback=callback).transform(X)


class ConstrainedTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ConstrainedEstimator
):
    """A similarity with `transform` that takes answers."""

    if TYPE_CHECKING:

        def transform(self, X: ArrayLike) -> NDArray[Any]: ...

    def fit_transform(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> NDArray[Any]:
        """Fit the model, and transform the rows that it was fitted on.

        Parameters
        ----------
        X : array-like
            As `fit` takes it.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            As `fit` takes them.
        callback : callable, default=None
            As `fit` takes it.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            As `transform` returns it.
        """
        return self.fit(X, y, constraints=constraints, callback=callback).transform(X)
