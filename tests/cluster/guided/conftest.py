"""Fitted models of guided clustering, and data for them."""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided import _search


class Blobs(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    known: Constraints
    model: GuidedClustering
    """Fitted to rows and answers."""


@pytest.fixture(scope="session")
def fitted():
    """Fit with three groups and seed 0, or with the given parameters; the same call only once."""
    models = {}

    def fit(X, known=None, **given):
        key = joblib.hash((X, known, given)), _search.ROUNDS, _search._Search.few
        if key not in models:
            model = GuidedClustering(**{"n_clusters": 3, "random_state": 0} | given)
            models[key] = model.fit(X, constraints=known)
        return copy(models[key])

    return fit


@pytest.fixture(scope="module")
def blobs(fitted):
    """Sixty rows in three overlapping groups, and 120 answers, 10 % of them wrong."""
    X, y = make_blobs(60, centers=3, cluster_std=2.5, random_state=5)
    known = Constraints.from_labels(y, 120, error=0.1, random_state=0)
    return Blobs(X, y, known, fitted(X, known))
