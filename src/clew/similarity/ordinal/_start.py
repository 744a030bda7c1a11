"""The first positions of rows: leading eigenvectors of how often answers put two rows together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array

from clew.similarity.ordinal._answers import DistinctAnswers, OrdinalAnswers

__all__ = ["spectral_start"]

Floats = NDArray[np.float64]

#: Up to this number of rows, all eigenvectors are computed.
DENSE_SOLVER_ROWS = 400
#: Standard deviation of the positions, and of the noise that is added to them.
DEVIATION, NOISE = 0.5, 0.05
#: Added to the counts of a row, so that a row with few answers has no large entries.
PSEUDO_ANSWERS = 1.0
#: Extra vectors and iterations of the eigensolver for many rows.
OVERSAMPLING, N_ITERATIONS = 8, 40


def spectral_start(
    answers: OrdinalAnswers, n_rows: int, n_components: int, random: np.random.RandomState
) -> Floats:
    """Compute first positions from net counts.

    Parameters
    ----------
    answers : OrdinalAnswers
        The answers; each row is named by one of them.
    n_rows : int
        Number of rows.
    n_components : int
        Number of coordinates.
    random : RandomState
        Source of the noise, without which rows would keep the zeros of missing eigenvectors.

    Returns
    -------
    ndarray of shape (n_rows, n_components)

    Notes
    -----
    Time O(n_rows³) up to 400 rows. Above, O(n_answers·n_components) for each step of the
    eigensolver.
    """
    counts = _net_counts(answers, n_rows)
    n_found = min(n_components, n_rows - 1)
    if n_rows <= DENSE_SOLVER_ROWS or n_found > n_rows // 3:
        dense = counts.toarray()
        dense -= dense.mean(axis=0)
        dense -= dense.mean(axis=1, keepdims=True)
        subset = (n_rows - n_found, n_rows - 1)
        value, vectors = eigh(dense, subset_by_index=subset)
    else:
        value, vectors = _leading(counts, n_found, random)
    positions = np.zeros((n_rows, n_components))
    positions[:, : len(value)] = (vectors * np.sqrt(np.maximum(value, 1e-6)))[:, ::-1]
    deviation = positions.std() or 1.0
    return DEVIATION / deviation * positions + NOISE * random.normal(size=positions.shape)


def _net_counts(answers: OrdinalAnswers, n_rows: int) -> csr_array:
    """Count how often answers put two rows together, minus how often apart; normalize by rows."""
    pair, triplet, odd = answers.tables
    sign = np.where(pair.is_same, 1.0, -1.0)
    # Each question: positions of two rows, and what the answer adds to their count.
    entries: list[tuple[DistinctAnswers, int, int, Floats | float]]
    entries = [(pair, 0, 1, sign), (triplet, 0, 1, 1.0), (triplet, 0, 2, -1.0)]
    entries += [(odd, 0, 1, 1.0), (odd, 0, 2, -0.5), (odd, 1, 2, -0.5)]
    first = np.concatenate([table.rows[:, i] for table, i, _, _ in entries])
    second = np.concatenate([table.rows[:, j] for table, _, j, _ in entries])
    value: Floats = np.concatenate([by * table.weights for table, _, _, by in entries])
    half = csr_array(coo_array((value, (first, second)), shape=(n_rows, n_rows)))
    counts = csr_array(half + half.T)
    scale = 1 / np.sqrt(abs(counts).sum(axis=1) + PSEUDO_ANSWERS)
    return csr_array(counts.multiply(scale[:, None]).multiply(scale))


def _leading(
    counts: csr_array, n_components: int, random: np.random.RandomState
) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues of the centered counts, ascending, and their vectors.

    By subspace iteration, which is rough, but a start need not be exact. Eigenvalues are in
    [-1, 1], so adding the identity makes the largest ones the largest in size too.
    """

    def image(vectors: Floats) -> Floats:
        product = counts @ (vectors - vectors.mean(axis=0))
        return np.asarray(product - product.mean(axis=0))

    vectors = random.normal(size=(counts.shape[0], n_components + OVERSAMPLING))
    for _ in range(N_ITERATIONS):
        vectors = np.linalg.qr(image(vectors) + vectors)[0]
    value, axes = np.linalg.eigh(vectors.T @ image(vectors))
    return value[-n_components:], vectors @ axes[:, -n_components:]
