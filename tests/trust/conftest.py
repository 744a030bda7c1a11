"""Rows in groups, and answers about them, some of which are wrong."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clew import Constraints


class Planted(NamedTuple):
    X: np.ndarray
    constraints: Constraints
    is_wrong: np.ndarray


@pytest.fixture
def planted():
    """Make rows in four groups, and answers with a given share of wrong ones."""

    def make(n_pairs=300, error=0.15, seed=0, dont_know=0.0):
        X, y = make_blobs(200, 6, centers=4, cluster_std=3.0, random_state=seed)
        answers = Constraints.from_labels(
            y, n_pairs, error=error, dont_know=dont_know, random_state=seed
        )
        i, j = answers.pairs.T
        is_wrong = ~answers.is_dont_know & (answers.is_must_link != (y[i] == y[j]))
        return Planted(X, answers, is_wrong)

    return make
