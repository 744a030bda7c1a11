"""Guided clustering, and the consensus of clusterings that it builds on."""

from clew.cluster.guided._ensemble.consensus import co_association, consensus
from clew.cluster.guided._fit import Alternative
from clew.cluster.guided._result.explanation import Explanation
from clew.cluster.guided._result.guided_result import GuidedResult
from clew.cluster.guided._result.regime import Regime
from clew.cluster.guided.guided_clustering import GuidedClustering

__all__ = [
    "Alternative",
    "Explanation",
    "GuidedClustering",
    "GuidedResult",
    "Regime",
    "co_association",
    "consensus",
]
