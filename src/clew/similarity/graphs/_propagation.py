"""Propagation of answers over a neighbor graph, to all pairs of rows or to selected pairs."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import coo_array, csr_array, diags_array

from clew._limits import DENSE_PROPAGATION_ROWS
from clew._once import Once
from clew._parallel import Progress
from clew.constraints import Constraints
from clew.kernels.propagation import adjust, collect
from clew.similarity.graphs._links import entries_at, net_links
from clew.similarity.graphs._single_precision import inverse, upper_of_product_sum
from clew.similarity.graphs._sparse_propagation import (
    PropagationProblem,
    pairs_to_adjust,
    propagate_on,
)

__all__ = ["Propagation"]

#: If more than one in this many rows has answers, the whole inverse costs less than solving for
#: the rows of the inverse that are needed.
INVERT_FROM = 3
#: Smaller affinities are left out of `Propagation.fast_affinity`.
LEAST_AFFINITY = 1e-3
Floats = NDArray[np.float64]


class Propagation:
    """Propagate several sets of answers over the same graph, which is factorized once.

    This is `clew.similarity.E2CP` for a fixed graph and changing answers, as in cross-validation.
    The first call factorizes ``I - αS``; later calls only solve. The affinities are bit for bit
    those of ``E2CP("precomputed", alpha=alpha, n_neighbors=None)``.

    Parameters
    ----------
    graph : csr_array of shape (n_samples, n_samples)
        Symmetric affinities, none negative, with an empty diagonal, such as
        `clew.graphs.nearest_graph` returns. It is not changed.
    alpha : float, default=0.8
        Range of the propagation, in (0, 1): the larger, the farther answers reach.

    Attributes
    ----------
    graph : csr_array of shape (n_samples, n_samples)
        The affinities, divided by their maximum.
    alpha : float
        The given range.

    Notes
    -----
    Up to 2,000 rows: O(n³) time once, and O(n²·r) for each set of answers about r rows. One or two
    dense matrices of n² float64 are kept (32 MB each at 2,000 rows). Above 2,000 rows, `affinity`
    uses no dense matrix. `fast_affinity` computes the dense form in single precision, which takes
    about a third of the time, and half of the memory.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import AdaptiveKNN
    >>> from clew.similarity.graphs import Propagation
    >>> from clew.graphs import nearest_graph
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = nearest_graph(AdaptiveKNN().fit(X).affinity_matrix_, 20)
    >>> propagation = Propagation(graph, alpha=0.8)
    >>> for seed in range(3):
    ...     answers = Constraints.from_labels(y, n_pairs=60, random_state=seed)
    ...     affinity = propagation.affinity(answers)
    >>> affinity.shape
    (150, 150)
    """

    def __init__(self, graph: csr_array, alpha: float = 0.8) -> None:
        self.graph, self.alpha = graph.copy(), alpha
        if self.graph.nnz:
            self.graph.data = self.graph.data / self.graph.data.max()
        degree = self.graph.sum(axis=1)
        root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        scale = diags_array(root)
        self._normalized = csr_array(scale @ self.graph @ scale)
        self._once = Once()

    def affinity(
        self,
        constraints: Constraints,
        *,
        n_jobs: int | None = None,
        callback: Progress | None = None,
    ) -> Floats | csr_array:
        """Adjust the affinities by the propagated answers: dense up to 2,000 rows, else sparse.

        Parameters
        ----------
        constraints : Constraints
            Pair answers; other kinds of answers are ignored.
        n_jobs : int or None, default=None
            Number of threads of the sparse form. The result does not depend on it.
        callback : callable, default=None
            Called as ``callback(n_done, n_steps)`` by the sparse form.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_samples), float64
            Affinities in [0, 1]; the diagonal is 0.
        """
        if self.graph.shape[0] <= DENSE_PROPAGATION_ROWS:
            return self.dense_affinity(constraints)
        return self.sparse_affinity(constraints, n_jobs=n_jobs, callback=callback)

    def dense_affinity(self, constraints: Constraints) -> Floats:
        """Adjust the affinities of all pairs of rows by the propagated answers.

        Parameters
        ----------
        constraints : Constraints
            Pair answers; other kinds of answers are ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_samples), float64
            Affinities in [0, 1]; the diagonal is 0.
        """
        answers = NetAnswers.of(constraints)
        inverse = self._rows_of_inverse(answers.rows)
        found = (answers.strength @ inverse).T @ inverse[answers.heads]
        np.fill_diagonal(found, 0.0)
        return _adjusted(self.graph.toarray(), found + found.T)

    def fast_affinity(self, constraints: Constraints, *, n_jobs: int | None = None) -> csr_array:
        """Adjust the affinities by the propagated answers in single precision.

        Parameters
        ----------
        constraints : Constraints
            Pair answers; other kinds of answers are ignored.
        n_jobs : int or None, default=None
            Number of threads of the sparse form.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float64
            Up to 2,000 rows those of `dense_affinity`, without affinities below .001 and with a
            relative error of about 1e-5; above, those of `sparse_affinity`.
        """
        n = self.graph.shape[0]
        if n > DENSE_PROPAGATION_ROWS:
            return self.sparse_affinity(constraints, n_jobs=n_jobs)
        answers = NetAnswers.of(constraints)
        rows = self._single_inverse[answers.rows]
        from_heads = np.ascontiguousarray(rows[answers.heads])
        from_answers = answers.strength.astype(np.float32) @ rows
        del rows  # as large as the result
        found = upper_of_product_sum(from_answers, from_heads)
        del from_answers, from_heads
        weight, count = np.empty(n, np.float32), np.empty(n, np.int64)
        graph = (self.graph.indptr, self.graph.indices, self.graph.data)
        adjust(found, *graph, LEAST_AFFINITY, weight, count)
        start = np.concatenate([[0], count.cumsum()])
        indices, data = np.empty(start[-1], np.int32), np.empty(start[-1])
        collect(found, LEAST_AFFINITY, start[:-1].copy(), indices, data)
        return csr_array((data, indices, start.astype(np.int32)), shape=(n, n))

    def sparse_affinity(
        self,
        constraints: Constraints,
        *,
        n_jobs: int | None = None,
        callback: Progress | None = None,
    ) -> csr_array:
        """Adjust the affinities of the pairs near answers by the propagated answers.

        These are the pairs of the graph, the answered pairs, and for each must-link the pairs of a
        row near one end and a row near the other. All other affinities are 0.

        Parameters
        ----------
        constraints : Constraints
            Pair answers; other kinds of answers are ignored.
        n_jobs : int or None, default=None
            Number of threads. The result does not depend on it.
        callback : callable, default=None
            Called as ``callback(n_done, n_steps)``.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float64
            Affinities in [0, 1]; the diagonal is empty.
        """
        answers = NetAnswers.of(constraints)
        pattern = pairs_to_adjust(self.graph, constraints)
        problem = PropagationProblem(self._normalized, self.alpha, *answers)
        found = propagate_on(problem, pattern, n_jobs, callback)
        row = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        at = (row, pattern.indices)
        affinity, strength = (entries_at(matrix, *at) for matrix in (self.graph, found))
        adjusted = csr_array((_adjusted(affinity, strength), at), shape=pattern.shape)
        adjusted.eliminate_zeros()
        return adjusted

    def _rows_of_inverse(self, rows: NDArray[np.int64]) -> Floats:
        """Return the given rows of ``(I - αS)⁻¹``."""
        n = self.graph.shape[0]
        if len(rows) >= n / INVERT_FROM:
            return np.asarray(self._inverse[rows])
        unit = np.zeros((n, len(rows)), order="F")
        unit[rows, np.arange(len(rows))] = 1.0
        return np.asarray(cho_solve(self._factor, unit, overwrite_b=True).T)

    @property
    def _factor(self) -> tuple[Floats, bool]:
        factor: tuple[Floats, bool] = self._once(
            "factor", lambda: cho_factor(self._system(), overwrite_a=True)
        )
        return factor

    @property
    def _inverse(self) -> Floats:
        found: Floats = self._once("inverse", self._computed_inverse)
        return found

    @property
    def _single_inverse(self) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._once(
            "single inverse", lambda: inverse(self._single_system())
        )
        return found

    def _computed_inverse(self) -> Floats:
        # The transpose is the same matrix, in the memory order of LAPACK.
        root, failed = dpotrf(self._system().T, overwrite_a=True)
        assert not failed, "alpha is below 1, so the matrix is positive definite"
        half, failed = dpotri(root, overwrite_c=True)
        assert not failed
        whole = half + half.T  # the other half is 0
        whole[np.diag_indices(len(whole))] /= 2
        return np.asarray(whole)

    def _single_system(self) -> NDArray[np.float32]:
        """Return ``I - αS`` in single precision; the diagonal of S is 0."""
        system = (self._normalized * -self.alpha).astype(np.float32).toarray()
        np.fill_diagonal(system, 1.0)
        return np.asarray(system)

    def _system(self) -> Floats:
        """Return ``I - αS``."""
        system: Floats = self._normalized.toarray()
        system *= -self.alpha
        system[np.diag_indices_from(system)] += 1.0
        return system


class NetAnswers(NamedTuple):
    """Net answers, one entry per pair, stored at the endpoint with more answers (its head).

    About half of the rows with answers are heads, so about half as many systems are solved.
    """

    rows: NDArray[np.int64]
    """Rows with answers, (r,)."""
    heads: NDArray[np.int64]
    """Positions of the heads in `rows`, (h,)."""
    strength: csr_array
    """Net answer to each pair of a head and a row, in [-1, 1], (h, r)."""

    @classmethod
    def of(cls, known: Constraints) -> Self:
        """Collect the pair answers."""
        pairs, strength = net_links(known)
        rows, place, n_answers = np.unique(pairs, return_inverse=True, return_counts=True)
        place = place.reshape(-1, 2)
        at_second = n_answers[place[:, 0]] < n_answers[place[:, 1]]
        head = place[np.arange(len(place)), at_second.astype(int)]
        other = place.sum(axis=1) - head
        heads, at = np.unique(head, return_inverse=True)
        shape = (len(heads), len(rows))
        return cls(rows, heads, coo_array((strength, (at.ravel(), other)), shape=shape).tocsr())


def _adjusted(affinity: Floats, found: Floats) -> Floats:
    """Raise affinities with positive propagated answers, and lower those with negative ones."""
    most = max(float(found.max(initial=0.0)), -float(found.min(initial=0.0)))
    strength = found / most if most > 0 else found
    # The paper's 1 - (1 - f)(1 - w) is equal to w + f(1 - w).
    return np.asarray(affinity + strength * np.where(strength >= 0, 1 - affinity, affinity))
