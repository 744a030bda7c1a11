"""What confusion matrices are asked about: answers, and the memberships of their rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import Kind
from clew.constraints import AnswerTable, Constraints, Support, check_constraints
from clew.exceptions import InvalidConstraintsError
from clew.trust.groups._outcomes import as_memberships, spoken_of

__all__ = ["EVERY_KIND", "answered_rows_of", "likelihoods"]

EVERY_KIND = Support(pairs=True, triplets=True, odd_one_out=True, dont_know=True)


class _Matrices(Protocol):
    """Fitted `ConfusionMatrices`."""

    annotators_: tuple[str, ...]
    matrices_: dict[Kind, NDArray[np.float64]]


def likelihoods(
    confusion: _Matrices, said: AnswerTable, constraints: Constraints
) -> NDArray[np.float64]:
    """Give the chance of each answer in each of its cases.

    Parameters
    ----------
    confusion : ConfusionMatrices
        Fitted.
    said : AnswerTable
        The answers.
    constraints : Constraints
        Whose annotators the answers name.

    Returns
    -------
    ndarray of shape (m, n_cases)

    Raises
    ------
    InvalidConstraintsError
        If somebody answered of whom there is no matrix.
    """
    names, there = constraints.annotators, confusion.annotators_
    missing = [names[code] for code in np.unique(said.annotators) if names[code] not in there]
    if missing:
        raise InvalidConstraintsError(
            f"there is no confusion matrix of {missing[0]!r}; there are those of "
            f"{', '.join(map(repr, there))}"
        )
    place = np.array([there.index(name) if name in there else -1 for name in names], np.int64)
    return np.asarray(confusion.matrices_[said.kind][place[said.annotators], :, said.answer_index])


def answered_rows_of(
    method: object, constraints: Constraints, memberships: ArrayLike
) -> tuple[Constraints, NDArray[np.float64]]:
    """Check answers and memberships, and leave out the rows that no answer names.

    Parameters
    ----------
    method : object
        Whose name goes into messages.
    constraints : Constraints
        What people said.
    memberships : array-like of shape (n_samples,) or (n_samples, n_groups)
        The groups.

    Returns
    -------
    Constraints, ndarray of shape (n_rows, n_groups)
        The answers about the rows that are left, in the same order, and the memberships of these.
    """
    n = constraints.n_samples if isinstance(constraints, Constraints) else 0
    check_constraints(method, constraints, n, EVERY_KIND)
    rows = spoken_of(constraints)
    return constraints.subset(rows), as_memberships(memberships, n, rows)
