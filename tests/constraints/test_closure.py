"""What must-links and cannot-links entail, and the conflicts among them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.reference import closure as reference

from clew import Constraints
from clew.exceptions import InvalidConstraintsError, InvalidParameterError
from clew.kernels.graphs import component_labels

N_SAMPLES = 9


def links(max_size=12, n_rows=N_SAMPLES):
    pair = st.lists(st.integers(0, n_rows - 1), min_size=2, max_size=2, unique=True)
    return st.lists(pair.map(tuple), max_size=max_size)


def as_set(rows):
    return {tuple(map(int, row)) for row in rows}


@given(must_link=links(), cannot_link=links())
def test_closure_is_the_transitive_closure(must_link, cannot_link):
    c = Constraints.from_pairs(must_link=must_link, cannot_link=cannot_link, n_samples=N_SAMPLES)
    closure = c.closure()
    same, different = reference.entailed(N_SAMPLES, must_link, cannot_link)

    assert closure.component.tolist() == reference.component_labels(N_SAMPLES, must_link)
    assert closure.n_entailed() == (len(same), len(different))
    rows, answers = closure.entailed_pairs()
    assert as_set(rows[answers == 1]) == same
    assert as_set(rows[answers == 0]) == different
    assert len(rows) == len(same) + len(different)

    i, j = np.triu_indices(N_SAMPLES, 1)
    assert as_set(np.column_stack([i, j])[closure.is_same(i, j)]) == same
    assert as_set(np.column_stack([i, j])[closure.is_different(i, j)]) == different
    np.testing.assert_array_equal(closure.is_different(j, i), closure.is_different(i, j))
    assert closure.is_consistent == (c.conflicts() == [])
    assert closure.n_contradicted == len(c.conflicts())


@given(must_link=links(), cannot_link=links(), order=st.permutations(range(N_SAMPLES)))
def test_closure_follows_its_rows_when_they_are_permuted(must_link, cannot_link, order):
    c = Constraints.from_pairs(must_link=must_link, cannot_link=cannot_link, n_samples=N_SAMPLES)
    before, after = c.closure(), c.subset(order).closure()
    i, j = np.triu_indices(N_SAMPLES, 1)
    old = np.array(order)
    np.testing.assert_array_equal(after.is_same(i, j), before.is_same(old[i], old[j]))
    np.testing.assert_array_equal(after.is_different(i, j), before.is_different(old[i], old[j]))
    assert after.n_entailed() == before.n_entailed()


@given(edges=links())
def test_kernel_agrees_with_its_slow_twin(edges):
    array = np.array(edges, dtype=np.int64).reshape(-1, 2)
    labels = component_labels(N_SAMPLES, array)
    assert labels.tolist() == reference.component_labels(N_SAMPLES, edges)


def test_dont_know_entails_nothing():
    c = Constraints.from_pairs(must_link=[(0, 1)], dont_know=[(1, 2), (0, 1)], n_samples=3)
    closure = c.closure()
    assert closure.n_entailed() == (1, 0)
    assert not closure.is_same(1, 2)
    assert not closure.is_different(1, 2)


def test_scalars_give_plain_truth_and_rows_are_checked():
    closure = Constraints.from_pairs(cannot_link=[(0, 1)], n_samples=3).closure()
    assert closure.is_different(1, 0) is True
    assert closure.is_same(2, 2) is True
    assert closure.is_different(2, 2) is False
    for row in (3, -1):
        with pytest.raises(InvalidConstraintsError, match=f"row {row} is out of range"):
            closure.is_same(0, row)


def test_no_rows_and_no_answers():
    for n_samples in (0, 4):
        closure = Constraints(n_samples).closure()
        assert closure.n_components == n_samples
        assert closure.n_entailed() == (0, 0)
        assert closure.entailed_pairs()[0].shape == (0, 2)


def test_closure_is_read_only():
    closure = Constraints.from_pairs(must_link=[(0, 1)], n_samples=3).closure()
    with pytest.raises(ValueError, match="read-only"):
        closure.component[0] = 1


def test_samples_of_entailed_pairs_are_distinct_right_and_reproducible():
    y = np.arange(300) % 3
    # A star of must-links in each class, and one cannot-link between any two classes.
    must = [(k, row) for k in range(3) for row in np.flatnonzero(y == k)[1:]]
    c = Constraints.from_pairs(must_link=must, cannot_link=[(0, 1), (1, 2), (0, 2)], n_samples=300)
    closure = c.closure()
    assert sum(closure.n_entailed()) == 300 * 299 // 2
    rows, answers = closure.entailed_pairs(1000, random_state=0)
    assert len(as_set(rows)) == len(rows) == 1000
    np.testing.assert_array_equal(answers, y[rows[:, 0]] == y[rows[:, 1]])
    again, _ = closure.entailed_pairs(1000, random_state=0)
    np.testing.assert_array_equal(rows, again)
    # A third of all pairs are in one group: four standard deviations around the mean.
    share_same = closure.n_entailed()[0] / sum(closure.n_entailed())
    assert abs(answers.mean() - share_same) < 4 * np.sqrt(share_same * (1 - share_same) / 1000)
    with pytest.raises(InvalidParameterError, match="max_pairs"):
        closure.entailed_pairs(-1)


@pytest.mark.slow
def test_samples_are_uniform_over_pairs():
    c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], cannot_link=[(2, 3)], n_samples=4)
    counts = np.zeros((4, 4))
    for seed in range(1200):
        rows, _ = c.closure().entailed_pairs(1, random_state=seed)
        counts[tuple(rows[0])] += 1
    # Six pairs, 200 draws each expected; five standard deviations.
    assert np.abs(counts[np.triu_indices(4, 1)] - 200).max() < 5 * np.sqrt(200 * 5 / 6)


@pytest.mark.slow
def test_a_million_answers_are_never_expanded():
    n_samples = 100_000
    rng = np.random.RandomState(0)
    y = rng.randint(0, 10, n_samples)
    c = Constraints.from_labels(y, 1_000_000, random_state=0)
    closure = c.closure()
    i, j = c.pairs.T
    np.testing.assert_array_equal(closure.is_same(i, j), c.is_must_link)
    np.testing.assert_array_equal(closure.is_different(i, j), c.is_cannot_link)
    # Ten classes joined almost wholly: billions of pairs are entailed.
    assert sum(closure.n_entailed()) > 1e9
    rows, answers = closure.entailed_pairs(1000, random_state=0)
    np.testing.assert_array_equal(answers, y[rows[:, 0]] == y[rows[:, 1]])


@given(must_link=links(25, n_rows=12), cannot_link=links(25, n_rows=12))
def test_each_contradicted_cannot_link_has_a_shortest_chain(must_link, cannot_link):
    c = Constraints.from_pairs(must_link=must_link, cannot_link=cannot_link, n_samples=12)
    expected = {}
    for position, (i, j) in enumerate(cannot_link):
        n_links = reference.distance(12, must_link, i, j)
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


def test_a_hundred_conflicts_among_a_hundred_thousand_answers():
    n_samples = 100_000
    chain = np.column_stack([np.arange(n_samples - 1), np.arange(1, n_samples)])
    ends = np.sort(np.random.RandomState(0).randint(0, n_samples, (100, 2)), axis=1)
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
