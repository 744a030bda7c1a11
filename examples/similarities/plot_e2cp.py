"""
Answers that spread, and answers that do not
============================================

Two moons in a fog: distances alone cut them across. Forty answers about pairs help little where
they change only the pairs that they are about. E2CP lets them spread over the neighbour graph.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from clew import Constraints
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.metrics import adjusted_rand_score
from clew.similarity import E2CP, AdaptiveKNN, SpectralLearning

X, y = make_moons(400, noise=0.2, random_state=1)
answers = Constraints.from_labels(y, 40, random_state=1)

# %%
# Each is a similarity, cut by the same clusterer.
similarities = {
    "no answers": AdaptiveKNN(),
    "written in: SpectralLearning": SpectralLearning(),
    "spread: E2CP": E2CP(),
}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharex=True, sharey=True, layout="constrained")
for ax, (name, similarity) in zip(axes, similarities.items(), strict=True):
    model = SimilarityClustering(similarity, SpectralClustering(2), random_state=0)
    known = answers if model.supports.pairs else None
    labels = model.fit(X, constraints=known).labels_
    ax.scatter(*X.T, c=labels, s=12, cmap="cividis")
    if known is not None:
        for i, j in answers.must_link:
            ax.plot(*X[[i, j]].T, color="black", lw=0.7)
        for i, j in answers.cannot_link:
            ax.plot(*X[[i, j]].T, color="black", lw=0.7, ls=":")
    ax.set_title(f"{name}\nARI {adjusted_rand_score(y, labels):.2f}", fontsize=10)
    ax.set_axis_off()
plt.show()

# %%
# Any similarity can be beneath: ``E2CP(ClustRF())`` spreads answers over a forest's graph, and
# ``E2CP(AdaptiveKNN(metric="precomputed"))`` wants distances instead of features.
