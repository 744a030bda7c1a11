"""
Answers lead the groups
=======================

The same images, grouped without answers and with 2,000 answers, one in ten of them wrong.
:class:`~clew.similarity.COPRF` lets the answers steer the trees.
"""

import matplotlib.pyplot as plt
import numpy as np

from clew import Constraints
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.datasets import load
from clew.metrics import adjusted_rand_score
from clew.similarity import COPRF, ClustRF

digits = load("digits")
X, y = digits.X[:600], digits.y[:600]

# %%
# ``from_labels`` plays the people: it asks about random pairs, and errs one time in ten.
answers = Constraints.from_labels(y, 2000, error=0.1, random_state=0)
print(answers)

# %%
# The answers come in with ``fit``; the rest is the same.
groups = SpectralClustering(n_clusters=10, random_state=0)
without = SimilarityClustering(similarity=ClustRF(n_trees=200, random_state=0), clusterer=groups)
led = SimilarityClustering(similarity=COPRF(n_trees=200, random_state=0), clusterer=groups)
without.fit(X)
led.fit(X, constraints=answers)
print(f"without answers: {adjusted_rand_score(y, without.labels_):.3f}")
print(f"with answers:    {adjusted_rand_score(y, led.labels_):.3f}")

# %%
# One row of pictures for each group: the first sixteen images that were put there.
fig, axes = plt.subplots(10, 1, figsize=(6, 4.6), layout="constrained")
for group, ax in enumerate(axes):
    members = np.flatnonzero(led.labels_ == group)[:16]
    strip = np.zeros((8, 16 * 9))
    for place, row in enumerate(members):
        strip[:, place * 9 : place * 9 + 8] = X[row].reshape(8, 8)
    ax.imshow(strip, cmap="gray_r", vmin=0, vmax=16)
    ax.set_axis_off()
plt.show()
