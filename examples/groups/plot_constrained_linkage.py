"""
Agglomerative clustering that satisfies every answer
====================================================

:class:`~clew.cluster.ConstrainedLinkage` merges the closest groups first, but never
against an answer. Single linkage fails on two noisy moons, because it joins them
through a chain of points. Twenty answers prevent that.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram
from sklearn.datasets import make_moons

from clew import Constraints
from clew.cluster import ConstrainedLinkage
from clew.exceptions import DeadEndWarning
from clew.metrics import adjusted_rand_score

X, y = make_moons(300, noise=0.1, random_state=3)
answers = Constraints.from_labels(y, 20, random_state=0)

# %%
# Single linkage without and with the answers. A solid line is a must-link, a dotted
# one a cannot-link.
fits = {
    "no answers": ConstrainedLinkage(2, linkage="single").fit(X),
    "20 answers": ConstrainedLinkage(2, linkage="single").fit(
        X, constraints=answers
    ),
}
fig, axes = plt.subplots(2, 1, figsize=(5, 5.2), layout="constrained")
for ax, (name, model) in zip(axes, fits.items(), strict=True):
    ax.scatter(*X.T, c=np.array(["#b0553d", "#39616b"])[model.labels_], s=14)
    ax.set_title(f"{name}: ARI {adjusted_rand_score(y, model.labels_):.2f}")
    ax.set_axis_off()
for i, j in answers.must_link:
    axes[1].plot(*X[[i, j]].T, color="0.3", lw=0.8)
for i, j in answers.cannot_link:
    axes[1].plot(*X[[i, j]].T, color="0.3", lw=0.8, ls=":")
plt.show()

# %%
# The answers forbid the last merge, so that there are two trees. The dendrogram
# joins them high above all other merges.
model = fits["20 answers"]
roots = np.setdiff1d(np.arange(len(X) + len(model.children_)), model.children_)
children = np.vstack([model.children_, roots])
heights = np.append(model.distances_, 1.5 * model.distances_[-1])
size = np.ones(2 * len(X) - 1)
for node, pair in enumerate(children, start=len(X)):
    size[node] = size[pair].sum()
fig, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
dendrogram(
    np.column_stack([children, heights, size[len(X) :]]),
    no_labels=True, color_threshold=heights[-1], ax=ax,
)  # fmt: skip
ax.set(ylabel="distance", title="Two trees")
ax.spines[["top", "right", "bottom"]].set_visible(False)
plt.show()

# %%
# Merges are greedy and never undone. They can reach a state in which every
# remaining merge is forbidden, with more groups than asked for. A warning says so.
many = Constraints.from_labels(y, 200, random_state=0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", DeadEndWarning)
    model = ConstrainedLinkage(2, linkage="average").fit(X, constraints=many)
print(caught[0].message)
print(model.n_clusters_, "groups,", model.n_violated_, "answers violated")
