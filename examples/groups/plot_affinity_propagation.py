"""
Affinity propagation on a learned affinity
==========================================

The affinity of :class:`~clew.similarity.COPRF` goes into any clusterer that accepts
a precomputed affinity. Here scikit-learn's affinity propagation finds the number of
groups and an exemplar of each.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import AffinityPropagation

from clew import Constraints
from clew.datasets import load
from clew.similarity import COPRF

digits = load("digits")
X, y = digits.X[:400], digits.y[:400]
answers = Constraints.from_labels(y, 1000, error=0.1, random_state=0)
forest = COPRF(n_trees=200, random_state=0).fit(X, constraints=answers)

# %%
# The preference controls the number of groups: a lower one gives fewer.
# scikit-learn's default is the median affinity.
affinity = forest.affinity_matrix_.astype(np.float64)
for preference in (np.median(affinity), -1.0, -2.0):
    model = AffinityPropagation(
        affinity="precomputed", preference=preference, damping=0.9, random_state=0
    ).fit(affinity)
    n_groups = len(model.cluster_centers_indices_)
    print(f"preference {preference:5.2f}: {n_groups} groups")

# %%
# The exemplars of the last model, each with the size of its group.
exemplars = model.cluster_centers_indices_
n_columns = 5
n_lines = -(-len(exemplars) // n_columns)
fig, axes = plt.subplots(
    n_lines, n_columns, figsize=(6, 1.5 * n_lines), layout="constrained"
)
for ax in axes.flat:
    ax.set_axis_off()
for group, (ax, row) in enumerate(zip(axes.flat, exemplars, strict=False)):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    ax.set_title(f"{(model.labels_ == group).sum()} images", fontsize=10)
fig.suptitle("Exemplars")
plt.show()
