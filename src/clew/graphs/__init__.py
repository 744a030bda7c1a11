"""Neighbor graphs, Gaussian affinities with local scales, checks of affinities and distances."""

from clew.graphs._distances import (
    DistanceSpace,
    check_affinity,
    check_dense_size,
    check_distances,
    check_distances_to_fitted,
    check_n_neighbors,
    check_square,
    check_triangles,
    inner_products,
    n_rows_of_condensed,
)
from clew.graphs._local_scale import (
    COINCIDENT,
    LocalScales,
    coincide,
    local_gaussian,
    local_scale_graph,
    local_scales,
    scaled_squares,
)
from clew.graphs._neighbors import (
    NeighborSearch,
    largest_entries,
    largest_stored,
    nearest_graph,
    resolved_n_neighbors,
)

__all__ = [
    "COINCIDENT",
    "DistanceSpace",
    "LocalScales",
    "NeighborSearch",
    "check_affinity",
    "check_dense_size",
    "check_distances",
    "check_distances_to_fitted",
    "check_n_neighbors",
    "check_square",
    "check_triangles",
    "coincide",
    "inner_products",
    "largest_entries",
    "largest_stored",
    "local_gaussian",
    "local_scale_graph",
    "local_scales",
    "n_rows_of_condensed",
    "nearest_graph",
    "resolved_n_neighbors",
    "scaled_squares",
]
