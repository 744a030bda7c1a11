from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import closure as reference

from clew import Constraints

N_SAMPLES = 12


def links():
    pair = st.lists(st.integers(0, N_SAMPLES - 1), min_size=2, max_size=2, unique=True)
    return st.lists(pair.map(tuple), max_size=25)


@given(must_link=links(), cannot_link=links())
def test_each_contradicted_cannot_link_has_a_shortest_chain(must_link, cannot_link):
    c = Constraints.from_pairs(must_link=must_link, cannot_link=cannot_link, n_samples=N_SAMPLES)
    expected = {}
    for position, (i, j) in enumerate(cannot_link):
        n_links = reference.distance(N_SAMPLES, must_link, i, j)
        if n_links is not None:
            expected[len(must_link) + position] = n_links
    found = c.conflicts()
    assert [conflict.index for conflict in found] == list(expected)
    joined = {frozenset(link) for link in must_link}
    for conflict in found:
        assert conflict.pair == tuple(c.pairs[conflict.index])
        assert (conflict.chain[0], conflict.chain[-1]) == conflict.pair
        assert len(conflict.chain) - 1 == expected[conflict.index]
        steps = zip(conflict.chain, conflict.chain[1:], strict=False)
        assert {frozenset(step) for step in steps} <= joined


def test_direct_contradictions_are_conflicts_of_the_pair_itself():
    c = Constraints(3, pairs=[(0, 1, 0), (1, 0, 1), (0, 1, 0)], pair_annotators=["a", "b", "c"])
    assert [(conflict.index, conflict.chain) for conflict in c.conflicts()] == [
        (0, (0, 1)),
        (2, (0, 1)),
    ]


def test_a_conflict_as_text():
    c = Constraints.from_pairs(
        must_link=[(3, 5), (5, 9), (3, 1), (1, 2), (2, 9)], cannot_link=[(9, 3)], n_samples=10
    )
    assert list(map(str, c.conflicts())) == [
        "rows 3 and 9 have a cannot-link, but must-links join them: 3 = 5 = 9"
    ]


def test_dont_know_and_other_kinds_contradict_nothing():
    c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], dont_know=[(0, 2)], n_samples=3)
    assert (c + Constraints.from_triplets([(0, 1, 2)], [1], n_samples=3)).conflicts() == []
    assert Constraints.from_pairs(cannot_link=[(0, 1)], n_samples=2).conflicts() == []


def test_right_answers_never_conflict_and_weights_do_not_matter():
    y = np.random.RandomState(0).randint(0, 4, 200)
    assert Constraints.from_labels(y, 3000, random_state=1).conflicts() == []
    wrong = Constraints.from_labels(y, 3000, error=0.1, random_state=1)
    assert wrong.conflicts()
    weightless = wrong.with_weights(pair_weights=np.zeros(3000))
    assert weightless.conflicts() == wrong.conflicts()


def test_hundreds_of_conflicts_among_a_hundred_thousand_answers():
    n_samples = 100_000
    chain = np.column_stack([np.arange(n_samples - 1), np.arange(1, n_samples)])
    ends = np.sort(np.random.RandomState(0).randint(0, n_samples, (300, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    c = Constraints.from_pairs(must_link=chain, cannot_link=ends, n_samples=n_samples)
    conflicts = c.conflicts()
    assert [conflict.pair for conflict in conflicts] == [tuple(pair) for pair in ends.tolist()]
    assert [len(conflict.chain) for conflict in conflicts] == (ends[:, 1] - ends[:, 0] + 1).tolist()


def test_long_chains_are_shortened_in_the_message_alone():
    n = 5_000
    links = [(i, i + 1) for i in range(n - 1)]
    c = Constraints.from_pairs(must_link=links, cannot_link=[(0, n - 1)], n_samples=n)
    (conflict,) = c.conflicts()
    assert len(conflict.chain) == n
    assert str(conflict) == (
        "rows 0 and 4999 have a cannot-link, but must-links join them: 0 = 1 = 2 = 3 = 4 = "
        "... 4990 more ... = 4995 = 4996 = 4997 = 4998 = 4999"
    )
