"""
Positions from answers alone
============================

Twelve colors, and no features. People were asked which of two colors is more like a
third one; one of the five annotators answered at random.
:class:`~clew.similarity.OrdinalEmbedding` finds positions whose distances explain
the answers, and notices the annotator.
"""

from colorsys import hsv_to_rgb

import matplotlib.pyplot as plt
import numpy as np

from clew import Constraints, Question
from clew.similarity import OrdinalEmbedding

n = 12
angle = 2 * np.pi * np.arange(n) / n
circle = np.column_stack([np.cos(angle), np.sin(angle)])
colors = [hsv_to_rgb(at / n, 0.8, 0.9) for at in range(n)]

# %%
# Each annotator answers 80 questions; the nearer color is named more often.
rng = np.random.default_rng(0)
rows = np.array([rng.permutation(n)[:3] for _ in range(400)])
annotator = np.repeat(["ann", "ben", "cat", "dan", "eve"], 80)
a, b, c = circle[rows.T]
difference = np.linalg.norm(a - c, axis=1) - np.linalg.norm(a - b, axis=1)
p_first = 1 / (1 + np.exp(-8 * difference))
p_first[annotator == "eve"] = 0.5
answers = Constraints.from_triplets(
    rows, (rng.random(400) > p_first).astype(int), n_samples=n, annotators=annotator
)

# %%
# The circle is found, up to rotation and reflection.
model = OrdinalEmbedding(2, random_state=0).fit(constraints=answers)
fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
left.scatter(*model.embedding_.T, c=colors, s=200)
left.set_title("positions", fontsize=10)
left.set_aspect("equal")
left.set_axis_off()
right.bar(model.annotators_, model.annotator_slopes_, color="0.6")
right.set_title("slopes of annotators", fontsize=10)
plt.show()

# %%
# How probable is it that red is more like orange than like green?
print(model.predict_proba([Question("triplet", (0, 1, 4))]).round(2))
