"""
A forest's affinity, without answers
====================================

:class:`~clew.similarity.ClustRF` grows trees that tell the flowers from shuffled ones.
Two flowers that go far down many trees together are alike. The three affinities differ in what
"together" means.
"""

import matplotlib.pyplot as plt
import numpy as np

from clew.datasets import load
from clew.similarity import ClustRF

iris = load("iris")

# %%
# Rows and columns are in the order of the species: each bright block on the diagonal is one.
# The first species stands alone. The other two overlap.
by_species = np.argsort(iris.y, kind="stable")
fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
for ax, affinity in zip(axes, ("leaf", "uniform", "adaptive"), strict=True):
    forest = ClustRF(n_trees=200, affinity=affinity, random_state=0).fit(iris.X)
    picture = forest.affinity_matrix_[np.ix_(by_species, by_species)]
    ax.imshow(np.sqrt(picture), cmap="magma", vmin=0, vmax=1, interpolation="nearest")
    ax.set(title=affinity, xticks=[], yticks=[])
plt.show()

# %%
# The picture shows the square root of the affinity, so that weak ties can be seen.
#
# Large data needs no whole matrix: a sparse graph holds the nearest rows of each row.
graph = forest.kneighbors_graph(10)
print(graph.shape, graph.nnz)
