"""
Which question to ask next
==========================

A strategy chooses the questions. The same number of answers gives very different
groups: random questions mostly confirm that rows differ, while good ones join or
separate whole groups.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from clew.cluster import consensus_probabilities
from clew.metrics import jaccard_score_pairs
from clew.oracles import SimulatedOracle, ask_oracle
from clew.questions import ExpectedChange, MostProbable, RandomPairs

X, y = load_digits(return_X_y=True)
rows = np.random.RandomState(0).permutation(len(X))[:150]
X, y = X[rows], y[rows]

# %%
# All strategies start from the same probabilities, and cluster in the same way:
# by Kruskal's algorithm under the answers (:class:`~clew.cluster.HACC`).
P = consensus_probabilities(X, 10, random_state=0)
strategies = {
    "random": RandomPairs(10, random_state=0),
    "expected change": ExpectedChange(10, random_state=0),
    "most probable": MostProbable(10, random_state=0),
}
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, strategy in strategies.items():
    strategy.start(X, probabilities=P)
    curve = [(0, jaccard_score_pairs(y, strategy.labels()))]
    oracle = SimulatedOracle(y, origin="asked", random_state=0)
    for n in ask_oracle(strategy, oracle, 240, batch=4):
        curve.append((n, jaccard_score_pairs(y, strategy.labels())))
    ax.plot(*np.transpose(curve), label=name)
ax.set(xlabel="answers", ylabel="Jaccard's coefficient", ylim=(0, 1.02))
ax.legend(frameon=False)
plt.show()

# %%
# With few answers, the expected change gives the better groups. With many answers,
# asking about the most probable pairs finds all groups.
