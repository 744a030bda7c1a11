"""E2CP: propagation of answers over a neighbor graph, to all pairs of rows or to selected pairs.

`E2CP` is the estimator. `Propagation` does its work for a fixed graph: densely by one factorization
up to 2,000 rows, above by Chebyshev's iteration for the pairs near answers.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import coo_array, csr_array, diags_array, eye_array, triu
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.exceptions import ConvergenceWarning

from clew._composition import FittedSimilarity, graph_of, has_sparse_affinity, reweighted
from clew._limits import DENSE_PROPAGATION_ROWS
from clew._parallel import Once, Progress, blocks, in_threads
from clew._validation import Allowed, AllowedValues, RandomState
from clew._warnings import warn
from clew.constraints import Constraints, Support
from clew.exceptions import InvalidParameterError
from clew.graphs import check_dense_size, largest_stored, nearest_graph, resolved_n_neighbors
from clew.kernels.propagation import add_symmetric_products, adjust, collect, diffuse, mirror_lower
from clew.similarity.graphs._base import BuiltOnSimilarity, NetAnswers, entries_at, net_links

__all__ = ["E2CP", "Propagation"]

#: If more than one in this many rows has answers, the whole inverse costs less than solving for
#: the rows of the inverse that are needed.
INVERT_FROM = 3
#: Smaller affinities are left out of `Propagation.fast_affinity`.
LEAST_AFFINITY = 1e-3
#: Side of the blocks in which a triangle is copied; two blocks fit in a cache of 32 KiB.
BLOCK = 64
COLUMNS_PER_BLOCK = 64
#: Number of blocks in memory at a time; they are added in a fixed order.
BLOCKS_PER_WAVE = 8
#: Limit of the entries of solutions that are stored: 512 MiB of float32.
MAX_STORED = 1 << 27
MAX_ITER = 1_000
TOLERANCE = 1e-3
#: Limit of the entries that must-links add to the graph, for each row of the graph.
MAX_ADDED_PER_ROW = 200
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


class E2CP(BuiltOnSimilarity):
    """Exhaustive and efficient constraint propagation: answers propagate to the pairs around them.

    An answer about two rows is taken as weaker evidence about each pair of rows near them.
    Must-links and cannot-links start as 1 and -1 and are propagated over a neighbor graph; each
    affinity is then raised or lowered by the evidence propagated to its pair.

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        The base similarity whose affinities are adjusted; it is fitted with the answers if it
        honors them. "precomputed" if `fit` is given affinities; None is `AdaptiveKNN()`.
        ``E2CP(ClustRF())`` is "RF+E2CP" in the COP-RF paper.
    alpha : float, default=0.8
        Range of the propagation, in (0, 1): the larger, the farther answers reach.
    n_neighbors : int, "auto", "paper" or None, default="auto"
        Number of largest affinities of each row that form the neighbor graph. "paper" is a tenth
        of the rows; "auto" is the same, limited to between 5 and 20. None uses all affinities, or
        a sparse affinity as it is.
    form : {"auto", "dense", "sparse"}, default="auto"
        "dense" adjusts the affinities of all pairs of rows, as published. "sparse" adjusts those of
        three sets of pairs: those in the graph, the answered ones, and those of a row near one end
        of a must-link and a row near its other end. "auto" is "dense" up to 2,000 rows, and always
        if `n_neighbors` is None and the affinity is dense.
    random_state : int, RandomState or None, default=None
        Seed of the base similarity, if that has none of its own.
    n_jobs : int or None, default=None
        Number of threads of the sparse form. The result does not depend on it.

    Attributes
    ----------
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples), float64
        Affinities in [0, 1]; the diagonal is 0.
    constraint_weight_ : ndarray of shape (n_pairs,)
        Weight of each answer: as given, or as estimated by the base similarity.
    similarity_ : estimator
        The fitted base similarity.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or ``form="sparse"`` is combined with
        ``n_neighbors=None`` and a dense affinity.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    TooLargeError
        If the dense form is used above 20,000 rows.

    Warns
    -----
    ConvergenceWarning
        If `alpha` is so close to 1 that the sparse form would need more than 1,000 steps.

    See Also
    --------
    COPRF : Propagates answers through informative features.
    LinkedAffinity : Changes the affinities of answered pairs only.

    Notes
    -----
    Honors pairs as soft constraints; don't-knows are ignored. Answers to the same pair are added
    up, so contradictory answers cancel. With the normalized graph S and the answers Z,
    ``F = (I - αS)⁻¹ Z (I - αS)⁻¹``, scaled to a largest absolute entry of 1. An affinity w then
    becomes ``1 - (1 - f)(1 - w)`` if f ≥ 0, and ``(1 + f)·w`` otherwise.

    Dense: O(n³) time, O(n²) memory. Sparse, for r rows with answers and e edges:
    O(r·e / (1 - α)^½) time and O(n·r) memory, at most 512 MiB, by Chebyshev's iteration to a
    relative residual of 0.001. To cluster the result, use ``SpectralClustering(n_neighbors=None)``;
    `SimilarityClustering` sets this by itself.

    References
    ----------
    Z. Lu and H. H. S. Ip, "Constrained spectral clustering via exhaustive and efficient constraint
    propagation", ECCV 2010. The sparse form is clew's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import SimilarityClustering, SpectralClustering
    >>> from clew.similarity import E2CP
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=60, random_state=0)
    >>> model = SimilarityClustering(E2CP(), SpectralClustering(3), random_state=0)
    >>> model.fit(X, constraints=c).labels_.shape
    (150,)
    """

    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "alpha": Allowed(kind=float, low=0, high=1, low_open=True, high_open=True),
        "n_neighbors": Allowed(names=("auto", "paper"), kind=int, low=1, none=True),
        "form": Allowed(names=("auto", "dense", "sparse")),
        "n_jobs": (Allowed(kind=int, low=1, none=True), Allowed(kind=int, high=-1)),
    }
    supports = Support(pairs=True, dont_know=True)

    constraint_weight_: Floats

    def __init__(
        self,
        similarity: Any = None,
        *,
        alpha: float = 0.8,
        n_neighbors: int | Literal["auto", "paper"] | None = "auto",
        form: Literal["auto", "dense", "sparse"] = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.similarity = similarity
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.form = form
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _solve(
        self, base: FittedSimilarity, answers: Constraints, callback: Progress | None
    ) -> None:
        weighted, n = reweighted(answers, base), answers.n_samples
        is_sparse = has_sparse_affinity(base)
        self._check_size(n, is_sparse=is_sparse)
        if self.n_neighbors is None:
            graph = nearest_graph(base.affinity_matrix_, n - 1)
        else:
            graph = graph_of(base, n, resolved_n_neighbors(self.n_neighbors, n))
        propagation = Propagation(graph, self.alpha)
        if self._is_dense(n, is_sparse=is_sparse):
            self.affinity_matrix_ = propagation.dense_affinity(weighted)
        else:
            self.affinity_matrix_ = propagation.sparse_affinity(
                weighted, n_jobs=self.n_jobs, callback=callback
            )
        self.constraint_weight_ = weighted.pair_weights

    def _check_size(self, n_samples: int, *, is_sparse: bool) -> None:
        if self.form == "sparse" and self.n_neighbors is None and not is_sparse:
            raise InvalidParameterError(
                f"{type(self).__name__}(form='sparse', n_neighbors=None) needs a sparse affinity, "
                "but the affinity of the base similarity is dense; set n_neighbors, or form='dense'"
            )
        if self._is_dense(n_samples, is_sparse=is_sparse):
            check_dense_size(n_samples)

    def _is_dense(self, n_samples: int, *, is_sparse: bool) -> bool:
        """Decide on the dense form; `is_sparse` is whether the affinity of the base is sparse."""
        has_all = self.n_neighbors is None and not is_sparse
        is_small = n_samples <= DENSE_PROPAGATION_ROWS or has_all
        return self.form == "dense" or (self.form == "auto" and is_small)


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
        strength = (answers.strength @ inverse).T @ inverse[answers.heads]
        np.fill_diagonal(strength, 0.0)
        return _adjusted(self.graph.toarray(), strength + strength.T)

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
        rows = self._once("single inverse", self._single_inverse)[answers.rows]
        from_heads = np.ascontiguousarray(rows[answers.heads])
        from_answers = answers.strength.astype(np.float32) @ rows
        del rows  # as large as the result
        matrix = upper_of_product_sum(from_answers, from_heads)
        del from_answers, from_heads
        weight, count = np.empty(n, np.float32), np.empty(n, np.int64)
        graph = (self.graph.indptr, self.graph.indices, self.graph.data)
        adjust(matrix, *graph, LEAST_AFFINITY, weight, count)
        start = np.concatenate([[0], count.cumsum()])
        indices, data = np.empty(start[-1], np.int32), np.empty(start[-1])
        collect(matrix, LEAST_AFFINITY, start[:-1].copy(), indices, data)
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
        pattern = _pairs_to_adjust(self.graph, constraints)
        propagated = _propagated(self._normalized, self.alpha, answers, pattern, n_jobs, callback)
        row = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        at = (row, pattern.indices)
        affinity, strength = (entries_at(matrix, *at) for matrix in (self.graph, propagated))
        adjusted = csr_array((_adjusted(affinity, strength), at), shape=pattern.shape)
        adjusted.eliminate_zeros()
        return adjusted

    def _rows_of_inverse(self, rows: NDArray[np.int64]) -> Floats:
        """Return the given rows of ``(I - αS)⁻¹``."""
        n = self.graph.shape[0]
        if len(rows) >= n / INVERT_FROM:
            return np.asarray(self._once("inverse", self._inverse)[rows])
        factor = self._once("factor", lambda: cho_factor(self._system(), overwrite_a=True))
        unit = np.zeros((n, len(rows)), order="F")
        unit[rows, np.arange(len(rows))] = 1.0
        return np.asarray(cho_solve(factor, unit, overwrite_b=True).T)

    def _inverse(self) -> Floats:
        # The transpose is the same matrix, in the memory order of LAPACK.
        root, failed = dpotrf(self._system().T, overwrite_a=True)
        assert not failed, "alpha is below 1, so the matrix is positive definite"
        half, failed = dpotri(root, overwrite_c=True)
        assert not failed
        whole = half + half.T  # the other half is 0
        whole[np.diag_indices(len(whole))] /= 2
        return np.asarray(whole)

    def _single_inverse(self) -> Singles:
        system = (self._normalized * -self.alpha).astype(np.float32).toarray()
        np.fill_diagonal(system, 1.0)  # the diagonal of S is 0
        return inverse(np.asarray(system))

    def _system(self) -> Floats:
        """Return ``I - αS``."""
        system: Floats = self._normalized.toarray()
        system *= -self.alpha
        system[np.diag_indices_from(system)] += 1.0
        return system


def _adjusted(affinity: Floats, evidence: Floats) -> Floats:
    """Raise affinities with positive propagated answers, and lower those with negative ones."""
    most = max(float(evidence.max(initial=0.0)), -float(evidence.min(initial=0.0)))
    strength = evidence / most if most > 0 else evidence
    # The paper's 1 - (1 - f)(1 - w) is equal to w + f(1 - w).
    return np.asarray(affinity + strength * np.where(strength >= 0, 1 - affinity, affinity))


# SciPy's own functions for these LAPACK and BLAS routines hold the GIL while they compute. Called
# by their addresses through `ctypes`, the same routines release it, and the results are the same.


def inverse(matrix: Singles) -> Singles:
    """Invert a symmetric positive definite matrix in place, (n, n), contiguous."""
    info = ctypes.c_int()
    # LAPACK reads the transpose: its upper triangle is the lower one here.
    for routine in ("spotrf", "spotri"):
        n = _integer(len(matrix))
        _routine("cython_lapack", routine)(b"U", n, matrix.ctypes, n, ctypes.byref(info))
        if info.value:
            raise np.linalg.LinAlgError(f"{routine} failed: {info.value}")
    mirror_lower(matrix, BLOCK)
    return matrix


def upper_of_product_sum(a: Singles, b: Singles) -> Singles:
    """Compute the upper triangle of ``aᵀb + bᵀa``, (n, n), for contiguous factors, (k, n)."""
    k, n = a.shape
    total = np.zeros((n, n), np.float32)
    one, columns = ctypes.byref(ctypes.c_float(1.0)), _integer(n)
    # BLAS reads transposes; the lower triangle of its result is the upper one here.
    _routine("cython_blas", "ssyr2k")(
        b"L", b"N", columns, _integer(k), one, a.ctypes, columns, b.ctypes, columns,
        ctypes.byref(ctypes.c_float(0.0)), total.ctypes, columns,
    )  # fmt: skip
    return total


def _integer(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


@cache
def _routine(module: str, name: str) -> Any:
    """Return a routine that takes the addresses of all its arguments."""
    return ctypes.CFUNCTYPE(None)(get_cython_function_address(f"scipy.linalg.{module}", name))


def _pairs_to_adjust(graph: csr_array, answers: Constraints) -> csr_array:
    """Pairs of the graph, answered ones and rows near both ends of must-links, (n, n)."""
    n = graph.shape[0]
    pairs, strength = net_links(answers)
    answered = coo_array((np.ones(len(pairs), bool), tuple(pairs.T)), shape=(n, n))
    must = tuple(pairs[strength > 0].T)
    joined = coo_array((np.ones(sum(strength > 0)), must), shape=(n, n))
    widest = int(np.diff(graph.indptr).max(initial=0))
    n_near = min(widest, int(np.sqrt(MAX_ADDED_PER_ROW * n / max(joined.nnz, 1))))
    nearest = largest_stored(graph, n_near)
    nearest.data[:] = 1.0
    near = csr_array(nearest + eye_array(n))
    around = (near.T @ joined @ near).tocsr() > 0
    half = around + answered + triu(graph, format="csr").astype(bool)
    pattern = csr_array(half + half.T)
    pattern.setdiag(False)
    pattern.eliminate_zeros()
    return pattern


def _propagated(
    normalized: csr_array,
    alpha: float,
    answers: NetAnswers,
    pattern: csr_array,
    n_jobs: int | None,
    callback: Progress | None = None,
) -> csr_array:
    """Compute the entries of ``(I - αS)⁻¹ Z (I - αS)⁻¹`` that `pattern` stores, to about 0.001.

    One system a row with answers if the solutions fit in 512 MiB, otherwise two for each head.
    """
    order = reverse_cuthill_mckee(normalized, symmetric_mode=True)
    diffusion = _Diffusion(normalized, alpha, answers, order, n_jobs)
    renumbered = csr_array(pattern[order][:, order])
    renumbered.sort_indices()
    upper = triu(renumbered, 1, format="csr").tocoo()
    row, column = upper.row.astype(np.int32), upper.col.astype(np.int32)
    total = np.zeros(len(row))

    def products(block: tuple[int, int]) -> Floats:
        part = np.zeros(len(row))
        first, second = diffusion.from_answers(block), diffusion.from_heads(block)
        add_symmetric_products(row, column, first, second, part)
        return part

    parts = blocks(len(answers.heads), COLUMNS_PER_BLOCK)
    waves = blocks(len(parts), BLOCKS_PER_WAVE)
    for done, (start, stop) in enumerate(waves, start=1):
        for part in in_threads(products, parts[start:stop], n_jobs=n_jobs):
            total += part
        if callback is not None:
            callback(done, len(waves))
    if len(parts) and not diffusion.has_converged:
        warn(
            f"the propagation of answers did not converge in {MAX_ITER} steps; "
            f"alpha={alpha} may be too close to 1",
            ConvergenceWarning,
        )
    half = coo_array((total, (order[row], order[column])), shape=pattern.shape).tocsr()
    return csr_array(half + half.T)


class _Diffusion:
    """Columns of ``(I - αS)⁻¹``, by place in `order`; stored if they fit in 512 MiB."""

    def __init__(
        self, normalized: csr_array, alpha: float, answers: NetAnswers,
        order: NDArray[np.integer], n_jobs: int | None,
    ) -> None:  # fmt: skip
        self._alpha, (rows, self._heads, self._strength) = alpha, answers
        graph = csr_array(normalized[order][:, order]).astype(np.float32)
        graph.sort_indices()
        csr = (graph.indptr.astype(np.int32), graph.indices.astype(np.int32), graph.data)
        self._csr: tuple[NDArray[np.int32], NDArray[np.int32], Singles] = csr
        n_steps = int(np.ceil(np.arccosh(1 / TOLERANCE) / np.arccosh(1 / alpha)))
        self._n_steps, self.has_converged = min(max(n_steps, 1), MAX_ITER), n_steps <= MAX_ITER
        self._n, r = normalized.shape[0], len(rows)
        self._rows = np.argsort(order)[rows].astype(np.int32)
        self._stored: Singles | None = None
        if self._n * r <= MAX_STORED:
            stored = np.empty((r, self._n), np.float32)

            def keep(block: tuple[int, int]) -> None:
                stored[slice(*block)] = self._columns(np.arange(*block)).T

            in_threads(keep, blocks(r, COLUMNS_PER_BLOCK), n_jobs=n_jobs)
            self._stored = stored

    def from_heads(self, block: tuple[int, int]) -> Singles:
        """Return the columns of the inverse for a block of heads, (n, width)."""
        heads = self._heads[slice(*block)]
        if self._stored is None:
            return self._columns(heads)
        return np.ascontiguousarray(self._stored[heads].T)

    def from_answers(self, block: tuple[int, int]) -> Singles:
        """Return the inverse times the answers that a block of heads stores, (n, width)."""
        strength = self._strength[slice(*block)]
        if self._stored is None:
            right = strength.T.tocoo()
            return self._solved(self._rows[right.row], right.col, right.data, right.shape[1])
        product: Singles = strength.astype(np.float32) @ self._stored
        return np.ascontiguousarray(product.T)

    def _columns(self, places: NDArray[np.int64]) -> Singles:
        """Return the columns of the inverse for rows with answers, (n, width)."""
        width = len(places)
        return self._solved(self._rows[places], np.arange(width), np.ones(width), width)

    def _solved(
        self, row: NDArray[np.int32], column: NDArray[np.integer], value: Floats, width: int
    ) -> Singles:
        """Solve for right-hand sides with these entries, (n, width)."""
        solution, buffer = (np.empty((self._n, width), np.float32) for _ in range(2))
        right = (row, column.astype(np.int32), value.astype(np.float32))
        diffuse(*self._csr, self._alpha, self._n_steps, *right, solution, buffer)
        return solution
