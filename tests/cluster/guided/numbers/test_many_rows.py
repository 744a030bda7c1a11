"""Guided clustering of many rows, without matrices of all pairs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from clew import Constraints
from clew._limits import MANY_ROWS
from clew.cluster import GuidedClustering
from clew.cluster.guided._ensemble.folds import split_answers
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._numbers.choice import choose_n_clusters
from clew.cluster.guided._numbers.rows import sampled_rows

N_ROWS = 8_000
X, Y = make_blobs(N_ROWS, n_features=5, centers=4, cluster_std=3.0, random_state=0)
#: Enough for a matrix of their pairs to exceed all that grows with rows and trees.
N_FITTED, N_TREES = 6_000, 30


@pytest.fixture(scope="module")
def fitted():
    """A model, and the peak memory of its fit in bytes."""
    few = Constraints.from_labels(Y[:100], 50, random_state=0)
    GuidedClustering(4, random_state=0).fit(X[:100], constraints=few)  # compiled
    known = Constraints.from_labels(Y[:N_FITTED], 600, error=0.1, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clew.cluster.guided._features.views.N_TREES", N_TREES)
        tracemalloc.start()
        model = GuidedClustering(4, scale="exact", random_state=0)
        model.fit(X[:N_FITTED], constraints=known)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return model, most


def test_no_matrix_of_all_pairs_is_made(fitted):
    assert N_FITTED > MANY_ROWS
    # Single precision would take four bytes a pair.
    assert fitted[1] < 4 * N_FITTED**2


def test_answers_improve_the_groups_of_many_rows(fitted):
    model, _ = fitted
    assert adjusted_rand_score(Y[:N_FITTED], model.labels_) > 0.8
    assert "ward" not in model.weights_
    low, high = model.error_interval_
    assert low < 0.1 < high


@pytest.mark.slow
def test_the_number_of_groups_is_chosen_from_answers_about_some_rows():
    known = Constraints.from_labels(Y, 800, n_triplets=200, error=0.1, random_state=0)
    views = Views(X, 0)
    assert choose_n_clusters(views, [], 0).n_clusters < 4  # far groups of near ones
    assert choose_n_clusters(views, split_answers(known, 0).folds, 0).n_clusters == 4


def test_rows_that_answers_are_about_are_among_those():
    few, many = (Constraints.from_labels(Y, n, n_triplets=n, random_state=0) for n in (300, 8_000))
    rows = sampled_rows(split_answers(few, 0).folds, N_ROWS, 0)
    assert len(np.unique(rows)) == MANY_ROWS
    assert len(few.subset(rows).triplets) == len(few.subset(rows).pairs) == 300
    left = many.subset(sampled_rows(split_answers(many, 0).folds, N_ROWS, 0))
    # A random sample of rows would have 3,125 pairs and 1,953 triplets.
    assert len(left.pairs) > 3_500
    assert len(left.triplets) > 2_300
