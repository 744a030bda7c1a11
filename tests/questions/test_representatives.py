"""Rows that stand for others, and strategies that ask about them alone."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from clew import Answer, Question
from clew.exceptions import InvalidParameterError
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle, ask_oracle
from clew.questions import CAC1, COBRA, COBRAS, ExpectedChange
from clew.questions._answers import KnownPairs
from clew.questions._pair_order import Representatives

y = np.repeat(np.arange(5), 12)
X = np.random.RandomState(0).normal(size=(60, 5)) * 0.3 + 4 * np.eye(5)[y]
D = squareform(pdist(X))
#: Rows of groups 0 and 1 (large), and 2 and 3 (small).
GROUP = np.repeat([0, 1, 2, 3], [8, 7, 2, 2])
N = len(GROUP)


@pytest.mark.parametrize(("data", "metric"), [(X, "euclidean"), (D, "precomputed")])
def test_every_row_follows_a_near_one(data, metric):
    found = Representatives.of(data, metric, 20, 0)
    assert (np.diff(found.rows) > 0).all()
    assert np.array_equal(found.number[found.rows], np.arange(len(found.rows)))
    assert np.array_equal(found.size, np.bincount(found.number))
    assert (y[found.rows[found.number]] == y).all()


def test_representatives_are_random_rows_if_distances_of_all_pairs_do_not_fit(monkeypatch):
    monkeypatch.setattr("clew.questions._pair_order.ALL_PAIRS_ROWS", 50)
    found = Representatives.of(D, "precomputed", 30, 0)
    assert len(found.rows) == 30
    nearest = D[:, found.rows].min(axis=1)
    assert np.allclose(D[np.arange(60), found.rows[found.number]], nearest)


@pytest.mark.parametrize(
    "strategy", [ExpectedChange(5, n_representatives=20, random_state=0), COBRA(20, random_state=0)]
)
def test_only_representatives_are_asked_about(strategy):
    strategy.start(X)
    for _ in ask_oracle(strategy, SimulatedOracle(y, origin="asked"), 400, batch=5):
        pass
    rows = {row for answer in strategy.answers for row in answer.question.rows}
    assert len(rows) <= 20
    assert strategy.ask() == []
    assert adjusted_rand_score(y, strategy.labels()) == 1


def test_answers_about_other_rows_hold_for_their_representatives():
    strategy = ExpectedChange(5, n_representatives=20, random_state=0).start(X)
    number = strategy._items.number
    follower = next(
        i for i in range(60) if i not in strategy._items.rows and number[i] != number[0]
    )
    strategy.tell(Answer(Question("pair", (0, follower)), "same"))
    labels = strategy.labels()
    assert len(set(labels[(number == number[0]) | (number == number[follower])])) == 1


def test_there_are_enough_representatives():
    with pytest.raises(InvalidParameterError, match="only 3 representatives"):
        ExpectedChange(5, n_representatives=3, random_state=0).start(X)


def implied(known: KnownPairs) -> tuple[list[int], list[list[int]], dict[tuple[int, int], float]]:
    closure = known.closure
    return closure.component.tolist(), closure.cannot_link_components.tolist(), known.votes


def test_answers_in_portions_imply_the_same_as_all_at_once() -> None:
    random = np.random.RandomState(0)
    for _ in range(60):
        answers = [
            Answer(
                Question("pair", tuple(random.choice(4, 2, replace=False).tolist())),
                int(random.randint(2)),
                weight=float(random.choice([0.5, 1.0])),
            )
            for _ in range(random.randint(2, 12))
        ]
        whole, single = KnownPairs(4), KnownPairs(4)
        whole.add(answers)
        for answer in answers:
            single.add([answer])
        assert implied(single) == implied(whole)


def test_votes_that_cancel_out_keep_their_place_in_the_order() -> None:
    def pair(i: int, j: int, word: str) -> Answer:
        return Answer(Question("pair", (i, j)), word)

    known = KnownPairs(3)
    known.add([pair(0, 1, "same"), pair(0, 1, "different")])  # no answer yet, but the first pair
    known.add([pair(1, 2, "same"), pair(0, 2, "different")])
    known.add([pair(0, 1, "same")])
    assert known.set_aside == [(0, 2)]


def test_cobras_has_one_group_before_the_first_answer() -> None:
    started = COBRAS(random_state=0).start(np.arange(8.0)[:, None])
    assert (started.labels() == 0).all()


def probabilities():
    """Large groups are the same with probability .2 (pairs 3, 9: .3), small ones with .4."""
    between = np.array([
        [1.0, 0.2, 0.1, 0.0], [0.2, 1.0, 0.0, 0.1], [0.1, 0.0, 1.0, 0.4], [0.0, 0.1, 0.4, 1.0],
    ])  # fmt: skip
    P = between[GROUP][:, GROUP]
    P[3, 9] = P[9, 3] = 0.3
    return P


def started():
    X = np.arange(N)[:, None] + 100.0 * GROUP[:, None]
    return CAC1(4, random_state=0).start(X, probabilities=probabilities())


def pairs(strategy, n):
    return [question.rows for question in strategy.ask(n)]


def test_large_groups_come_before_more_probable_small_ones():
    # The sums are 8·7·.2 + .1 = 11.3 and 2·2·.4 = 1.6; those of a large and a small one 1.6, 1.4.
    assert pairs(started(), 1) == [(3, 9)]


def test_a_dont_know_is_followed_by_another_pair_of_the_same_groups():
    strategy = started().tell(Answer(Question("pair", (3, 9)), "dont_know"))
    ((i, j),) = pairs(strategy, 1)
    assert (i, j) != (3, 9)
    assert {GROUP[i], GROUP[j]} == {0, 1}


def test_groups_that_an_answer_separates_are_not_asked_about_again():
    strategy = started().tell(Answer(Question("pair", (3, 9)), "different"))
    ((i, j),) = pairs(strategy, 1)
    assert {GROUP[i], GROUP[j]} in ({2, 3}, {0, 2})


def test_all_groups_are_separated_before_pairs_within_groups():
    strategy = started()
    seen = []
    for _ in range(6):
        ((i, j),) = pairs(strategy, 1)
        seen.append(frozenset((int(GROUP[i]), int(GROUP[j]))))
        strategy.tell(Answer(Question("pair", (i, j)), "different"))
    assert len(set(seen)) == 6
    ((i, j),) = pairs(strategy, 1)
    assert GROUP[i] == GROUP[j]


def test_a_batch_is_about_different_groups():
    first, second = pairs(started(), 2)
    assert set(GROUP[list(first)]) != set(GROUP[list(second)])
