"""AdaptiveKNN: Gaussian affinities of distances, with local scales."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import OfDistances, Transformer, guarded_fit
from clew._parallel import Progress, blocks, unlocked_property
from clew._units import Units
from clew._validation import Allowed, AllowedValues, check_data, check_parameters, warn_of_distances
from clew.graphs import (
    LocalScales,
    NeighborSearch,
    check_dense_size,
    check_distances,
    check_distances_to_fitted,
    check_n_neighbors,
    largest_stored,
    local_gaussian,
    local_scales,
)
from clew.kernels.nearest import smallest_of_rows

__all__ = ["AdaptiveKNN"]

ROWS_PER_BLOCK = 1024
#: Affinities are compared for this multiple of `n_neighbors` nearest rows, and for at least
#: `FEWEST_CANDIDATES` rows: with local scales, the order by affinity is not that by distance.
CANDIDATES_PER_NEIGHBOR, FEWEST_CANDIDATES = 3, 50
Floats = NDArray[np.float64]


class AdaptiveKNN(OfDistances, Transformer):
    """Gaussian affinities of distances, with a scale for each row that adapts to the local density.

    Parameters
    ----------
    n_neighbors : int, default=20
        Number of nearest rows whose mean distance is the scale of a row (M in the papers). Rows
        that coincide with it are left out.
    metric : {"euclidean", "cosine", "precomputed"}, default="euclidean"
        "euclidean": Euclidean distances of the rows. "cosine": Euclidean distances of the rows
        scaled to length 1, whose squares are twice the cosine distances; for texts and embeddings.
        Rows of zeros stay zeros. "precomputed": `fit` is given the distances of all pairs of rows.

    Attributes
    ----------
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Affinities of all pairs of rows, in [0, 1]; computed at the first access.
    scale_ : ndarray of shape (n_samples,)
        Scale of each row, in the unit of the features or distances; 1 for a row that coincides with
        all others.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    InvalidDataError
        If precomputed distances are not square and symmetric, or have negative entries.
    TooLargeError
        From `affinity_matrix_`, above 20,000 rows.

    See Also
    --------
    ClustRF : Affinities that are robust to uninformative features.

    Notes
    -----
    The affinity of two rows at the distance δ is ``exp(-δ² / s²)``, where s is the mean of their
    two scales. `affinity_matrix_` takes O(d·n²) time for d features, and O(n²) memory;
    `kneighbors_graph` takes O(n·k) memory. Features of larger variance have more weight, so
    standardize them first.

    References
    ----------
    J. Wang, S.-F. Chang, X. Zhou and S. Wong, "Active microscopic cellular image annotation by
    superposable graph transduction with imbalanced labels", CVPR 2008, as X. Zhu, C. C. Loy and
    S. Gong use it in "Constructing robust affinity graphs for spectral clustering", CVPR 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew.similarity import AdaptiveKNN
    >>> X, y = load_iris(return_X_y=True)
    >>> A = AdaptiveKNN().fit(X).affinity_matrix_
    >>> A.shape
    (150, 150)
    >>> bool(A[:50, :50].mean() > 100 * A[:50, 50:].mean())
    True
    """

    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "n_neighbors": Allowed(kind=int, low=1),
        "metric": Allowed(names=("euclidean", "cosine", "precomputed")),
    }

    scale_: Floats
    _units: Units
    _rows: Any
    _local: LocalScales
    _scale: Floats

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        metric: Literal["euclidean", "cosine", "precomputed"] = "euclidean",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.transformer_tags.preserves_dtype = []  # affinities are float32
        return tags

    @guarded_fit
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, callback: Progress | None = None
    ) -> Self:
        """Compute the scales of the rows.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features), or (n_samples, n_samples)
            Features, dense or sparse, or dense distances.
        y : ignored
            Present for compatibility with scikit-learn.
        callback : callable, default=None
            Called as ``callback(1, 1)`` at the end.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        self._solve(self._checked(X))
        if callback is not None:
            callback(1, 1)
        return self

    def _solve(self, rows: Any) -> None:
        """Compute the scales of valid rows."""
        if self.metric == "euclidean" and not issparse(rows):
            self._units = Units.around_median(rows)
        elif self.metric == "cosine":
            self._units = Units(0.0, 1.0)
        elif self.metric == "precomputed":
            self._units = Units(0.0, float(rows.max()) or 1.0)
        else:  # not centered, so that sparse features stay sparse
            self._units = Units(0.0, float(abs(rows).max()) or 1.0)
        self._rows = self._inside(rows)
        if self.metric != "precomputed":
            self._local = LocalScales(self._rows, self.n_neighbors, uses_mean=True)
        self._scale = self._scales(self._rows)
        with np.errstate(over="ignore"):  # distances of huge features may be infinite
            self.scale_ = self._scale * self._units.unit
        self._n_features_out = rows.shape[0]

    @unlocked_property
    def affinity_matrix_(self) -> NDArray[np.float32]:
        """Affinities of all pairs of fitted rows, (n_samples, n_samples); computed when read."""
        check_is_fitted(self, "scale_")
        check_dense_size(self._rows.shape[0])
        return self._affinity(self._rows, self._scale)

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Find the most similar rows of each fitted row, without a dense matrix.

        Parameters
        ----------
        n_neighbors : int, default=20
            Number of rows to find for each row.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float64
            Row i holds the affinities to the `n_neighbors` rows most similar to it, without itself.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.

        Notes
        -----
        They are chosen among the ``3·n_neighbors`` nearest rows by distance, at least 50.
        """
        check_is_fitted(self, "scale_")
        n = self._rows.shape[0]
        check_n_neighbors(n_neighbors, n)
        n_candidates = max(CANDIDATES_PER_NEIGHBOR * n_neighbors, FEWEST_CANDIDATES)
        n_candidates = min(n_candidates, n - 1)
        search = NeighborSearch(self._rows, is_distance=self.metric == "precomputed")
        distance, column = search.nearest_others(n_candidates)
        if self.metric == "precomputed":
            distance = self._units.scale(distance)
        value = _affinity(distance, self._scale[:, None], self._scale[column])
        indptr = np.arange(0, value.size + 1, n_candidates)
        return largest_stored(
            csr_array((value.ravel(), column.ravel(), indptr), (n, n)), n_neighbors
        )

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Compute the affinities of rows to all fitted rows.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_rows, n_features), or (n_rows, n_samples)
            Features of rows, fitted or new, or their distances to the fitted rows.

        Returns
        -------
        ndarray of shape (n_rows, n_samples), float32
            Affinities in [0, 1].
        """
        check_is_fitted(self, "scale_")
        rows = self._inside(self._checked(X, reset=False))
        return self._affinity(rows, self._scales(rows))

    def _checked(self, X: Any, *, reset: bool = True) -> Any:
        """Validate features, which may be sparse, or distances."""
        if self.metric == "precomputed":
            if reset:
                return check_distances(X, estimator=self, keep_single=True)
            return check_distances_to_fitted(self, X)
        checked = check_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64,
            ensure_min_samples=2 if reset else 1,
        )  # fmt: skip
        if isinstance(checked, np.ndarray):
            if reset:
                warn_of_distances(self, checked)
        else:
            checked = csr_array(checked, copy=True)
            checked.sum_duplicates()
            checked.eliminate_zeros()
        return checked

    def _inside(self, rows: Any) -> Any:
        """Convert validated rows to the units of the computations; distances stay as they are."""
        if self.metric == "precomputed":  # in blocks where they are read, without a copy
            return rows
        if self.metric == "cosine":
            return normalize(rows / (float(abs(rows).max()) or 1.0))  # squares must not overflow
        if isinstance(rows, np.ndarray):
            return self._units.scale(rows)
        if np.ndim(self._units.center):  # fitted on dense rows, and centered
            return self._units.scale(rows.toarray())
        return rows / self._units.unit

    def _affinity(self, rows: Any, scale: Floats) -> NDArray[np.float32]:
        affinity = np.empty((rows.shape[0], len(self._scale)), np.float32)
        for start, stop in blocks(rows.shape[0], ROWS_PER_BLOCK):
            block = rows[start:stop]
            if self.metric == "precomputed":
                distance = self._units.scale(block)
            else:
                distance = euclidean_distances(block, self._rows)
            affinity[start:stop] = _affinity(distance, scale[start:stop, None], self._scale)
        return affinity

    def _scales(self, rows: Any) -> Floats:
        """Return the mean distance of rows to their nearest fitted rows that do not coincide."""
        if self.metric != "precomputed":
            return self._local.of(rows)
        nearest = np.empty((len(rows), min(self.n_neighbors, rows.shape[1])))
        # Rows at distance 0 coincide.
        smallest_of_rows(
            np.ascontiguousarray(rows), 0.0, np.empty(nearest.shape, np.int64), nearest
        )
        is_found = np.isfinite(nearest)
        return local_scales(self._units.scale(nearest), is_found, self.n_neighbors, uses_mean=True)


def _affinity(distance: Floats, scale: Floats, other: Floats) -> Floats:
    """Return ``exp(-d² / s²)``, where s is the mean of both scales."""
    width = (scale + other) / 2
    return local_gaussian(distance, width, width)
