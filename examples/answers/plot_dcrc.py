"""
Three annotators, three kinds of answers
========================================

:class:`~clew.cluster.DCRC` learns from pairs, triplets and odd-one-out answers
together. Three annotators answer: one is wrong in 2 % of the answers, one in 15 %,
one in 50 %. The model estimates the error rate of each, and the probability that
each answer is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from clew import Constraints, Question
from clew.cluster import DCRC
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle
from clew.trust import answer_posterior

digits = load_digits()
some = np.flatnonzero(np.isin(digits.target, [3, 5, 8, 9]))[:600]
y = digits.target[some]
X = PCA(16, whiten=True, random_state=0).fit_transform(digits.data[some])

# %%
# Three hundred random questions of each kind, each answered by one of the three.
people = {"ann": 0.02, "ben": 0.15, "cleo": 0.5}
oracle = SimulatedOracle(
    y, error=list(people.values()), annotators=list(people), random_state=0
)
rng = np.random.default_rng(0)
questions = [
    Question(kind, tuple(rng.permutation(len(y))[:size].tolist()))
    for kind, size in (("pair", 2), ("triplet", 3), ("odd_one_out", 3))
    for _ in range(300)
]
answers = Constraints.from_answers(oracle.answer_all(questions), n_samples=len(y))
print(answers)

# %%
# A fixed error rate of 5 % for all, or a confusion matrix for each annotator.
models = {
    "no answers": DCRC(4, random_state=0).fit(X),
    "5 % wrong": DCRC(4, random_state=0).fit(X, constraints=answers),
    "by annotator": DCRC(4, epsilon="annotators", random_state=0).fit(
        X, constraints=answers
    ),
}
for name, model in models.items():
    score = adjusted_rand_score(y, model.labels_)
    print(f"{name:13s} ARI {score:.2f}, start {model.init_}")

# %%
# Left: estimated error rates with 95 % intervals, and the true rates (crosses).
# Right: the probability that each triplet answer is wrong, for right and for wrong
# answers.
confusion = models["by annotator"].confusion_
rates, bounds = confusion.error_rates_, confusion.error_intervals_
fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
whiskers = np.abs(bounds.T - rates)
left.errorbar(
    rates, confusion.annotators_, xerr=whiskers, fmt="o", color="#39616b", capsize=4
)
left.plot(
    [people[name] for name in confusion.annotators_],
    confusion.annotators_,
    "x",
    c="#b0553d",
)
left.set(xlabel="share of wrong answers", title="Annotators")

a, b, c = y[answers.triplets].T
truth = np.select([(a == b) & (a != c), (a == c) & (a != b)], [0, 1], -2)
doubts = answer_posterior(
    answers, models["by annotator"].memberships_, confusion
).triplets
said = answers.triplet_answers != -2
for is_wrong, color, label in (
    (False, "#39616b", "right"),
    (True, "#b0553d", "wrong"),
):
    chosen = said & ((truth != answers.triplet_answers) == is_wrong)
    right.hist(
        doubts[chosen], bins=20, range=(0, 1), color=color, alpha=0.7, label=label
    )
right.set(xlabel="probability of being wrong", title="Triplet answers")
right.legend()
plt.show()
