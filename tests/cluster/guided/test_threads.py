"""Fits in several threads: the same results, and an interruption ends them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from clew import Constraints
from clew.cluster import GuidedClustering

pytestmark = pytest.mark.usefixtures("small_search")


@pytest.fixture(scope="module")
def answers(blobs):
    """Few answers: with more, members that follow answers alone would join, which takes seconds."""
    return Constraints.from_labels(blobs.y, 50, n_triplets=10, error=0.1, random_state=1)


@pytest.mark.slow
def test_fits_in_several_threads_equal_fits_in_one(blobs, answers):
    more = Constraints.from_labels(blobs.y, 6, random_state=2)
    one, two = (
        GuidedClustering(3, random_state=0, n_jobs=n_jobs)
        .fit(blobs.X, constraints=answers)
        .partial_fit(constraints=more)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
    assert (one.scores_, one.weights_) == (two.scores_, two.weights_)
    assert one.error_interval_ == two.error_interval_


def test_an_interruption_ends_a_fit_in_threads(blobs, answers):
    def interrupt(done, n_steps):
        if done == 9:
            raise KeyboardInterrupt

    before = threading.active_count()
    model = GuidedClustering(3, random_state=0, n_jobs=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(blobs.X, constraints=answers, callback=interrupt)
    assert threading.active_count() == before
    assert not hasattr(model, "labels_")
