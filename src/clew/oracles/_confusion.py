"""Confusion matrices: how often each annotator says what, for each true answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import ANSWER_WORDS, Kind
from clew.exceptions import InvalidParameterError

__all__ = ["CODES", "from_rates", "from_tables"]

#: For each kind, the codes of answers in the order of rows and columns; don't-know is the last.
CODES: Final[Mapping[Kind, tuple[int, ...]]] = MappingProxyType(
    {kind: tuple(words.values()) for kind, words in ANSWER_WORDS.items()}
)


def from_rates(
    error: ArrayLike, dont_know: ArrayLike, n_annotators: int
) -> dict[Kind, NDArray[np.float64]]:
    """Spread errors evenly over the wrong answers; what nobody can know stays don't-know."""
    wrong = _as_rates(error, "error", n_annotators)
    unknown = _as_rates(dont_know, "dont_know", n_annotators)
    if (wrong + unknown > 1).any():
        at = int(np.argmax(wrong + unknown))
        raise InvalidParameterError(
            f"error + dont_know must not exceed 1, got {wrong[at]} + {unknown[at]}"
        )
    confusion = {}
    for kind, codes in CODES.items():
        n_known = len(codes) - 1
        matrix = np.zeros((n_annotators, n_known + 1, n_known + 1))
        matrix[:, :n_known, :n_known] = (wrong / (n_known - 1))[:, None, None]
        diagonal = np.arange(n_known)
        matrix[:, diagonal, diagonal] = (1 - wrong - unknown)[:, None]
        matrix[:, :n_known, -1] = unknown[:, None]
        matrix[:, -1, -1] = 1
        confusion[kind] = matrix
    return confusion


def _as_rates(rate: ArrayLike, name: str, n_annotators: int) -> NDArray[np.float64]:
    try:
        rates = np.broadcast_to(np.asarray(rate, dtype=np.float64), (n_annotators,))
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"{name} must be a number, or one for each of the {n_annotators} annotators"
        ) from error
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InvalidParameterError(f"{name} must lie in [0, 1], got {rate!r}")
    return rates


def from_tables(
    confusion: ArrayLike | Mapping[Kind, ArrayLike], n_annotators: int
) -> dict[Kind, NDArray[np.float64]]:
    """Check the matrices that a caller gave; one without a kind serves all kinds of its size."""
    if isinstance(confusion, Mapping):
        unknown = [kind for kind in confusion if kind not in CODES]
        if unknown:
            raise InvalidParameterError(
                f"confusion has the unknown kind {unknown[0]!r}; use {', '.join(CODES)}"
            )
        return {kind: _as_matrices(table, kind, n_annotators) for kind, table in confusion.items()}
    matrix = np.asarray(confusion, dtype=np.float64)
    kinds = [kind for kind, codes in CODES.items() if matrix.shape[-1:] == (len(codes),)]
    if not kinds:
        raise InvalidParameterError(
            "confusion must be 3×3 (pairs and triplets) or 5×5 (odd-one-out), or one such matrix "
            f"for each annotator; got shape {matrix.shape}"
        )
    return {kind: _as_matrices(matrix, kind, n_annotators) for kind in kinds}


def _as_matrices(table: ArrayLike, kind: Kind, n_annotators: int) -> NDArray[np.float64]:
    size = len(CODES[kind])
    matrix = np.asarray(table, dtype=np.float64)
    if matrix.shape not in ((size, size), (n_annotators, size, size)):
        raise InvalidParameterError(
            f"the confusion of {kind} answers must have shape ({size}, {size}) or "
            f"({n_annotators}, {size}, {size}), got {matrix.shape}"
        )
    if not (matrix >= 0).all() or not np.allclose(matrix.sum(axis=-1), 1, atol=1e-8):
        raise InvalidParameterError(
            f"each row of the confusion of {kind} answers must hold chances that add up to 1"
        )
    return np.broadcast_to(matrix, (n_annotators, size, size))
