"""Cannot-links that contradict must-links, each with the shortest chain of must-links."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.answers import DIFFERENT, SAME
from clew.kernels.disjoint_sets import component_labels
from clew.kernels.shortest_paths import shortest_path

__all__ = ["Conflict", "find_conflicts", "neighbor_lists"]

#: Number of rows at each end of a long chain that messages show.
SHOWN_AT_EACH_END = 5


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
    """Make CSR lists of the neighbors of each node, sorted, repeats merged.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    edges : ndarray of shape (m, 2), int64
        Pairs of joined nodes, each in one direction or in both.

    Returns
    -------
    indptr : ndarray of shape (n_nodes + 1,), int64
        Start and end of the list of each node.
    indices : ndarray, int64
        The concatenated lists.
    """
    ends = np.concatenate([edges, edges[:, ::-1]])
    graph = csr_array(
        (np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes)
    )
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
