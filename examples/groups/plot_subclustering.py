"""
A few pure examples of each group
=================================

:class:`~clew.cluster.Subclustering` groups only the clearest rows: here ten images
of each of ten digits, without labels. All other images are left out.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from clew.cluster import Subclustering
from clew.metrics import subclustering_jaccard

X, y = load_digits(return_X_y=True)
model = Subclustering(10, size=10, random_state=0).fit(X)

# %%
# A line for each subcluster, the center first. Each line shows one digit; two lines
# may show the same one, if it is written in two ways.
rows = model.exemplars_
images = X[rows].reshape(10, 10, 8, 8).transpose(0, 2, 1, 3).reshape(80, 80)
fig, ax = plt.subplots(figsize=(4.2, 4.4), layout="constrained")
ax.imshow(images, cmap="gray_r")
ax.set_title(f"SJC {subclustering_jaccard(y, rows):.2f}", fontsize=10)
ax.set_axis_off()
plt.show()

# %%
# The confidence of an exemplar is the probability that it shows what its center
# shows.
for digit, sure in zip(
    y[model.centers_], model.confidence_.mean(axis=1), strict=True
):
    print(f"center shows {digit}: mean confidence {sure:.2f}")
