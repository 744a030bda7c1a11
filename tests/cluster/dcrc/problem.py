"""Rows, answers, and a model that is fitted quickly, for the tests of DCRC."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.cluster import DCRC

X, Y = make_blobs(120, 3, centers=4, cluster_std=2.0, random_state=3)
X = StandardScaler().fit_transform(X)
#: Two groups that k-means does not find: the halves along the direction of the least variance.
LEAST = X @ np.linalg.svd(X)[2][-1]
TWO = (np.median(LEAST) < LEAST).astype(int)
QUICK = DCRC(4, kernel=None, tau=0.5, lam=0.01, init="kmeans", n_init=2, random_state=0)
KINDS = {
    "pairs": {"n_pairs": 250},
    "triplets": {"n_triplets": 250},
    "odd_one_out": {"n_odd_one_out": 250},
    "all": {"n_pairs": 80, "n_triplets": 80, "n_odd_one_out": 80},
}


def answers(y=TWO, seed=0, **counts):
    """Random answers that fit some labels."""
    given = {"n_pairs": 0, **counts}
    return Constraints.from_labels(y, given.pop("n_pairs"), random_state=seed, **given)
