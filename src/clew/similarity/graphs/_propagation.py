"""How answers diffuse over a graph: densely for all pairs, or for the pairs of a sparse pattern."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import coo_array, csr_array, diags_array, eye_array, triu
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress, blocks, in_threads
from clew.constraints import Constraints
from clew.graphs import largest_stored
from clew.kernels.propagation import add_symmetric_products, diffuse
from clew.similarity.graphs._links import net_links

__all__ = ["Spread", "reach", "spread_densely", "spread_on"]

COLUMNS_PER_BLOCK = 64
#: Blocks whose results wait to be added up: their order, not that of threads, makes the sum.
BLOCKS_PER_WAVE = 8
MAX_STORED = 1 << 27
MAX_ITER = 1_000
TOLERANCE = 1e-3
#: From this part of all rows on, all rows of an inverse cost less than solving for some.
INVERT_FROM = 3
#: Entries that must-links may add to a graph, for each row of it.
MAX_ADDED_PER_ROW = 200


class Spread(NamedTuple):
    """What is spread: each answer once, at that of its rows of which more was said; and where.

    So there are few heads, about half of the rows that were asked about.
    """

    graph: csr_array
    """Normalised affinities S, (n, n)."""
    alpha: float
    rows: NDArray[np.int64]
    """Rows that some answer is about, (r,)."""
    heads: NDArray[np.int64]
    """Where those stand in `rows` that answers are put at, (h,)."""
    said: csr_array
    """Strength of what was said of each head and each row, in [-1, 1], (h, r)."""

    @classmethod
    def over(cls, graph: csr_array, known: Constraints, alpha: float) -> Self:
        """Normalise a graph of affinities, and collect the answers."""
        degree = graph.sum(axis=1)
        root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        scale = diags_array(root)
        pairs, strength = net_links(known)
        rows, place, n_said = np.unique(pairs, return_inverse=True, return_counts=True)
        place = place.reshape(-1, 2)
        at_second = n_said[place[:, 0]] < n_said[place[:, 1]]
        head = place[np.arange(len(place)), at_second.astype(int)]
        other = place.sum(axis=1) - head
        heads, at = np.unique(head, return_inverse=True)
        said = coo_array((strength, (at.ravel(), other)), shape=(len(heads), len(rows)))
        return cls(csr_array(scale @ graph @ scale), alpha, rows, heads, said.tocsr())


def spread_densely(spread: Spread) -> NDArray[np.float64]:
    """Spread the answers to every two rows, up to a common factor: ``(I - αS)⁻¹ Z (I - αS)⁻¹``.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, nothing on the diagonal.
    """
    system = spread.graph.toarray()
    system *= -spread.alpha
    system[np.diag_indices_from(system)] += 1.0
    reached = _rows_of_inverse(system, spread.rows)
    found = (spread.said @ reached).T @ reached[spread.heads]
    np.fill_diagonal(found, 0.0)  # no answer is about a row and itself
    return np.asarray(found + found.T)


def _rows_of_inverse(system: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give rows of the inverse of a positive definite matrix, which is overwritten."""
    n = len(system)
    if len(rows) < n / INVERT_FROM:
        asked = np.zeros((n, len(rows)), order="F")
        asked[rows, np.arange(len(rows))] = 1.0
        found = cho_solve(cho_factor(system, overwrite_a=True), asked, overwrite_b=True)
        return np.asarray(found.T)
    # Symmetric, so its transpose is the same matrix, laid out as LAPACK has it.
    root, failed = dpotrf(system.T, overwrite_a=True)
    assert not failed, "alpha is below 1, so the matrix is positive definite"
    half, failed = dpotri(root, overwrite_c=True)
    assert not failed
    whole = half + half.T  # the other half is 0
    whole[np.diag_indices(n)] /= 2
    return np.asarray(whole[rows])


def reach(graph: csr_array, known: Constraints) -> csr_array:
    """Find the pairs of rows whose affinity answers may change, as far as is worth the room.

    Those of the graph, those that were asked about, and for each must-link every row near the one
    end with every row near the other.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric affinities.
    known : Constraints
        The answers.

    Returns
    -------
    csr_array of shape (n, n), bool
        Symmetric, nothing on the diagonal.
    """
    n = graph.shape[0]
    pairs, strength = net_links(known)
    said = coo_array((np.ones(len(pairs), bool), tuple(pairs.T)), shape=(n, n))
    joined = coo_array((np.ones(sum(strength > 0)), tuple(pairs[strength > 0].T)), shape=(n, n))
    near = _neighbourhoods(graph, joined.nnz)
    around = (near.T @ joined @ near).tocsr() > 0
    half = around + said + triu(graph, format="csr").astype(bool)
    pattern = csr_array(half + half.T)
    pattern.setdiag(False)
    pattern.eliminate_zeros()
    return pattern


def _neighbourhoods(graph: csr_array, n_joined: int) -> csr_array:
    """Give each row, itself and its nearest rows: so many that all together stay few."""
    n = graph.shape[0]
    widest = int(np.diff(graph.indptr).max(initial=0))
    n_near = min(widest, int(np.sqrt(MAX_ADDED_PER_ROW * n / max(n_joined, 1))))
    nearest = largest_stored(graph, n_near)
    nearest.data[:] = 1.0
    return csr_array(nearest + eye_array(n))


def spread_on(
    spread: Spread, pattern: csr_array, n_jobs: int | None, callback: Progress | None = None
) -> csr_array:
    """Spread the answers to the pairs of a pattern alone, by conjugate gradients.

    Parameters
    ----------
    spread : Spread
        What is spread.
    pattern : csr_array of shape (n, n)
        Symmetric; nothing on the diagonal.
    n_jobs : int or None
        Threads.
    callback : callable, default=None
        Called with the number of finished waves of blocks and of all.

    Returns
    -------
    csr_array of shape (n, n), float64
        As `spread_densely` has it, to three digits.
    """
    upper = triu(pattern, 1, format="coo")
    row, column = upper.row.astype(np.int32), upper.col.astype(np.int32)
    diffusion = _Diffusion(spread, n_jobs)
    total = np.zeros(len(row))

    def products(block: tuple[int, int]) -> NDArray[np.float64]:
        part = np.zeros(len(row))
        add_symmetric_products(row, column, diffusion.said(block), diffusion.reached(block), part)
        return part

    parts = blocks(len(spread.heads), COLUMNS_PER_BLOCK)
    waves = blocks(len(parts), BLOCKS_PER_WAVE)
    for done, (start, stop) in enumerate(waves, start=1):
        for part in in_threads(products, parts[start:stop], n_jobs=n_jobs):
            total += part
        if callback is not None:
            callback(done, len(waves))
    half = coo_array((total, (row, column)), shape=pattern.shape).tocsr()
    return csr_array(half + half.T)


class _Diffusion:
    """Columns of ``(I - αS)⁻¹`` for the rows asked about: kept where they fit, else made anew."""

    def __init__(self, spread: Spread, n_jobs: int | None) -> None:
        self._spread = spread
        graph = spread.graph.astype(np.float32)
        csr = (graph.indptr.astype(np.int32), graph.indices.astype(np.int32), graph.data)
        self._csr: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]] = csr
        self._kept: NDArray[np.float32] | None = None
        n, r = spread.graph.shape[0], len(spread.rows)
        self._asked = coo_array((np.ones(r), (spread.rows, np.arange(r))), shape=(n, r)).tocsc()
        if n * r <= MAX_STORED:
            kept = np.empty((r, n), np.float32)

            def keep(block: tuple[int, int]) -> None:
                kept[slice(*block)] = self._solved(self._asked[:, slice(*block)]).T

            in_threads(keep, blocks(r, COLUMNS_PER_BLOCK), n_jobs=n_jobs)
            self._kept = kept

    def reached(self, block: tuple[int, int]) -> NDArray[np.float32]:
        """Give how far each row is reached from the heads of a block, (n, width)."""
        heads = self._spread.heads[slice(*block)]
        if self._kept is None:
            return self._solved(self._asked[:, heads])
        return np.ascontiguousarray(self._kept[heads].T)

    def said(self, block: tuple[int, int]) -> NDArray[np.float32]:
        """Give what reaches each row of the answers at the heads of a block, (n, width)."""
        said = self._spread.said[slice(*block)]
        if self._kept is None:
            return self._solved(self._asked @ said.T)
        product: NDArray[np.float32] = said.astype(np.float32) @ self._kept
        return np.ascontiguousarray(product.T)

    def _solved(self, right: Any) -> NDArray[np.float32]:
        residual: NDArray[np.float32]
        residual = right.toarray(order="C").astype(np.float32)
        solution, direction, image = (np.empty_like(residual) for _ in range(3))
        is_solved = diffuse(
            *self._csr, self._spread.alpha, TOLERANCE, MAX_ITER,
            solution, residual, direction, image, np.empty((4, residual.shape[1])),
        )  # fmt: skip
        if not is_solved:
            warnings.warn(
                f"answers had not settled after {MAX_ITER} steps of the diffusion; "
                f"alpha={self._spread.alpha} may be too close to 1",
                ConvergenceWarning,
                stacklevel=2,
            )
        return solution
