"""
Learning a metric from answers
==============================

Three groups differ along one direction of a space of five features. The variance
along the other directions hides them from k-means. :class:`~clew.similarity.MMC`
learns from pairs which direction matters, :class:`~clew.similarity.LSML` and
:class:`~clew.similarity.SparseLP` from comparisons of distances.
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
latent = np.column_stack(
    [y + rng.normal(0, 0.2, len(y)), rng.normal(0, 2.0, (len(y), 4))]
)
rotation = np.eye(5)
rotation[:2, :2] = [[0.6, 0.8], [-0.8, 0.6]]
X = StandardScaler().fit_transform(latent @ rotation)

# %%
# Sixty odd-one-out answers: which of three rows differs from the other two? Three
# rows of one group are left out, because LSML and SparseLP do not accept "none
# differs".
rows = np.array([rng.choice(len(y), 3, replace=False) for _ in range(120)])
groups = y[rows]
two_alike = np.array([len(set(three)) == 2 for three in groups])
rows, groups = rows[two_alike][:60], groups[two_alike][:60]
odd = np.array(
    [int(np.argmin([(three == one).sum() for one in three])) for three in groups]
)
answers = Constraints.from_odd_one_out(rows, odd, n_samples=len(y))

# %%
# MMC accepts pairs only: ``as_pairs`` converts each answer into two cannot-links
# with the odd one and a must-link of the other two. The upper row shows the
# metrics. The lower row shows the two directions of largest variance of the learned
# features, colored by the true groups.
spaces = {
    "as given": MMC().fit(X),
    "MMC": MMC().fit(X, constraints=answers.as_pairs()),
    "LSML": LSML().fit(X, constraints=answers),
    "SparseLP": SparseLP().fit(X, constraints=answers),
}
fig, axes = plt.subplots(2, 4, figsize=(8, 4.4), layout="constrained")
colors = np.array(["#b0553d", "#39616b", "#c9a227"])
for (above, below), (name, space) in zip(axes.T, spaces.items(), strict=True):
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(space.embedding_)
    largest = np.abs(space.metric_).max()
    above.imshow(space.metric_, cmap="RdBu_r", vmin=-largest, vmax=largest)
    above.set_title(
        f"{name}\nARI {adjusted_rand_score(y, labels):.2f}", fontsize=10
    )
    middle = space.embedding_ - space.embedding_.mean(axis=0)
    principal = np.linalg.svd(middle, full_matrices=False)[2][:2]
    below.scatter(*(middle @ principal.T).T, c=colors[y], s=8)
    below.set_aspect("equal", adjustable="datalim")
    for ax in (above, below):
        ax.set_xticks([])
        ax.set_yticks([])
plt.show()
