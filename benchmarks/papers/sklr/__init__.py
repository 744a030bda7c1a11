"""SKLR's Figures 1 to 4: ``python -m benchmarks.papers sklr``."""
