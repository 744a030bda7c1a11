"""Guided clustering of distances and of features: ``python -m benchmarks.studies guided_distances``."""
