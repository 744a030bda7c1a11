"""
K-means that listens
====================

Three groups in a row, each long and thin: k-means cuts across them. Answers put that right:
:class:`~clew.cluster.COPKMeans` keeps every one, :class:`~clew.cluster.PCKMeans` weighs them, and
:class:`~clew.cluster.MPCKMeans` learns from them which direction tells the groups apart.
"""

import matplotlib.pyplot as plt
import numpy as np

from clew import Constraints
from clew.cluster import COPKMeans, MPCKMeans, PCKMeans
from clew.exceptions import InvalidConstraintsError
from clew.metrics import adjusted_rand_score

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 60)
X = np.column_stack([y + rng.normal(0, 0.18, len(y)), rng.normal(0, 0.8, len(y))])
answers = Constraints.from_labels(y, 60, random_state=0)

# %%
# Sixty answers, all right. COPKMeans and PCKMeans put the rows that were asked about where they
# belong; their neighbours mostly stay where they were. MPCKMeans moves all.
models = {
    "no answers": COPKMeans(3, random_state=0).fit(X),
    "COPKMeans": COPKMeans(3, random_state=0).fit(X, constraints=answers),
    "PCKMeans": PCKMeans(3, random_state=0).fit(X, constraints=answers),
    "MPCKMeans": MPCKMeans(3, random_state=0).fit(X, constraints=answers),
}
colours = np.array(["#b0553d", "#39616b", "#c9a227"])
fig, axes = plt.subplots(1, 4, figsize=(9, 3), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ax.scatter(*X.T, c=colours[model.labels_], s=10)
    ax.set_title(f"{name}\nARI {adjusted_rand_score(y, model.labels_):.2f}", fontsize=10)
    ax.set_axis_off()
plt.show()

# %%
# The metric that was learned: how much a unit of each feature counts, squared.
print(np.round(models["MPCKMeans"].metrics_, 1))

# %%
# With one answer in ten wrong no grouping may be left that keeps them all. The hard method says so;
# soft ones go on.
wrong = Constraints.from_labels(y, 300, error=0.1, random_state=0)
try:
    COPKMeans(3, random_state=0).fit(X, constraints=wrong)
except InvalidConstraintsError as error:
    print(error)
model = MPCKMeans(3, random_state=0).fit(X, constraints=wrong)
print(f"MPCKMeans: ARI {adjusted_rand_score(y, model.labels_):.2f}, {model.n_violated_} violated")
