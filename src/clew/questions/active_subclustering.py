"""ActiveSubclustering: questions about a few examples of each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._validation import Allowed, RandomState
from clew.answers import SAME, Answer, Question
from clew.constraints._meanings import implied
from clew.questions._answers import Batch, Key, KnownPairs, key_of
from clew.questions._row_lists import Start, start_from
from clew.questions._strategy import Strategy
from clew.questions._subclusters import Subclusters

__all__ = ["ActiveSubclustering"]


class ActiveSubclustering(Strategy):
    r"""Finds a few pure examples of each of many groups, and corrects them by answers.

    It begins with `clew.cluster.Subclustering`: centers, each with a few rows near it. Two kinds of
    errors are looked for: two centers of one group, and rows of another group than their center.
    If two centers are the same, one of them is replaced by the best candidate; a row that differs
    from its center, by the row that is most probably the same. All other rows of the data are left
    out, and no table of all pairs of rows is made.

    Parameters
    ----------
    n_clusters : int
        Number of subclusters (K).
    size : int, default=10
        Number of rows of each subcluster, its center among them; at most the number of rows of the
        smallest group. It is lowered to ``n_samples // n_clusters`` where there are fewer rows.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    error : float or None, default=None
        Share of wrong answers. None: estimated from the answers. 0: no question is asked whose
        answer follows from others; otherwise such questions check doubtful answers.
    random_state : int, RandomState or None, default=None
        Seed of the candidates and of the search for first centers.
    n_jobs : int or None, default=None
        Number of threads of `start`, as in joblib. The result does not depend on it.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    See Also
    --------
    clew.cluster.Subclustering : The same without answers.
    Guided : Groups all rows.

    Notes
    -----
    The value of a question is the score (SJC, `clew.metrics.subclustering_jaccard`) that its answer
    is expected to add: the probability that two centers are the same, times the expected score of
    the best candidate in place of one; or the probability that a row is wrong, times 2 / `size`,
    times the probability that its center stays. The thesis compares the probabilities alone (eq.
    4.3).

    Log-odds of two centers are a linear function of the log-odds of the share of rows that their
    neighborhoods have in common, and of their distance. Those of a row and a subcluster depend on
    the mean distance to its known rows, and on the ratio of that to the mean distance to the
    nearest other subcluster. The coefficients are refitted after every 32 answers. Each answer
    adds ``log((1 - e) / e)`` for an error rate e. A replaced center's rows remain known: they
    count for the subcluster with which they were merged.

    With N rows, d features, K subclusters and R candidates (4,000 where K is from 160 to 400):
    memory O(R² + N·d + K²·size); a question takes O(K·(R + K·size) + K·size·d) steps at most.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, section 4.3 (Algorithm 3) and appendix 6.3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from clew.metrics import subclustering_jaccard
    >>> from clew.oracles import SimulatedOracle
    >>> from clew.questions import ActiveSubclustering
    >>> X, y = load_digits(return_X_y=True)
    >>> oracle = SimulatedOracle(y, error=0.1, origin="asked", random_state=0)
    >>> strategy = ActiveSubclustering(10, random_state=0).start(X)
    >>> while len(strategy.answers) < 60:
    ...     _ = strategy.tell(oracle.answer_all(strategy.ask(5)))
    >>> strategy.exemplars().shape
    (10, 10)
    >>> subclustering_jaccard(y, strategy.exemplars()) > 0.8
    True
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "size": Allowed(kind=int, low=1),
        "metric": Allowed(names=("euclidean", "precomputed")),
        "error": Allowed(kind=float, low=0, high=0.5, high_open=True, none=True),
    }

    _start: Start
    _state: Subclusters

    def __init__(
        self,
        n_clusters: int,
        *,
        size: int = 10,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        error: float | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.size = size
        self.metric = metric
        self.error = error
        self.random_state = random_state
        self.n_jobs = n_jobs

    def exemplars(self) -> NDArray[np.int64]:
        """Return the rows of each subcluster.

        Returns
        -------
        ndarray of shape (n_clusters, size), int64
            Row numbers: the center first, then the others, the most probable first. No row is in
            two subclusters.
        """
        self._started()
        state, size = self._state, self._start.size
        same = state.row_probabilities()
        place = ranked_members(state, same)
        rows = np.take_along_axis(state.lists.rows, place, 1)
        rank = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
        centers = np.array([group[0] for group in state.members])
        found = [[int(center)] for center in centers]
        is_used = np.zeros(self.n_samples_, np.bool_)
        is_used[centers] = True
        for at in np.lexsort(
            (-np.take_along_axis(same, place, 1).ravel(), rank.ravel() >= size - 1)
        ):
            subcluster, p = divmod(int(at), rows.shape[1])
            row = int(rows[subcluster, p])
            if len(found[subcluster]) < size and not is_used[row]:
                found[subcluster].append(row)
                is_used[row] = True
        free = iter(np.flatnonzero(~is_used).tolist())
        for group in found:
            group += [next(free) for _ in range(size - len(group))]
        return np.array(found, np.int64)

    def error_rate(self) -> float:
        """Return the estimated share of wrong answers, or `error` if it was given.

        Returns
        -------
        float
        """
        self._started()
        return float(self._state.error if self.error is None else self.error)

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        size = min(self.size, len(X) // self.n_clusters)
        self._start = start_from(X, self.metric, self.n_clusters, size, self.n_jobs, self._seed)

    def _forget(self) -> None:
        self._state = Subclusters(self._start, self.error)

    def _learn(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            if answer.is_dont_know or answer.weight == 0:
                continue
            rows = answer.question.rows
            for i, j, said in implied(answer):
                vote = answer.weight if said == SAME else -answer.weight
                self._state.learn(rows[i], rows[j], vote)

    def _choose(self, n: int, pending: Sequence[Question]) -> list[Question]:
        return chosen_questions(self._state, self.known, n, pending)

    def _group(self) -> NDArray[np.int64]:
        labels = np.full(self.n_samples_, -1, np.int64)
        exemplars = self.exemplars()
        labels[exemplars] = np.arange(len(exemplars))[:, None]
        return labels


Floats = NDArray[np.float64]
#: Number of rows of a subcluster that are used in questions about it.
N_USED = 6
#: Number of questions that are ranked at first: the first number, plus the second for each wanted
#: question.
N_RANKED, RANKED_EACH = 64, 8


def ranked_members(state: Subclusters, same: Floats) -> NDArray[np.int64]:
    """Return the places of the listed rows of each subcluster, the most probable first."""
    same = np.where((state.row_votes < 0) & (same < 0.5), 0.0, same)
    highest = np.zeros(len(state.owner))
    np.maximum.at(highest, state.lists.rows, same)
    is_own = (same >= highest[state.lists.rows]) & (same > 0)
    return np.argsort(-(same + is_own), axis=1, kind="stable")


def chosen_questions(
    state: Subclusters, known: KnownPairs, n: int, pending: Sequence[Question]
) -> list[Question]:
    """Return at most `n` questions, the most valuable first."""
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


def _values(state: Subclusters) -> Floats:
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


def _add_values_of_checks(state: Subclusters, worth: Floats, within: Floats) -> None:
    """Further rows matter more once all pairs of the present rows of a "same" were asked."""
    for at, votes in enumerate(state.votes):
        for other, (vote, n) in votes.subclusters.items():
            if vote > 0 and worth[at, other] > 0 and n >= _n_pairs(state, at, other):
                for each in sorted((at, other), key=lambda one: len(state.members[one])):
                    place = state.place_of_next(each)
                    if place is not None:
                        within[each, place] = max(within[each, place], worth[at, other])
                        break


def _n_pairs(state: Subclusters, a: int, b: int) -> int:
    return min(len(state.members[a]), N_USED) * min(len(state.members[b]), N_USED)


class _Asker:
    """Makes questions from their values, without those that answers or the batch imply."""

    def __init__(self, state: Subclusters, known: KnownPairs, pending: Sequence[Question]) -> None:
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
