"""
Metrics from answers
====================

Three groups differ along one slanted direction of five features. Rows vary along all others too,
which tells nothing, and k-means sees no groups. A few answers say which direction matters:
:class:`~clew.similarity.MMC` learns it from pairs, :class:`~clew.similarity.LSML` and
:class:`~clew.similarity.SparseLP` from comparisons.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.metrics import adjusted_rand_score
from clew.similarity import LSML, MMC, SparseLP

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 60)
told = np.column_stack([y + rng.normal(0, 0.2, len(y)), rng.normal(0, 2.0, (len(y), 4))])
slant = np.eye(5)
slant[:2, :2] = [[0.6, 0.8], [-0.8, 0.6]]
X = StandardScaler().fit_transform(told @ slant)

# %%
# Sixty odd-one-out answers: which of three rows is not like the other two? Where all three are of
# one group nobody was asked, because "none differs" compares no distances.
rows = np.array([rng.choice(len(y), 3, replace=False) for _ in range(120)])
groups = y[rows]
two_alike = np.array([len(set(three)) == 2 for three in groups])
rows, groups = rows[two_alike][:60], groups[two_alike][:60]
odd = np.array([int(np.argmin([(three == one).sum() for one in three])) for three in groups])
answers = Constraints.from_odd_one_out(rows, odd, n_samples=len(y))

# %%
# MMC takes the same answers as pairs: the odd one apart from both others, and these together.
spaces = {
    "as given": MMC().fit(X),
    "MMC": MMC().fit(X, constraints=answers.as_pairs()),
    "LSML": LSML().fit(X, constraints=answers),
    "SparseLP": SparseLP().fit(X, constraints=answers),
}
fig, axes = plt.subplots(2, 4, figsize=(10, 4.8), layout="constrained")  # metrics above, rows below
colours = np.array(["#b0553d", "#39616b", "#c9a227"])
for (above, below), (name, space) in zip(axes.T, spaces.items(), strict=True):
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(space.embedding_)
    largest = np.abs(space.metric_).max()
    above.imshow(space.metric_, cmap="RdBu_r", vmin=-largest, vmax=largest)
    above.set_title(f"{name}\nARI {adjusted_rand_score(y, labels):.2f}", fontsize=10)
    middle = space.embedding_ - space.embedding_.mean(axis=0)
    axes_of_spread = np.linalg.svd(middle, full_matrices=False)[2][:2]
    below.scatter(*(middle @ axes_of_spread.T).T, c=colours[y], s=8)
    below.set_aspect("equal", adjustable="datalim")
    for ax in (above, below):
        ax.set_xticks([])
        ax.set_yticks([])
plt.show()

# %%
# Above, the metrics: how much each two features count together. Below, the two directions in which
# the learned features spread most, coloured by the true groups.
