"""SKLR's Figures 1 to 4: ``python -m benchmarks.papers sklr``.

E. Amid, A. Gionis and A. Ukkonen, "A kernel-learning approach to semi-supervised clustering with
relative distance comparisons", ECML PKDD 2015.
"""
