"""
Distances learned from distances
================================

Rows A, B, C and D, and one answer about A and B. If they are must-linked,
C should be equally far from both; if they are cannot-linked, C cannot be near
both. Triangle inequalities express this: :class:`~clew.similarity.DistLQP` changes
distances as little as they require, and needs no features.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from clew import Constraints
from clew.cluster import COPKMeans, DistanceClustering
from clew.metrics import adjusted_rand_score
from clew.similarity import DistLQP

points = np.array([[0.0, 0.0], [2.0, 0.0], [0.6, 1.0], [5.0, 1.0]])
D = np.linalg.norm(points[:, None] - points, axis=2)
answers = {
    "given": None,
    "A and B must-linked": Constraints.from_pairs(must_link=[(0, 1)], n_samples=4),
    "A and B cannot-linked": Constraints.from_pairs(
        cannot_link=[(0, 1)], n_samples=4
    ),
}
fig, axes = plt.subplots(1, 3, figsize=(8, 2.6), layout="constrained")
for ax, (title, known) in zip(axes, answers.items(), strict=True):
    model = DistLQP(changes="absolute", lower=1.0, upper=0.0, lambda_cannot=10.0)
    learned = model.fit(D, constraints=known).dense_distances()
    for i, j in ((0, 1), (0, 2), (1, 2), (1, 3)):
        ax.plot(*points[[i, j]].T, color="#39616b", lw=1)
        ax.text(*points[[i, j]].mean(axis=0), f"{learned[i, j]:.1f}", ha="center")
    for name, (x, z) in zip("ABCD", points, strict=True):
        ax.text(
            x, z, name, weight="bold", color="#b0553d", ha="center", va="bottom"
        )
    ax.set(title=title, xlim=(-0.5, 5.5), ylim=(-0.5, 1.6))
    ax.set_axis_off()
plt.show()

# %%
# Robust distances of digits: the largest fifth of the differences of two images is
# left out. No features have these distances.
X, y = load_digits(return_X_y=True)
X, y = X[:300], y[:300]
squares = np.sort((X[:, None] - X) ** 2, axis=2)[:, :, : round(0.8 * X.shape[1])]
D = np.sqrt(squares.sum(axis=2))
known = Constraints.from_labels(y, 300, random_state=0)

# %%
# COP-k-means around medoids, on given and on learned distances.
# :class:`~clew.cluster.DistanceClustering` chooses by held-out answers.
clusterer = COPKMeans(10, metric="precomputed", random_state=0)
model = DistLQP().fit(D, constraints=known)
results = {
    "given distances": clusterer.fit_predict(D, constraints=known),
    "DistLQP": clusterer.fit_predict(model.dense_distances(), constraints=known),
}
chosen = DistanceClustering(clusterer=clusterer, random_state=0).fit(
    D, constraints=known
)
results[f"chosen: {chosen.chosen_}"] = chosen.labels_
for name, labels in results.items():
    print(f"{name}: ARI {adjusted_rand_score(y, labels):.2f}")
print(f"{model.n_changed_} distances changed")
