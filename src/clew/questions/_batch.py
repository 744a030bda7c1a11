"""Questions that are asked at the same time, none of which the answers to the others can imply."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clew.answers import Question
from clew.kernels.disjoint_sets import find_root
from clew.questions._known import KnownPairs
from clew.questions._log import key_of

__all__ = ["Batch"]


class Batch:
    """Pairs that are asked at the same time.

    Parameters
    ----------
    known : KnownPairs
        What earlier answers imply.
    pending : sequence of Question
        Questions that other people are answering.
    """

    def __init__(self, known: KnownPairs, pending: Sequence[Question]) -> None:
        self._known = known
        self._taken = {key_of(question) for question in pending}
        self._parent = np.arange(known.closure.n_components)
        self._n_free = known.closure.n_components - 1
        for question in pending:
            first, *others = question.rows
            for other in others:
                self._join(*known.closure.component[[first, other]])

    def accept(self, i: int, j: int) -> bool:
        """Add a pair that is unknown, not asked, and closes no cycle; return whether it was."""
        a, b = self._known.closure.component[[i, j]]
        if find_root(self._parent, a) == find_root(self._parent, b):
            return False
        key = ("pair", (min(i, j), max(i, j)))
        if key in self._known.asked or key in self._taken:
            return False
        self._join(a, b)
        return True

    def is_full(self) -> bool:
        """Return whether every further pair would close a cycle."""
        return self._n_free == 0

    def _join(self, a: int, b: int) -> None:
        a, b = find_root(self._parent, a), find_root(self._parent, b)
        self._n_free -= int(a != b)
        self._parent[b] = a
