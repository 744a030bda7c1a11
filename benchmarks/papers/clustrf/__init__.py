"""ClustRF's Table 2 and Figures 3, 4 and 5: ``python -m benchmarks.papers clustrf``.

X. Zhu, C. C. Loy and S. Gong, "Constructing robust affinity graphs for spectral clustering",
CVPR 2014.
"""
