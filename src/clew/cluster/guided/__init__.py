"""The parts of `GuidedClustering`: each is of use alone."""

from clew.cluster.guided._consensus import co_association, consensus
from clew.cluster.guided._explanation import Explanation
from clew.cluster.guided._pool import Candidate, default_pool
from clew.cluster.guided._refinement import TiedRows, refine
from clew.cluster.guided._smoothers import NeighborSmoother, RidgeSmoother, Smoother
from clew.cluster.guided._views import Views
from clew.cluster.guided.guided_clustering import GuidedClustering

__all__ = [
    "Candidate",
    "Explanation",
    "GuidedClustering",
    "NeighborSmoother",
    "RidgeSmoother",
    "Smoother",
    "TiedRows",
    "Views",
    "co_association",
    "consensus",
    "default_pool",
    "refine",
]
