"""
Digits with and without answers
===============================

600 images of digits, grouped without answers and with 2,000 answers, one in ten of
them wrong. The answers guide the splits of :class:`~clew.similarity.COPRF`, a
clustering forest.
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
# ``from_labels`` simulates answers about random pairs, one in ten of them wrong.
answers = Constraints.from_labels(y, 2000, error=0.1, random_state=0)
print(answers)

# %%
# Both models have the same clusterer. Only the second uses the answers.
spectral = SpectralClustering(n_clusters=10, random_state=0)
without = SimilarityClustering(ClustRF(n_trees=200, random_state=0), spectral)
constrained = SimilarityClustering(COPRF(n_trees=200, random_state=0), spectral)
without.fit(X)
constrained.fit(X, constraints=answers)
print(f"without answers: ARI {adjusted_rand_score(y, without.labels_):.3f}")
print(f"with answers:    ARI {adjusted_rand_score(y, constrained.labels_):.3f}")

# %%
# The first twelve images of each group, one line for each group.
fig, axes = plt.subplots(10, 1, figsize=(5, 4.4), layout="constrained")
for group, ax in enumerate(axes):
    members = np.flatnonzero(constrained.labels_ == group)[:12]
    strip = np.zeros((8, 12 * 9))
    for place, row in enumerate(members):
        strip[:, place * 9 : place * 9 + 8] = X[row].reshape(8, 8)
    ax.imshow(strip, cmap="gray_r", vmin=0, vmax=16)
    ax.set_axis_off()
fig.suptitle("Ten groups, with answers")
plt.show()
