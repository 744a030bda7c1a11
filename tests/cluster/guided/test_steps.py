"""The steps of guided clustering, and what is known of ways before answers judge them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided import RidgeSmoother, Views, default_pool
from clew.cluster.guided._beliefs import beliefs_about
from clew.cluster.guided._ensemble import Ensemble
from clew.cluster.guided._progress import no_step
from clew.cluster.guided._steps import (
    LEAST_LEAD,
    MOST_REFINED,
    UNLED_PRIOR,
    Joined,
    Steps,
    Unled,
    _voted,
    folds_of,
)

X, Y = make_blobs(60, centers=3, cluster_std=2.5, random_state=5)
KNOWN = Constraints.from_labels(Y, 60, random_state=0)
N_HELD = 40.0


def steps_of(known, kind=Steps):
    views = Views(X, 0)
    return kind(views, RidgeSmoother(X), known, folds_of(known, 0), 3, 0, no_step)


@pytest.fixture(scope="module")
def races():
    """The ways of the pool, and those of the second consensus."""
    raced = []

    class Watched(Steps):
        def raced(self, ways, judges):
            raced.append({way.name: way.log_prior for way in ways})
            return super().raced(ways, judges)

    work = steps_of(KNOWN, Watched)
    work.refined(work.grouped(default_pool(3, 60)))
    return raced


def test_what_is_known_before_of_the_pool(races):
    best = {name: prior for name, prior in races[0].items() if prior > 1}
    assert best == {"forest, spread": 1.4, "led forest, spread": 1.4}
    spread = {name for name, prior in races[0].items() if 0 < prior < 1}
    assert spread == {
        "neighbors, spread",
        "close neighbors, spread",
        "trees, spread",
        "led trees, spread",
    }
    assert {races[0][name] for name in spread} == {0.7}


def test_of_what_is_refined_groups_without_answers_alone_have_a_prior(races):
    assert len(races[1]) == MOST_REFINED
    assert {name: prior for name, prior in races[1].items() if prior} == {"no answers": UNLED_PRIOR}


def test_without_answers_forests_count_most():
    weights = GuidedClustering(3, random_state=0).fit(X).weights_
    assert weights["forest"] == 1
    assert weights["trees"] == pytest.approx(np.exp(0.7 - 1.4))
    others = set(weights) - {"forest", "trees"}
    assert [weights[name] for name in others] == pytest.approx([np.exp(-1.4)] * len(others))


@pytest.mark.parametrize(("lead", "stand"), [(-0.5, True), (0.9, True), (1.1, False)])
def test_groups_without_answers_stand_where_no_others_are_clearly_ahead(lead, stand):
    assert LEAST_LEAD == 1.0
    led, unled = np.zeros(60, dtype=np.int64), np.ones(60, dtype=np.int64)
    scores = {"consensus": -0.6 + lead / N_HELD, "no answers": -0.6}
    weights = {"consensus": 0.8, "no answers": 1.0}
    ensemble = Ensemble({"consensus": led, "no answers": unled}, [], scores, weights, N_HELD)
    last = Joined(ensemble, [], led, [], np.eye(3)[led], beliefs_about(ensemble, []))
    found = steps_of(KNOWN).guarded(last, Unled(unled, np.eye(3)[unled]))
    np.testing.assert_array_equal(found.labels, unled if stand else led)
    np.testing.assert_array_equal(found.chances.argmax(axis=1), found.labels)
    assert found.saw_answers is not stand
    assert found.ensemble.best == (["no answers"] if stand else ["consensus", "no answers"])


def test_votes_of_groups_that_are_unsure_of_every_row():
    # Nine tenths of the rows are in one group, and chances are all but even.
    labels = np.repeat([2, 0, 1], [54, 4, 2])
    unsure = np.full((60, 3), 0.33) + 0.01 * np.eye(3)[labels]
    ensemble = Ensemble({"unsure": unsure}, [], {"unsure": -0.5}, {"unsure": 1.0}, N_HELD)
    consensus_labels = (labels + 1) % 3  # the same groups by other numbers
    votes = _voted(consensus_labels, 3, ensemble)
    np.testing.assert_allclose(votes, np.roll(unsure, 1, axis=1))
    np.testing.assert_array_equal(votes.argmax(axis=1), consensus_labels)


def test_unheard_groups_without_answers_are_no_hindrance():
    labels = np.zeros(60, dtype=np.int64)
    scores = {"consensus": -0.1, "no answers": -0.7}
    ensemble = Ensemble(
        {"consensus": labels}, [], scores, {"consensus": 1.0, "no answers": 0.0}, N_HELD
    )
    last = Joined(ensemble, [], labels, [], np.eye(3)[labels], beliefs_about(ensemble, []))
    assert steps_of(KNOWN).guarded(last, Unled(labels, np.eye(3)[labels])) is last
