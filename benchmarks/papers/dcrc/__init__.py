"""DCRC's Figures 2 and 4 to 7, and Table V: ``python -m benchmarks.papers dcrc``."""
