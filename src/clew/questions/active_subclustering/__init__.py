"""ActiveSubclustering: a few pure examples of each of many groups, corrected by answers."""

from clew.questions.active_subclustering.active_subclustering import ActiveSubclustering

__all__ = ["ActiveSubclustering"]
