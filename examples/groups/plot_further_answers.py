"""
Answers that come later
=======================

People answer one question after another, and want to see what each answer changes.
:meth:`~clew.cluster.GuidedClustering.partial_fit` adds answers to a fitted model.
With ``refit=False`` it moves the groups so far on, in a small part of the time of a
fit; without it, groups are those of a fit to all answers.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from clew import Constraints, GuidedClustering
from clew.metrics import adjusted_rand_score

X, y = load_digits(return_X_y=True)
chosen = np.random.default_rng(0).choice(len(y), 300, replace=False)
X, y = X[chosen], y[chosen]

# %%
# 100 answers are known when the model is fitted. Then 200 more come, 20 at a time;
# one in ten is wrong.
answers = Constraints.from_labels(y, 300, error=0.1, random_state=0)
part = np.maximum((np.arange(300) - 80) // 20, 0)
parts = [answers.select(pairs=part == at) for at in range(part.max() + 1)]

model = GuidedClustering(10, random_state=0)
seconds, scores, results = [], [], []
for more in parts:
    start = perf_counter()
    model.partial_fit(X, constraints=more, refit=False)
    seconds.append(perf_counter() - start)
    scores.append(adjusted_rand_score(y, model.labels_))
    results.append(model.result_)

# %%
# Each round makes a new result, and does not change earlier ones. A web page that
# shows a result is not affected by a fit in another thread.
first, last = results[0], results[-1]
print(len(first.constraints), len(last.constraints))

# %%
# With ``refit=False`` each round moves the groups on in a fraction of a second.
# Without it the result is that of a new fit with all answers, as is checked here.
model.partial_fit()
fresh = GuidedClustering(10, random_state=0).fit(X, constraints=answers)
print(np.array_equal(model.labels_, fresh.labels_))

n_answers = np.cumsum([len(more) for more in parts])
fig, (above, below) = plt.subplots(
    2, sharex=True, figsize=(6, 4.5), layout="constrained"
)
above.plot(n_answers, scores, "o-", color="#2f6f7e", markersize=4)
above.set_ylabel("ARI")
below.bar(n_answers, seconds, width=15, color="#d99a2b")
below.set(xlabel="answers", ylabel="seconds")
plt.show()
