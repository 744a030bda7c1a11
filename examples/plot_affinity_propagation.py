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
answers = Constraints.from_labels(y, 400, error=0.1, random_state=0)
forest = COPRF(n_trees=200, random_state=0).fit(X, constraints=answers)

# %%
# The paper runs affinity propagation straight on the affinity. The preference, which sets how many
# groups there are, is its median by default. A low quantile gives few groups.
affinity = forest.affinity_matrix_.astype(np.float64)
low = np.quantile(affinity, 0.01)
model = AffinityPropagation(
    affinity="precomputed", preference=low, damping=0.9, max_iter=1000, random_state=0
)
model.fit(affinity)
print(len(model.cluster_centers_indices_), "groups")

# %%
# The exemplars, each above the size of its group.
exemplars = model.cluster_centers_indices_
fig, axes = plt.subplots(1, len(exemplars), figsize=(9, 1.4), layout="constrained", squeeze=False)
for group, (ax, row) in enumerate(zip(axes[0], exemplars, strict=True)):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    ax.set_axis_off()
    ax.set_title(int((model.labels_ == group).sum()), y=-0.45, fontsize=8)
plt.show()
