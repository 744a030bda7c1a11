"""What the model reads of rows: scaled features of at most a few hundred columns, and smoothers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import ward
from scipy.linalg import qr, svd
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import squareform
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import svd_flip
from sklearn.utils.sparsefuncs import mean_variance_axis

from clew._composition import graph_of
from clew._limits import DENSE_PROPAGATION_ROWS, MANY_ROWS
from clew._parallel import Once, in_threads
from clew._units import LEAST_DEVIATION, WIDE_COLUMNS, Units
from clew.cluster.guided._cuts import ward_of
from clew.cluster.guided._gaps import Gaps, Pieces
from clew.cluster.guided._hidden_flags import HiddenFlags
from clew.cluster.guided._latent_classes import (
    LEAST_DIFFERENT,
    Categories,
    columns_without_order,
    different_rows,
    factors_of_flags,
)
from clew.cluster.guided._smoothers import (
    NeighborSmoother,
    RidgeSmoother,
    Smoother,
    ValueSmoother,
    WalkSmoother,
    values_and_ranks,
)
from clew.constraints import Constraints
from clew.graphs import DistanceSpace, NeighborSearch, nearest_graph, resolved_n_neighbors
from clew.similarity import COPRF, AdaptiveKNN
from clew.similarity.graphs import Propagation

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Metric = Literal["euclidean", "cosine"]

#: Features of more than `WIDE_COLUMNS` columns are replaced by so many principal components.
N_COMPONENTS: Final = 100
#: Discriminants are those of one principal component for each so many rows, within these bounds.
ROWS_A_COMPONENT, COMPONENTS = 10, (10, 100)
#: Extra columns and power iterations of the randomized decomposition.
OVERSAMPLING, N_ITERATIONS = 20, 4
N_TREES = 150
#: Directions with a smaller share of the largest singular value are rounding errors.
LEAST_SHARE = 1e-10
#: Neighbors of each row in the graph of the smoother, and how far answers propagate over it.
N_NEIGHBORS, ALPHA = 10, 0.9
#: A lattice shows in so many rows; its rows move by this share of its step in each direction, which
#: is the standard deviation of rounding errors.
N_LATTICE_ROWS, JITTER = 1_000, 0.29
#: Columns are rounded to so many decimals: a common factor of all features changes later ones, and
#: these decide between groups that are about as good.
N_DECIMALS = 10
#: Values farther from the median than so many interquartile ranges are broken, if at most this
#: share of a column is, and its standard deviation is more than so many times that of the others.
#: They are as if they were so many ranges from it, or as the farthest of the others.
FARTHEST, MOST_BROKEN, LEAST_NARROWED, NEAREST_BROKEN = 10.0, 0.02, 2.0, 2.0
#: Columns that differ from their most common value in fewer rows may be equal by accident.
LEAST_UNCOMMON = 10


def jittered(X: Floats, seed: int) -> Floats:
    """Move rows on a lattice about halfway to the next ones, in all directions, if rows repeat.

    The nearest rows of a row are all equal to it otherwise, and equal rows a group of their own.
    On a lattice, also a rotated one, the distances to the nearest other rows have few values; rows
    that were given twice stay as they are.
    """
    unit = np.abs(X).max() or 1.0
    different = different_rows(X)
    if not 2 < len(different) < LEAST_DIFFERENT * len(X):
        return X
    _, value, axes = svd(different - different.mean(axis=0), full_matrices=False)
    axes = axes[value > LEAST_SHARE * value[0]]
    nearest = NeighborSearch(different).nearest(different[:N_LATTICE_ROWS], 2)[0][:, 1]
    step = np.median(nearest)
    if 2 * len(np.unique(np.round(nearest / step, 6))) > len(nearest):
        return X
    noise = np.random.RandomState(seed).normal(scale=JITTER * step, size=(len(X), len(axes)))
    return np.asarray(X + unit * noise @ axes)


class Rows:
    """Positions of rows and smoothers over them: what groups are refined by, beside answers."""

    def __init__(self, X: Floats, smoothers: Sequence[Smoother], *, has_features: bool) -> None:
        self.X, self._smoothers, self.has_features = X, tuple(smoothers), has_features
        #: Results by key: ``once(key, make)`` calls `make` only if there is no result for the key.
        self.once = Once()

    def __getstate__(self) -> dict[str, Any]:
        # Caches are not pickled: they are computed again.
        return {**self.__dict__, "once": Once()}

    @property
    def smoothers(self) -> tuple[Smoother, ...]:
        """What predicts the groups of rows from those of others."""
        return self._smoothers

    @property
    def unfitted(self) -> tuple[tuple[Smoother, ...], ...]:
        """Sets of smoothers: groups are as coherent as the best set predicts; none without X."""
        return ()

    @property
    def positions(self) -> Floats:
        """Principal components of values and ranks: with many, any groups could be separated."""
        n_components = int(np.clip(len(self.X) // ROWS_A_COMPONENT, *COMPONENTS))
        found: Floats = self.once("positions", lambda: values_and_ranks(self.X, n_components))
        return found

    @property
    def categories(self) -> Categories | None:
        """Columns of few values and measures beside them; None of other features."""
        return None

    @property
    def gaps(self) -> Gaps | None:
        """Gaps around groups; None without features and for many rows."""
        if not self.has_features or len(self.X) > MANY_ROWS:
            return None
        gaps: Gaps = self.once("gaps", self._gaps)
        return gaps

    def _gaps(self) -> Gaps:
        return Gaps(self.X)

    def pieces(self, same: Labels, weights: Floats, apart: Labels | None) -> Pieces | None:
        """Pieces of groups, given weighted pairs of rows called the same, (m, 2); see `Pieces`."""
        del same, weights, apart
        return None

    @property
    def tree(self) -> Floats:
        """Ward's linkage of the rows, (n_samples - 1, 4)."""
        tree: Floats = self.once("ward", self._ward)
        return tree

    def _ward(self) -> Floats:
        return ward_of(self.X)


class Prepared(Rows):
    """Features or distances, and what depends on them only: neighbors, ridge, Ward's tree."""

    def __init__(
        self,
        space: FeatureSpace | DistanceSpace,
        X: Floats,
        distances: NDArray[np.floating] | None,
        seeds: tuple[int, int],
        n_jobs: int | None,
    ) -> None:
        self.space, self.distances = space, distances
        self._seed, self._n_jobs = seeds[0], n_jobs
        self.graph: csr_array
        self.ridge: RidgeSmoother
        super().__init__(X, (), has_features=True)
        parts: tuple[Callable[[], Any], ...] = (
            lambda: self.neighbors(N_NEIGHBORS),
            lambda: RidgeSmoother(X, seeds[1]),
        )
        self.graph, self.ridge = in_threads(lambda part: part(), parts, n_jobs=n_jobs)
        self._smoothers = (NeighborSmoother(self.graph), self.ridge)

    @classmethod
    def of(
        cls,
        X: Floats | csr_array,
        metric: Metric | Literal["precomputed"],
        standardize: bool | Literal["auto"],
        seeds: tuple[int, int],
        n_jobs: int | None,
    ) -> Self:
        """Prepare features, or distances between all rows; seeds of samples and of the ridge."""
        if metric == "precomputed":
            distances = np.asarray(X)
            space: Any = DistanceSpace.fit(distances, seeds[0])
            return cls(space, space.transform(distances), distances, seeds, n_jobs)
        space = FeatureSpace.fit(X, metric, standardize, seeds[0])
        return cls(space, space.transform(X), None, seeds, n_jobs)

    @property
    def unfitted(self) -> tuple[tuple[Smoother, ...], ...]:
        """Random walks over the neighbors with the ridge, and each column of few values by itself.

        Of many rows, the ridge alone.
        """
        if len(self.X) > DENSE_PROPAGATION_ROWS:
            return ((self.ridge,),)

        def make() -> tuple[tuple[Smoother, ...], ...]:
            of_columns = [] if self.categories is None else self.categories.by_flags()
            walks = WalkSmoother(self.graph)
            return (walks, self.ridge), *((ValueSmoother(of),) for of in of_columns)

        found: tuple[tuple[Smoother, ...], ...] = self.once("unfitted", make)
        return found

    @property
    def categories(self) -> Categories | None:
        if self.distances is not None or len(self.X) > MANY_ROWS:
            return None
        categories: Categories | None = self.once("columns", lambda: Categories.of(self.X))
        return categories

    def pieces(self, same: Labels, weights: Floats, apart: Labels | None) -> Pieces | None:
        if len(self.X) > MANY_ROWS:
            return None
        return Pieces.of(self.graph, self.tree, same, weights, apart)

    @property
    def jittered(self) -> Floats:
        """Rows among which neighbors are found: `X`, or near it where rows repeat."""
        rows: Floats = self.once("jittered", lambda: jittered(self.X, self._seed))
        return rows

    def neighbors(self, n_neighbors: int) -> csr_array:
        """Adaptive Gaussian affinities of the nearest rows, (n_samples, n_samples)."""
        k = resolved_n_neighbors(n_neighbors, len(self.X))

        def make() -> csr_array:
            knn: AdaptiveKNN = self.once("affinity", self._affinity)
            return graph_of(knn, len(self.X), k)

        graph: csr_array = self.once(("neighbors", k), make)
        return graph

    def forest_neighbors(self, n_neighbors: int) -> csr_array:
        """Affinities of the nearest rows in a forest without answers, mixed with Gaussian ones."""
        forest = COPRF(N_TREES, euclidean=0.5, random_state=self._seed, n_jobs=self._n_jobs)
        return nearest_graph(
            forest.fit(self.jittered).affinity_matrix_,
            resolved_n_neighbors(n_neighbors, len(self.X)),
        )

    def propagated(self, answers: Constraints) -> Floats:
        """Affinity after E2CP propagated the answers over the neighbors, (n_samples, n_samples)."""
        propagation: Propagation = self.once("E2CP", lambda: Propagation(self.graph, ALPHA))
        affinity: Floats = propagation.fast_affinity(
            answers.as_pairs(), n_jobs=self._n_jobs
        ).toarray()
        return affinity

    def _affinity(self) -> AdaptiveKNN:
        if self.distances is not None:
            return AdaptiveKNN(metric="precomputed").fit(self.distances)
        return AdaptiveKNN().fit(self.jittered)

    def _gaps(self) -> Gaps:
        return Gaps(self.X, None if self.distances is None else np.asarray(self.distances, float))

    def _ward(self) -> Floats:
        if self.distances is None:
            return super()._ward()
        condensed = squareform(self.distances, checks=False).astype(np.float64, copy=False)
        return np.asarray(ward(condensed))


class Codes(NamedTuple):
    """A column whose values have no order; each becomes a column of its own."""

    column: int
    values: Floats
    """Its different values, sorted."""
    size: float
    """What a column has where its value is; all have the variance of the column together."""
    center: Floats

    @classmethod
    def of(cls, column: int, x: Floats) -> Self:
        values, counts = np.unique(x, return_counts=True)
        share = counts / len(x)
        size = float(x.std() / np.sqrt((share * (1 - share)).sum()))
        return cls(column, values, size, size * share)

    def indicators(self, rows: Floats) -> Floats:
        """Return columns of the values, (n_rows, n_values); values not fitted have none."""
        near = np.abs(rows[:, self.column, None] - self.values)
        return np.asarray((near < LEAST_SHARE * np.ptp(self.values)) * self.size - self.center)


class FeatureSpace(NamedTuple):
    """Map features to the columns that members read; fitted by `fit`, applied by `transform`."""

    units: Units
    metric: Metric
    center: Floats | float
    """Subtracted after the rows were scaled."""
    axes: Floats | None
    """Principal axes, (n_features, n_components); None for narrow features."""
    codes: tuple[Codes, ...] = ()
    """Columns whose values have no order."""
    constant: tuple[int, ...] = ()
    """Columns that have one value in all rows, and repeated ones."""
    flags: HiddenFlags | None = None
    """Flags and measures that a rotation hides, found in scaled rows."""
    limits: Floats | None = None
    """Smallest and largest value of each column, (2, n_columns); values beyond are broken."""

    @classmethod
    def fit(
        cls,
        X: Floats | csr_array,
        metric: Metric = "euclidean",
        standardize: bool | Literal["auto"] = "auto",
        seed: int = 0,
    ) -> Self:
        """Choose units and principal axes of X, (n_samples, n_features).

        Sparse features are treated as dense ones, unless they are wide: these are never made dense,
        and standardized only if that is True. Time O(nnz·r), memory O((n + d)·r) for r components.
        """
        is_wide = X.shape[1] > WIDE_COLUMNS
        if issparse(X) and not is_wide:
            return cls.fit(_dense(X), metric, standardize, seed)
        if metric == "cosine" or issparse(X):
            units = _units_that_keep_zeros(X, is_standardized=standardize is True)
        else:
            units = Units.standardized(X, standardize)
        limits = None
        if isinstance(X, np.ndarray):
            limits = None if is_wide or not standardize else _limits_of_values(X)
            if limits is not None:
                X = np.clip(X, *limits)
                units = Units.standardized(X, standardize)
            units = _counting_once(units, X)
        space = cls(units, metric, 0.0, None, limits=limits)
        rows = space._scaled(X)
        center = np.asarray(rows.mean(axis=0))
        if is_wide:
            return space._replace(center=center, axes=principal_axes(rows, center, seed=seed))
        if metric == "cosine":
            return space._replace(center=center)
        # Euclidean units are centered already.
        if (flags := HiddenFlags.of(rows, seed)) is not None:
            space, rows = space._replace(flags=flags), flags.transform(rows)
        if (factors := factors_of_flags(rows, seed)) is not None:
            if flags is not None:
                space = space._replace(flags=flags.scaled(factors))
            else:
                units = units._replace(unit=units.unit / factors, center=units.center * factors)
                space = space._replace(units=units)
            rows = rows * factors
        chosen = columns_without_order(rows, seed) if standardize else []
        constant = np.flatnonzero((rows == rows[0]).all(axis=0)).tolist()
        return space._replace(
            codes=tuple(Codes.of(at, rows[:, at]) for at in chosen),
            constant=tuple(constant) if len(constant) < rows.shape[1] else (),
        )

    def transform(self, X: Floats | csr_array) -> Floats:
        """Map rows, dense or sparse, to dense columns, (n_rows, n_columns)."""
        if self.axes is None:
            rows: Floats = self._scaled(_dense(X))
            rows -= self.center
            if self.flags is not None:
                rows = self.flags.transform(rows)
            left_out = [*self.constant, *(one.column for one in self.codes)]
            ordered = np.round(np.delete(rows, left_out, axis=1), N_DECIMALS)
            return np.column_stack([ordered, *(one.indicators(rows) for one in self.codes)])
        return np.asarray(self._scaled(X) @ self.axes - self.center @ self.axes)

    def _scaled(self, X: Any) -> Any:
        if np.ndim(self.units.center):  # fitted to dense features, and centered
            X = _dense(X)
        if self.limits is not None:
            X = np.clip(_dense(X), *self.limits)
        rows: Any = self.units.scale(X) if isinstance(X, np.ndarray) else X / self.units.unit
        if self.metric == "cosine":
            rows = normalize(rows)
        return rows if isinstance(rows, np.ndarray) else csr_array(rows)


def principal_axes(
    X: Floats | csr_array, center: Floats, n_components: int = N_COMPONENTS, seed: int = 0
) -> Floats:
    """Leading principal axes by a randomized decomposition, (n_features, n_components).

    N. Halko et al., "Finding structure with randomness", SIAM Review 2011, algorithms 4.4 and 5.1.
    """
    n, d = X.shape
    width = min(n_components + OVERSAMPLING, n, d)
    basis = np.random.RandomState(seed).normal(size=(d, width))
    for _ in range(N_ITERATIONS):
        scores = _orthonormal(X @ basis - center @ basis)
        basis = _orthonormal(X.T @ scores - np.outer(center, scores.sum(axis=0)))
    left, value, right = svd(X @ basis - center @ basis, full_matrices=False)
    _, right = svd_flip(left, right)
    n_kept = min(n_components, max(np.count_nonzero(value > LEAST_SHARE * value[0]), 1))
    return np.ascontiguousarray(basis @ right[:n_kept].T)


def _dense(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.toarray()


def _orthonormal(columns: Floats) -> Floats:
    return np.asarray(qr(columns, mode="economic", check_finite=False)[0])


def _units_that_keep_zeros(X: Floats | csr_array, *, is_standardized: bool) -> Units:
    """Return each feature's standard deviation, or one number, to divide by."""
    largest = float(np.abs(X if isinstance(X, np.ndarray) else X.data).max(initial=0.0)) or 1.0
    if not is_standardized:
        return Units(0.0, largest)
    _, variance = mean_variance_axis(csr_array(X / largest), axis=0)
    deviation = np.sqrt(variance)
    return Units(0.0, np.where(deviation > LEAST_DEVIATION, deviation, 1.0) * largest)


def _limits_of_values(X: Floats) -> Floats | None:
    """Limits of each column, if values far from all others make most of its variance.

    Broken values and codes such as -999 leave the other rows no distance otherwise, and a group of
    their own beside one of all the others. None if there are no such columns.
    """
    largest = float(np.abs(X).max(initial=0.0)) or 1.0  # no square overflows then
    X = X / largest
    low, middle, high = np.quantile(X, (0.25, 0.5, 0.75), axis=0)
    sides = np.array([[-1.0], [1.0]]) * (high - low)
    farthest = middle + FARTHEST * sides
    is_far = (farthest[0] > X) | (farthest[1] < X)
    is_less = np.clip(X, *farthest).std(axis=0) < X.std(axis=0) / LEAST_NARROWED
    near, nearest = np.where(is_far, middle, X), middle + NEAREST_BROKEN * sides
    low, high = np.minimum(nearest[0], near.min(axis=0)), np.maximum(nearest[1], near.max(axis=0))
    is_cut = (is_far.mean(axis=0) <= MOST_BROKEN) & is_less & (farthest[1] > farthest[0])
    if not is_cut.any():
        return None
    return np.where(is_cut, largest * np.array([low, high]), np.array([[-np.inf], [np.inf]]))


def _counting_once(units: Units, X: Floats) -> Units:
    """Give all but one of several equal columns an infinite unit."""
    total = np.random.RandomState(0).normal(size=len(X)) @ (X / (np.abs(X).max() or 1.0))
    order = np.argsort(total)
    # Sums of equal columns may differ by rounding.
    near = np.flatnonzero(np.diff(total[order]) <= LEAST_SHARE * (np.abs(total).max() or 1.0))
    is_repeated = np.zeros(X.shape[1], np.bool_)
    for first, second in zip(order[near], order[near + 1], strict=True):
        if np.array_equal(X[:, first], X[:, second]):
            most_common = np.unique(X[:, first], return_counts=True)[1].max()
            is_repeated[second] = len(X) - most_common >= LEAST_UNCOMMON
    if not is_repeated.any():
        return units
    unit = np.where(is_repeated, np.inf, units.unit)
    return units._replace(unit=unit, center=np.where(is_repeated, 0.0, units.center))
