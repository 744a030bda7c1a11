"""Groups with dissimilarities, averaged over their posterior."""

import numpy as np
import pytest

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._answers import ordinal_groups
from clew.cluster.guided._answers.ordinal_groups import OrdinalGroups, are_groups_worth_sampling
from clew.metrics import adjusted_rand_score

#: Groups 0 and 1 are near each other; group 2 is far from both.
BETWEEN = np.array([[0.0, 2.0, 4.0], [2.0, 0.0, 4.0], [4.0, 4.0, 0.0]])
CLASSES = np.repeat([0, 1, 2], 8)


def triplets(n_answers, seed):
    """Draw graded answers: rows of three groups have a more probable answer, too."""
    random = np.random.RandomState(seed)
    rows = np.array([random.permutation(24)[:3] for _ in range(n_answers)])
    a, b, c = CLASSES[rows.T]
    p = 1 / (1 + np.exp(BETWEEN[a, b] - BETWEEN[a, c]))
    return rows, (random.rand(n_answers) >= p).astype(int)


@pytest.fixture(scope="module")
def known():
    rows, answer = triplets(220, 0)
    return Constraints(24, triplets=np.column_stack([rows, answer]))


@pytest.fixture(scope="module")
def model(known):
    return OrdinalGroups.fit(known, 3, 0)


def test_groups_are_found(model):
    assert adjusted_rand_score(CLASSES, model.divided(3, 0)) > 0.8


def test_mean_dissimilarities_tell_which_groups_are_near(model):
    labels = model.divided(2, 0)
    assert adjusted_rand_score(CLASSES == 2, labels) > 0.8


def test_held_out_answers_are_predicted(model):
    rows, answer = triplets(200, 1)
    held = Constraints(24, triplets=np.column_stack([rows, answer]))
    assert model.log_likelihood(held) / 200 > np.log(0.5) + 0.1


def test_log_likelihood_is_that_of_mean_probabilities():
    labels = np.array([[0, 0, 1], [0, 1, 1]])
    d = np.array([[[0.0, 1.0], [1.0, 0.5]], [[0.2, 3.0], [3.0, 0.0]]])
    model = OrdinalGroups(labels, d)
    of_draws = [0.05 + 0.9 / (1 + np.exp(near - far)) for near, far in ((0.0, 1.0), (3.0, 3.0))]
    held = Constraints(3, triplets=[(0, 1, 2, 0)])
    assert model.log_likelihood(held) == pytest.approx(np.log(np.mean(of_draws)))
    of_draws = [
        0.1 / 3 + 0.9 * np.exp(-one) / np.exp(-np.array(every)).sum()
        for one, every in ((0.0, (0.0, 1.0, 1.0)), (3.0, (3.0, 3.0, 0.0)))
    ]
    held = Constraints(3, odd_one_out=[(0, 1, 2, 2)])
    assert model.log_likelihood(held) == pytest.approx(np.log(np.mean(of_draws)))


def test_order_of_answers_and_of_their_rows_does_not_matter(known, model):
    rows, answer = triplets(220, 0)
    swapped = np.column_stack([rows[:, [0, 2, 1]], 1 - answer])[::-1]
    who = [f"person {i % 7}" for i in range(220)]
    same = Constraints(24, triplets=swapped, triplet_annotators=who)
    np.testing.assert_array_equal(OrdinalGroups.fit(same, 3, 0).labels, model.labels)


def test_few_rows_and_mixed_kinds():
    known = Constraints(
        4, pairs=[(0, 1, 1), (2, 3, 1)], triplets=[(0, 1, 2, 0)], odd_one_out=[(0, 1, 3, 2)]
    )
    assert len(np.unique(OrdinalGroups.fit(known, 2, 0).divided(2, 0))) == 2


def test_they_are_sampled_while_answers_are_few(known):
    assert are_groups_worth_sampling(known, 3)
    assert not are_groups_worth_sampling(known, 4)  # 7 groups and 24 rows
    many = np.tile([(0, 1, 2, 0)], (6000, 1))
    assert not are_groups_worth_sampling(Constraints(24, triplets=many), 3)
    assert not are_groups_worth_sampling(Constraints(1001, triplets=[(0, 1, 2, 0)]), 3)


@pytest.mark.parametrize("X", [None, np.eye(24)], ids=["no features", "identity features"])
def test_they_join_the_result(X, known, monkeypatch):
    drawn = []
    fit = OrdinalGroups.fit
    monkeypatch.setattr(
        ordinal_groups.OrdinalGroups, "fit", lambda *of: drawn.append(of) or fit(*of)
    )
    model = GuidedClustering(3, random_state=0).fit(X, constraints=known)
    assert len(drawn) in (3, 4)  # Three folds; all answers if spaces or groups explain them well.
    assert adjusted_rand_score(CLASSES, model.labels_) > 0.8
