"""What answers imply: which pairs are known to be the same or different, and what was asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from clew.answers import SAME, Answer
from clew.constraints import Closure
from clew.constraints._closure import close
from clew.constraints._meanings import implied
from clew.questions._log import Key, key_of

__all__ = ["KnownPairs", "Pair"]

Pair = tuple[int, int]


class KnownPairs:
    """The pairs that answers imply, directly or through chains of must-links.

    If a pair was answered several times, the answer with the larger total weight counts. Pairs are
    taken in the order in which they were first answered: one that contradicts what earlier ones
    imply is left out.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    representative : ndarray of shape (n,), default=None
        Number of the representative of each row, below `n_samples`: answers about rows are then
        read as answers about their representatives. None: each row stands for itself.

    Attributes
    ----------
    closure : Closure
        Must-links and cannot-links without contradictions.
    votes : dict
        Weight of "same" minus that of "different" for each answered pair, the smaller row first.
    asked : set
        Keys of all answered questions, don't-knows among them.
    set_aside : list of tuple of int
        Pairs whose answer contradicts earlier answers.
    """

    def __init__(self, n_samples: int, representative: NDArray[np.integer] | None = None) -> None:
        self.n_samples = n_samples
        self._representative = representative
        self.asked: set[Key] = set()
        self.votes: dict[Pair, float] = {}
        self._forget_links()

    def add(self, answers: Iterable[Answer]) -> None:
        """Add answers.

        Parameters
        ----------
        answers : iterable of Answer
            Answers of any kind; about three rows, they are read as the pairs that they imply.

        Notes
        -----
        Time O(n + m) for n rows and m answered pairs, times about log m for each contradiction.
        """
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
        if answer.is_dont_know or answer.weight == 0:
            return
        if self._representative is not None:
            rows = tuple(self._representative[list(rows)].tolist())
        for first, second, code in implied(answer):
            i, j = sorted((rows[first], rows[second]))
            if i != j:
                yield (i, j), answer.weight if code == SAME else -answer.weight

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
