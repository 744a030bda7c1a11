"""The closure of must-links and cannot-links, and the cannot-links that contradict it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from clew.answers import ALL_ALIKE, DIFFERENT, DONT_KNOW, SAME
from clew.constraints._meanings import TRUTH, as_random, distinct_integers, pair_from_rank
from clew.constraints._tables import PARAMETER
from clew.constraints._validation import as_integers
from clew.exceptions import InvalidConstraintsError, InvalidParameterError
from clew.kernels.graphs import component_labels, shortest_path

if TYPE_CHECKING:
    from clew.constraints.constraints import Constraints

#: Number of rows at each end of a long chain that messages show.
SHOWN_AT_EACH_END = 5


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """The pairs that must-links and cannot-links entail.

    Must-links are transitive: rows that a chain of them joins form one component. A cannot-link
    between two rows holds between all rows of their two components. `Constraints.closure` returns
    this; its arrays are read-only.

    Parameters
    ----------
    component : ndarray of shape (n_samples,), int64
        The must-link component of each row, numbered in the order of their smallest rows.
    cannot_link_components : ndarray of shape (m, 2), int64
        Distinct pairs of components with a cannot-link between them, the smaller number first, in
        lexicographic order.
    n_contradicted : int
        Number of cannot-links between two rows of one component, which are ignored;
        `Constraints.conflicts` explains each.

    Attributes
    ----------
    n_components : int
        Number of components; a row without must-links is a component by itself.
    is_consistent : bool
        Whether no cannot-link contradicts the must-links.

    Notes
    -----
    Takes nearly linear time and linear memory in answers and rows: a fraction of a second for a
    million answers about 100,000 rows.

    Examples
    --------
    >>> from clew import Constraints
    >>> c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], cannot_link=[(2, 3)], n_samples=5)
    >>> closure = c.closure()
    >>> closure.is_same(0, 2), closure.is_different(0, 3), closure.is_different(0, 4)
    (True, True, False)
    >>> closure.n_entailed()
    (3, 3)
    """

    component: NDArray[np.int64]
    cannot_link_components: NDArray[np.int64]
    n_contradicted: int = 0
    n_components: int = field(init=False)
    _keys: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.component.flags.writeable = False
        self.cannot_link_components.flags.writeable = False
        n_components = int(self.component.max()) + 1 if self.component.size else 0
        object.__setattr__(self, "n_components", n_components)
        # One number for each pair of components, ascending, for binary search.
        keys = self.cannot_link_components @ np.array([n_components, 1])
        object.__setattr__(self, "_keys", keys)

    @property
    def is_consistent(self) -> bool:
        """Whether no cannot-link contradicts the must-links."""
        return self.n_contradicted == 0

    def is_same(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.bool_] | bool:
        """Whether must-links entail that rows are in the same group.

        Parameters
        ----------
        i, j : int or array-like of int
            Rows; arrays are compared element by element.

        Returns
        -------
        bool, or ndarray of bool for arrays

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range.
        """
        return _plain(self._component_of(i) == self._component_of(j))

    def is_different(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.bool_] | bool:
        """Whether the answers entail that rows differ.

        Parameters
        ----------
        i, j : int or array-like of int
            Rows; arrays are compared element by element.

        Returns
        -------
        bool, or ndarray of bool for arrays

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range.

        Notes
        -----
        A binary search for each pair of rows.
        """
        a, b = self._component_of(i), self._component_of(j)
        low, high = np.minimum(a, b), np.maximum(a, b)
        wanted = low * self.n_components + high
        if self._keys.size == 0:
            return _plain(np.zeros(wanted.shape, dtype=np.bool_))
        at = np.minimum(np.searchsorted(self._keys, wanted), self._keys.size - 1)
        return _plain(self._keys[at] == wanted)

    def n_entailed(self) -> tuple[int, int]:
        """Count the pairs of rows that are entailed to be the same, and to differ.

        Returns
        -------
        n_same, n_different : int
        """
        size = np.bincount(self.component, minlength=self.n_components)
        n_same = int((size * (size - 1) // 2).sum())
        return n_same, int(self._n_parted(size).sum())

    def entailed_pairs(
        self, max_pairs: int | None = None, random_state: int | RandomState | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List the entailed pairs, all of them or a random sample.

        Parameters
        ----------
        max_pairs : int or None, default=None
            If more pairs than this are entailed, a uniform sample of this size, without
            replacement, is returned. None returns all.
        random_state : int, RandomState or None, default=None
            Seed of the sample.

        Returns
        -------
        rows : ndarray of shape (m, 2), int64
            The pairs, the smaller row first: must-links before cannot-links.
        answers : ndarray of shape (m,), int64
            1 same, 0 different.

        Raises
        ------
        InvalidParameterError
            If `max_pairs` is negative.

        Notes
        -----
        Time and memory are linear in rows and in the pairs returned, not in the pairs entailed.
        """
        if max_pairs is not None and max_pairs < 0:
            raise InvalidParameterError(f"max_pairs must not be negative, got {max_pairs}")
        n_same, n_different = self.n_entailed()
        total = n_same + n_different
        if max_pairs is None or total <= max_pairs:
            ranks = np.arange(total)
        else:
            ranks = np.sort(distinct_integers(total, max_pairs, as_random(random_state)))
        same, different = ranks[ranks < n_same], ranks[ranks >= n_same] - n_same
        rows = np.concatenate([self._same_pairs(same), self._different_pairs(different)])
        answers = np.repeat([SAME, DIFFERENT], [same.size, different.size])
        return np.sort(rows, axis=1), answers

    def _component_of(self, rows: ArrayLike) -> NDArray[np.int64]:
        index = as_integers(rows, "rows")
        outside = (index < 0) | (index >= self.component.size)
        if outside.any():
            raise InvalidConstraintsError(
                f"row {index[outside].flat[0]} is out of range; n_samples is {self.component.size}"
            )
        return np.asarray(self.component[index])

    def _members(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows sorted by component, and the start and size of each component."""
        size = np.bincount(self.component, minlength=self.n_components)
        return np.argsort(self.component, kind="stable"), np.cumsum(size) - size, size

    def _n_parted(self, size: NDArray[np.int64]) -> NDArray[np.int64]:
        a, b = self.cannot_link_components.T
        return np.asarray(size[a] * size[b], dtype=np.int64)

    def _same_pairs(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        members, start, size = self._members()
        ends = np.cumsum(size * (size - 1) // 2)
        which = np.searchsorted(ends, ranks, side="right")
        low, high = pair_from_rank(ranks - np.concatenate([[0], ends])[which])
        return np.column_stack([members[start[which] + low], members[start[which] + high]])

    def _different_pairs(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        members, start, size = self._members()
        ends = np.cumsum(self._n_parted(size))
        which = np.searchsorted(ends, ranks, side="right")
        a, b = self.cannot_link_components[which].T
        in_a, in_b = np.divmod(ranks - np.concatenate([[0], ends])[which], size[b])
        return np.column_stack([members[start[a] + in_a], members[start[b] + in_b]])


def _plain(result: NDArray[np.bool_]) -> NDArray[np.bool_] | bool:
    return bool(result) if np.ndim(result) == 0 else result


def close(n_samples: int, must_link: NDArray[np.int64], cannot_link: NDArray[np.int64]) -> Closure:
    """Compute the closure of pairs of rows."""
    component = component_labels(n_samples, must_link)
    parted = np.sort(component[cannot_link], axis=1)
    contradicted = parted[:, 0] == parted[:, 1]
    n_components = int(component.max()) + 1 if n_samples else 0
    # np.unique is several times faster for numbers than for rows of a matrix.
    keys = np.unique(parted[~contradicted] @ np.array([n_components, 1]))
    pairs = np.column_stack(np.divmod(keys, max(n_components, 1)))
    return Closure(component, pairs.astype(np.int64), int(contradicted.sum()))


def implied_partition(known: Constraints) -> NDArray[np.int64] | None:
    """Return the only groups (n_samples,) that answers allow; None if not exactly one."""
    used = known.select(**{
        PARAMETER[table.kind]: (table.weights > 0) & (table.answers != DONT_KNOW)
        for table in known.tables
    })  # fmt: skip
    for table in (used.tables[0], used.as_pairs().tables[0]):
        is_same = table.answers == SAME
        closure = close(known.n_samples, table.rows[is_same], table.rows[~is_same])
        n = closure.n_components
        if closure.is_consistent and len(closure.cannot_link_components) == n * (n - 1) // 2:
            return closure.component if _agree(closure.component, used) else None
    return None


def _agree(groups: NDArray[np.int64], known: Constraints) -> bool:
    """Whether no answer about three rows contradicts the groups."""
    for table in known.tables[1:]:
        truth = TRUTH[table.kind](groups, table.rows)
        if ((truth != DONT_KNOW) & (truth != table.answers)).any():
            return False
        # Rows of three groups do not decide which is odd, but they are not all alike.
        if table.kind == "odd_one_out" and (
            ((truth == DONT_KNOW) & (table.answers == ALL_ALIKE)).any()
        ):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Conflict:
    """A cannot-link between two rows that a chain of must-links joins.

    Parameters
    ----------
    pair : tuple of int
        The cannot-linked rows, the smaller first.
    index : int
        Position of the cannot-link in `Constraints.pairs`.
    chain : tuple of int
        Rows from one end of the pair to the other, each must-linked to the next; a shortest such
        chain. If the pair has a must-link as well, the chain is the pair.
    names : tuple of hashable, default=()
        The ids of the rows of the chain; empty if ids are not known.

    Examples
    --------
    >>> from clew import Constraints
    >>> c = Constraints.from_pairs(must_link=[(3, 5), (5, 9)], cannot_link=[(9, 3)], n_samples=10)
    >>> (conflict,) = c.conflicts()
    >>> print(conflict)
    rows 3 and 9 have a cannot-link, but must-links join them: 3 = 5 = 9
    """

    pair: tuple[int, int]
    index: int
    chain: tuple[int, ...]
    names: tuple[Hashable, ...] = ()

    def __str__(self) -> str:
        shown = list(map(repr, self.names or self.chain))
        ends = f"{shown[0]} and {shown[-1]}"
        if len(shown) > 2 * SHOWN_AT_EACH_END + 1:
            n_hidden = len(shown) - 2 * SHOWN_AT_EACH_END
            shown[SHOWN_AT_EACH_END:-SHOWN_AT_EACH_END] = [f"... {n_hidden} more ..."]
        what = "" if self.names else "rows "
        return f"{what}{ends} have a cannot-link, but must-links join them: {' = '.join(shown)}"


def find_conflicts(
    n_samples: int,
    pairs: NDArray[np.int64],
    answers: NDArray[np.int64],
    ids: tuple[Hashable, ...] | None = None,
) -> list[Conflict]:
    """Find the cannot-links within a must-link component, in order of arrival, and their chains."""
    must_link = pairs[answers == SAME]
    component = component_labels(n_samples, must_link)
    joined = component[pairs[:, 0]] == component[pairs[:, 1]]
    contradicted = np.flatnonzero(joined & (answers == DIFFERENT))
    if contradicted.size == 0:
        return []
    indptr, indices = neighbor_lists(n_samples, must_link)
    visits = np.full(n_samples, -1, dtype=np.int64)
    before = np.empty(n_samples, dtype=np.int64)
    queues = np.empty((2, n_samples), dtype=np.int64)
    conflicts = []
    for search, index in enumerate(contradicted.tolist()):
        i, j = pairs[index].tolist()
        chain = shortest_path(indptr, indices, i, j, visits, before, queues, 2 * search)
        rows = tuple(chain.tolist())
        names = () if ids is None else tuple(ids[row] for row in rows)
        conflicts.append(Conflict((i, j), index, rows, names))
    return conflicts


def neighbor_lists(
    n_nodes: int, edges: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make CSR lists of the neighbors of each node, sorted, repeats merged."""
    ends = np.concatenate([edges, edges[:, ::-1]])
    graph = csr_array(
        (np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes)
    )
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
