"""The choice of pairs: those whose answers are expected to be most informative."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.answers import Kind, Question, SecondsModel
from clew.kernels.partitions.pairs import question_values
from clew.questions._answers import Key, key_of
from clew.questions._group_questions import (
    Fragments,
    Ranked,
    chosen_apart,
    confirm_questions,
    which_of_questions,
)
from clew.questions.guided._cores import CORE
from clew.questions.guided._posterior import SameProbabilities, Singles
from clew.questions.guided._triples import best_triples

#: Power of the smaller core's size in the value of a question.
SIZE_POWER = 0.1
#: Weight by which questions about the typical rows of a core are preferred.
TYPICAL_WEIGHT = 0.02
#: Maximum number of questions of a batch within one group; between two groups it is one.
MOST_WITHIN = 2
#: Number of pairs that are ranked at first.
N_RANKED = 2000
#: Pairs are ranked for this many further questions at once.
AT_ONCE = 32
#: Number of questions of each kind that are ranked, if there are several kinds.
N_OF_KIND = 300
#: Factor of the value of pairs beside which-of questions: the best of all pairs is more often
#: overestimated than the best of few groups.
BEST_OF_ALL_PAIRS = 0.65
#: Value of pairs that cannot be asked.
NOT_ASKED = -1.0
#: Range to which the probability of a wrong answer is clipped.
RATES = (0.01, 0.4)

Pair = tuple[int, int]


class Candidates:
    """All pairs, ranked by the information in their answers, given the answers so far.

    `log_odds` (n_rows, n_rows) from features break ties in favor of near pairs of typical rows;
    `labels` (n_rows,) are groups; `taken` (n_rows, n_rows), symmetric, were asked before.
    """

    def __init__(
        self,
        same: SameProbabilities,
        log_odds: Singles,
        labels: NDArray[np.int64],
        taken: NDArray[np.bool_],
        error: float,
    ) -> None:
        self._labels, self._same = labels, same.questions
        self._error = float(np.clip(error, *RATES))
        self._core = same.labels > CORE
        size = np.maximum(self._core.sum(axis=1), 1).astype(np.float32)
        self._weight = size ** np.float32(SIZE_POWER)
        typical = np.einsum("ij,ij->i", log_odds, self._core, dtype=np.float32) / size
        self._value = np.empty_like(log_odds)
        self._taken = taken
        self._ranked_kinds: Any = None
        self._by_value: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        question_values(
            same.questions,
            log_odds,
            taken,
            self._weight,
            np.float32(TYPICAL_WEIGHT) * np.tanh(typical / 3),
            self._error,
            self._value,
        )

    def best(self, n: int, pending: Iterable[Pair] = ()) -> list[Pair]:
        """Choose at most `n` pairs for a batch that has the pairs `pending` already; best first.

        As long as such pairs are left, no row, and no two cores, are in two questions.
        """
        taken = list(pending)
        wanted = n + len(taken)
        first, second = self._ranked(N_RANKED)
        low, high = np.sort((self._labels[first], self._labels[second]), axis=0)
        is_free = np.ones(len(first), np.bool_)
        n_asked: dict[Pair, int] = {}

        def exclude(i: int, j: int) -> None:
            """Exclude pairs of the same rows or cores, and of groups that were asked enough."""
            core = self._core
            same_rows = (first == i) | (second == i) | (first == j) | (second == j)
            straight, crossed = core[first, i] & core[second, j], core[first, j] & core[second, i]
            is_free[same_rows | straight | crossed] = False
            a, b = sorted((int(self._labels[i]), int(self._labels[j])))
            n_asked[a, b] = n_asked.get((a, b), 0) + 1
            if n_asked[a, b] >= (MOST_WITHIN if a == b else 1):
                is_free[(low == a) & (high == b)] = False

        for i, j in taken:
            exclude(i, j)
        while len(taken) < wanted and is_free.any():
            at = int(is_free.argmax())
            taken.append((int(first[at]), int(second[at])))
            exclude(*taken[-1])
        if len(taken) < wanted:
            self._fill(taken, wanted)
        return taken[wanted - n :]

    def best_of_kinds(
        self,
        n: int,
        kinds: tuple[Kind, ...],
        seconds: SecondsModel,
        pending: Sequence[Question],
        asked: Collection[Key],
        n_confirm: int = 0,
        without: frozenset[int] = frozenset(),
    ) -> list[Question]:
        """Choose at most `n` questions by their information per second, best first.

        As long as there are such questions, no two, `pending` ones included, are about the same
        cores. Keys of `asked` questions about three rows are not repeated, and `without` are rows
        that no question about groups shows; `n_confirm` counts earlier confirm questions.
        """
        wanted = (kinds, seconds, n_confirm, without)
        if self._ranked_kinds is None or self._ranked_kinds[0] != wanted:
            self._ranked_kinds = wanted, self._ranked_by_rate(*wanted)
        ranked = [one for one in self._ranked_kinds[1] if key_of(one.question) not in asked]
        return chosen_apart(n, ranked, self._fragments, pending)

    def _ranked_by_rate(
        self,
        kinds: tuple[Kind, ...],
        seconds: SecondsModel,
        n_confirm: int,
        without: frozenset[int],
    ) -> list[Ranked]:
        of_three = tuple(kind for kind in ("triplet", "odd_one_out") if kind in kinds)
        ranked: list[Ranked] = []
        if of_three:
            ranked += [
                Ranked(t.value / seconds.of_kind(t.kind), Question(t.kind, t.rows))
                for t in best_triples(self._same, self._value, self._weight, of_three, self._error)
            ]
        if "pair" in kinds:
            discount = BEST_OF_ALL_PAIRS if "which_of" in kinds else 1.0
            first, second = (rows[:N_OF_KIND].tolist() for rows in self._ranked(N_OF_KIND))
            ranked += [
                Ranked(discount * float(self._value[j, i]) / seconds.pair, Question("pair", (i, j)))
                for i, j in zip(first, second, strict=True)
            ]
        shown = np.setdiff1d(np.arange(len(self._same)), list(without))
        if len(shown) < 2 or not {"which_of", "confirm"} & set(kinds):
            return ranked
        is_all = len(shown) == len(self._same)
        same = self._same if is_all else self._same[np.ix_(shown, shown)]
        fragments = self._fragments if is_all else Fragments.of(same)
        taken = self._taken if is_all else self._taken[np.ix_(shown, shown)]
        found: list[Ranked] = []
        given = fragments, taken, self._error, seconds
        if "which_of" in kinds:
            found += which_of_questions(same, *given, N_OF_KIND)
        if "confirm" in kinds:
            found += confirm_questions(same, self._labels[shown], *given, n_confirm)
        return ranked + (found if is_all else [each.renumbered(shown) for each in found])

    @cached_property
    def _fragments(self) -> Fragments:
        return Fragments.of(self._same)

    def _fill(self, taken: list[Pair], wanted: int) -> None:
        """Add pairs that share cores with others of the batch, those with new rows first."""
        n = len(self._value)
        first, second = self._ranked(N_RANKED + n * (AT_ONCE + wanted - wanted % AT_ONCE))
        is_new = np.ones(n, np.bool_)
        for pair in taken:
            is_new[list(pair)] = False
        while len(taken) < wanted and (is_free := is_new[first] & is_new[second]).any():
            at = int(is_free.argmax())
            taken.append((int(first[at]), int(second[at])))
            is_new[list(taken[-1])] = False
        if len(taken) == wanted:
            return
        known = {frozenset(pair) for pair in taken}
        for i, j in zip(first.tolist(), second.tolist(), strict=True):
            if len(taken) >= wanted:
                return
            if frozenset((i, j)) not in known:
                taken.append((i, j))

    def _ranked(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return at least `n` pairs by decreasing value, or all that were not asked."""
        if n not in self._by_value:
            flat = self._value.ravel()
            at = np.flatnonzero(flat > max(_lower_bound(flat, n), NOT_ASKED))
            at = at[np.argsort(-flat[at], kind="stable")]
            second, first = np.divmod(at, len(self._value))
            self._by_value[n] = first, second
        return self._by_value[n]


def _lower_bound(flat: Singles, n: int) -> float:
    """Estimate from a sample a value that at least `n` entries exceed, and not many more."""
    if flat.size <= 16 * n:
        return NOT_ASKED
    step = max(1, flat.size // 200_000)
    sample = flat[::step]
    rank = min(len(sample) - 1, 4 * n // step + 4)
    bound = float(-np.partition(-sample, rank)[rank])
    return bound if np.count_nonzero(flat > bound) >= n else NOT_ASKED
