"""Rules and earlier groupings as annotators."""

import numpy as np
import pytest

from clew import Constraints, GuidedClustering
from clew.answers import DIFFERENT, SAME
from clew.constraints._rules import tree_pairs, weight_of_rule
from clew.exceptions import InvalidConstraintsError, InvalidDataError
from clew.metrics import jaccard_score_pairs

pytestmark = pytest.mark.usefixtures("fair_search")


def test_the_weight_of_a_rule_follows_from_checks():
    before = weight_of_rule(0, 0)
    assert 1 / 3 < before[0] < 1 / 2  # wide: one in three, and caution
    assert 0.0 < before[1] <= 0.2
    weights = [weight_of_rule(n, 0)[1] for n in (0, 5, 20, 100)]
    assert weights == sorted(weights)
    assert weights[-1] >= 0.9
    assert weight_of_rule(10, 10)[1] == 0.0
    assert weight_of_rule(0, 20)[1] == 0.0


def test_a_function_joins_items_with_the_same_key():
    meta = [{"photo": "p"}, {"photo": "p"}, {"photo": "q"}, {}, {"photo": "p"}]
    c = Constraints(5).add_rule("photo", lambda m: m.get("photo"), "different", meta=meta)
    assert c.cannot_link.tolist() == [[0, 1], [0, 4], [1, 4]]
    assert c.annotators == ("photo",)
    assert set(c.pair_origins) == {"rule"}
    same = Constraints(5).add_rule("burst", lambda m: m.get("photo"), "same", meta=meta)
    assert same.must_link.tolist() == [[0, 1], [1, 4]]  # a tree, not all pairs
    named = Constraints(ids=["a1", "a2", "b1"]).add_rule("letter", lambda name: name[0])
    assert named.must_link.tolist() == [[0, 1]]
    again = same.add_rule("burst", [(0, 3)], "same")
    assert again.must_link.tolist() == [[0, 3]]


def test_verdicts_of_a_model_may_differ():
    c = Constraints(4).add_rule("model", [(0, 1), (3, 2)], ["same", "different"])
    assert c.must_link.tolist() == [[0, 1]]
    assert c.cannot_link.tolist() == [[2, 3]]


def test_rows_of_a_group_are_connected_to_near_ones():
    X = np.array([[0.0], [10.0], [1.0], [11.0], [2.0], [50.0]])
    pairs = {tuple(sorted(pair)) for pair in tree_pairs(np.zeros(6, int), X).tolist()}
    assert len(pairs) == 5
    crossing = [pair for pair in pairs if (pair[0] in (1, 3)) != (pair[1] in (1, 3))]
    assert len(crossing) == 2  # to the rows near 0, and to the one at 50
    assert len(tree_pairs(np.zeros(300, int), np.zeros((300, 2)))) == 299
    assert len(tree_pairs(np.array([-1, -1, 0]), None)) == 0


@pytest.mark.parametrize(
    ("pairs", "answer", "options", "match"),
    [
        ([(0, 9)], "same", {}, "row numbers from 0 to 4"),
        ([(0, 0)], "same", {}, "one item twice"),
        ([(0, 1, 2)], "same", {}, "two items each"),
        ([(0.5, 1)], "same", {}, "row numbers"),
        ([(0, 1)], "dont_know", {}, "'same' or 'different'"),
        ([(0, 1)], ["same", "same"], {}, "1 pairs and 2 answers"),
        ([(0, 1)], "same", {"meta": range(5)}, "leave it out"),
        (lambda item: item, "same", {"meta": range(3)}, "meta has 3 entries"),
        (lambda item: None, "same", {}, "judges no pair"),
        ([], "same", {}, "judges no pair"),
    ],
)
def test_bad_rules_are_refused(pairs, answer, options, match):
    with pytest.raises(InvalidConstraintsError, match=match):
        Constraints(5).add_rule("rule", pairs, answer, **options)
    with pytest.raises(InvalidConstraintsError, match="name of its own"):
        Constraints(5).add_rule("", [(0, 1)])


def test_a_grouping_is_a_tree_of_each_group_and_one_pair_between_two():
    y = np.array([0, 1, 0, 2, 1, -1, 0])
    c = Constraints.from_groups(y, annotator="folders", random_state=0)
    assert len(c.must_link) == 3
    assert len(c.cannot_link) == 3
    assert not (c.pairs == 5).any()
    for code, rows in ((SAME, c.must_link), (DIFFERENT, c.cannot_link)):
        assert all((y[i] == y[j]) == (code == SAME) for i, j in rows)
    with pytest.raises(InvalidDataError, match="features of the 7 rows"):
        Constraints.from_groups(y, np.zeros((6, 2)))
    with pytest.raises(InvalidDataError, match="shape"):
        Constraints.from_groups(np.zeros((3, 3)))


def blobs(seed):
    """Eight groups in pairs that features can hardly tell apart."""
    random = np.random.RandomState(seed)
    centers = np.repeat(random.normal(size=(4, 6)) * 3, 2, axis=0)
    centers += random.normal(size=(8, 6)) * 0.8
    y = np.repeat(np.arange(8), 12)
    return centers[y] + random.normal(size=(96, 6)), y


def jaccard(X, y, constraints, n_clusters=None):
    model = GuidedClustering(n_clusters, random_state=0).fit(X, constraints=constraints)
    return jaccard_score_pairs(y, model.labels_)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_rule_that_errs_where_features_err_does_no_harm(seed):
    X, y = blobs(seed)
    people = Constraints.from_labels(y, 120, error=0.05, random_state=seed)
    coarse = y // 2  # what features see: half of its judgments are wrong
    rule = people.add_rule("old grouping", coarse.tolist().__getitem__, "same", X=X)
    # It agrees with features everywhere; people's checks say that it is of no use.
    assert rule.pair_weights[-1] <= 0.1
    assert jaccard(X, y, rule) >= jaccard(X, y, people) - 0.02


@pytest.mark.slow
def test_a_good_rule_helps():
    gains = []
    for seed in (2, 3):
        X, y = blobs(seed)
        people = Constraints.from_labels(y, 120, error=0.05, random_state=seed)
        rule = people.add_rule("photo", y.tolist().__getitem__, "same", X=X)
        assert rule.pair_weights[-1] > 0.5
        gains.append(jaccard(X, y, rule, 8) - jaccard(X, y, people, 8))
    # Number given: .13 in the mean of 20 draws, none below 0. Open: .04 of 40, with a standard
    # deviation of .10: a rule that says only "same" may join groups.
    assert np.mean(gains) > 0.05


def test_checks_of_a_function_are_all_pairs_with_the_same_key():
    keys = [0, 0, 0, 1, 1, 1]
    checks = Constraints.from_pairs(cannot_link=[(0, 2)] * 20, n_samples=6).with_origin("random")
    assert checks.add_rule("rule", keys.__getitem__).pair_weights[-1] == 0
    asked = checks.with_origin("asked")  # chosen where features are unsure: no evidence
    assert asked.add_rule("rule", keys.__getitem__).pair_weights[-1] > 0
