"""
Which kind of question takes the fewest minutes
===============================================

The same simulated person answers pairs, or chooses among groups ("which of
these?"). The seconds are assumptions: 2 for a pair; 1.2, and 0.4 for each group
that is read.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from clew.answers import SecondsModel
from clew.metrics import jaccard_score_pairs
from clew.oracles import SimulatedOracle
from clew.questions import Guided

X, y = load_digits(return_X_y=True)
rows = np.random.RandomState(0).permutation(len(X))[:100]
X, y = X[rows], y[rows]

# %%
# "auto" asks pairs and which-of questions, whichever tell most per second.
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for kinds in (("pair",), "auto"):
    person = SimulatedOracle(y, error=0.05, seconds=SecondsModel(), random_state=0)
    strategy = Guided(kinds=kinds, random_state=0).start(X)
    minutes, curve = 0.0, []
    while minutes < 5:
        curve.append((minutes, jaccard_score_pairs(y, strategy.labels())))
        answers = person.answer_all(strategy.ask(4))
        strategy.tell(answers)
        minutes += sum(answer.ms for answer in answers) / 60_000
    ax.plot(*np.transpose(curve), label=kinds if kinds == "auto" else "pairs")
ax.set(
    xlabel="minutes of one person", ylabel="Jaccard's coefficient", ylim=(0, 1.02)
)
ax.legend(frameon=False)
plt.show()

# %%
# A choice among groups says "same" to one of them and "different" to those that
# were read before it, in about the time of a pair.
