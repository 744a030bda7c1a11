"""DCRC's Figures 2 and 4 to 7, and Table V: ``python -m benchmarks.papers dcrc``.

Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative clustering with relative
constraints", arXiv:1501.00037, 2014.
"""
