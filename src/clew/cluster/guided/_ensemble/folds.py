"""Answers in folds: each clustering is scored by answers that it did not see."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clew._limits import MANY_ROWS
from clew.cluster.guided._ensemble.ensemble import Fold
from clew.constraints import Constraints
from clew.constraints._folds import fold_numbers, held_out_folds

__all__ = ["Answers", "split_answers", "used_folds"]

#: Folds of the answers; fewer for many rows, where each fit takes long.
N_FOLDS, N_FOLDS_OF_MANY = 3, 2


class Answers(NamedTuple):
    """Answers, whole and in folds."""

    known: Constraints
    folds: list[Fold]


def split_answers(known: Constraints, seed: int) -> Answers:
    """Split answers into folds; there are no folds if no answer implies a pair."""
    pairs = known.as_pairs()
    if not (pairs.pair_weights[~pairs.is_dont_know] > 0).any():
        return Answers(known, [])
    n_folds = N_FOLDS_OF_MANY if known.n_samples > MANY_ROWS else N_FOLDS
    return Answers(known, [Fold(*parts) for parts in held_out_folds(known, n_folds, seed)])


def used_folds(known: Constraints, seed: int) -> tuple[int, ...]:
    """Return the numbers of the folds that hold answers."""
    n_folds = N_FOLDS_OF_MANY if known.n_samples > MANY_ROWS else N_FOLDS
    numbers = np.concatenate(list(fold_numbers(known, n_folds, seed).values()))
    return tuple(np.unique(numbers).tolist())
