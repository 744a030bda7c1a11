"""COP-RF's tables and figures: ``python -m benchmarks.papers cop_rf``."""
