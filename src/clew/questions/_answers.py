"""Pairs that answers imply, and questions none of which implies another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from clew.answers import SAME, Answer, Question, expand, question_key
from clew.constraints import Closure
from clew.constraints._closure import close
from clew.kernels.graphs import find_root

#: A kind and rows that do not depend on the order in which equal questions name their rows.
Key = tuple[str, tuple[int, ...]]


def key_of(question: Question) -> Key:
    """Return a key that is equal for equivalent questions."""
    return question_key(question.kind, question.rows)


Pair = tuple[int, int]


class KnownPairs:
    """Pairs that answers imply, in chains too; those against earlier ones are `set_aside`."""

    def __init__(self, n_samples: int, representative: NDArray[np.integer] | None = None) -> None:
        self.n_samples = n_samples
        self._representative = representative
        self.asked: set[Key] = set()
        self.votes: dict[Pair, float] = {}
        self._forget_links()

    def add(self, answers: Iterable[Answer]) -> None:
        """Add answers of any kind; time O(n + m), times about log m for each contradiction."""
        new: list[Pair] = []
        has_changed = False
        for answer in answers:
            self.asked.add(key_of(answer.question))
            for pair, vote in self._votes_of(answer):
                is_new, before = pair not in self.votes, self.votes.get(pair, 0.0)
                self.votes[pair] = before + vote
                # A pair whose votes were equal before keeps its place in the order.
                has_changed |= not is_new and np.sign(before) != np.sign(before + vote)
                if is_new:
                    new.append(pair)
        if has_changed:
            self._forget_links()
            new = list(self.votes)
        self._extend([pair for pair in new if self.votes[pair] != 0])

    def is_unknown(self, pairs: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return for pairs of rows, (m, 2), whether "same" and "different" are both possible."""
        i, j = pairs.T
        return np.asarray(~(self.closure.is_same(i, j) | self.closure.is_different(i, j)))

    def apart(self) -> NDArray[np.bool_]:
        """Return which must-link components differ, (n_components, n_components), symmetric."""
        n = self.closure.n_components
        matrix = np.zeros((n, n), np.bool_)
        i, j = self.closure.cannot_link_components.T
        matrix[i, j] = matrix[j, i] = True
        return matrix

    def _votes_of(self, answer: Answer) -> Iterator[tuple[Pair, float]]:
        """Return the pairs that an answer implies, with its weight, negative for cannot-links."""
        rows = answer.question.rows
        if answer.weight == 0:
            return
        if self._representative is not None:
            rows = tuple(self._representative[list(rows)].tolist())
        for first, second, code, weight in expand(answer):
            i, j = sorted((rows[first], rows[second]))
            if i != j:
                yield (i, j), weight if code == SAME else -weight

    def _forget_links(self) -> None:
        self._links: dict[Pair, bool] = {}
        self.set_aside: list[Pair] = []
        self.closure: Closure = close(self.n_samples, *_split({}))

    def _extend(self, pairs: list[Pair]) -> None:
        """Add pairs in order, except those that contradict earlier ones."""
        if not pairs:
            return
        links = self._links | {pair: self.votes[pair] > 0 for pair in pairs}
        closure = close(self.n_samples, *_split(links))
        if closure.is_consistent:
            self._links, self.closure = links, closure
        elif len(pairs) == 1:
            self.set_aside += pairs
        else:
            half = len(pairs) // 2
            self._extend(pairs[:half])
            self._extend(pairs[half:])


def _split(links: dict[Pair, bool]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the must-links and the cannot-links, each of shape (m, 2)."""
    pairs = np.array(list(links), np.int64).reshape(-1, 2)
    is_same = np.fromiter(links.values(), np.bool_, len(links))
    return pairs[is_same], pairs[~is_same]


class Batch:
    """Pairs that are asked at the same time, besides pending questions: they close no cycle."""

    def __init__(self, known: KnownPairs, pending: Sequence[Question]) -> None:
        self._known = known
        self._taken = {key_of(question) for question in pending}
        self._parent = np.arange(known.closure.n_components)
        self._n_free = known.closure.n_components - 1
        for question in pending:
            first, *others = question.rows
            if question.kind in ("pair", "triplet", "odd_one_out"):
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
