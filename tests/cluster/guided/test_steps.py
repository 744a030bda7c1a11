"""The steps of guided clustering: priors of members, votes, and the unconstrained fallback."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._ensemble.answer_errors import answer_errors
from clew.cluster.guided._ensemble.ensemble import Ensemble
from clew.cluster.guided._ensemble.folds import split_answers
from clew.cluster.guided._ensemble.weighted_consensus import (
    LEAST_LEAD,
    Consensus,
    _votes,
    consensus_of,
)
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._members.members import UNCONSTRAINED, default_members
from clew.cluster.guided._refinement.smoothers import NeighborSmoother, RidgeSmoother
from clew.cluster.guided._rounds import DISCRIMINANTS, discriminant_smoothers
from clew.cluster.guided._steps import (
    MAX_REFINED,
    UNCONSTRAINED_PRIOR,
    guarded,
    member_clusterings,
    refinements,
    unconstrained_clusterings,
    unconstrained_consensus,
    weighted_by_annotator,
)

X, Y = make_blobs(60, centers=3, cluster_std=2.5, random_state=5)
KNOWN = Constraints.from_labels(Y, 60, random_state=0)
N_HELD = 40.0


@pytest.fixture(scope="module")
def log_priors():
    """Log priors of the members, and of the clusterings of the second consensus."""
    views, answers, members = Views(X, 0), split_answers(KNOWN, 0), default_members(3, 60)
    unconstrained = unconstrained_clusterings(members, views, answers)
    clusterings = member_clusterings(members, unconstrained, views, answers)
    first = consensus_of(Ensemble.of(clusterings, answers.folds), answers, 3, 0)
    graph = views.read("neighbors", 10)
    smoothers = {"neighbors": NeighborSmoother(graph), "ridge": RidgeSmoother(X)}
    smoothers[DISCRIMINANTS] = discriminant_smoothers(views, first)
    baseline = unconstrained_consensus(unconstrained, answers, 3, 0)
    refined = refinements(first, baseline, answers, smoothers)
    return [{one.name: one.log_prior for one in part} for part in (clusterings, refined)]


def test_priors_of_members(log_priors):
    best = {name: prior for name, prior in log_priors[0].items() if prior > 1}
    assert best == {"E2CP on forest": 1.4, "E2CP on constrained forest": 1.4}
    good = {name for name, prior in log_priors[0].items() if 0 < prior < 1}
    assert good == {
        "E2CP on neighbors",
        "E2CP on 10 neighbors",
        "E2CP on trees",
        "E2CP on constrained trees",
    }
    assert {log_priors[0][name] for name in good} == {0.7}


def test_only_the_unconstrained_clustering_has_a_prior_in_the_second_consensus(log_priors):
    assert len(log_priors[1]) == MAX_REFINED
    positive = {name: prior for name, prior in log_priors[1].items() if prior}
    assert positive == {UNCONSTRAINED: UNCONSTRAINED_PRIOR}


def test_without_answers_forests_have_the_largest_weights():
    weights = GuidedClustering(3, random_state=0).fit(X).weights_
    assert weights["forest"] == 1
    assert weights["trees"] == pytest.approx(np.exp(0.7 - 1.4))
    others = set(weights) - {"forest", "trees"}
    assert [weights[name] for name in others] == pytest.approx([np.exp(-1.4)] * len(others))


def test_one_annotator_is_not_reweighted():
    answers = split_answers(KNOWN, 0)
    unconstrained = unconstrained_clusterings(default_members(3, 60), Views(X, 0), answers)
    assert weighted_by_annotator(answers, unconstrained) is answers


def consensus(labels, ensemble):
    return Consensus(ensemble, labels, [], np.eye(3)[labels], answer_errors(ensemble, []))


@pytest.mark.parametrize(("lead", "falls_back"), [(-0.5, True), (0.9, True), (1.1, False)])
def test_the_unconstrained_consensus_is_kept_unless_another_is_clearly_ahead(lead, falls_back):
    assert LEAST_LEAD == 1.0
    constrained, unconstrained = np.zeros(60, dtype=np.int64), np.ones(60, dtype=np.int64)
    scores = {"consensus": -0.6 + lead / N_HELD, UNCONSTRAINED: -0.6}
    weights = {"consensus": 0.8, UNCONSTRAINED: 1.0}
    whole = {"consensus": constrained, UNCONSTRAINED: unconstrained}
    ensemble = Ensemble(whole, [], scores, weights, N_HELD)
    found = guarded(consensus(constrained, ensemble), consensus(unconstrained, ensemble))
    np.testing.assert_array_equal(found.labels, unconstrained if falls_back else constrained)
    np.testing.assert_array_equal(found.probabilities.argmax(axis=1), found.labels)
    assert found.saw_answers is not falls_back
    assert found.ensemble.names == ([UNCONSTRAINED] if falls_back else ["consensus", UNCONSTRAINED])


def test_votes_of_a_clustering_that_is_unsure_of_every_row():
    # Nine tenths of the rows are in one group, and probabilities are nearly even.
    labels = np.repeat([2, 0, 1], [54, 4, 2])
    unsure = np.full((60, 3), 0.33) + 0.01 * np.eye(3)[labels]
    ensemble = Ensemble({"unsure": unsure}, [], {"unsure": -0.5}, {"unsure": 1.0}, N_HELD)
    consensus_labels = (labels + 1) % 3  # the same groups, numbered differently
    votes = _votes(consensus_labels, 3, ensemble)
    np.testing.assert_allclose(votes, np.roll(unsure, 1, axis=1))
    np.testing.assert_array_equal(votes.argmax(axis=1), consensus_labels)


def test_an_unconstrained_consensus_of_weight_0_is_never_returned():
    labels = np.zeros(60, dtype=np.int64)
    scores = {"consensus": -0.1, UNCONSTRAINED: -0.7}
    weights = {"consensus": 1.0, UNCONSTRAINED: 0.0}
    last = consensus(labels, Ensemble({"consensus": labels}, [], scores, weights, N_HELD))
    assert guarded(last, last) is last
