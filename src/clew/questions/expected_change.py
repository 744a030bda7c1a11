"""ExpectedChange (Active-HACC): the pair whose answer changes the clustering most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._limits import ALL_PAIRS_ROWS
from clew._random import RandomState
from clew._validation import Allowed
from clew.answers import Answer, Question
from clew.exceptions import InvalidParameterError
from clew.questions._batch import Batch
from clew.questions._changes import Changes
from clew.questions._known import KnownPairs
from clew.questions._pair_order import PairOrder, pair_probabilities
from clew.questions._representatives import Representatives
from clew.questions._strategy import Strategy

__all__ = ["ExpectedChange"]

N_REPRESENTATIVES = 2_000


class ExpectedChange(Strategy):
    """Asks about the pair whose answer changes the groups of `HACC` most, in expectation.

    The expected change of a pair is the probability that its answer differs from the present
    groups, times 1 - Jaccard's coefficient of the groups with and without that answer. It is
    computed exactly for all pairs that the answers do not imply (Active-HACC).

    Parameters
    ----------
    n_clusters : int, default=2
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    skip_below : float, default=0.0
        Must-links of less probable pairs count as no change: heuristic H1 of the thesis, with 0.1
        in the thesis. Only for comparisons.
    local : bool, default=False
        Whether the merges after the answer are assumed to stay the same: heuristic H2 of the
        thesis. A cannot-link then only undoes the merge that it forbids, and a must-link joins the
        two groups, or the two nodes if cannot-links separate the groups. Only for comparisons.
    n_representatives : int or None, default=None
        Number of representative rows that are asked about and clustered; every other row gets the
        group of its representative. None: all rows up to 5,000 rows, and 2,000 representatives
        above.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The questions do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the clusterings from which probabilities are computed, and of representatives.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range, or there are more groups than
        representatives, or more than 5,000 of these.

    See Also
    --------
    MostProbable : Needs fewer questions until the groups are nearly perfect.

    Notes
    -----
    The questions of a batch are about different pairs of groups. If cannot-links prevent
    `n_clusters` groups, there are more, without a warning.

    Pairs whose answers change the groups in the same way form a block. For a cannot-link within a
    group, the block is that of the merge that it forbids. For a must-link between two groups
    without a cannot-link, the change has a closed form. For a must-link against cannot-links, the
    block is that of the first merge that it forbids. From each block, the pair with the highest
    probability of a change is taken. The merges after its answer are replayed only if that
    probability exceeds the best expected change so far. A replay begins at the first merge that
    differs, and skips components that stay the same.

    A question takes O(n²) time and O(n) replays; with many cannot-links, O(m) replays for m
    answers. Memory 9·n² bytes for n rows or representatives.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, chapter 3, equations 3.4 to 3.8. A. Biswas and D.
    Jacobs, "Active image clustering: seeking constraints from humans to complement algorithms",
    CVPR 2012.

    Examples
    --------
    >>> from clew.questions import ExpectedChange
    >>> X = [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]
    >>> strategy = ExpectedChange(2, random_state=0).start(X)
    >>> len(strategy.ask())
    1
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "metric": Allowed(names=("euclidean", "precomputed")),
        "skip_below": Allowed(kind=float, low=0, high=1),
        "local": Allowed(kind=bool),
        "n_representatives": Allowed(kind=int, low=2, high=ALL_PAIRS_ROWS, none=True),
    }

    _items: Representatives
    _order: PairOrder
    _known_items: KnownPairs
    _removed: dict[tuple[int, int], float]

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        skip_below: float = 0.0,
        local: bool = False,
        n_representatives: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.skip_below = skip_below
        self.local = local
        self.n_representatives = n_representatives
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        n = len(X)
        wanted = self.n_representatives or (n if n <= ALL_PAIRS_ROWS else N_REPRESENTATIVES)
        self._items = Representatives.of(X, self.metric, min(wanted, n), self._seed)
        if self.n_clusters > len(self._items.rows):
            raise InvalidParameterError(
                f"ExpectedChange(n_clusters={self.n_clusters}): there are only "
                f"{len(self._items.rows)} representatives"
            )
        data = self._items.data(X, self.metric)
        if probabilities is not None and len(data) < n:
            probabilities = np.asarray(probabilities)[np.ix_(self._items.rows, self._items.rows)]
        P = pair_probabilities(data, self.metric, self.n_clusters, probabilities, self._seed)
        self._order = PairOrder.of(data, self.metric, P)
        self._removed = {}

    def _forget(self) -> None:
        P = self._order.probabilities
        for (i, j), value in self._removed.items():
            P[i, j] = P[j, i] = value
        self._removed = {}
        self._known_items = self._items.known()

    def _learn(self, answers: Sequence[Answer]) -> None:
        self._known_items.add(answers)
        P = self._order.probabilities
        for answer in answers:
            if answer.question.kind == "pair":
                i, j = self._items.number[list(answer.question.rows)].tolist()
                self._removed.setdefault((min(i, j), max(i, j)), float(P[i, j]))
                P[i, j] = P[j, i] = np.nan

    def _choose(self, n: int, pending: Sequence[Question]) -> list[Question]:
        batch, chosen = Batch(self.known, pending), list[Question]()
        changes = Changes(
            self._order.probabilities, self._order.edges, self._items.size,
            self._known_items.closure, self.n_clusters,
            skip_below=self.skip_below, is_local=self.local, n_jobs=self.n_jobs,
        )  # fmt: skip
        taken = {changes.groups_of(self._items.number[list(q.rows[:2])]) for q in pending}
        for change in changes.best_first():
            i, j = sorted(self._items.rows[list(change.rows)].tolist())
            if change.groups not in taken and batch.accept(i, j):
                taken.add(change.groups)
                chosen.append(Question("pair", (i, j)))
            if len(chosen) == n or batch.is_full():
                break
        return chosen

    def _group(self) -> NDArray[np.int64]:
        found = self._order.groups(self._known_items.closure, self.n_clusters)
        return np.asarray(found[self._items.number])
