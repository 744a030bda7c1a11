"""
Three kinds of answers, three people
====================================

Pairs, triplets and odd-one-out answers lead one model: :class:`~clew.cluster.DCRC`. Three people
answer. One hardly errs, one errs now and then, one half of the time. The model learns who is who,
and which answers look wrong.
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
# Three hundred questions of each kind about random rows, each to one of the three.
people = {"ann": 0.02, "ben": 0.15, "cleo": 0.5}
oracle = SimulatedOracle(y, error=list(people.values()), annotators=list(people), random_state=0)
rng = np.random.default_rng(0)
questions = [
    Question(kind, tuple(rng.permutation(len(y))[:size].tolist()))
    for kind, size in (("pair", 2), ("triplet", 3), ("odd_one_out", 3))
    for _ in range(300)
]
answers = Constraints.from_answers(oracle.answer_all(questions), n_samples=len(y))
print(answers)

# %%
# One rate for all, or a confusion matrix for each: the second knows whom to believe.
models = {
    "no answers": DCRC(4, random_state=0).fit(X),
    "5 % wrong": DCRC(4, random_state=0).fit(X, constraints=answers),
    "who errs how": DCRC(4, epsilon="annotators", random_state=0).fit(X, constraints=answers),
}
for name, model in models.items():
    print(f"{name:13s} ARI {adjusted_rand_score(y, model.labels_):.2f}, started from {model.init_}")

# %%
# Error rates with intervals of 95 %, beside the true ones (crosses).
confusion = models["who errs how"].confusion_
rates, bounds = confusion.error_rates_, confusion.error_intervals_
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
whiskers = np.abs(bounds.T - rates)
left.errorbar(rates, confusion.annotators_, xerr=whiskers, fmt="o", color="#39616b", capsize=4)
left.plot([people[name] for name in confusion.annotators_], confusion.annotators_, "x", c="#b0553d")
left.set_xlabel("share of wrong answers")

# %%
# How likely each triplet's answer is wrong, given all other answers: right and wrong ones apart.
a, b, c = y[answers.triplets].T
truth = np.select([(a == b) & (a != c), (a == c) & (a != b)], [0, 1], -2)
doubts = answer_posterior(answers, models["who errs how"].memberships_, confusion).triplets
said = answers.triplet_answers != -2
for is_wrong, colour, label in ((False, "#39616b", "right"), (True, "#b0553d", "wrong")):
    chosen = said & ((truth != answers.triplet_answers) == is_wrong)
    right.hist(doubts[chosen], bins=20, range=(0, 1), color=colour, alpha=0.7, label=label)
right.set_xlabel("probability that the answer is wrong")
right.legend()
plt.show()
