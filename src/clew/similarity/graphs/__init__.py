"""Neighbor graphs: which edges to keep, and answers written into them."""

from clew.similarity.graphs._propagation import Propagation

__all__ = ["Propagation"]
