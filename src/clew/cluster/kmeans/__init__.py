"""Constrained k-means and its relatives."""
