"""Parts of a fit that depend on features only: views, the neighbor graph and the smoothers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._parallel import in_threads
from clew.cluster.guided._features.feature_space import FeatureSpace, Metric
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._refinement.smoothers import (
    NeighborSmoother,
    RidgeSmoother,
    Smoother,
)
from clew.graphs import DistanceSpace

__all__ = ["Prepared"]

#: Neighbors of each row in the graph of the smoother.
N_NEIGHBORS = 10


class Prepared(NamedTuple):
    """Features as members read them, and the smoothers of groups."""

    space: Any
    """`FeatureSpace` or `DistanceSpace`."""
    views: Views
    graph: csr_array
    ridge: RidgeSmoother

    @classmethod
    def of(
        cls,
        X: NDArray[np.float64] | csr_array,
        metric: Metric | Literal["precomputed"],
        standardize: bool | Literal["auto"],
        seeds: tuple[int, int],
        n_jobs: int | None,
        coordinates_of: DistanceSpace | None = None,
    ) -> Self:
        """Prepare features.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Features; distances if `metric` is "precomputed".
        metric, standardize
            As `FeatureSpace.fit` takes them.
        seeds : tuple of int
            Seeds of the views and of the smoother.
        n_jobs : int or None
            Number of threads.
        coordinates_of : DistanceSpace, default=None
            The space of `X` if features are coordinates computed from distances: forests then get
            rotations of them.

        Returns
        -------
        Prepared
        """
        space: Any
        distances, of_trees = None, None
        if metric == "precomputed":
            distances = cast(NDArray[np.floating], X)
            space = coordinates_of = DistanceSpace.fit(distances, seeds[0])
        else:
            space = FeatureSpace.fit(X, metric, standardize, seeds[0])
        columns = space.transform(X)
        if coordinates_of is not None:
            of_trees = coordinates_of.with_rotations(columns, seeds[0])
        views = Views(columns, seeds[0], n_jobs, distances, of_trees)
        parts: tuple[Callable[[], Any], ...] = (
            lambda: views.read("neighbors", N_NEIGHBORS),
            lambda: RidgeSmoother(views.X, seeds[1]),
        )
        return cls(space, views, *in_threads(lambda part: part(), parts, n_jobs=n_jobs))

    @property
    def smoothers(self) -> dict[str, Smoother]:
        """The smoothers of features."""
        return {"neighbors": NeighborSmoother(self.graph), "ridge": self.ridge}
