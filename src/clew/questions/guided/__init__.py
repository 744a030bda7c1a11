"""Guided: what to ask next, from a posterior over partitions."""

from clew.questions.guided.guided import Guided

__all__ = ["Guided"]
