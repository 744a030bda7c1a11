"""Which pairs to ask: those whose answers are expected to improve the subclusters most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from clew.answers import Question
from clew.questions._batch import Batch
from clew.questions._known import KnownPairs
from clew.questions._log import Key, key_of
from clew.questions.active_subclustering._state import State

__all__ = ["chosen_questions", "ranked_members"]

Floats = NDArray[np.float64]
#: Number of rows of a subcluster that are used in questions about it.
N_USED = 6
#: Number of questions that are ranked at first: the first number, plus the second for each wanted
#: question.
N_RANKED, RANKED_EACH = 64, 8


def ranked_members(state: State, same: Floats) -> NDArray[np.int64]:
    """Return the places of the listed rows of each subcluster, the most probable first.

    Rows that are more probable in another subcluster come later. Rows that answers have made
    improbable in this subcluster come last.
    """
    same = np.where((state.row_votes < 0) & (same < 0.5), 0.0, same)
    highest = np.zeros(len(state.owner))
    np.maximum.at(highest, state.lists.rows, same)
    is_own = (same >= highest[state.lists.rows]) & (same > 0)
    return np.argsort(-(same + is_own), axis=1, kind="stable")


def chosen_questions(
    state: State, known: KnownPairs, n: int, pending: Sequence[Question]
) -> list[Question]:
    """Return at most `n` questions, the most valuable first.

    Parameters
    ----------
    state : State
        The subclusters.
    known : KnownPairs
        What answers imply.
    n : int
        Number of questions.
    pending : sequence of Question
        Questions that other people are answering.

    Returns
    -------
    list of Question
    """
    value, wanted = _values(state), RANKED_EACH * n + N_RANKED
    asker = _Asker(state, known, pending)
    while True:
        order = _best(value, wanted)
        found = asker.pick(order, n)
        if len(found) == n or len(order) < wanted:
            return found
        wanted *= 8


def _best(value: Floats, n: int) -> NDArray[np.int64]:
    """Return the positions of the `n` largest positive values, in decreasing order."""
    at = np.flatnonzero(value > 0)
    if len(at) > n:
        bound = np.partition(value[at], len(at) - n)[len(at) - n]
        at = at[value[at] >= bound]
    return at[np.lexsort((at, -value[at]))][:n]


def _values(state: State) -> Floats:
    """Return the values of all questions: about two subclusters, then about rows of one."""
    size = state.start.size
    between, same = state.center_probabilities(), state.row_probabilities()
    worth = state.gain * np.triu(between, 1)
    most = state.most_answers
    for at, votes in enumerate(state.votes):
        for other, (_, n) in votes.subclusters.items():
            if n >= most:
                worth[at, other] = worth[other, at] = 0.0
    stays = 1 - between.max(axis=1, initial=0.0)
    within = np.zeros(same.shape)
    if size > 1:
        place = ranked_members(state, same)[:, : size - 1]
        doubt = (1 - np.take_along_axis(same, place, 1)) * (2 / size) * stays[:, None]
        np.put_along_axis(within, place, doubt, 1)
        within[state.n_row_votes >= most] = 0.0
        if not state.is_checking:
            within[state.owner[state.lists.rows] >= 0] = 0.0
    _add_values_of_checks(state, worth, within)
    return np.concatenate([worth.ravel(), within.ravel()])


def _add_values_of_checks(state: State, worth: Floats, within: Floats) -> None:
    """Raise the value of questions about further rows of two subclusters called the same.

    Further rows are needed if all pairs of the present rows were asked: then only a pair with a
    further row can check the answer "same".
    """
    for at, votes in enumerate(state.votes):
        for other, (vote, n) in votes.subclusters.items():
            if vote > 0 and worth[at, other] > 0 and n >= _n_pairs(state, at, other):
                for each in sorted((at, other), key=lambda one: len(state.members[one])):
                    place = state.place_of_next(each)
                    if place is not None:
                        within[each, place] = max(within[each, place], worth[at, other])
                        break


def _n_pairs(state: State, a: int, b: int) -> int:
    return min(len(state.members[a]), N_USED) * min(len(state.members[b]), N_USED)


class _Asker:
    """Makes questions from their values, without those that answers or the batch imply."""

    def __init__(self, state: State, known: KnownPairs, pending: Sequence[Question]) -> None:
        self._state, self._known = state, known
        self._taken = {key_of(question) for question in pending}
        self._pending = pending

    def pick(self, order: NDArray[np.int64], n: int) -> list[Question]:
        found: list[Question] = []
        taken, batch = set(self._taken), Batch(self._known, self._pending)
        for at in order:
            if len(found) == n:
                break
            pair = self._pair(int(at), taken, batch)
            if pair is not None:
                found.append(Question("pair", pair))
                taken.add(key_of(found[-1]))
        return found

    def _pair(self, at: int, taken: set[Key], batch: Batch) -> tuple[int, int] | None:
        """Return a pair of rows for a question, or None."""
        check = None
        for pair in self._pairs(at):
            rows = min(pair), max(pair)
            key = ("pair", rows)
            if key in taken or key in self._known.asked or rows in self._known.votes:
                continue
            if self._known.is_unknown(np.array([pair]))[0]:
                if batch.accept(*pair):
                    return pair
            elif check is None:
                check = pair
        return check if self._state.is_checking else None

    def _pairs(self, at: int) -> Iterator[tuple[int, int]]:
        members, k = self._state.members, self._state.n_clusters
        if at < k * k:
            a, b = divmod(at, k)
            return ((i, j) for i in members[a][:N_USED] for j in members[b][:N_USED])
        rows = self._state.lists.rows
        a, place = divmod(at - k * k, rows.shape[1])
        row = int(rows[a, place])
        return ((i, row) for i in members[a][:N_USED] if i != row)
