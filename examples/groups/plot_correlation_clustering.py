"""
Many small groups from answers of people who err
================================================

A guide lists restaurants several times, with misspelled names. People compare
pairs of records, and some of these people err often.
:class:`~clew.cluster.CorrelationClustering` finds the records of each restaurant.
The number of restaurants is not given.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

from clew import Constraints
from clew.cluster import CorrelationClustering
from clew.metrics import adjusted_rand_score
from clew.trust import DawidSkene

rng = np.random.default_rng(0)

# %%
# The records: 150 restaurants with one to four records each, in which letters are
# replaced at random.
first = [
    "golden",
    "blue",
    "old",
    "little",
    "royal",
    "lucky",
    "happy",
    "green",
    "silver",
    "red",
]
second = [
    "lion",
    "garden",
    "dragon",
    "house",
    "palace",
    "anchor",
    "tavern",
    "kitchen",
    "olive",
    "moon",
]
place = ["harbor", "market", "station", "bridge", "hill", "park", "square", "mill"]
letters = np.array(list("abcdefghijklmnopqrstuvwxyz "))
restaurants = [
    f"{rng.choice(first)} {rng.choice(second)} {rng.choice(place)} street"
    for _ in range(150)
]
y = rng.permutation(np.repeat(np.arange(150), rng.integers(1, 5, 150)))


def misspelled(name):
    old = np.array(list(name))
    return "".join(
        np.where(rng.random(len(old)) < 0.12, rng.choice(letters, len(old)), old)
    )


records = [misspelled(restaurants[entity]) for entity in y]
print(*[records[row] for row in np.flatnonzero(y == y[0])], sep="\n")

# %%
# The questions: each record is compared with the five records of most similar
# spelling. Three of eight people answer each question. Two of the eight err in 35 %
# of their answers, the others in 3 to 10 %.
tfidf = TfidfVectorizer(analyzer="char", ngram_range=(2, 3)).fit_transform(records)
X = TruncatedSVD(30, random_state=0).fit_transform(tfidf)
near = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(return_distance=False)
pairs = np.column_stack([np.repeat(np.arange(len(y)), 5), near.ravel()])
pairs = np.unique(np.sort(pairs, axis=1), axis=0)
error = np.array([0.03, 0.03, 0.05, 0.05, 0.08, 0.1, 0.35, 0.35])
who = np.stack([rng.permutation(8)[:3] for _ in pairs])
is_same = (y[pairs[:, 0]] == y[pairs[:, 1]])[:, None]
said = is_same ^ (rng.random(who.shape) < error[who])
answers = Constraints(
    len(y),
    pairs=np.column_stack([np.repeat(pairs, 3, axis=0), said.ravel()]),
    pair_annotators=who.ravel(),
)
print(
    len(y), "records,", len(pairs), "questions,", answers.pairs.shape[0], "answers"
)

# %%
# The simplest method takes the majority of the answers to each question, and joins
# all records that a chain of "same" connects. A single wrong "same" then joins two
# restaurants. Correlation clustering sums the evidence of all pairs between two
# groups, and gives less weight to people who err often.
majority = said.mean(axis=1) > 0.5
closure = Constraints.from_pairs(
    must_link=pairs[majority], n_samples=len(y)
).closure()
found = {
    "majority vote and closure": closure.component,
    "correlation clustering": CorrelationClustering(random_state=0)
    .fit(constraints=answers)
    .labels_,
    "the same with features": (
        CorrelationClustering(random_state=0).fit(X, constraints=answers).labels_
    ),
}
for name, labels in found.items():
    score = adjusted_rand_score(y, labels)
    print(f"{name}: ARI {score:.2f}, {len(np.unique(labels))} groups")

# %%
# How often each person errs is estimated from the answers alone, with intervals of
# 95 %. The left panel compares the estimates with the simulated rates. The right
# panel shows the number of records in each group, largest group first.
confusion = DawidSkene().fit(answers).confusion_
rate, (low, high) = confusion.error_rates_, confusion.error_intervals_.T
true_rate = error[[int(name) for name in confusion.annotators_]]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
axes[0].errorbar(
    true_rate, rate, [rate - low, high - rate], fmt="o", color="#39616b"
)
axes[0].plot([0, 0.45], [0, 0.45], color="0.7", lw=1)
axes[0].set(xlabel="simulated error rate", ylabel="estimated error rate")
lines = {
    "truth": "0.7",
    "majority vote and closure": "#b0553d",
    "correlation clustering": "#39616b",
}
for (name, color), width in zip(lines.items(), [5, 1.5, 1.5], strict=True):
    sizes = np.sort(np.bincount({"truth": y, **found}[name]))[::-1]
    axes[1].plot(sizes, color=color, lw=width, drawstyle="steps-post", label=name)
axes[1].set(xlabel="group", ylabel="records", ylim=(0, None))
axes[1].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
