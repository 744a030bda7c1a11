"""How many answers a grouping goes against."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import DONT_KNOW, NONE_DIFFERS
from clew.constraints import Constraints
from clew.constraints._meanings import TRUTH
from clew.exceptions import InvalidConstraintsError, InvalidDataError

__all__ = ["n_violated", "violations"]


def n_violated(labels: ArrayLike, constraints: Constraints) -> int:
    """Count the answers of all kinds that a grouping goes against, whatever their weights.

    Parameters
    ----------
    labels : array-like of shape (n_samples,), int
        The group of each row; -1 is noise, and such a row is in no group with any other.
    constraints : Constraints
        What people said.

    Returns
    -------
    int
        An answer is violated where the groups themselves would answer otherwise: rows of a
        must-link apart, or of a cannot-link together; a triplet's a with c but not with b, where
        a was said to be more like b; another odd one out, or none, than was said; any two of
        three apart that were said not to differ. Where the groups leave a question open, as
        where all three rows of a triplet are together, nothing is violated, and don't-know
        never is.

    Raises
    ------
    InvalidConstraintsError
        If the constraints are about another number of rows.
    InvalidDataError
        If `labels` is not a one-dimensional array of integers.

    Notes
    -----
    Linear in rows and answers.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.metrics import n_violated
    >>> c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], dont_know=[(0, 3)], n_samples=4)
    >>> n_violated([0, 0, 1, 1], c)
    1
    """
    groups = _with_noise_apart(labels)
    if groups.size != constraints.n_samples:
        raise InvalidConstraintsError(
            f"the constraints are about {constraints.n_samples} rows, but there are "
            f"{groups.size} labels"
        )
    return sum(int(which.sum()) for which in violations(groups, constraints))


def violations(
    groups: NDArray[np.int64], constraints: Constraints
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which pairs, triplets and odd-one-out answers a grouping goes against.

    Parameters
    ----------
    groups : ndarray of shape (n_samples,), int64
        The group of each row.
    constraints : Constraints
        What people said.

    Returns
    -------
    three ndarray of bool
        One for each answer of a kind; see `n_violated`.
    """
    pairs = TRUTH["pair"](groups, constraints.pairs)
    triplets = TRUTH["triplet"](groups, constraints.triplets)
    odd = TRUTH["odd_one_out"](groups, constraints.odd_one_out)
    # Three groups for three rows do not say which is odd, but do say that some differ.
    denied = (odd == DONT_KNOW) & (constraints.odd_one_out_answers == NONE_DIFFERS)
    return (
        _is_against(pairs, constraints.pair_answers),
        _is_against(triplets, constraints.triplet_answers),
        _is_against(odd, constraints.odd_one_out_answers) | denied,
    )


def _is_against(own: NDArray[np.int64], said: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray((own != said) & (own != DONT_KNOW) & (said != DONT_KNOW))


def _with_noise_apart(labels: ArrayLike) -> NDArray[np.int64]:
    groups = np.asarray(labels)
    if groups.ndim != 1 or (groups.dtype.kind not in "iu" and groups.size):
        raise InvalidDataError(
            "labels must be a one-dimensional array of integers, got "
            f"shape {groups.shape} and dtype {groups.dtype}"
        )
    groups = groups.astype(np.int64)
    noise = np.flatnonzero(groups == -1)
    lowest = min(int(groups.min(initial=0)), -1)
    groups[noise] = lowest - 1 - np.arange(noise.size)
    return groups
