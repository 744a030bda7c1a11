"""
Propagating answers on a graph
==============================

Two moons with much noise: their neighbor graph alone splits them in the wrong
place. Forty answers about pairs help little if they change only the affinities of
those pairs (:class:`~clew.similarity.SpectralLearning`).
:class:`~clew.similarity.E2CP` propagates them on the graph, to pairs of similar
points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from clew import Constraints
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.metrics import adjusted_rand_score
from clew.similarity import E2CP, AdaptiveKNN, SpectralLearning

X, y = make_moons(400, noise=0.2, random_state=1)
answers = Constraints.from_labels(y, 40, random_state=1)

# %%
# Three similarities, with the same clusterer. Solid lines are must-links, dotted
# ones cannot-links.
similarities = {
    "no answers": AdaptiveKNN(),
    "SpectralLearning": SpectralLearning(),
    "E2CP": E2CP(),
}
colors = np.array(["#b0553d", "#39616b"])
fig, axes = plt.subplots(3, 1, figsize=(5, 7), layout="constrained")
for ax, (name, similarity) in zip(axes, similarities.items(), strict=True):
    model = SimilarityClustering(similarity, SpectralClustering(2), random_state=0)
    known = answers if model.supports.pairs else None
    labels = model.fit(X, constraints=known).labels_
    ax.scatter(*X.T, c=colors[labels], s=14)
    if known is not None:
        for i, j in answers.must_link:
            ax.plot(*X[[i, j]].T, color="black", lw=0.7)
        for i, j in answers.cannot_link:
            ax.plot(*X[[i, j]].T, color="black", lw=0.7, ls=":")
    ax.set_title(f"{name}: ARI {adjusted_rand_score(y, labels):.2f}")
    ax.set_axis_off()
plt.show()

# %%
# E2CP works on the graph of any similarity: ``E2CP(ClustRF())`` uses that of a
# forest, ``E2CP(AdaptiveKNN(metric="precomputed"))`` accepts distances.
