"""Constrained agglomerative clustering."""
