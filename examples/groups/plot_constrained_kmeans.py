"""
K-means with answers
====================

Three long, thin groups side by side: k-means splits them across. Three ways to use
answers: :class:`~clew.cluster.COPKMeans` satisfies every one,
:class:`~clew.cluster.PCKMeans` adds a penalty for each violated one, and
:class:`~clew.cluster.MPCKMeans` also learns which features matter.
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
# Sixty answers, all right. COPKMeans and PCKMeans move the rows that the answers
# are about; most of their neighbors stay. MPCKMeans learns a metric, which moves
# all rows.
models = {
    "no answers": COPKMeans(3, random_state=0).fit(X),
    "COPKMeans": COPKMeans(3, random_state=0).fit(X, constraints=answers),
    "PCKMeans": PCKMeans(3, random_state=0).fit(X, constraints=answers),
    "MPCKMeans": MPCKMeans(3, random_state=0).fit(X, constraints=answers),
}
colors = np.array(["#b0553d", "#39616b", "#c9a227"])
fig, axes = plt.subplots(2, 2, figsize=(6, 5), layout="constrained")
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    ax.scatter(*X.T, c=colors[model.labels_], s=14)
    ax.set_title(f"{name}: ARI {adjusted_rand_score(y, model.labels_):.2f}")
    ax.set_axis_off()
plt.show()

# %%
# The learned metric: the squared weight of each feature, for each group.
print(np.round(models["MPCKMeans"].metrics_, 1))

# %%
# If one answer in ten is wrong, it may be impossible to satisfy all of them.
# COPKMeans then raises an error. The other two violate some answers.
wrong = Constraints.from_labels(y, 300, error=0.1, random_state=0)
try:
    COPKMeans(3, random_state=0).fit(X, constraints=wrong)
except InvalidConstraintsError as error:
    print(error)
model = MPCKMeans(3, random_state=0).fit(X, constraints=wrong)
score = adjusted_rand_score(y, model.labels_)
print(f"MPCKMeans: ARI {score:.2f}, {model.n_violated_} answers violated")
