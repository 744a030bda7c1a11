"""Similarities on neighbor graphs: selection of edges, and propagation of answers."""

from clew.similarity.graphs.e2cp import Propagation

__all__ = ["Propagation"]
