"""Propagation of pairwise answers over a graph (E2CP), and the adjustment of its edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel, summing_kernel


@kernel
def _advance(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    share: np.float32,
    remainder: np.float32,
    now: NDArray[np.float32],
    before: NDArray[np.float32],
) -> None:
    """Set `before` to ``share·S @ now + remainder·before`` for a CSR matrix S."""
    width = now.shape[1]
    for row in range(len(indptr) - 1):
        for c in range(width):
            before[row, c] *= remainder
        entry, end = indptr[row], indptr[row + 1]
        # Four entries at a time: each number of `before` is read and written once for all four.
        while entry + 4 <= end:
            i, j = indices[entry], indices[entry + 1]
            k, m = indices[entry + 2], indices[entry + 3]
            of_i, of_j = share * data[entry], share * data[entry + 1]
            of_k, of_m = share * data[entry + 2], share * data[entry + 3]
            for c in range(width):
                before[row, c] += (
                    of_i * now[i, c] + of_j * now[j, c] + of_k * now[k, c] + of_m * now[m, c]
                )
            entry += 4
        while entry < end:
            other, weight = indices[entry], share * data[entry]
            for c in range(width):
                before[row, c] += weight * now[other, c]
            entry += 1


@kernel
def _add_neighbors(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    share: np.float32,
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    value: NDArray[np.float32],
    total: NDArray[np.float32],
) -> None:
    """Add ``share·S @ b`` to `total`, for the sparse b of `diffuse`."""
    for entry in range(len(value)):
        c, part = column[entry], share * value[entry]
        for at in range(indptr[row[entry]], indptr[row[entry] + 1]):
            total[indices[at], c] += part * data[at]


@kernel
def diffuse(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    alpha: float,
    n_steps: int,
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    value: NDArray[np.float32],
    solution: NDArray[np.float32],
    buffer: NDArray[np.float32],
) -> None:
    """Solve ``(I - alpha·S) x = b`` for several sparse b at once, by Chebyshev's iteration.

    IN indptr, indices, data: CSR arrays of S (n, n), symmetric with eigenvalues in [-1, 1]; alpha:
    in (0, 1); row, column, value: entries of the right-hand sides, one in each column; those of one
    place are summed.
    OUT solution (n, width): a solution in each column; buffer (n, width).

    The norm of each residual is at most ``1 / cosh(n_steps·arccosh(1 / alpha))`` times that of its
    b. Time O((n + entries of S)·width) for each step.
    """
    # The steps alternate between the two arrays; the last one sets `solution`.
    now, before = (solution, buffer) if n_steps % 2 else (buffer, solution)
    for i in range(now.shape[0]):
        for c in range(now.shape[1]):
            now[i, c] = before[i, c] = 0.0
    for entry in range(len(value)):
        now[row[entry], column[entry]] += value[entry]
    omega = 2.0
    for step in range(1, n_steps):
        omega = 1.0 / (1.0 - alpha * alpha * omega / 4.0)
        share, remainder = np.float32(omega * alpha), np.float32(1.0 - omega)
        if step == 1:  # `now` is as sparse as b, and `before` is 0
            _add_neighbors(indptr, indices, data, share, row, column, value, before)
        else:
            _advance(indptr, indices, data, share, remainder, now, before)
        for entry in range(len(value)):
            before[row[entry], column[entry]] += np.float32(omega) * value[entry]
        now, before = before, now


@summing_kernel
def add_symmetric_products(
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    total: NDArray[np.float64],
) -> None:
    """Add to each edge its entry of ``left @ right.T + right @ left.T``, which is not formed.

    IN row, column (n_edges,): nodes of each edge; left, right (n, width): the factors.
    INOUT total (n_edges,): sum of each edge.
    """
    width = left.shape[1]
    for edge in range(len(row)):
        i, j = row[edge], column[edge]
        product = np.float32(0.0)
        for c in range(width):
            product += left[i, c] * right[j, c] + right[i, c] * left[j, c]
        total[edge] += product


@kernel
def adjust(
    found: NDArray[np.float32],
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    least: float,
    weight: NDArray[np.float32],
    count: NDArray[np.int64],
) -> None:
    """Replace propagated answers by adjusted affinities, and count those that are large enough.

    IN indptr, indices, data: CSR arrays of the symmetric affinities before, none negative; least:
    smaller affinities do not count; positive.
    INOUT found (n, n): propagated answers, then affinities, above the diagonal; the rest is not
    read.
    OUT weight (n,); count (n,): number of affinities of each row that are at least `least`.

    With f the answer divided by the largest magnitude, w becomes ``w + f(1 - w)`` if f ≥ 0 and ``w
    + f·w`` otherwise.
    """
    n = len(found)
    most = np.float32(0.0)
    for i in range(n):
        for j in range(i + 1, n):
            most = max(most, abs(found[i, j]))
    scale = np.float32(1.0) / most if most > 0 else np.float32(0.0)
    weight[:] = 0.0
    count[:] = 0
    for i in range(n):
        for entry in range(indptr[i], indptr[i + 1]):
            weight[indices[entry]] = data[entry]
        for j in range(i + 1, n):
            strength, w = scale * found[i, j], weight[j]
            w += strength * (np.float32(1.0) - w if strength >= 0 else w)
            found[i, j] = w
            if w >= least:
                count[i] += 1
                count[j] += 1
        for entry in range(indptr[i], indptr[i + 1]):
            weight[indices[entry]] = 0.0


@kernel
def collect(
    affinity: NDArray[np.float32],
    least: float,
    end: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> None:
    """Collect the large entries of a symmetric matrix in CSR form.

    IN affinity (n, n): read above the diagonal; least: smaller ones are left out; positive.
    INOUT end (n,): where the entries of each row start; on return, where they end.
    OUT indices (n_entries,): columns, ascending within each row; data (n_entries,): affinities.
    """
    n = len(affinity)
    for i in range(n):  # row j gets its columns i < j first, in ascending order
        for j in range(i + 1, n):
            w = affinity[i, j]
            if w >= least:
                indices[end[i]], data[end[i]] = j, w
                indices[end[j]], data[end[j]] = i, w
                end[i] += 1
                end[j] += 1


@kernel
def mirror_lower(matrix: NDArray[np.float32], block: int) -> None:
    """Copy the lower triangle to the upper one, in blocks of which two fit in the fastest cache."""
    n = len(matrix)
    for top in range(0, n, block):
        bottom = min(top + block, n)
        for left in range(0, bottom, block):
            for i in range(top, bottom):
                for j in range(left, min(left + block, i)):
                    matrix[j, i] = matrix[i, j]
