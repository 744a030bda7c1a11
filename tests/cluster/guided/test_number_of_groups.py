"""What answers tell of the number of groups: those of one kind, and those that tell nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.neighbors import NearestNeighbors

from clew import Constraints, GuidedClustering
from clew.cluster.guided._answer_model import AnswerModel
from clew.cluster.guided._features import Rows
from clew.cluster.guided._one_kind import OneKind
from clew.cluster.guided._partitions import Partition
from clew.cluster.guided._result import range_of_numbers
from clew.cluster.guided._search import _agreed, _probabilities_of_numbers
from clew.constraints._closure import implied_partition
from clew.exceptions import NoGroupsWarning
from clew.metrics import adjusted_rand_score


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_random_pairs_of_one_kind_find_the_number_of_groups(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    pairs = getattr(Constraints.from_labels(y, 600, random_state=3), kind)[:150]
    answers = Constraints.from_pairs(**{kind: pairs}, n_samples=len(y))
    found = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert found.n_clusters_ == 3
    assert adjusted_rand_score(y, found.labels_) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize(("load", "n_groups"), [(load_wine, 3), (load_digits, 10)])
def test_any_number_of_answers_different_leaves_rows_in_groups(load, n_groups):
    """From two for each row on, each row was a group of its own."""
    X, y = (of[:200] for of in load(return_X_y=True))
    apart = Constraints.from_labels(y, 2_000, random_state=0).cannot_link[: 2 * len(y)]
    answers = Constraints.from_pairs(cannot_link=apart, n_samples=len(y))
    found = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert found.regime_ == "both"
    assert len(np.unique(y)) <= found.n_clusters_ <= 2.2 * n_groups
    assert adjusted_rand_score(y, found.labels_) > 0.65


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_a_few_wrong_answers_different_make_few_groups(seed):
    """Six to nine of 178 made ten to twelve groups of three, .39 to .50."""
    X, y = load_wine(return_X_y=True)
    apart = Constraints.from_labels(y, 600, error=0.1, random_state=seed).cannot_link[:178]
    assert (y[apart[:, 0]] == y[apart[:, 1]]).sum() >= 5
    answers = Constraints.from_pairs(cannot_link=apart, n_samples=178)
    found = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert found.n_clusters_ <= 5
    assert adjusted_rand_score(y, found.labels_) > 0.6


@pytest.mark.slow
def test_wrong_answers_same_that_connect_all_rows_do_not_join_them():
    """They contradict no answer, so that all rows were implied to be one group."""
    X, y = (of[:200] for of in load_digits(return_X_y=True))
    together = Constraints.from_labels(y, 8_000, error=0.01, random_state=0).must_link[:800]
    answers = Constraints.from_pairs(must_link=together, n_samples=200)
    assert not implied_partition(answers).any()
    found = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(y, found.labels_) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3])
def test_a_few_answers_same_do_not_join_groups_of_features(seed):
    """50 right ones made six and three groups of ten, .39 and .18."""
    at = np.random.default_rng(1000 + seed).permutation(1797)[:200]
    X, y = (of[at] for of in load_digits(return_X_y=True))
    together = Constraints.from_labels(y, 2_000, random_state=seed).must_link[:50]
    answers = Constraints.from_pairs(must_link=together, n_samples=200)
    found = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(y, found.labels_) > 0.6


@pytest.mark.slow
def test_links_between_near_rows_split_no_group() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(180) % 3
    X = 4 * rng.normal(size=(3, 5))[y] + rng.normal(size=(180, 5))
    near = NearestNeighbors(n_neighbors=6).fit(X).kneighbors(return_distance=False)
    pairs = np.column_stack([np.arange(180).repeat(4), near[:, 1:5].ravel()])
    pairs = pairs[y[pairs[:, 0]] == y[pairs[:, 1]]]
    answers = Constraints.from_pairs(must_link=rng.permutation(pairs)[:150], n_samples=180)
    found = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert found.n_clusters_ == 3
    assert adjusted_rand_score(y, found.labels_) > 0.95


@pytest.mark.slow
def test_one_group_that_makes_many_answers_wrong_is_said_and_tells_no_error_rate() -> None:
    rng = np.random.default_rng(1)
    y = (rng.random(300) < 0.3).astype(int)
    X = rng.standard_t(2, size=(300, 8))
    answers = Constraints.from_labels(y, 300, error=0.45, random_state=1)
    with pytest.warns(NoGroupsWarning, match="all rows are in one group"):
        found = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert found.n_clusters_ == 1
    assert found.error_interval_[0] == 0.0


def test_an_average_of_unlike_halves_is_not_one_group() -> None:
    halves = [np.arange(40) // 2**k % 2 for k in range(1, 5)]
    none, zeros = np.zeros(0), np.zeros(1)
    of = [
        Partition(m, labels, m, None, zeros, zeros, [], none, None, None, -1.0)
        for labels, m in ((labels, np.eye(2)[labels]) for labels in halves)
    ]
    found = _agreed(of, None, np.zeros((40, 1)))
    np.testing.assert_array_equal(found.labels, halves[0])
    np.testing.assert_array_equal(found.probabilities.argmax(axis=1), halves[0])


def test_probabilities_of_numbers_follow_the_best_partition_of_each() -> None:
    energies = [(8, -40.0), (2, -80.0), (8, -20.0), (2, -60.0), (3, 0.0)]
    found = _probabilities_of_numbers([(*one, -5.0) for one in energies])
    assert list(found) == [2, 3, 4, 5, 6, 7, 8]
    assert sum(found.values()) == pytest.approx(1)
    assert found[2] / found[3] == pytest.approx(np.exp(-60 * 0.07) * 3 / 2)
    assert found[8] / found[3] == pytest.approx(np.exp(-20 * 0.07) * 3 / 8)
    share = np.log(5 / 3) / np.log(8 / 3)  # the energy of 5 groups is interpolated
    assert found[5] / found[3] == pytest.approx(np.exp(-20 * 0.07 * share) * 3 / 5)
    assert range_of_numbers(found) == (3, 7)
    told = _probabilities_of_numbers([(8, -20.0, -21.0), (3, 0.0, -5.0)])  # 16 nats of answers
    assert told[8] / told[3] == pytest.approx(np.exp(-20 * 0.07 - 10 * 0.1) * 3 / 8)
    assert range_of_numbers({3: 1.0}) == (3, 3)
    assert range_of_numbers({2: 0.02, 3: 0.94, 4: 0.04}) == (3, 3)


@pytest.mark.parametrize("n_kinds", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_people_decide_how_fine_groups_are(n_kinds):
    """Twenty tight groups of five kinds: features tell of both, and people of one."""
    random = np.random.default_rng(2)
    centers = random.normal(0, 4, (5, 1, 8)) + random.normal(0, 1.5, (5, 4, 8))
    group = random.integers(0, 20, 300)
    X = centers.reshape(20, 8)[group] + random.normal(0, 0.3, (300, 8))
    y = group * n_kinds // 20
    answers = Constraints.from_labels(y, 150, error=0.07, random_state=2)
    model = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(y, model.labels_) > 0.8  # .34 in twenty groups


@pytest.mark.slow
def test_the_range_of_numbers_holds_the_true_one() -> None:
    X, y = load_iris(return_X_y=True)
    held = 0
    for seed in range(4):
        answers = Constraints.from_labels(y, 100, error=0.1, random_state=seed)
        found = GuidedClustering(random_state=0).fit(X, constraints=answers)
        low, high = range_of_numbers(found.n_clusters_probabilities_)
        held += low <= 3 <= high
        assert high <= 12
    assert held >= 3


@pytest.mark.slow
@pytest.mark.parametrize("draw", [1, 2, 3])
def test_a_rule_that_finds_matches_does_not_join_the_groups_that_people_tell_apart(
    draw: int,
) -> None:
    X, y = (of[200 * draw : 200 * draw + 200] for of in load_digits(return_X_y=True))
    drawn = Constraints.from_labels(y, 200, error=0.1, random_state=draw)
    people = Constraints.from_pairs(
        must_link=drawn.must_link, cannot_link=drawn.cannot_link, n_samples=200, annotators="Ann"
    )
    matches = Constraints.from_labels(y, 6000, random_state=draw + 1).must_link[:400]
    wrong = Constraints.from_labels(y, 100, random_state=draw + 2).cannot_link[:20]
    rule = Constraints.from_pairs(
        must_link=np.concatenate([matches, wrong]), n_samples=200, annotators="rule"
    )
    found = GuidedClustering(random_state=0).fit(X, constraints=people + rule)
    assert found.n_clusters_ == 10
    assert adjusted_rand_score(y, found.labels_) > 0.95


@pytest.mark.slow
def test_most_annotators_do_not_answer_the_other_way_round() -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(200) % 20)
    X = 2 * rng.normal(size=(20, 5))[y] + rng.normal(size=(200, 5))
    drawn = Constraints.from_labels(y, 200, error=0.1, random_state=0)
    people = Constraints.from_pairs(
        must_link=drawn.must_link, cannot_link=drawn.cannot_link, n_samples=200, annotators="Ann"
    )
    more = Constraints.from_labels(y, 3000, random_state=1)
    different = np.concatenate([more.cannot_link[:380], more.must_link[:20]])
    rule = Constraints.from_pairs(cannot_link=different, n_samples=200, annotators="rule")
    found = GuidedClustering(random_state=0).fit(X, constraints=people + rule)
    assert 13 <= found.n_clusters_ <= 30  # all rows in one group make 95 % of the answers wrong
    assert adjusted_rand_score(y, found.labels_) > 0.55
    assert found.error_rate_ < 0.1


@pytest.mark.slow
def test_ranges_of_numbers_stay_those_of_the_last_fit() -> None:
    X, y = load_iris(return_X_y=True)
    answers, more = (Constraints.from_labels(y, n, random_state=n) for n in (100, 4))
    model = GuidedClustering(random_state=0).fit(X, constraints=answers)
    before = model.n_clusters_probabilities_
    model.partial_fit(constraints=more, refit=False)
    assert not model.is_settled_
    assert model.n_clusters_probabilities_ == before


def test_whose_choice_of_pairs_is_evidence() -> None:
    rows = Rows(np.zeros((300, 1)), (), has_features=False)

    def kinds_of(*annotators: tuple[int, int]) -> list[tuple[slice, bool]]:
        pairs = [
            (i, (i + step) % 300, code)
            for step, (n, code) in enumerate(annotators, start=1)
            for i in range(n)
        ]
        names = [str(at) for at, (n, _) in enumerate(annotators) for _ in range(n)]
        answers = AnswerModel(Constraints(300, pairs=pairs, pair_annotators=names))
        return [(one.annotators, one.are_same) for one in OneKind.of_each(rows, answers)]

    assert kinds_of((30, 1), (30, 1)) == [(slice(None), True)]
    assert kinds_of((30, 1), (200, 0)) == [(slice(0, 1), True), (slice(1, 2), False)]
    assert kinds_of((19, 1), (200, 0)) == [(slice(1, 2), False)]  # fewer than 20
    assert kinds_of((20, 1), (290, 0), (290, 0)) == [(slice(1, 2), False), (slice(2, 3), False)]
