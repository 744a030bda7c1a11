"""
Pruning a neighbor graph
========================

A neighbor graph of two noisy rings has edges from one ring to the other (orange).
:class:`~clew.similarity.DominantNeighbors` keeps the edges within dominant sets,
:class:`~clew.similarity.ConsensusKNN` those whose ends are in many neighborhoods
together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from clew.similarity import AdaptiveKNN, ConsensusKNN, DominantNeighbors

X, y = make_circles(300, factor=0.55, noise=0.1, random_state=0)

# %%
# The ten nearest neighbors of each point, and what two methods keep of those edges.
plain = AdaptiveKNN().fit(X).kneighbors_graph(10)
consensus = ConsensusKNN(n_neighbors=10, threshold=0.5).fit(X)
graphs = {
    "ten nearest": plain.maximum(plain.T),
    "DominantNeighbors": DominantNeighbors(n_neighbors=10).fit(X).affinity_matrix_,
    "ConsensusKNN": consensus.affinity_matrix_,
}
fig, axes = plt.subplots(1, 3, figsize=(8, 3.1), layout="constrained")
for ax, (name, graph) in zip(axes, graphs.items(), strict=True):
    i, j = graph.nonzero()
    across = y[i] != y[j]
    for a, b in zip(i[~across], j[~across], strict=True):
        ax.plot(*X[[a, b]].T, color="0.75", lw=0.6, zorder=1)
    for a, b in zip(i[across], j[across], strict=True):
        ax.plot(*X[[a, b]].T, color="#D55E00", lw=0.9, zorder=2)
    ax.scatter(*X.T, c=y, s=8, cmap="cividis", zorder=3)
    removed = 1 - graph.nnz / graphs["ten nearest"].nnz
    ax.set_title(
        f"{name}\n{across.sum() // 2} edges across,\n{removed:.0%} of all removed",
        fontsize=10,
    )
    ax.set_axis_off()
plt.show()

# %%
# A higher threshold removes more edges across, but also more edges within rings.
for threshold in (0.15, 0.3, 0.5, 0.7):
    graph = (
        ConsensusKNN(n_neighbors=10, threshold=threshold).fit(X).affinity_matrix_
    )
    i, j = graph.nonzero()
    share = np.mean(y[i] != y[j])
    print(f"{threshold:.2f}: {graph.nnz // 2} edges, {share:.1%} across")
