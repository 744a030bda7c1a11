"""Figures of the labelling app: ``python -m benchmarks.app``."""
