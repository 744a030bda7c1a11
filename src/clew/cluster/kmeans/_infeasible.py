"""Why no grouping keeps all cannot-links, in words that help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clew.exceptions import InfeasibleConstraintsError
from clew.kernels.coloring import color_connected, peeling_rounds, place_in_order

__all__ = ["largest_clique", "n_groups_enough", "none_exists", "none_found"]

#: Nodes from which a clique is grown.
N_STARTS = 50
#: Rows that a message names.
N_NAMED = 10


def largest_clique(
    nodes: NDArray[np.int64], indptr: NDArray[np.int64], indices: NDArray[np.int64], enough: int
) -> NDArray[np.int64]:
    """Look for nodes that are all joined with each other, greedily.

    Parameters
    ----------
    nodes : ndarray, int64
        Where to look.
    indptr, indices : ndarray, int64
        Neighbors of each node.
    enough : int
        Stop at so many.

    Returns
    -------
    ndarray, int64
        The largest clique found, of `enough` nodes at most.
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
            # sorted: sets have no order that lasts
            node = max(sorted(left), key=lambda node: len(joined[node] & left))
            clique.append(node)
            left = left & joined[node]
        best = max(best, clique, key=len)
        if len(best) == enough:
            break
    return np.array(best, dtype=np.int64)


def n_groups_enough(
    parts: Sequence[NDArray[np.int64]], indptr: NDArray[np.int64], indices: NDArray[np.int64]
) -> int:
    """Find a number of groups that is enough for some parts of a graph, as small as DSATUR gets.

    Parameters
    ----------
    parts : sequence of ndarray, int64
        Connected parts. Neighbors outside them do not count: they find a group afterwards.
    indptr, indices : ndarray, int64
        Neighbors of each node.

    Returns
    -------
    int
        1 where there are no parts.

    Notes
    -----
    Memory O(m·k) for the largest part, of m nodes, where k groups are enough if nodes are taken in
    turn, those first that have many neighbors left. A single node of high degree does not raise k.
    """
    number = np.full(len(indptr) - 1, -1, dtype=np.int64)
    for part in parts:
        number[part] = np.arange(len(part))
    return max((_enough(*_within(part, number, indptr, indices)) for part in parts), default=1)


def _within(
    part: NDArray[np.int64],
    number: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut a connected part out of a graph; neighbors without a number are not in any part."""
    near = [number[indices[indptr[node] : indptr[node + 1]]] for node in part.tolist()]
    kept = [ends[ends >= 0] for ends in near]
    start = np.concatenate([[0], np.cumsum([len(ends) for ends in kept])])
    return start.astype(np.int64), np.concatenate(kept)


def _enough(indptr: NDArray[np.int64], indices: NDArray[np.int64]) -> int:
    """Count the groups that a connected graph is colored with."""
    n = len(indptr) - 1
    low, most = 1, int(np.diff(indptr).max()) + 1
    while low < most:  # the fewest with which all nodes are peeled off
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


def none_exists(
    n_groups: int, rows: tuple[int, ...], enough: int, *, is_clique: bool
) -> InfeasibleConstraintsError:
    """Make the error for answers that no grouping keeps."""
    if is_clique:
        why = f"rows {_named(rows)} all have to be apart, once must-links are followed"
    else:
        why = f"{len(rows)} rows cannot be parted so that all cannot-links hold: {_named(rows)}"
    return InfeasibleConstraintsError(
        f"no grouping into n_clusters={n_groups} keeps all answers: {why}. {_advice(enough)}", rows
    )


def none_found(
    n_groups: int, rows: tuple[int, ...], enough: int, how: str
) -> InfeasibleConstraintsError:
    """Make the error for a search that gave up; `how` says what was tried."""
    what = f"no grouping into n_clusters={n_groups} that keeps all answers was found {how}"
    if enough <= n_groups:
        return InfeasibleConstraintsError(f'{what}; there is one, and algorithm="auto" finds it')
    among = f"the hard part is {len(rows)} rows: {_named(rows)}"
    return InfeasibleConstraintsError(f"{what}; there may be one; {among}. {_advice(enough)}", rows)


def _named(rows: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, rows[:N_NAMED]))
    return f"{shown} and {len(rows) - N_NAMED} more" if len(rows) > N_NAMED else shown


def _advice(enough: int) -> str:
    return (
        f"n_clusters={enough} would do; or take some cannot-links back, or use a soft method such "
        "as PCKMeans, which weighs answers"
    )
