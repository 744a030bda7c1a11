"""Guided clustering on distances: ``python -m benchmarks.studies guided_distances``."""
