"""Confusion matrices: the probability of each answer, given the true answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import CODES, Kind
from clew.exceptions import InvalidParameterError

__all__ = ["from_rates", "from_tables"]


def from_rates(
    error: ArrayLike, dont_know: ArrayLike, n_annotators: int
) -> dict[Kind, NDArray[np.float64]]:
    """Make confusion matrices from error rates.

    Parameters
    ----------
    error, dont_know : float or array-like of shape (n_annotators,)
        Probability that an answer is wrong, and that it is don't-know.
    n_annotators : int
        Number of annotators.

    Returns
    -------
    dict of kind to ndarray of shape (n_annotators, n_answers, n_answers)
        In the order of `CODES`. All wrong answers are equally likely; where the true answer is
        don't-know, so is every answer.

    Raises
    ------
    InvalidParameterError
        If a probability, or the sum of both, is outside [0, 1], or there are not as many
        probabilities as annotators.
    """
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
            f"{name} must be a number, or one number for each of {n_annotators} annotators"
        ) from error
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InvalidParameterError(f"{name} must lie in [0, 1], got {rate!r}")
    return rates


def from_tables(
    confusion: ArrayLike | Mapping[Kind, ArrayLike], n_annotators: int
) -> dict[Kind, NDArray[np.float64]]:
    """Check confusion matrices.

    Parameters
    ----------
    confusion : array-like or mapping of kind to array-like
        Matrices of shape (n_answers, n_answers), or one for each annotator. Given without a kind,
        it is used for all kinds with as many answers.
    n_annotators : int
        Number of annotators.

    Returns
    -------
    dict of kind to ndarray of shape (n_annotators, n_answers, n_answers)

    Raises
    ------
    InvalidParameterError
        If a kind is unknown, a shape is wrong, or rows are not probabilities that add up to 1.
    """
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
            f"each row of the confusion of {kind} answers must hold probabilities that add up to 1"
        )
    return np.broadcast_to(matrix, (n_annotators, size, size))
