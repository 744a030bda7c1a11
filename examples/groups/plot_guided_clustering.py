"""
Groups from features and answers
================================

The data are two moons and two round blobs that overlap. One clustering method finds
the moons, another the blobs, and which is which is unknown beforehand.
:class:`~clew.cluster.GuidedClustering` joins features and people's answers in one
model. One of the two people is often wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_moons
from sklearn.mixture import GaussianMixture

from clew import Constraints, Question
from clew.cluster import GuidedClustering, SimilarityClustering, SpectralClustering
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle
from clew.similarity import AdaptiveKNN

rng = np.random.default_rng(1)
moons, side = make_moons(200, noise=0.1, random_state=1)
blobs = [rng.normal(middle, 0.28, (80, 2)) for middle in ((3.1, 0.9), (3.25, -0.4))]
X = np.vstack([moons, *blobs])
X /= np.abs(X).max()
y = np.r_[side, np.repeat([2, 3], 80)]

# %%
# 180 questions about random pairs of points: do these two belong together? Ann is
# wrong in 3 % of her answers, Ben in 17 %.
people = {"ann": 0.03, "ben": 0.17}
oracle = SimulatedOracle(
    y, error=list(people.values()), annotators=list(people), random_state=0
)
questions = [
    Question("pair", tuple(rng.choice(len(y), 2, replace=False).tolist()))
    for _ in range(180)
]
answers = Constraints.from_answers(oracle.answer_all(questions), n_samples=len(y))

model = GuidedClustering(4, random_state=0).fit(X, constraints=answers)
print(f"ARI {adjusted_rand_score(y, model.labels_):.2f}")

# %%
# Four clusterings that use no answers.
COLORS = np.array(["#2f6f7e", "#d99a2b", "#7b5a94", "#86a350"])
GRAY, LIGHT, DOUBT = "#555555", "#e6eaec", "#d1372c"


def colored(labels: np.ndarray) -> np.ndarray:
    """Color groups by the class that they share most points with."""
    shared = np.eye(4)[labels].T @ np.eye(4)[y]
    return COLORS[linear_sum_assignment(-shared)[1][labels]]


def draw(ax: plt.Axes, colors: np.ndarray, title: str, size: float = 5) -> None:
    """Draw the points without axes."""
    ax.scatter(*X.T, c=colors, s=size, linewidths=0, zorder=3)
    ax.set_title(title, fontsize=11)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


unconstrained = {
    "k-means": KMeans(4, n_init=5, random_state=0),
    "Ward": AgglomerativeClustering(4),
    "mixture": GaussianMixture(4, n_init=2, reg_covar=1e-3, random_state=0),
    "neighbors": SimilarityClustering(
        AdaptiveKNN(), SpectralClustering(4, n_neighbors=20, random_state=0)
    ),
}
fig, axes = plt.subplots(1, 4, figsize=(9, 2.1), layout="constrained")
for ax, (name, method) in zip(axes, unconstrained.items(), strict=True):
    labels = method.fit_predict(X)
    draw(ax, colored(labels), f"{name}: ARI {adjusted_rand_score(y, labels):.2f}")
plt.show()

# %%
# The answers, and the groups that follow features and answers. Solid lines are
# "same", dotted ones "different". Red answers are probably wrong; pale points are
# in an uncertain group.
doubted = model.answer_posterior_.pairs > 0.5


def link(ax: plt.Axes, which: np.ndarray, **line: object) -> None:
    """Draw lines between the points of answers."""
    for (i, j), said in zip(
        answers.pairs[which], answers.pair_answers[which], strict=True
    ):
        ax.plot(*X[[i, j]].T, "-" if said == 1 else ":", **line)


fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
link(axes[0], np.ones(len(doubted), dtype=bool), color="#39616b", lw=0.6, alpha=0.4)
draw(axes[0], np.full(len(X), "#6d7c83"), f"{len(answers.pairs)} answers")
draw(
    axes[1],
    colored(model.labels_),
    f"GuidedClustering: ARI {adjusted_rand_score(y, model.labels_):.2f}",
    9,
)
axes[1].collections[0].set_alpha(0.25 + 0.75 * model.probabilities_.max(axis=1))
link(
    axes[1],
    doubted,
    color=DOUBT,
    lw=1,
    alpha=0.8,
    marker="o",
    mfc="none",
    ms=4.5,
    zorder=4,
)
plt.show()

# %%
# Here the truth is known, so that the doubts and the error rates can be checked.
is_same = y[answers.pairs[:, 0]] == y[answers.pairs[:, 1]]
wrong = is_same != (answers.pair_answers == 1)
both = (wrong & doubted).sum()
print(f"{wrong.sum()} answers are wrong, {doubted.sum()} doubted, {both} both")
print(f"estimated share of wrong answers: {model.error_rate_:.2f}")
for name, rate in zip(
    model.confusion_.annotators_, model.confusion_.error_rates_, strict=True
):
    print(f"{name}: estimated error rate {rate:.2f}, true {people[name]:.2f}")

# %%
# Why two points are together or apart: the pair whose answer is most doubted.
i, j = answers.pairs[np.argmax(model.answer_posterior_.pairs)]
print(model.explain(int(i), int(j)))
