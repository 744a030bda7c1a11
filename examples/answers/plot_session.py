"""
A session: ask, answer, and know when to stop
=============================================

A session asks people the most useful questions. Every 20th question is drawn at
random: its answers say how well the groups agree with people, with an interval.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import clew
from clew.metrics import jaccard_score_pairs
from clew.oracles import SimulatedOracle

X, y = load_digits(return_X_y=True)
rows = np.random.RandomState(0).permutation(len(X))[:100]
X, y = X[rows], y[rows]
names = [f"image {row}" for row in rows]

# %%
# The oracle stands for people who err in one of ten answers. In their place, a
# program would show each question of ``session.ask()`` and pass the answer to
# ``session.tell``.
session = clew.Session(X, ids=names, random_state=0)
people = SimulatedOracle(y, error=0.1, random_state=0)
n_answers, true, estimated = [], [], []
for _ in range(8):
    result = session.run(people, 20).result()
    n_answers.append(len(session.answers))
    true.append(jaccard_score_pairs(y, result.labels_))
    estimated.append(result.quality_.jaccard if result.quality_ else (np.nan,) * 3)

# %%
# The estimate uses the answers alone; the interval holds the true agreement.
value, low, high = np.transpose(estimated)
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(n_answers, true, label="true agreement")
ax.plot(n_answers, value, "--", label="estimated")
ax.fill_between(n_answers, low, high, alpha=0.15, label="95 % interval")
ax.set(xlabel="answers", ylabel="Jaccard index of pairs", ylim=(0, 1.02))
ax.legend(frameon=False, loc="lower right")

# %%
# Advice, and the answers that look wrong.
print(result.stop_)
for doubt in result.doubtful_[:3]:
    print(doubt)
