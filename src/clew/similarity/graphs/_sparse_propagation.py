"""Propagation of answers to selected pairs of rows, by Chebyshev's iteration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array, triu
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress, blocks, in_threads
from clew._warnings import warn
from clew.constraints import Constraints
from clew.graphs import largest_stored
from clew.kernels.propagation import add_symmetric_products, diffuse
from clew.similarity.graphs._links import net_links

__all__ = ["PropagationProblem", "pairs_to_adjust", "propagate_on"]

COLUMNS_PER_BLOCK = 64
#: Number of blocks in memory at a time; they are added in a fixed order.
BLOCKS_PER_WAVE = 8
#: Limit of the entries of solutions that are stored: 512 MiB of float32.
MAX_STORED = 1 << 27
MAX_ITER = 1_000
TOLERANCE = 1e-3
#: Limit of the entries that must-links add to the graph, for each row of the graph.
MAX_ADDED_PER_ROW = 200


class PropagationProblem(NamedTuple):
    """Answers, and the graph over which they are propagated."""

    graph: csr_array
    """Normalized affinities S, (n, n)."""
    alpha: float
    """Range of the propagation, in (0, 1)."""
    rows: NDArray[np.int64]
    """Rows with answers, (r,)."""
    heads: NDArray[np.int64]
    """Positions in `rows` of the rows at which answers are stored, (h,)."""
    strength: csr_array
    """Net answer to each pair of a head and a row, in [-1, 1], (h, r)."""


def pairs_to_adjust(graph: csr_array, known: Constraints) -> csr_array:
    """Select the pairs of rows whose affinities are adjusted by the answers.

    These are the pairs of the graph, the answered pairs, and for each must-link the pairs of a row
    near one end and a row near the other.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric affinities.
    known : Constraints
        Pair answers.

    Returns
    -------
    csr_array of shape (n, n), bool
        True for the pairs; symmetric, with an empty diagonal.

    Notes
    -----
    Must-links add at most about 200 entries per row of the graph: the more must-links there are,
    the fewer rows count as near.
    """
    n = graph.shape[0]
    pairs, strength = net_links(known)
    answered = coo_array((np.ones(len(pairs), bool), tuple(pairs.T)), shape=(n, n))
    must = tuple(pairs[strength > 0].T)
    joined = coo_array((np.ones(sum(strength > 0)), must), shape=(n, n))
    near = _neighborhoods(graph, joined.nnz)
    around = (near.T @ joined @ near).tocsr() > 0
    half = around + answered + triu(graph, format="csr").astype(bool)
    pattern = csr_array(half + half.T)
    pattern.setdiag(False)
    pattern.eliminate_zeros()
    return pattern


def _neighborhoods(graph: csr_array, n_joined: int) -> csr_array:
    """Link each row to itself and to its nearest rows; the more must-links, the fewer rows."""
    n = graph.shape[0]
    widest = int(np.diff(graph.indptr).max(initial=0))
    n_near = min(widest, int(np.sqrt(MAX_ADDED_PER_ROW * n / max(n_joined, 1))))
    nearest = largest_stored(graph, n_near)
    nearest.data[:] = 1.0
    return csr_array(nearest + eye_array(n))


def propagate_on(
    problem: PropagationProblem,
    pattern: csr_array,
    n_jobs: int | None,
    callback: Progress | None = None,
) -> csr_array:
    """Compute the entries of ``(I - αS)⁻¹ Z (I - αS)⁻¹`` at selected pairs.

    Parameters
    ----------
    problem : PropagationProblem
        Graph and answers.
    pattern : csr_array of shape (n, n)
        Stores an entry for each selected pair; symmetric, with an empty diagonal.
    n_jobs : int or None
        Number of threads.
    callback : callable, default=None
        Called as ``callback(n_done, n_steps)``.

    Returns
    -------
    csr_array of shape (n, n), float64
        The entries, to a relative error of about 0.001.

    Warns
    -----
    ConvergenceWarning
        If `alpha` is so close to 1 that more than 1,000 steps would be needed.

    Notes
    -----
    Solves a system for each row with answers once if the solutions fit in 512 MiB, otherwise two
    systems for each head. Nodes are numbered by the reverse Cuthill-McKee order, so that neighbors
    are near each other in memory.
    """
    order = reverse_cuthill_mckee(problem.graph, symmetric_mode=True)
    diffusion = _Diffusion(problem, order, n_jobs)
    upper = _upper_edges(pattern, order)
    row, column = upper.row.astype(np.int32), upper.col.astype(np.int32)
    total = np.zeros(len(row))

    def products(block: tuple[int, int]) -> NDArray[np.float64]:
        part = np.zeros(len(row))
        first, second = diffusion.from_answers(block), diffusion.from_heads(block)
        add_symmetric_products(row, column, first, second, part)
        return part

    parts = blocks(len(problem.heads), COLUMNS_PER_BLOCK)
    waves = blocks(len(parts), BLOCKS_PER_WAVE)
    for done, (start, stop) in enumerate(waves, start=1):
        for part in in_threads(products, parts[start:stop], n_jobs=n_jobs):
            total += part
        if callback is not None:
            callback(done, len(waves))
    if len(parts) and not diffusion.has_converged:
        warn(
            f"the propagation of answers did not converge in {MAX_ITER} steps; "
            f"alpha={problem.alpha} may be too close to 1",
            ConvergenceWarning,
        )
    half = coo_array((total, (order[row], order[column])), shape=pattern.shape).tocsr()
    return csr_array(half + half.T)


def _upper_edges(pattern: csr_array, order: NDArray[np.integer]) -> coo_array:
    """Return the edges of a symmetric graph after nodes are reordered: row < column, by row."""
    renumbered = csr_array(pattern[order][:, order])
    renumbered.sort_indices()
    return triu(renumbered, 1, format="csr").tocoo()


class _Diffusion:
    """Columns of ``(I - αS)⁻¹`` for the rows with answers, stored if they fit in 512 MiB.

    Nodes are numbered by their place in `order`.
    """

    def __init__(
        self, problem: PropagationProblem, order: NDArray[np.integer], n_jobs: int | None
    ) -> None:
        self._alpha, self._heads, self._strength = problem.alpha, problem.heads, problem.strength
        graph = csr_array(problem.graph[order][:, order]).astype(np.float32)
        graph.sort_indices()
        csr = (graph.indptr.astype(np.int32), graph.indices.astype(np.int32), graph.data)
        self._csr: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]] = csr
        n_steps = int(np.ceil(np.arccosh(1 / TOLERANCE) / np.arccosh(1 / problem.alpha)))
        self._n_steps, self.has_converged = min(max(n_steps, 1), MAX_ITER), n_steps <= MAX_ITER
        self._n, r = problem.graph.shape[0], len(problem.rows)
        self._rows = np.argsort(order)[problem.rows].astype(np.int32)
        self._stored: NDArray[np.float32] | None = None
        if self._n * r <= MAX_STORED:
            stored = np.empty((r, self._n), np.float32)

            def keep(block: tuple[int, int]) -> None:
                stored[slice(*block)] = self._columns(np.arange(*block)).T

            in_threads(keep, blocks(r, COLUMNS_PER_BLOCK), n_jobs=n_jobs)
            self._stored = stored

    def from_heads(self, block: tuple[int, int]) -> NDArray[np.float32]:
        """Return the columns of the inverse for a block of heads, (n, width)."""
        heads = self._heads[slice(*block)]
        if self._stored is None:
            return self._columns(heads)
        return np.ascontiguousarray(self._stored[heads].T)

    def from_answers(self, block: tuple[int, int]) -> NDArray[np.float32]:
        """Return the inverse times the answers that a block of heads stores, (n, width)."""
        strength = self._strength[slice(*block)]
        if self._stored is None:
            right = strength.T.tocoo()
            return self._solved(self._rows[right.row], right.col, right.data, right.shape[1])
        product: NDArray[np.float32] = strength.astype(np.float32) @ self._stored
        return np.ascontiguousarray(product.T)

    def _columns(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the columns of the inverse for rows with answers, (n, width)."""
        width = len(places)
        return self._solved(self._rows[places], np.arange(width), np.ones(width), width)

    def _solved(
        self,
        row: NDArray[np.int32],
        column: NDArray[np.integer],
        value: NDArray[np.float64],
        width: int,
    ) -> NDArray[np.float32]:
        """Solve for right-hand sides with these entries, (n, width)."""
        solution, buffer = (np.empty((self._n, width), np.float32) for _ in range(2))
        right = (row, column.astype(np.int32), value.astype(np.float32))
        diffuse(*self._csr, self._alpha, self._n_steps, *right, solution, buffer)
        return solution
