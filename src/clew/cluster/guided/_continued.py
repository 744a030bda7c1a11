"""The state that `partial_fit` continues from, and when it has to fit members again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._anchors.answers import hold_out
from clew.cluster.guided._anchors.fit import Anchored
from clew.cluster.guided._choice import FittedParts
from clew.cluster.guided._ensemble.folds import used_folds
from clew.cluster.guided._features.prepared import Prepared
from clew.cluster.guided._fit import Groups
from clew.constraints import Constraints

__all__ = ["FittedState", "Tree", "n_changed"]


class Tree:
    """A hierarchy of the rows that is computed when it is first read.

    Parameters
    ----------
    make : callable
        Computes it.
    """

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
    anchored: Anchored | None = None
    kept: FittedParts | Groups | None = None
    """Fitted members; None if there are none."""
    known: Constraints | None = None
    """The informative answers that members were fitted to."""
    records: Any = None
    """Rows in many small groups, `_records.Records`; None for other rows."""

    def has_members_for(self, known: Constraints, refit: bool) -> bool:
        """Whether the fitted members, or partitions, are used for these informative answers."""
        if refit or self.known is None or (self.kept is None and self.anchored is None):
            return False
        return isinstance(self.kept, Groups) or self._folds_of(known) == self._folds_of(self.known)

    def _folds_of(self, known: Constraints) -> tuple[int, ...] | bool:
        """Return the folds that hold answers; with anchors, whether answers are held out."""
        if self.anchored is None:
            return used_folds(known, self.seeds[1])
        return hold_out(known, self.seeds[2]) is not None


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
