"""
Groups from distances
=====================

Sometimes only distances are known. Here these are edit distances between misspelled
names, and there are no features. Answers about some pairs help to group them.
"""

import matplotlib.pyplot as plt
import numpy as np

from clew import Constraints, GuidedClustering
from clew.graphs import DistanceSpace
from clew.metrics import adjusted_rand_score

rng = np.random.default_rng(0)
birds = (
    "blackbird",
    "blackcap",
    "bluethroat",
    "bullfinch",
    "goldfinch",
    "goldcrest",
)


def misspelled(word):
    """Delete, swap or change up to three letters."""
    letters = list(word)
    for _ in range(rng.integers(4)):
        at = rng.integers(len(letters) - 1)
        letters[at : at + 2] = (
            [letters[at]],
            [letters[at + 1], letters[at]],
            [rng.choice(list("aeiouchl")), letters[at + 1]],
        )[rng.integers(3)]
    return "".join(letters)


def edit_distance(a, b):
    """Count insertions, deletions and changes from one word to the other."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, z in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != z))
    return row[-1]


y = np.repeat(np.arange(len(birds)), 15)
words = [misspelled(birds[k]) for k in y]
D = np.array([[edit_distance(a, b) for b in words] for a in words], dtype=float)
print(words[::15])

# %%
# `metric="precomputed"` takes the distances. Sixty answers are given, one in ten of
# them wrong.
answers = Constraints.from_labels(y, n_pairs=60, error=0.1, random_state=0)
model = GuidedClustering(len(birds), metric="precomputed", random_state=0)
model.fit(D, constraints=answers)
print(f"adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}")
print(model.summary().splitlines()[-1])

# %%
# A map of the words, by classical multidimensional scaling in two dimensions.
x1, x2 = DistanceSpace.fit(D).transform(D)[:, :2].T
fig, panel = plt.subplots(figsize=(7, 5), layout="constrained")
panel.scatter(x1, x2, c=model.labels_, cmap="tab10", s=15)
for k, bird in enumerate(birds):
    panel.annotate(
        bird, (x1[y == k].mean(), x2[y == k].mean()), ha="center", fontsize=9
    )
panel.set(xticks=[], yticks=[], title="Misspelled names by their edit distances")

# %%
# A new word is grouped by its distances to the others.
new = "goldfnich"
group = model.predict([[edit_distance(new, word) for word in words]])[0]
print(f"{new}: with {np.array(words)[model.labels_ == group][:4].tolist()}")
