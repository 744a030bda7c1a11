"""Estimators made of other estimators: how a part is checked, seeded and fitted."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import InputTags, get_tags

from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import Progress
from clew._validation import check_data
from clew.constraints import Constraints, Support
from clew.exceptions import InvalidParameterError
from clew.graphs import check_distances, check_n_neighbors, largest_stored, nearest_graph


class FittedSimilarity(Protocol):
    """What other estimators read from a fitted similarity."""

    @property
    def affinity_matrix_(self) -> NDArray[np.floating] | csr_array:
        """Affinity of every two rows."""

    def kneighbors_graph(self, n_neighbors: int) -> csr_array:
        """Link each row to its most similar rows."""


class Precomputed:
    """Given affinities, with the interface of a fitted similarity."""

    def __init__(self, affinity: NDArray[np.floating] | csr_array) -> None:
        self.affinity_matrix_ = affinity

    def kneighbors_graph(self, n_neighbors: int) -> csr_array:
        """Link each row to its most similar rows."""
        check_n_neighbors(n_neighbors, self.affinity_matrix_.shape[0])
        if isinstance(self.affinity_matrix_, np.ndarray):
            return nearest_graph(self.affinity_matrix_, n_neighbors)
        return largest_stored(self.affinity_matrix_, n_neighbors)


def check_part(
    owner: BaseEstimator,
    name: str,
    part: Any,
    names: tuple[str, ...] = (),
    *,
    may_be_none: bool = True,
) -> None:
    """Check that a parameter is an estimator."""
    is_named = (isinstance(part, str) and part in names) or (part is None and may_be_none)
    if is_named or (isinstance(part, BaseEstimator) and hasattr(part, "fit")):
        return
    choices = " or ".join(
        ["an estimator, not its class,", *map(repr, names)] + ["or None"] * may_be_none
    )
    raise InvalidParameterError(
        f"{type(owner).__name__}({name}={part!r}): {name} must be {choices}"
    )


def affinity_to_fitted(similarity: Any, X: NDArray[Any]) -> NDArray[np.floating]:
    """Affinity of rows to fitted ones, (n_rows, n_samples); `transform` may return features."""
    measure = getattr(similarity, "affinity_to_fitted", similarity.transform)
    affinity: NDArray[np.floating] = measure(X)
    return affinity


def input_tags_of(part: Any) -> InputTags:
    """Return the input tags of a part; for None, scikit-learn's defaults."""
    return get_tags(part).input_tags if isinstance(part, BaseEstimator) else InputTags()


def takes_distances(part: Any) -> bool:
    """Whether an estimator, or a part of it, has the metric "precomputed"."""
    if not isinstance(part, BaseEstimator):
        return False
    parameters = part.get_params()
    metrics = [value for name, value in parameters.items() if name.split("__")[-1] == "metric"]
    return any(isinstance(value, str) and value == "precomputed" for value in metrics)


def reweighted(known: Constraints, similarity: Any) -> Constraints:
    """Return the answers with the weights that a fitted similarity gave them, if it gave any."""
    weight = np.where(known.is_dont_know, 0.0, known.pair_weights)
    return known.with_weights(pair_weights=getattr(similarity, "constraint_weight_", weight))


def check_rows(owner: BaseEstimator, X: Any, part: Any, *, reset: bool = True) -> Any:
    """Validate the input of a part: features, or a square matrix; sparse if the part allows it."""
    if takes_distances(part) and reset:
        return check_distances(X, estimator=owner)
    return check_data(
        owner,
        X,
        reset=reset,
        accept_sparse="csr" if input_tags_of(part).sparse else False,
        dtype=np.float64,
        ensure_min_samples=2 if reset else 1,
    )


def support_of(part: Any) -> Support:
    """Return the kinds of answers that a part honors; none if it has no `supports`."""
    support: Support = getattr(part, "supports", Support())
    return support


def seeded_part(given: Any, seed: int, *, is_seeded: bool) -> Any:
    """Clone a part, and set its seed if it has none and its owner has one."""
    part = clone(given)
    if is_seeded and part.get_params().get("random_state", 0) is None:
        part.set_params(random_state=seed)
    return part


def fit_part(part: Any, X: NDArray[Any], known: Constraints, callback: Progress | None) -> Any:
    """Fit a similarity, with the answers if it honors any."""
    extra: dict[str, Any] = {"constraints": known} if any(support_of(part)) else {}
    if callback is not None:
        extra["callback"] = callback
    return part.fit(X, **extra)


def has_sparse_affinity(similarity: FittedSimilarity) -> bool:
    """Return whether the affinity of a fitted similarity is sparse, without computing it."""
    stored = vars(similarity).get("affinity_matrix_")
    if stored is not None:
        return issparse(stored)
    beneath = getattr(similarity, "similarity_", None)
    return beneath is not None and has_sparse_affinity(beneath)


def graph_of(similarity: FittedSimilarity, n_samples: int, n_neighbors: int) -> csr_array:
    """Link each row to its most similar rows, symmetrically."""
    if n_samples <= ALL_PAIRS_ROWS:
        return nearest_graph(similarity.affinity_matrix_, n_neighbors)
    graph = largest_stored(similarity.kneighbors_graph(n_neighbors), n_neighbors)
    return csr_array(graph.maximum(graph.T))
