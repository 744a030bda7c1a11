"""Error messages for cannot-links that no assignment keeps, and what the messages need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clew.exceptions import InfeasibleConstraintsError
from clew.kernels.coloring import color_connected, peeling_rounds, place_in_order

__all__ = ["assignment_not_found", "largest_clique", "no_assignment", "sufficient_n_groups"]

#: Number of nodes from which a clique is grown.
N_STARTS = 50
#: Maximum number of rows that a message names.
N_NAMED = 10


def largest_clique(
    nodes: NDArray[np.int64], indptr: NDArray[np.int64], indices: NDArray[np.int64], enough: int
) -> NDArray[np.int64]:
    """Search greedily for a large clique: nodes of which every two are neighbors.

    Parameters
    ----------
    nodes : ndarray, int64
        The nodes to search.
    indptr, indices : ndarray, int64
        Neighbors of each node, as in a CSR matrix.
    enough : int
        The search stops at a clique of this size.

    Returns
    -------
    ndarray, int64
        The largest clique found, of at most `enough` nodes.
    """
    inside = set(nodes.tolist())
    joined = {
        node: inside.intersection(indices[indptr[node] : indptr[node + 1]].tolist())
        for node in inside
    }
    best: list[int] = []
    for start in sorted(inside, key=lambda node: (-len(joined[node]), node))[:N_STARTS]:
        clique, left = [start], joined[start]
        while left and len(clique) < enough:
            # Sorted, because the order of a set is not reproducible.
            node = max(sorted(left), key=lambda node: len(joined[node] & left))
            clique.append(node)
            left = left & joined[node]
        best = max(best, clique, key=len)
        if len(best) == enough:
            break
    return np.array(best, dtype=np.int64)


def sufficient_n_groups(
    parts: Sequence[NDArray[np.int64]], indptr: NDArray[np.int64], indices: NDArray[np.int64]
) -> int:
    """Find a number of groups for which an assignment exists: the colors that DSATUR uses.

    Parameters
    ----------
    parts : sequence of ndarray, int64
        Connected parts of the graph. Neighbors outside the parts are ignored: they can always be
        assigned afterwards.
    indptr, indices : ndarray, int64
        Neighbors of each node, as in a CSR matrix.

    Returns
    -------
    int
        1 without parts. Not always the smallest such number.

    Notes
    -----
    Memory O(m·k) for m nodes in the largest part and k, the smallest number of colors for which
    peeling removes all of its nodes. A single node of high degree does not raise k.
    """
    number = np.full(len(indptr) - 1, -1, dtype=np.int64)
    for part in parts:
        number[part] = np.arange(len(part))
    return max((_n_colors(*_within(part, number, indptr, indices)) for part in parts), default=1)


def _within(
    part: NDArray[np.int64],
    number: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the subgraph of one part; nodes with a negative number are in no part."""
    near = [number[indices[indptr[node] : indptr[node + 1]]] for node in part.tolist()]
    kept = [ends[ends >= 0] for ends in near]
    start = np.concatenate([[0], np.cumsum([len(ends) for ends in kept])])
    return start.astype(np.int64), np.concatenate(kept)


def _n_colors(indptr: NDArray[np.int64], indices: NDArray[np.int64]) -> int:
    """Color a connected graph and return the number of colors used."""
    n = len(indptr) - 1
    low, most = 1, int(np.diff(indptr).max()) + 1
    while low < most:  # bisect for the fewest colors with which all nodes are peeled off
        middle = (low + most) // 2
        is_enough = (peeling_rounds(indptr, indices, middle) >= 0).all()
        low, most = (low, middle) if is_enough else (middle + 1, most)
    labels = np.full(n, -1, dtype=np.int64)
    cost = np.tile(np.arange(most, dtype=np.float64), (n, 1))
    found, _ = color_connected(np.arange(n), cost, indptr, indices, n, labels)
    if found < 1:
        labels[:] = -1
        order = np.argsort(-peeling_rounds(indptr, indices, most), kind="stable")
        place_in_order(order, cost, indptr, indices, labels)
    return int(labels.max()) + 1


def no_assignment(
    n_groups: int, rows: tuple[int, ...], enough: int, *, is_clique: bool
) -> InfeasibleConstraintsError:
    """Return the error for answers that no assignment keeps.

    Parameters
    ----------
    n_groups : int
        The parameter `n_clusters`.
    rows : tuple of int
        Rows that prove the error: one of each component of a clique, or of a part of the core.
    enough : int
        A number of groups for which an assignment exists.
    is_clique : bool
        Whether there are cannot-links between every two of the rows.

    Returns
    -------
    InfeasibleConstraintsError
    """
    if is_clique:
        why = (
            f"rows {_named(rows)} must be in different groups, by cannot-links and what follows "
            "from must-links"
        )
    else:
        why = f"the cannot-links between these {len(rows)} rows cannot all hold: {_named(rows)}"
    return InfeasibleConstraintsError(
        f"no assignment to n_clusters={n_groups} groups keeps all answers: {why}. "
        f"{_advice(enough)}",
        rows,
    )


def assignment_not_found(
    n_groups: int, rows: tuple[int, ...], enough: int, how: str
) -> InfeasibleConstraintsError:
    """Return the error for a search that gave up.

    Parameters
    ----------
    n_groups : int
        The parameter `n_clusters`.
    rows : tuple of int
        One row of each component in the core.
    enough : int
        A number of groups for which an assignment exists.
    how : str
        What was tried.

    Returns
    -------
    InfeasibleConstraintsError
    """
    what = f"no assignment to n_clusters={n_groups} groups that keeps all answers was found {how}"
    if enough <= n_groups:
        return InfeasibleConstraintsError(f'{what}; there is one, and algorithm="auto" finds it')
    among = f"the difficult part is {len(rows)} rows: {_named(rows)}"
    return InfeasibleConstraintsError(f"{what}; there may be one; {among}. {_advice(enough)}", rows)


def _named(rows: tuple[int, ...]) -> str:
    """List the first rows for a message."""
    shown = ", ".join(map(str, rows[:N_NAMED]))
    return f"{shown} and {len(rows) - N_NAMED} more" if len(rows) > N_NAMED else shown


def _advice(enough: int) -> str:
    """Return the advice that ends both messages."""
    return (
        f"n_clusters={enough} would be enough; or remove some cannot-links, or use a soft method "
        "such as PCKMeans, which may violate answers at a penalty"
    )
