"""Guided clustering, and the consensus of clusterings that it builds on."""

from clew.cluster.guided._consensus import co_association, consensus
from clew.cluster.guided._explanation import Explanation
from clew.cluster.guided._fit_result import GuidedResult
from clew.cluster.guided._regime import Regime
from clew.cluster.guided.guided_clustering import GuidedClustering

__all__ = [
    "Explanation",
    "GuidedClustering",
    "GuidedResult",
    "Regime",
    "co_association",
    "consensus",
]
