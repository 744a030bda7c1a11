"""
Edges that stray
================

A neighbour graph of two rings, blurred so that they nearly touch: some edges lead from one to the
other. :class:`~clew.similarity.DominantNeighbors` and :class:`~clew.similarity.ConsensusKNN` leave
edges out that little else speaks for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from clew.similarity import AdaptiveKNN, ConsensusKNN, DominantNeighbors

X, y = make_circles(300, factor=0.55, noise=0.1, random_state=0)

# %%
# The plain graph links each row to its ten nearest; the others choose among those links.
plain = AdaptiveKNN().fit(X).kneighbors_graph(10)
graphs = {
    "ten nearest": plain.maximum(plain.T),
    "DominantNeighbors": DominantNeighbors(n_neighbors=10).fit(X).affinity_matrix_,
    "ConsensusKNN, threshold 0.5": ConsensusKNN(n_neighbors=10, threshold=0.5)
    .fit(X)
    .affinity_matrix_,
}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharex=True, sharey=True, layout="constrained")
for ax, (name, graph) in zip(axes, graphs.items(), strict=True):
    i, j = graph.nonzero()
    strays = y[i] != y[j]
    for a, b in zip(i[~strays], j[~strays], strict=True):
        ax.plot(*X[[a, b]].T, color="0.75", lw=0.6, zorder=1)
    for a, b in zip(i[strays], j[strays], strict=True):
        ax.plot(*X[[a, b]].T, color="#D55E00", lw=0.9, zorder=2)
    ax.scatter(*X.T, c=y, s=8, cmap="cividis", zorder=3)
    lost = 1 - graph.nnz / graphs["ten nearest"].nnz
    ax.set_title(f"{name}\n{strays.sum() // 2} stray edges, {lost:.0%} of all gone", fontsize=10)
    ax.set_axis_off()
plt.show()

# %%
# A higher threshold takes more stray edges out, and others with them.
for threshold in (0.15, 0.3, 0.5, 0.7):
    graph = ConsensusKNN(n_neighbors=10, threshold=threshold).fit(X).affinity_matrix_
    i, j = graph.nonzero()
    print(f"{threshold:.2f}: {graph.nnz // 2} edges, {np.mean(y[i] != y[j]):.1%} of them stray")
