"""The choice of questions: those whose answers are expected to be most informative."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from clew.answers import AUTO_KINDS, QUESTION_KINDS, Kind, Question, SecondsModel
from clew.exceptions import InvalidParameterError
from clew.kernels.partitions.pairs import question_values
from clew.questions._answers import Key, key_of
from clew.questions._group_questions import (
    Fragments,
    Ranked,
    chosen_apart,
    confirm_questions,
    which_of_questions,
)
from clew.questions.guided._posterior import CORE, SameProbabilities, Singles

#: Power of the smaller core's size in the value of a question.
SIZE_POWER = 0.1
#: Power of the sizes of both cores without features: an answer about large ones settles more pairs.
ANSWERS_SIZE_POWER = 0.5
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
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: How three rows i, j, k can be grouped: all in one group, one of them apart, all apart.
STATES = ("ijk", "jk|i", "ik|j", "ij|k", "i|j|k")
#: True answer in each state: a column of the answers below, or -1 for don't-know.
ANSWER_OF_STATE = {"odd_one_out": (3, 0, 1, 2, -1), "triplet": (-1, -1, 1, 0, -1)}
N_ANSWERS = {"odd_one_out": 4, "triplet": 2}
#: Weight of the pairs "same" and "different" that an answer about three rows implies. Evidence
#: for the pairs adds up; with these weights it is about that of one answer.
EVIDENCE = {"pair": (1.0, 1.0), "triplet": (0.75, 0.75), "odd_one_out": (1.0, 0.5)}
#: Weight of the three pairs that "none differs" implies.
NONE_DIFFERS_EVIDENCE = 0.5
#: Pairs that are completed to three rows, and third rows for each.
N_PAIRS, N_THIRDS = 300, 4
PROBABILITIES = (1e-6, 1 - 1e-6)


class Triple(NamedTuple):
    """A question about three rows, and its value."""

    value: float
    kind: Kind
    rows: tuple[int, int, int]


class Candidates:
    """All pairs, ranked by the information in their answers, given the answers so far.

    `log_odds` (n_rows, n_rows) from features break ties in favor of near pairs of typical rows.
    Unless `has_features`, all are equal, and values are multiplied by a power of the sizes of both
    cores. `labels` (n_rows,) are groups; `taken` (n_rows, n_rows), symmetric, were asked before.
    """

    def __init__(
        self,
        same: SameProbabilities,
        log_odds: Singles,
        labels: NDArray[np.int64],
        taken: NDArray[np.bool_],
        error: float,
        has_features: bool = True,
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
        self._size_factor: Singles | None = None
        if not has_features:
            power = size ** np.float32(ANSWERS_SIZE_POWER)
            self._size_factor = np.where(self._core, power[:, None], power[:, None] * power)
            np.multiply(self._value, self._size_factor, out=self._value, where=self._value > 0)

    def best(self, n: int, pending: Iterable[Pair] = ()) -> list[Pair]:
        """At most `n` pairs, best first; no row and no two cores twice, `pending` included."""
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

        No two, `pending` included, are about the same cores while others are left; none in `asked`.
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
            rate = discount / seconds.pair
            ranked += [
                Ranked(rate * self._information(i, j), Question("pair", (i, j)))
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

    def _information(self, i: int, j: int) -> float:
        """Return the value of a pair, comparable with those of other kinds of questions."""
        value = float(self._value[j, i])
        if self._size_factor is None or value <= 0:
            return value
        return value / float(self._size_factor[j, i])

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


def checked_kinds(
    kinds: str | Sequence[str], seconds: Mapping[str, float] | SecondsModel | None
) -> tuple[tuple[Kind, ...], SecondsModel]:
    """Check `kinds` and `seconds` of `Guided`; "auto" stands for `AUTO_KINDS`."""
    names = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    names = AUTO_KINDS if names == ("auto",) else names
    if not names or any(name not in QUESTION_KINDS for name in names):
        raise InvalidParameterError(
            f"Guided(kinds={kinds!r}): kinds must be 'auto', or one or more of "
            f"{', '.join(QUESTION_KINDS)}"
        )
    if isinstance(seconds, SecondsModel):
        model = seconds
    else:
        try:
            model = SecondsModel(**(seconds or {}))
        except TypeError as error:
            raise InvalidParameterError(
                f"Guided(seconds={seconds!r}): seconds must be a SecondsModel, or map its "
                "parameters, such as 'pair' and 'odd_one_out', to seconds"
            ) from error
    return tuple(kind for kind in QUESTION_KINDS if kind in names), model


def joint_probabilities(ij: Floats, ik: Floats, jk: Floats) -> Floats:
    """Probabilities, (n, 5), of all together; i, j or k apart; all apart, if transitive."""
    weight = np.stack(
        (
            ij * ik * jk,
            jk * (1 - ij) * (1 - ik),
            ik * (1 - ij) * (1 - jk),
            ij * (1 - ik) * (1 - jk),
            (1 - ij) * (1 - ik) * (1 - jk),
        ),
        axis=1,
    )
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def triple_information(states: Floats, kind: Kind, error: float) -> Floats:
    """Information, in nats, (n,), of answers; all wrong ones are as likely; states (n, 5)."""
    n_answers = N_ANSWERS[kind]
    given = np.zeros((len(STATES), n_answers))
    for state, answer in enumerate(ANSWER_OF_STATE[kind]):
        given[state] = error / n_answers
        if answer >= 0:
            given[state] = error / (n_answers - 1)
            given[state, answer] = 1 - error
    answers = states @ given
    return np.asarray(
        states @ xlogy(given, given).sum(axis=1) - xlogy(answers, answers).sum(axis=1)
    )


def best_triples(
    same: Singles, value: Singles, weight: Singles, kinds: tuple[Kind, ...], error: float
) -> list[Triple]:
    """Complete the best pairs to three rows, none asked, and rank them by information and weight.

    `value` (n_rows, n_rows) is below the diagonal, negative where none can be asked.
    """
    rows = _completed(value)
    if len(rows) == 0:
        return []
    least = weight[rows].min(axis=1)
    found = []
    for kind in kinds:
        for order in [[0, 1, 2]] if kind == "odd_one_out" else [[0, 1, 2], [1, 0, 2], [2, 0, 1]]:
            a, b, c = rows[:, order].T
            near = (same[u, v].astype(float) for u, v in ((a, b), (a, c), (b, c)))
            states = joint_probabilities(*(np.clip(p, *PROBABILITIES) for p in near))
            gain = triple_information(states, kind, error) * least
            found += [
                Triple(float(gain[at]), kind, (int(a[at]), int(b[at]), int(c[at])))
                for at in range(len(rows))
            ]
    return sorted(found, key=lambda triple: (-triple.value, triple.kind, triple.rows))


def _completed(value: Singles) -> Ints:
    """Add third rows to the best pairs: those whose pairs with both are the most valuable."""
    n = len(value)
    flat = value.ravel()
    n_best = min(N_PAIRS, flat.size - 1)
    best = np.argpartition(-flat, n_best)[:n_best] if n_best else np.arange(flat.size)
    best = best[flat[best] > 0]
    found = set()
    for i, j in zip(*np.divmod(best, n), strict=True):
        with_both = [np.maximum(value[row], value[:, row]) for row in (i, j)]
        total = with_both[0] + with_both[1]
        total[np.minimum(*with_both) < 0] = -np.inf
        thirds = np.argsort(-total, kind="stable")[:N_THIRDS]
        found |= {tuple(sorted((int(i), int(j), int(k)))) for k in thirds if np.isfinite(total[k])}
    return np.array(sorted(found), np.int64).reshape(-1, 3)
