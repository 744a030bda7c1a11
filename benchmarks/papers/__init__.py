"""Reproduction of the papers' tables and figures: ``python -m benchmarks.papers NAME``."""
