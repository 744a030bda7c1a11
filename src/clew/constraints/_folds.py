"""Folds of answers for cross-validation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clew.constraints._constraints import Constraints
from clew.constraints._tables import PARAMETER

__all__ = ["held_out_folds"]


def held_out_folds(
    known: Constraints, n_folds: int, random: np.random.RandomState
) -> Iterator[tuple[Constraints, Constraints]]:
    """Split answers into folds, and yield the training and the held-out answers of each.

    All answers to one question share a fold, so no held-out question was seen in training.

    Parameters
    ----------
    known : Constraints
        The answers.
    n_folds : int
        Number of folds. Questions of each kind are divided evenly among them.
    random : RandomState
        Source of randomness.

    Yields
    ------
    kept, held : Constraints
        The training answers, and the held-out answers.
    """
    folds = {
        PARAMETER[table.kind]: _fold_of_answers(table.rows, n_folds, random)
        for table in known.tables
    }
    for number in range(n_folds):
        yield (
            known.select(**{kind: fold != number for kind, fold in folds.items()}),
            known.select(**{kind: fold == number for kind, fold in folds.items()}),
        )


def _fold_of_answers(
    rows: NDArray[np.int64], n_folds: int, random: np.random.RandomState
) -> NDArray[np.int64]:
    """Return the fold of each answer; questions are equal if they name the same rows."""
    _, first, question = np.unique(
        np.sort(rows, axis=1), axis=0, return_index=True, return_inverse=True
    )
    # Questions in the order in which they were first asked.
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    fold = random.permutation(len(first)) % n_folds
    return np.asarray(fold[place[question.reshape(len(rows))]], dtype=np.int64)
