"""Propagation of answers to selected pairs of rows, by conjugate gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array, triu
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
        If the conjugate gradients did not converge.

    Notes
    -----
    Solves a system for each row with answers once if the solutions fit in 512 MiB, otherwise two
    systems for each head.
    """
    upper = triu(pattern, 1, format="coo")
    row, column = upper.row.astype(np.int32), upper.col.astype(np.int32)
    diffusion = _Diffusion(problem, n_jobs)
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
    if not diffusion.has_converged:
        warn(
            f"the propagation of answers did not converge in {MAX_ITER} steps; "
            f"alpha={problem.alpha} may be too close to 1",
            ConvergenceWarning,
        )
    half = coo_array((total, (row, column)), shape=pattern.shape).tocsr()
    return csr_array(half + half.T)


class _Diffusion:
    """Columns of ``(I - αS)⁻¹`` for the rows with answers, stored if they fit in 512 MiB."""

    def __init__(self, problem: PropagationProblem, n_jobs: int | None) -> None:
        self._problem, self.has_converged = problem, True
        graph = problem.graph.astype(np.float32)
        csr = (graph.indptr.astype(np.int32), graph.indices.astype(np.int32), graph.data)
        self._csr: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]] = csr
        self._stored: NDArray[np.float32] | None = None
        n, r = problem.graph.shape[0], len(problem.rows)
        self._unit = coo_array((np.ones(r), (problem.rows, np.arange(r))), shape=(n, r)).tocsc()
        if n * r <= MAX_STORED:
            stored = np.empty((r, n), np.float32)

            def keep(block: tuple[int, int]) -> None:
                stored[slice(*block)] = self._solved(self._unit[:, slice(*block)]).T

            in_threads(keep, blocks(r, COLUMNS_PER_BLOCK), n_jobs=n_jobs)
            self._stored = stored

    def from_heads(self, block: tuple[int, int]) -> NDArray[np.float32]:
        """Return the columns of the inverse for a block of heads, (n, width)."""
        heads = self._problem.heads[slice(*block)]
        if self._stored is None:
            return self._solved(self._unit[:, heads])
        return np.ascontiguousarray(self._stored[heads].T)

    def from_answers(self, block: tuple[int, int]) -> NDArray[np.float32]:
        """Return the inverse times the answers that a block of heads stores, (n, width)."""
        strength = self._problem.strength[slice(*block)]
        if self._stored is None:
            return self._solved(self._unit @ strength.T)
        product: NDArray[np.float32] = strength.astype(np.float32) @ self._stored
        return np.ascontiguousarray(product.T)

    def _solved(self, right: Any) -> NDArray[np.float32]:
        residual: NDArray[np.float32]
        residual = right.toarray(order="C").astype(np.float32)
        solution, direction, image = (np.empty_like(residual) for _ in range(3))
        is_solved = diffuse(
            *self._csr, self._problem.alpha, TOLERANCE, MAX_ITER,
            solution, residual, direction, image, np.empty((4, residual.shape[1])),
        )  # fmt: skip
        if not is_solved:
            self.has_converged = False  # the caller warns, from its own thread
        return solution
