"""The tables and figures of the papers, run anew: ``python -m benchmarks.papers NAME``."""
