"""Folds of answers for cross-validation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clew.answers import KINDS
from clew.constraints._tables import PARAMETER
from clew.constraints.constraints import Constraints

#: Constants of the hash function SplitMix64: the increment, two multipliers and three shifts.
INCREMENT = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def held_out_folds(
    known: Constraints, n_folds: int, seed: int
) -> Iterator[tuple[Constraints, Constraints]]:
    """Split answers into folds, and yield the training and the held-out answers of each.

    By a hash of rows, kind and seed: all answers to one question share a fold, and keep it.
    """
    folds = fold_numbers(known, n_folds, seed)
    for number in np.unique(np.concatenate(list(folds.values()))):
        yield (
            known.select(**{kind: fold != number for kind, fold in folds.items()}),
            known.select(**{kind: fold == number for kind, fold in folds.items()}),
        )


def fold_numbers(known: Constraints, n_folds: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """Return the fold of each answer."""
    return {
        PARAMETER[table.kind]: (
            _hash(np.sort(table.rows, axis=1), seed, KINDS.index(table.kind)) % np.uint64(n_folds)
        ).astype(np.int64)
        for table in known.tables
    }


def _hash(rows: NDArray[np.int64], *seeds: int) -> NDArray[np.uint64]:
    """Map each row of a table to 64 bits, all of which depend on all of its entries."""
    columns = [np.full(len(rows), seed, np.int64) for seed in seeds] + [*rows.T]
    found = np.zeros(len(rows), np.uint64)
    for column in columns:
        found ^= column.astype(np.uint64)
        found += INCREMENT
        for multiplier, shift in zip(MULTIPLIERS, SHIFTS, strict=False):
            found ^= found >> shift
            found *= multiplier
        found ^= found >> SHIFTS[-1]
    return found
