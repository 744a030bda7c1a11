"""Answers parted into those to learn from and those to judge by."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clew.constraints._constraints import Constraints

__all__ = ["held_out_folds"]


def held_out_folds(
    known: Constraints, n_folds: int, random: np.random.RandomState
) -> Iterator[tuple[Constraints, Constraints]]:
    """Hold out each answer once.

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
    counts = {
        "pairs": len(known.pairs),
        "triplets": len(known.triplets),
        "odd_one_out": len(known.odd_one_out),
    }
    fold = {kind: random.permutation(count) % n_folds for kind, count in counts.items()}
    for number in range(n_folds):
        yield (
            known.select(**{kind: of != number for kind, of in fold.items()}),
            known.select(**{kind: of == number for kind, of in fold.items()}),
        )
