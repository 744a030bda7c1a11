"""
One kernel for coarse and fine groups
=====================================

Six kinds of items in two families. Two features separate them, six others are
noise. People were asked which of three items is the odd one out; one answer in ten
is wrong. :class:`~clew.similarity.SKLR` learns a kernel from the answers, in
whose features both the kinds and the families form clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from clew import Constraints
from clew.metrics import adjusted_rand_score
from clew.similarity import SKLR

rng = np.random.default_rng(0)
kind = rng.integers(6, size=240)
family = kind // 3
middle = np.array([(0, 0), (0, 3), (2.5, 1.5), (8, 0), (8, 3), (10.5, 1.5)])
X = np.hstack(
    [middle[kind] + rng.normal(0, 0.4, (240, 2)), rng.normal(size=(240, 6))]
)
X = (X - X.mean(axis=0)) / X.std(axis=0)

# %%
# If three items are of one family, the odd one is of another kind; otherwise it is
# of another family.
rows, answers = [], []
while len(rows) < 800:
    three = rng.permutation(240)[:3]
    groups = kind[three] if len(set(family[three])) == 1 else family[three]
    alone = [at for at in range(3) if (groups == groups[at]).sum() == 1]
    if len(alone) == 1:
        rows.append(three)
        answers.append(alone[0] if rng.random() > 0.1 else (alone[0] + 1) % 3)
odd = Constraints.from_odd_one_out(rows, answers, n_samples=240)

# %%
# The learned features in two dimensions, and the scores of k-means on them.
fig, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for ax, (name, known) in zip(
    axes, {"no answers": None, "800 answers": odd}.items(), strict=True
):
    model = SKLR(random_state=0).fit(X, constraints=known)
    families, kinds = (
        adjusted_rand_score(
            truth,
            KMeans(k, n_init=10, random_state=0).fit_predict(model.embedding_),
        )
        for truth, k in ((family, 2), (kind, 6))
    )
    ax.scatter(
        *PCA(2).fit_transform(model.embedding_).T, c=kind, s=12, cmap="Dark2"
    )
    ax.set_title(
        f"{name}\nARI: families {families:.2f}, kinds {kinds:.2f}", fontsize=10
    )
    ax.set_axis_off()
plt.show()

# %%
# The penalty ``C`` for violated answers was chosen by cross-validation on the
# answers.
print(
    f"C = {model.C_:g}, {model.n_iter_} iterations, {model.rank_} kernel features"
)
