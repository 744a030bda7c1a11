"""Checks of what users pass to `GuidedClustering`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from clew._validation import (
    check_data,
    check_n_clusters,
    check_parameters,
    is_dask,
    warn_of_distances,
)
from clew.cluster.guided._pool import check_honored, checked_members, is_default
from clew.cluster.guided._records import features_of_records
from clew.constraints import Constraints
from clew.constraints._support import answers_for
from clew.exceptions import InvalidArgumentError, InvalidDataError, InvalidParameterError
from clew.graphs import check_distances, check_distances_to_fitted

if TYPE_CHECKING:
    from clew.cluster.guided._fitted import FittedGroups
    from clew.cluster.guided.guided_clustering import GuidedClustering

OF_ARRAYS = (
    "An array holds finite numbers, a row for each item. Give text, dates, categories and missing "
    "values as a pandas data frame; clew.features.compute turns texts, images and sounds into "
    "features."
)
OF_FITTED_TABLE = (
    "GuidedClustering was fitted to columns of numbers without gaps; fitted to a data frame with "
    "missing values or text, it predicts rows that have them, too."
)
OF_CONDENSED = "If these are condensed distances, use GuidedClustering(metric='precomputed')."


def checked_arguments(
    model: GuidedClustering, X: ArrayLike | None, constraints: Constraints | None
) -> tuple[NDArray[np.float64] | csr_array | None, Constraints]:
    """Validate the parameters and the arguments of `fit`: features, and all answers."""
    check_parameters(model, model._allowed)
    features = None if X is None else checked_features(model, X)
    if model.scale == "anchors" and features is None:
        raise InvalidArgumentError(
            "GuidedClustering(scale='anchors') needs features: anchors are means of rows"
        )
    if features is None and constraints is None:
        raise InvalidArgumentError(
            "GuidedClustering.fit needs features, fit(X), or answers, "
            "fit(constraints=constraints), or both; both are None"
        )
    n_samples: int = getattr(constraints, "n_samples", 0)  # others are refused next
    n_samples = n_samples if features is None else features.shape[0]
    if model.n_clusters is not None:
        check_n_clusters(model, n_samples)
    known = answers_for(model, constraints, n_samples)
    check_pool(model, known, has_features=features is not None)
    return features, known


def checked_features(model: FittedGroups, X: Any, *, reset: bool = True) -> Any:
    """Validate features, dense or sparse, or distances; not `reset`: of further rows."""
    if reset:
        model.table_features_ = None
    if is_dask(X):
        return _checked_blocks(model, X, reset=reset)
    is_table = False
    if model.metric == "precomputed":
        if reset:
            return check_distances(X, estimator=model, keep_single=True)
        return check_distances_to_fitted(model, X)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        from clew.tables._features import as_pandas, is_mixed  # pandas is slow to import

        X = as_pandas(X)
        is_table = reset and is_mixed(X)
    if model.table_features_ is not None or is_table:
        return _features_of_table(model, X, reset=reset)
    try:
        checked = check_data(
            model, X, reset=reset, accept_sparse="csr", dtype=np.float64, order="C",
            ensure_min_samples=2 if reset else 1, advice="",
        )  # fmt: skip
    except ValueError as error:
        if reset and _is_condensed(X):
            raise InvalidDataError(f"{error}\n{OF_CONDENSED}") from error
        if not str(error).startswith(("X must hold numbers", "X holds NaN")):
            raise
        first = str(error).partition("\n")[0].rstrip(".")
        advice = OF_FITTED_TABLE if hasattr(X, "columns") else OF_ARRAYS
        raise InvalidDataError(f"{first}. {advice}") from error
    if reset:
        warn_of_distances(model, checked)
    return checked if isinstance(checked, np.ndarray) else csr_array(checked)


def _checked_blocks(model: FittedGroups, X: Any, *, reset: bool) -> Any:
    """Validate the parameters and the columns of a Dask array; blocks are checked when read."""
    from clew.cluster.guided._dask import LinkableRows  # dask is optional

    if model.metric == "precomputed" or (reset and model.scale == "exact"):
        name = "metric" if model.metric == "precomputed" else "scale"
        raise InvalidParameterError(
            f"{type(model).__name__}({name}={getattr(model, name)!r}) needs all rows in memory: "
            "of a Dask array, features are fitted with scale='anchors' or 'auto'"
        )
    rows = LinkableRows(X)
    if reset:
        if rows.shape[0] < 2:
            raise InvalidDataError(f"X has {rows.shape[0]} rows; a fit needs at least 2")
        model.n_features_in_ = rows.shape[1]
        if hasattr(X, "columns"):
            model.feature_names_in_ = np.asarray(X.columns, dtype=object)
        elif hasattr(model, "feature_names_in_"):
            del model.feature_names_in_  # of an earlier fit
        return rows
    _check_names(model, X)
    if rows.shape[1] != model.n_features_in_:
        raise InvalidDataError(
            f"X has {rows.shape[1]} features, but {type(model).__name__} was fitted to "
            f"{model.n_features_in_}"
        )
    return rows


def _check_names(model: FittedGroups, X: Any) -> None:
    """Refuse a data frame whose columns are not those of `fit`, in the same order."""
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is None or not hasattr(X, "columns") or list(X.columns) == list(fitted):
        return
    raise InvalidDataError(
        f"the columns of X are {', '.join(map(str, X.columns))}, but {type(model).__name__} was "
        f"fitted to {', '.join(map(str, fitted))}: give the same columns in the same order"
    )


def _features_of_table(model: FittedGroups, X: Any, *, reset: bool) -> Any:
    """Turn a data frame into numbers, as sessions and the command line do."""
    from clew.tables import TableFeatures  # pandas is optional

    if not hasattr(X, "columns"):
        raise InvalidDataError(
            "GuidedClustering was fitted to a data frame: give other rows as one, with columns "
            + ", ".join(map(str, model.feature_names_in_))
        )
    if not reset:
        return model.table_features_.transform(X)
    may_be_tiny = model.scale == "auto" and model.standardize == "auto" and is_default(model.pool)
    records = features_of_records(X, model.n_clusters) if may_be_tiny else None
    table = TableFeatures(standardize=model.standardize)
    recipe, features = records or (table, table.fit_transform(X))
    model.table_features_, model.n_features_in_ = recipe, recipe.n_features_in_
    model.feature_names_in_ = recipe.feature_names_in_
    return features


def _is_condensed(X: Any) -> bool:
    """Whether an array may hold the condensed distances of three rows or more."""
    length = X.size if isinstance(X, np.ndarray) and X.ndim == 1 else 0
    return length >= 3 and math.isqrt(8 * length + 1) ** 2 == 8 * length + 1


def check_pool(model: GuidedClustering, known: Constraints, *, has_features: bool) -> None:
    """Refuse a pool of one's own where it cannot be used."""
    if is_default(model.pool):
        return
    if model.n_clusters is None:
        raise InvalidParameterError(
            "GuidedClustering chooses the number of groups for pool='default' only; with a "
            "pool of your own give n_clusters"
        )
    if not has_features:
        raise InvalidArgumentError(
            "GuidedClustering(pool=...) needs features: the members of a pool read them"
        )
    for member in checked_members(model.pool):
        check_honored(member.name, member.estimator, known)


def check_n_anchors(model: GuidedClustering) -> None:
    """Refuse fewer anchors than groups."""
    if model.n_clusters is not None and model.n_clusters > model.n_anchors:
        raise InvalidParameterError(
            f"n_anchors={model.n_anchors} must not be less than n_clusters={model.n_clusters}"
        )


def check_unchanged(model: GuidedClustering, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that are not those of `fit`."""
    for name, fitted in parameters.items():
        now = getattr(model, name)
        if now is not fitted and now != fitted:
            raise InvalidParameterError(
                f"GuidedClustering({name}={now!r}): partial_fit continues a fit with "
                f"{name}={fitted!r}. Set it back, or call fit with all answers"
            )


def check_same_rows(model: GuidedClustering, X: ArrayLike | None) -> None:
    """Refuse features that are not those of the fitted rows; None is allowed."""
    if X is None:
        return
    prepared, n_samples = model._fitted.prepared, model.result_.constraints.n_samples
    is_precomputed = model.metric == "precomputed"
    rows = check_distances(X) if is_precomputed else checked_features(model, X, reset=False)
    if model._fitted.records is not None:
        fitted = model._fitted.records.features
        is_same = rows.shape == fitted.shape and not (rows != fitted).sum()
    elif prepared is None:
        is_same = model._fitted.anchored is not None and rows.shape[0] == n_samples
    elif prepared.distances is not None:
        is_same = np.array_equal(rows, prepared.distances)
    else:
        is_same = np.array_equal(prepared.space.transform(rows), prepared.X)
    if not is_same:
        raise InvalidDataError(
            "GuidedClustering.partial_fit takes further answers about the fitted rows, but X "
            "holds other rows; leave X out, or call fit for new rows"
        )
