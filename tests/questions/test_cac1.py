"""CAC1 asks about the nearest rows of two groups that are large and probably one."""

import numpy as np

from clew import Answer, Question
from clew.questions import CAC1

#: Rows of groups 0 and 1 (large), and 2 and 3 (small).
GROUP = np.repeat([0, 1, 2, 3], [8, 7, 2, 2])
N = len(GROUP)


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
