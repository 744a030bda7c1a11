"""
Affinities of a clustering forest
=================================

:class:`~clew.similarity.ClustRF` grows trees that separate the data from a shuffled
copy of it. Two rows are similar if they share long paths from the root in many
trees. Three affinities measure that differently.
"""

import matplotlib.pyplot as plt
import numpy as np

from clew.datasets import load
from clew.similarity import ClustRF

iris = load("iris")

# %%
# Rows and columns are sorted by species, so that each species is a block on the
# diagonal. The first species is separate. The other two overlap. The pictures show
# the square root of the affinity, which makes small values visible.
by_species = np.argsort(iris.y, kind="stable")
fig, axes = plt.subplots(1, 3, figsize=(7, 2.7), layout="constrained")
for ax, affinity in zip(axes, ("leaf", "uniform", "adaptive"), strict=True):
    forest = ClustRF(n_trees=200, proximity=affinity, random_state=0).fit(iris.X)
    matrix = forest.affinity_matrix_[np.ix_(by_species, by_species)]
    ax.imshow(
        np.sqrt(matrix), cmap="magma", vmin=0, vmax=1, interpolation="nearest"
    )
    ax.set(title=affinity, xticks=[], yticks=[])
plt.show()

# %%
# For large data, ``kneighbors_graph`` returns a sparse graph of the most similar
# rows, without the whole matrix.
graph = forest.kneighbors_graph(10)
print(graph.shape, graph.nnz)
