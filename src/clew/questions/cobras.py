"""COBRA and COBRAS: super-instances, which answers merge, and split where they are impure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import one_blas_thread
from clew._validation import Allowed, RandomState
from clew.cluster._kmeans import kmeans
from clew.cluster.linkage.hacc import Edges, edges_in_order, euclidean, given
from clew.graphs import DistanceSpace
from clew.questions._pair_order import Representatives, in_blocks
from clew.questions._strategy import PairStrategy


class COBRA(PairStrategy):
    """Divides rows into small groups (super-instances), and asks which of them are the same.

    Pairs of super-instances are compared by their representatives, the nearest pair first, unless
    earlier answers imply the answer. It needs no number of groups and few questions, but rows of
    one super-instance are never separated.

    Parameters
    ----------
    n_super_instances : int, default=25
        Number of super-instances; all rows if there are fewer.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of the super-instances.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    Super-instances are the groups of k-means, and their representatives the rows nearest to the
    means; for distances, those of k-medoids. When all representatives are compared, `ask`
    returns nothing. Probabilities given to `start` are not used.

    A question takes at most O(m²) for m super-instances; memory 2·m² bytes.

    References
    ----------
    T. Van Craenendonck, S. Dumančić and H. Blockeel, "COBRA: a fast and simple method for active
    clustering with pairwise constraints", IJCAI 2017.

    Examples
    --------
    >>> from clew.questions import COBRA
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]]
    >>> strategy = COBRA(3, random_state=0).start(X)
    >>> len(strategy.ask(5)), strategy.labels().tolist()
    (2, [0, 0, 1, 1, 2, 2])
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_super_instances": Allowed(kind=int, low=1, high=ALL_PAIRS_ROWS),
        "metric": Allowed(names=("euclidean", "precomputed")),
    }

    _parts: Representatives
    _edges: Edges

    def __init__(
        self,
        n_super_instances: int = 25,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.n_super_instances = n_super_instances
        self.metric = metric
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        n_parts = min(self.n_super_instances, len(X))
        self._parts = Representatives.of(X, self.metric, n_parts, self._seed)
        data = self._parts.data(X, self.metric)
        distances = given(data) if self.metric == "precomputed" else euclidean(data)
        self._edges = edges_in_order(distances, len(data))

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        return (self._parts.rows[pairs] for pairs in in_blocks(self._edges))

    def _group(self) -> NDArray[np.int64]:
        component = self.known.closure.component
        return np.asarray(component[self._parts.rows[self._parts.number]])


Integers = NDArray[np.int64]
#: Takes two rows; returns 1 for the same, -1 for different, 0 if that is not known.
Relation = Callable[[int, int], int]


class COBRAS(PairStrategy):
    """Splits the largest super-instance, and asks which of the parts belong together.

    All rows are one super-instance at first. To find how far to split the largest one, it is halved
    until the representatives of two halves are the same; it is then split into as many parts. The
    nearest groups of super-instances are compared and merged, as in `COBRA`, and the next one is
    split. It needs no number of groups.

    Parameters
    ----------
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of the splits by k-means.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    Distances are turned into principal coordinates. For each question, splits and merges are
    replayed from the answers; each split is computed once. Probabilities given to `start` are not
    used.

    References
    ----------
    T. Van Craenendonck, S. Dumančić, E. Van Wolputte and H. Blockeel, "COBRAS: interactive
    clustering with pairwise queries", IDA 2018.

    Examples
    --------
    >>> from clew.questions import COBRAS
    >>> strategy = COBRAS(random_state=0).start([[0.0], [0.1], [5.0], [5.1]])
    >>> len(strategy.ask())
    1
    """

    _allowed: ClassVar[dict[str, Any]] = {"metric": Allowed(names=("euclidean", "precomputed"))}

    _points: NDArray[np.float64]
    _splits: dict[tuple[bytes, int], list[Integers]]

    def __init__(
        self,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.metric = metric
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        is_given = self.metric == "precomputed"
        self._points = DistanceSpace.fit(X, self._seed).transform(X) if is_given else X
        self._splits = {}

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        for question in self._walk([np.arange(self.n_samples_)], {}):
            yield np.array([question])

    def _group(self) -> NDArray[np.int64]:
        parts, cluster = [np.arange(self.n_samples_)], dict[int, int]()
        for _ in self._walk(parts, cluster):
            pass
        labels = np.empty(self.n_samples_, np.int64)
        for rows in parts:
            labels[rows] = cluster.get(self._center(rows), 0)  # no answer: all rows are one group
        return labels

    def _walk(self, parts: list[Integers], cluster: dict[int, int]) -> Iterator[tuple[int, int]]:
        """Split and merge as far as answers are known, then return the pairs to ask about."""
        component, is_apart = self.known.closure.component, self.known.apart()
        asked = {rows for kind, rows in self.known.asked if kind == "pair"}

        def relation(i: int, j: int) -> int:
            """Return 1 for the same, -1 for different or if nobody knew, 0 if not asked."""
            if component[i] == component[j]:
                return 1
            is_asked = (min(i, j), max(i, j)) in asked
            return -1 if is_asked or is_apart[component[i], component[j]] else 0

        while True:
            largest = max(range(len(parts)), key=lambda k: (len(parts[k]), -k))
            if len(parts[largest]) == 1:
                return
            level = self._split_level(parts[largest], relation)
            if isinstance(level, tuple):
                yield level
                return
            rows = parts.pop(largest)
            cluster.pop(self._center(rows), None)
            new = self._split(rows, 2**level)
            parts += new
            fresh = max(cluster.values(), default=-1) + 1
            cluster.update({self._center(rows): fresh + k for k, rows in enumerate(new)})
            questions = list(self._merge(cluster, relation))
            yield from questions
            if questions:
                return

    def _split_level(self, rows: Integers, relation: Relation) -> int | tuple[int, int]:
        """Return how often to halve a super-instance, or the pair whose answer is needed first."""
        level = 0
        while len(rows) > 1:
            halves = self._split(rows, 2)
            pair = (self._center(halves[0]), self._center(halves[1]))
            known = relation(*pair)
            if known == 0:
                return pair
            if known == 1:
                break
            level += 1
            rows = halves[self._seed % 2]
        return max(level, 1)

    def _merge(self, cluster: dict[int, int], relation: Relation) -> Iterator[tuple[int, int]]:
        """Merge the nearest groups while answers are known; return pairs without an answer."""
        rows = np.array(list(cluster))
        i, j = np.triu_indices(len(rows), 1)
        distance = ((self._points[rows[i]] - self._points[rows[j]]) ** 2).sum(axis=1)
        for k in np.argsort(distance, kind="stable"):
            a, b = int(rows[i[k]]), int(rows[j[k]])
            if cluster[a] == cluster[b]:
                continue
            known = relation(a, b)
            if known == 1:
                gone = cluster[b]
                cluster.update({r: cluster[a] for r, c in cluster.items() if c == gone})
            elif known == 0 and not any(
                relation(r, s) < 0
                for r in rows[[cluster[x] == cluster[a] for x in rows]].tolist()
                for s in rows[[cluster[x] == cluster[b] for x in rows]].tolist()
            ):
                yield a, b

    def _center(self, rows: Integers) -> int:
        """Return the representative of a super-instance: the row nearest to the mean."""
        apart = self._points[rows] - self._points[rows].mean(axis=0)
        return int(rows[(apart**2).sum(axis=1).argmin()])

    def _split(self, rows: Integers, n_parts: int) -> list[Integers]:
        """Split a super-instance by k-means; every part has a row."""
        k = min(n_parts, len(rows))
        key = (rows.tobytes(), k)
        if key not in self._splits:
            with one_blas_thread():
                run = kmeans(self._points[rows], k, n_init=3, random_state=self._seed)
            found = [rows[run.labels == c] for c in range(k)]
            parts = [part for part in found if len(part)]
            # Equal rows may all be in one group.
            self._splits[key] = parts if len(parts) > 1 else np.array_split(rows, 2)
        return self._splits[key]
