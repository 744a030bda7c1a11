"""Answers parted into those to learn from and those to judge by."""

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
    """Hold out each answer once, together with all others to the same question.

    Who has heard one answer to a question could else know another by heart.

    Parameters
    ----------
    known : Constraints
        The answers.
    n_folds : int
        How many parts; all kinds are spread over them evenly.
    random : RandomState
        Deals the answers out.

    Yields
    ------
    kept, held : Constraints
        The answers to learn from, and those held out.
    """
    fold = {PARAMETER[table.kind]: _dealt(table.rows, n_folds, random) for table in known.tables}
    for number in range(n_folds):
        yield (
            known.select(**{kind: of != number for kind, of in fold.items()}),
            known.select(**{kind: of == number for kind, of in fold.items()}),
        )


def _dealt(
    rows: NDArray[np.int64], n_folds: int, random: np.random.RandomState
) -> NDArray[np.int64]:
    """Give each answer the number of its fold, by its question: its rows in any order."""
    _, first, question = np.unique(
        np.sort(rows, axis=1), axis=0, return_index=True, return_inverse=True
    )
    # Questions in the order in which they were first asked.
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    dealt = random.permutation(len(first)) % n_folds
    return np.asarray(dealt[place[question.reshape(len(rows))]], dtype=np.int64)
