"""Features in the scale and form that a method is fitted to; one rule for all methods."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from clew._units import Units

__all__ = ["Features", "Standardize", "features_for"]

Standardize = bool | Literal["auto"]

#: Components that sparse features of more columns are reduced to, for methods that need dense ones.
N_COMPONENTS = 100


class Features(NamedTuple):
    """What a method is fitted to."""

    X: Any
    """Features, (n_samples, n_features), dense or, where the method takes that, CSR."""
    standardize: Standardize
    """Value for the parameter `standardize` of the method, if it has one."""
    note: str
    """What was done, as a sentence."""


def features_for(
    model: Any,
    X: NDArray[np.float64] | csr_array,
    standardize: Standardize,
    *,
    is_scaled: bool,
) -> Features:
    """Scale features, and bring them to the form that a method takes.

    Parameters
    ----------
    model : estimator
        The method.
    X : ndarray or csr_array of shape (n_samples, n_features)
        The features of the file.
    standardize : bool or "auto"
        Whether to divide features by their standard deviations. "auto" does so if units
        seem to differ, see `clew._units.have_own_units`; never for sparse features.
    is_scaled : bool
        Whether the features are on one scale already.

    Returns
    -------
    Features
        A model with a parameter `standardize` gets the features as they are and scales them
        itself, so that the same call in Python has the same result.
    """
    if issparse(X):
        return _from_sparse(model, X, standardize)
    if is_scaled:
        return Features(X, False, "features are standardized")
    units = Units.standardized(X, standardize)
    is_standardized = standardize is True or bool(np.ptp(units.unit) > 0)
    how = " (units differ)" if standardize == "auto" else ""
    note = f"features are standardized{how}" if is_standardized else "features are used as given"
    if "standardize" in model.get_params(deep=False):
        return Features(X, standardize, note)
    return Features(units.scale(X) if is_standardized else X, False, note)


def _from_sparse(model: Any, X: csr_array, standardize: Standardize) -> Features:
    """Scale without centering, which keeps zeros; reduce if the method needs dense features."""
    scaled = StandardScaler(with_mean=False).fit_transform(X) if standardize is True else X
    how = "divided by their standard deviations" if standardize is True else "used as given"
    if get_tags(model).input_tags.sparse:
        return Features(scaled, False, f"sparse features are {how}")
    if X.shape[1] <= N_COMPONENTS:
        return Features(scaled.toarray(), False, f"features are {how}")
    svd = TruncatedSVD(N_COMPONENTS, random_state=0)
    share = f"{N_COMPONENTS} components of a truncated SVD"
    return Features(svd.fit_transform(scaled), False, f"features are {how}, reduced to {share}")
