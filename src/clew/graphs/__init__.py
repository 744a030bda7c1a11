"""Neighbor graphs, Gaussian affinities with local scales, and checks of given affinities."""

from clew.graphs._checks import (
    SYMMETRY_TOLERANCE,
    check_affinity,
    check_dense_size,
    check_distances,
    check_n_neighbors,
    check_square,
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
    largest_entries,
    largest_stored,
    nearest_graph,
    resolved_n_neighbors,
)
from clew.graphs._search import NeighborSearch

__all__ = [
    "COINCIDENT",
    "SYMMETRY_TOLERANCE",
    "LocalScales",
    "NeighborSearch",
    "check_affinity",
    "check_dense_size",
    "check_distances",
    "check_n_neighbors",
    "check_square",
    "coincide",
    "largest_entries",
    "largest_stored",
    "local_gaussian",
    "local_scale_graph",
    "local_scales",
    "nearest_graph",
    "resolved_n_neighbors",
    "scaled_squares",
]
