"""
Another clusterer on the same affinity
======================================

An affinity is an affinity: whatever clusters similarities can use clew's. Here it is scikit-learn's
affinity propagation, which finds the number of groups itself and gives an exemplar for each.
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
# The paper runs affinity propagation straight on the affinity. The preference sets how many groups
# there are: scikit-learn takes the median of the affinity, and a lower one gives fewer groups.
affinity = forest.affinity_matrix_.astype(np.float64)
for preference in (np.median(affinity), -1.0, -2.0):
    model = AffinityPropagation(
        affinity="precomputed", preference=preference, damping=0.9, random_state=0
    ).fit(affinity)
    print(f"preference {preference:5.2f}: {len(model.cluster_centers_indices_)} groups")

# %%
# The exemplars of the last, each above the size of its group.
exemplars = model.cluster_centers_indices_
fig, axes = plt.subplots(1, len(exemplars), figsize=(9, 1.2), squeeze=False)
for group, (ax, row) in enumerate(zip(axes[0], exemplars, strict=True)):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    ax.set_axis_off()
    ax.set_title(int((model.labels_ == group).sum()), y=-0.5, fontsize=8)
plt.show()
