"""The ensemble: held-out answers score, weigh and prune members."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from clew import Constraints
from clew.cluster.guided import co_association
from clew.cluster.guided._ensemble.ensemble import (
    Clustering,
    Ensemble,
    Fold,
    as_labels,
    held_out_log_likelihood,
)
from clew.cluster.guided._ensemble.progress import Steps
from clew.constraints._folds import held_out_folds
from clew.metrics import answer_log_likelihood

Y = np.arange(90) % 3


class Recorded:
    """A clustering that records the folds that it is fitted to."""

    def __init__(self, name, moved, log_prior=0.0, seed=0):
        self.asked, self._moved, self._random = [], moved, np.random.default_rng(seed)
        self.way = Clustering(name, self.group, log_prior)

    def group(self, at):
        self.asked.append(at)
        moved = self._random.uniform(size=len(Y)) < self._moved
        return np.where(moved, self._random.integers(3, size=len(Y)), Y)


def parted(n_answers=300, error=0.1, seed=0):
    known = Constraints.from_labels(Y, n_answers, error=error, random_state=seed)
    return [Fold(*parts) for parts in held_out_folds(known, 3, 0)]


@pytest.fixture(scope="module")
def race():
    """A correct clustering, two nearly correct ones, and a random one."""
    members = [
        Recorded("right", 0.05),
        Recorded("near", 0.1, seed=1),
        Recorded("nearer", 0.07, seed=3),
        Recorded("far behind", 1.0, seed=2),
    ]
    folds, steps = parted(), []
    ensemble = Ensemble.of([r.way for r in members], folds, Steps(lambda: steps.append(1)))
    return ensemble, {r.way.name: r for r in members}, folds, steps


def test_a_member_far_behind_is_pruned_after_the_first_fold(race):
    ensemble, members, _, _ = race
    assert members["far behind"].asked == [0]
    assert ensemble.weights["far behind"] == 0
    assert "far behind" not in ensemble.whole
    assert ["far behind" in fold for fold in ensemble.of_folds] == [True, False, False]
    assert "far behind" not in ensemble.names
    assert ensemble.scores["far behind"] < min(
        score for name, score in ensemble.scores.items() if name != "far behind"
    )


def test_the_other_members_are_fitted_to_each_fold_and_to_all_answers(race):
    ensemble, members, _, _ = race
    assert max(ensemble.weights.values()) == 1
    for name in ensemble.names:
        assert members[name].asked == [0, 1, 2, None]
        assert name in ensemble.whole
        assert all(name in fold for fold in ensemble.of_folds)


def test_scores_are_mean_log_likelihoods_of_the_answers_held_out(race):
    ensemble, _, folds, _ = race
    # A clustering that does not depend on the fold has the score of all answers.
    fixed = Ensemble.of([Clustering("fixed", lambda at: Y)], folds)
    known = sum((fold.held for fold in folds[1:]), folds[0].held)
    assert fixed.scores["fixed"] == pytest.approx(answer_log_likelihood(Y, known) / 300)
    assert all(score < 0 for score in ensemble.scores.values())
    best = max(ensemble.scores, key=ensemble.scores.get)
    assert ensemble.weights[best] == 1


def test_each_partition_is_a_step(race):
    _, members, _, steps = race
    n_made = sum(len(r.asked) for r in members.values())
    assert len(steps) == n_made < 16  # some members were pruned


def test_consensus_of_all_and_of_each_fold(race):
    ensemble, _, _, _ = race
    whole, of_folds = ensemble.consensus(3, seed=0)
    assert len(of_folds) == 3
    for labels in (whole, *of_folds):
        assert adjusted_rand_score(Y, labels) > 0.7


def test_held_out_association_is_that_of_each_fold(race):
    ensemble, _, folds, _ = race
    found = ensemble.held_out_association([fold.held.pairs for fold in folds])
    names = ensemble.names
    weight = [ensemble.weights[name] for name in names]
    expected = [
        co_association([of[name] for name in names], weight, fold.held.pairs)
        for of, fold in zip(ensemble.of_folds, folds, strict=True)
    ]
    np.testing.assert_array_equal(found, np.concatenate(expected))


def test_without_answers_weights_are_the_priors():
    members = [Recorded("a", 0.1), Recorded("b", 0.5, seed=1), Recorded("c", 0.1, -0.7, 2)]
    ensemble = Ensemble.of([r.way for r in members], [])
    assert all(r.asked == [None] for r in members)
    assert ensemble.of_folds == []
    assert ensemble.weights == pytest.approx({"a": 1, "b": 1, "c": np.exp(-0.7)})
    whole, of_folds = ensemble.consensus(3, seed=0)
    assert whole.shape == Y.shape
    assert of_folds == []


def test_priors_decide_between_members_of_equal_score():
    members = [Clustering("one", lambda at: Y), Clustering("other", lambda at: Y, 0.5)]
    assert Ensemble.of(members, parted(9)).weights == pytest.approx(
        {"one": np.exp(-0.5), "other": 1}
    )


def test_probabilities_are_read_as_the_most_probable_groups():
    probabilities = np.eye(3)[Y] * 0.5 + 0.1
    np.testing.assert_array_equal(as_labels(probabilities), Y)
    ensemble = Ensemble.of([Clustering("probabilities", lambda at: probabilities)], parted())
    np.testing.assert_array_equal(ensemble.of_folds[0]["probabilities"], Y)
    np.testing.assert_array_equal(ensemble.whole["probabilities"], probabilities)


def test_the_answers_that_members_were_fitted_to_give_the_same_scores_and_weights(race):
    ensemble, _, folds, _ = race
    again = ensemble.rescored(folds)
    assert (again.scores, again.weights, again.n_held) == (
        ensemble.scores,
        ensemble.weights,
        ensemble.n_held,
    )


def test_later_answers_are_judged_in_their_own_fold(race):
    ensemble, members, folds, _ = race
    later = parted(90, seed=77)
    both = [Fold(fold.kept, fold.held + more.held) for fold, more in zip(folds, later, strict=True)]
    asked = {name: list(member.asked) for name, member in members.items()}
    again = ensemble.rescored(both)
    for name in ensemble.names:
        labels = [of_fold[name] for of_fold in ensemble.of_folds]
        total, weight = held_out_log_likelihood(labels, both)
        assert again.scores[name] == total / weight
    assert again.n_held == ensemble.n_held + 90
    assert again.weights["far behind"] == 0
    assert {name: member.asked for name, member in members.items()} == asked  # nothing is fitted


def moved(row):
    """Return the true groups, except that two rows are in others."""
    labels = Y.copy()
    labels[row : row + 2] = (labels[row : row + 2] + 1) % 3
    return labels


def test_several_threads_give_the_same_ensemble():
    # One clustering is pruned after the first fold, another one after the second.
    folds = parted()
    random = np.random.default_rng(0).integers(3, size=len(Y))
    given = {
        "right": [moved(0), moved(2), moved(4), moved(6)],
        "far": [random] * 4,
        "near": [moved(8), moved(10), moved(12), moved(14)],
        "later": [Y, random, random, random],
    }
    members = [
        Clustering(name, lambda at, labels=labels: labels[-1 if at is None else at])
        for name, labels in given.items()
    ]
    one, two = (Ensemble.of(members, folds, Steps(n_jobs=n_jobs)) for n_jobs in (1, 2))
    assert [sorted(of_fold) for of_fold in one.of_folds] == [
        ["far", "later", "near", "right"], ["later", "near", "right"], ["near", "right"]
    ]  # fmt: skip
    assert (one.scores, one.weights, one.n_held) == (two.scores, two.weights, two.n_held)
    for first, second in zip([one.whole, *one.of_folds], [two.whole, *two.of_folds], strict=True):
        assert list(first) == list(second)
        assert all(np.array_equal(first[name], second[name]) for name in first)
    labels = [ensemble.consensus(3, 0, Steps(n_jobs=2)) for ensemble in (one, two)]
    np.testing.assert_array_equal(labels[0][0], labels[1][0])
