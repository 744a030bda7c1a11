"""Guided clustering: groups from features and people's answers, in one model."""

from clew.cluster.guided._explain import Explanation
from clew.cluster.guided._result import Alternative, GuidedResult, Regime
from clew.cluster.guided.guided_clustering import GuidedClustering

__all__ = ["Alternative", "Explanation", "GuidedClustering", "GuidedResult", "Regime"]
