"""
Duplicates in a table
=====================

A table lists cafes, some of them two or three times: with typing errors,
abbreviations, other forms of phone numbers, and gaps. Groups are many and small.
:class:`~clew.cluster.GuidedClustering` recognizes this from the distances to the
nearest rows. A few answers, one in twenty of them wrong, show where to cut.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.metrics import adjusted_rand_score
from clew.tables import RecordFeatures

rng = np.random.default_rng(0)

# %%
# The table: 200 cafes with one to three rows each.
syllables = [
    "ba",
    "co",
    "di",
    "fu",
    "gra",
    "lo",
    "mi",
    "ne",
    "po",
    "ri",
    "sta",
    "tu",
]
streets = [
    "Oak",
    "Main",
    "Sunset",
    "Mission",
    "Spring",
    "Canal",
    "Hudson",
    "Melrose",
]


def word():
    return "".join(rng.choice(syllables, 3))


cafes = [
    (
        f"{word()} {word()}",
        rng.integers(1, 3000),
        rng.choice(streets),
        rng.integers(10**9, 10**10),
    )
    for _ in range(200)
]
y = rng.permutation(np.repeat(np.arange(200), rng.integers(1, 4, 200)))


def row(name, number, street, phone):
    for _ in range(rng.poisson(1.5)):
        at = rng.integers(len(name))
        name = name[:at] + rng.choice(list("aeiou")) + name[at + 1 :]
    street = f"{number} {street} {rng.choice(['Street', 'St.', 'street'])}"
    digits = str(phone)
    phone = rng.choice([digits, f"({digits[:3]}) {digits[3:6]}-{digits[6:]}"])
    return {
        "name": name.title() if rng.random() < 0.3 else name,
        "address": street if rng.random() < 0.8 else None,
        "phone": phone if rng.random() < 0.6 else None,
    }


table = pd.DataFrame([row(*cafes[cafe]) for cafe in y])
table.head()

# %%
# Rows become n-grams of characters, weighted by TF-IDF.
X = RecordFeatures().fit_transform(table)
print(X.shape)

# %%
# Without answers: the number of groups is found, and the reason is said.
alone = GuidedClustering(random_state=0).fit(X)
print(alone.regime_.reason)
print(
    f"{alone.n_clusters_} groups, ARI {adjusted_rand_score(y, alone.labels_):.3f}"
)

# %%
# Somebody compares 100 rows with the nearest one, and errs in 5.
similarity = (X @ X.T).toarray()
np.fill_diagonal(similarity, 0)
pairs = np.unique(
    [tuple(sorted((i, similarity[i].argmax()))) for i in range(len(y))], axis=0
)
pairs = pairs[rng.permutation(len(pairs))[:100]]
is_same = y[pairs[:, 0]] == y[pairs[:, 1]]
is_same[:5] ^= True
answers = Constraints.from_pairs(
    must_link=pairs[is_same], cannot_link=pairs[~is_same], n_samples=len(y)
)
model = GuidedClustering(random_state=0).fit(X, constraints=answers)
print(
    f"{model.n_clusters_} groups, ARI {adjusted_rand_score(y, model.labels_):.3f}"
)

# %%
# The answers that look wrong:
model.answer_posterior_.to_frame().head(6)

# %%
# The similarity of each row to the nearest one is large or small, and hardly ever
# between: this gap is what clew recognizes.
nearest = similarity.max(axis=1)
has_copy = np.bincount(y)[y] > 1
fig, ax = plt.subplots()
ax.hist(
    [nearest[has_copy], nearest[~has_copy]],
    bins=30,
    stacked=True,
    label=["rows with a duplicate", "others"],
)
ax.set(xlabel="cosine to the nearest row", ylabel="rows")
ax.legend(frameon=False)
plt.show()
