"""COP-RF's tables and figures: ``python -m benchmarks.papers cop_rf``.

X. Zhu, C. C. Loy and S. Gong, "Constrained clustering with imperfect oracles", IEEE TNNLS 2016.
"""
