"""ClustRF's Table 2 and Figures 3, 4 and 5: ``python -m benchmarks.papers clustrf``."""
