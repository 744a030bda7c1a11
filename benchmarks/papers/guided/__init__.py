"""Guided clustering against every method in the house: ``python -m benchmarks.papers guided``."""
