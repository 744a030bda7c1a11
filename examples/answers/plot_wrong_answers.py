"""
Which answers look wrong
========================

:class:`~clew.similarity.COPRF` estimates the probability that each answer is wrong.
:mod:`clew.trust` has the scores behind it, among them the one of the COP-RF paper.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from clew import Constraints
from clew.datasets import load
from clew.similarity import COPRF
from clew.trust import constraint_inconsistency

digits = load("digits")
X, y = digits.X[:600], digits.y[:600]

# %%
# 1,000 answers, 15 % of them wrong.
answers = Constraints.from_labels(y, 1000, error=0.15, random_state=0)
is_same = y[answers.pairs[:, 0]] == y[answers.pairs[:, 1]]
wrong = is_same != (answers.pair_answers == 1)
print(int(wrong.sum()), "wrong answers")

# %%
# Two scores of each answer: the posterior probability of being wrong, and the
# inconsistency of the paper (eq. 11). The area under the ROC curve is the
# probability that a wrong answer scores higher than a right one.
doubt = COPRF(n_trees=200, random_state=0).fit(X, constraints=answers).doubt_
inconsistency = constraint_inconsistency(X, answers, n_trees=200, random_state=0)
print(f"doubt:         {roc_auc_score(wrong, doubt):.3f}")
print(f"inconsistency: {roc_auc_score(wrong, inconsistency):.3f}")

# %%
# Right and wrong answers by that probability. The counts are on a logarithmic
# scale.
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
bins = np.linspace(0, 1, 21)
ax.hist(
    [doubt[~wrong], doubt[wrong]], bins=bins, log=True, color=["#b9c4c9", "#b0553d"]
)
ax.set(xlabel="probability of being wrong", ylabel="answers", title="1,000 answers")
ax.legend(["right", "wrong"], frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The three answers that are most likely wrong, each with its two images.
worst = np.argsort(-doubt)[:3]
fig, axes = plt.subplots(1, 3, figsize=(7, 1.9), layout="constrained")
for ax, number in zip(axes, worst, strict=True):
    pair = np.hstack(
        [np.pad(X[row].reshape(8, 8), 1) for row in answers.pairs[number]]
    )
    ax.imshow(pair, cmap="gray_r", vmin=0, vmax=16)
    ax.set_axis_off()
    ax.set_title(
        "said: " + ("same" if answers.pair_answers[number] == 1 else "different")
    )
plt.show()
