"""The state that `partial_fit` continues from, and when it has to fit members again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._features import Prepared, Rows
from clew.cluster.guided._search import Groups
from clew.constraints import Constraints


class Tree:
    """A hierarchy of the rows that is computed when it is first read."""

    def __init__(self, make: Callable[[], NDArray[np.float64]]) -> None:
        self._make = make

    @cached_property
    def value(self) -> NDArray[np.float64]:
        """The hierarchy."""
        return self._make()


class FittedState(NamedTuple):
    """The state of a fit that `partial_fit` continues from."""

    parameters: Mapping[str, Any]
    """Parameters that it cannot change."""
    seeds: list[int]
    tree: Tree
    prepared: Prepared | None = None
    """Parts that depend on features only; None without features, and with anchors."""
    anchored: Any = None
    """A fit to anchors, `_many_rows.Anchored`."""
    kept: Groups | None = None
    """Partitions to move on; None if there are none."""
    rows: Rows | None = None
    """What the partitions are refined by, beside answers."""
    answers: Constraints | None = None
    """The informative answers that the groups were fitted to."""
    records: Any = None
    """Rows in many small groups, `_records.Records`; None for other rows."""


def n_changed(before: Constraints, after: Constraints) -> int:
    """Return how many answers were added or removed."""
    both = dict.fromkeys((*before.annotators, *after.annotators))
    names = {name: at for at, name in enumerate(both)}
    total = 0
    for kind in range(len(before.tables)):
        old, new = (_columns(known, kind, names) for known in (before, after))
        if np.array_equal(old, new[: len(old)]):  # the usual case: answers were added at the end
            total += len(new) - len(old)
            continue
        _, which = np.unique(np.concatenate([old, new]), axis=0, return_inverse=True)
        sign = np.repeat([-1, 1], [len(old), len(new)])
        total += int(np.abs(np.bincount(which.ravel(), sign)).sum())
    return total


def _columns(known: Constraints, kind: int, names: Mapping[str, int]) -> NDArray[np.int64]:
    """Return rows, answers, annotators (by `names`), origins, and the bits of the weights."""
    table = known.tables[kind]
    codes = np.array([names[name] for name in known.annotators], dtype=np.int64)
    weights = np.ascontiguousarray(table.weights, dtype=np.float64).view(np.int64)
    annotators = codes[table.annotators]
    return np.column_stack([table.rows, table.answers, annotators, table.origins, weights])
