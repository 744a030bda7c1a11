"""Similarities on neighbor graphs: selection of edges, and propagation of answers."""

from clew.similarity.graphs._propagation import Propagation

__all__ = ["Propagation"]
