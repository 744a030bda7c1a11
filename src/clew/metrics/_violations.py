"""How many answers a partition violates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._validation import check_rectangular
from clew.answers import ALL_ALIKE, DONT_KNOW
from clew.constraints import Constraints
from clew.constraints._meanings import TRUTH
from clew.constraints._support import refuse_another_order
from clew.exceptions import InvalidConstraintsError, InvalidDataError


def n_violated(labels: ArrayLike, constraints: Constraints) -> int:
    """Count the answers that a partition violates, whatever their weights.

    Parameters
    ----------
    labels : array-like of shape (n_samples,), int
        Group of each row; a row of noise (-1) shares its group with no other.
    constraints : Constraints
        Answers of all kinds.

    Returns
    -------
    int
        These answers are violated: a must-link between groups; a cannot-link within a group; "a is
        more like b" if a shares a group with c and not with b; an odd-one-out answer if another
        row, or none, is in a different group; "all alike" if two of the rows are in different
        groups. An answer to a question that the groups do not decide, such as a triplet within one
        group, is not violated, and don't-know never is.

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
    refuse_another_order(labels, constraints)
    groups = check_rectangular(labels, "labels")
    if groups.ndim != 1 or (groups.dtype.kind not in "iu" and groups.size):
        raise InvalidDataError(
            "labels must be a one-dimensional array of integers, got "
            f"shape {groups.shape} and dtype {groups.dtype}"
        )
    if groups.size != constraints.n_samples:
        raise InvalidConstraintsError(
            f"the constraints are about {constraints.n_samples} rows, but there are "
            f"{groups.size} labels"
        )
    groups = groups.astype(np.int64)
    # Each row of noise is a group of its own.
    noise = np.flatnonzero(groups == -1)
    groups[noise] = min(int(groups.min(initial=0)), -1) - 1 - np.arange(noise.size)
    return sum(int(which.sum()) for which in violations(groups, constraints))


def violations(
    groups: NDArray[np.int64], constraints: Constraints
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the violated pairs, triplets and odd-one-out answers, see `n_violated`."""
    pairs = TRUTH["pair"](groups, constraints.pairs)
    triplets = TRUTH["triplet"](groups, constraints.triplets)
    odd = TRUTH["odd_one_out"](groups, constraints.odd_one_out)
    # Rows of three groups do not decide which is odd, but violate "all alike".
    some_differ = (odd == DONT_KNOW) & (constraints.odd_one_out_answers == ALL_ALIKE)
    return (
        _differ(pairs, constraints.pair_answers),
        _differ(triplets, constraints.triplet_answers),
        _differ(odd, constraints.odd_one_out_answers) | some_differ,
    )


def _differ(true: NDArray[np.int64], given: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray((true != given) & (true != DONT_KNOW) & (given != DONT_KNOW))
