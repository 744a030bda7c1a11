"""Groups whose mutual dissimilarities explain answers: Gibbs sampling."""

from itertools import product

import numpy as np
import pytest
from clew.kernels.partitions.ordinal_groups import (
    AnswerEnds,
    GroupPrior,
    draw_labels,
    fill_table,
    log_posterior_of,
    log_probability,
    sample_groups,
)

from clew.kernels.forest.random_bits import seed_stream

PRIOR = GroupPrior(concentration=0.7, mean=2.0, deviation=1.5, lapse=0.1, threshold=1.0)


def ends_of(rows, kind, n_rows):
    """Return answers of weights 1, 2, …, listed by row."""
    rows, kind = np.array(rows, np.int64), np.array(kind, np.int64)
    found = [
        (row, at, position)
        for at in range(len(rows))
        for position, row in enumerate(rows[at][: 3 if kind[at] < 2 else 2])
    ]
    named, answer, position = np.array(sorted(found), np.int64).T.copy()
    start = np.searchsorted(named, np.arange(n_rows + 1)).astype(np.int64)
    return AnswerEnds(rows, kind, np.arange(1.0, len(rows) + 1), start, answer, position)


def log_likelihood(ends, labels, dissimilarity):
    total = 0.0
    for rows, kind, weight in zip(ends.rows, ends.kind, ends.weight, strict=True):
        a, b, c = (labels[row] for row in rows)
        between = dissimilarity[a, b], dissimilarity[a, c], dissimilarity[b, c]
        total += weight * log_probability(kind, *between, PRIOR)
    return total


#: A triplet, an odd-one-out answer, "same" and "different".
MIXED = ends_of([(0, 1, 2), (1, 2, 3), (0, 3, 0), (1, 3, 1)], [0, 1, 2, 3], 4)


@pytest.mark.parametrize("kind", [0, 1])
def test_probabilities_of_all_answers_sum_to_one(kind):
    ab, ac, bc = 0.3, 1.7, 2.2
    every = [(ab, ac, bc), (ac, ab, bc)] + [(bc, ab, ac)] * kind
    assert sum(np.exp(log_probability(kind, *of, PRIOR)) for of in every) == pytest.approx(1)


def test_probabilities_of_a_pair_sum_to_one():
    assert sum(np.exp(log_probability(k, 0.3, 0, 0, PRIOR)) for k in (2, 3)) == pytest.approx(1)


def test_frequencies_of_labels_are_their_posterior_probabilities():
    dissimilarity = np.array([[0.0, 2.0], [2.0, 0.4]])
    table, used = np.zeros((4, 2, 2, 2)), np.ones(4, bool)
    fill_table(dissimilarity, used, PRIOR, table)
    state = np.empty(1, np.uint64)
    seed_stream(state, 3, 0)
    labels, sizes, field = np.zeros(4, np.int64), np.array([4, 0]), np.empty(2)
    seen = np.zeros(16)
    for _ in range(20_000):
        draw_labels(MIXED, table, 1.0, 0.7, state, labels, sizes, field)
        seen[int("".join(map(str, labels)), 2)] += 1
    # Prior of the labels when shares are integrated out: a product of rising factorials.
    rising = np.cumprod([1.0, *(0.7 + np.arange(4))])
    p = np.array(
        [
            np.exp(log_likelihood(MIXED, of, dissimilarity)) * rising[4 - sum(of)] * rising[sum(of)]
            for of in product((0, 1), repeat=4)
        ]
    )
    np.testing.assert_allclose(seen / seen.sum(), p / p.sum(), atol=0.02)
    assert sizes.tolist() == np.bincount(labels, minlength=2).tolist()


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (2, 1)])
def test_part_of_a_dissimilarity_has_every_answer_once(first, second):
    random = np.random.RandomState(0)
    rows = [random.permutation(12)[:3] for _ in range(60)]
    kind = np.repeat([0, 1, 2, 3], 15)
    ends = ends_of(rows, kind, 12)
    labels = random.randint(3, size=12)
    d = random.rand(3, 3)
    d += d.T
    counts = np.zeros((4, 3, 3, 3))
    for of, which, weight in zip(ends.rows, ends.kind, ends.weight, strict=True):
        counts[(which, *labels[of])] += weight
    before = log_posterior_of(first, second, d, counts, np.ones(4, bool), 0.5, PRIOR)
    changed = d.copy()
    changed[first, second] = changed[second, first] = 3.0
    after = log_posterior_of(first, second, changed, counts, np.ones(4, bool), 0.5, PRIOR)
    mean = 0.0 if first == second else 2.0
    prior = ((d[first, second] - mean) ** 2 - (3.0 - mean) ** 2) / (2 * 1.5**2)
    expected = 0.5 * (log_likelihood(ends, labels, changed) - log_likelihood(ends, labels, d))
    assert after - before == pytest.approx(expected + prior)


def test_a_seed_gives_the_same_samples():
    found = []
    for _ in range(2):
        state = np.empty(1, np.uint64)
        seed_stream(state, 1, 0)
        samples, d = np.empty((5, 4), np.int64), np.empty((5, 2, 2))
        start = np.zeros(4, np.int64)
        sample_groups(MIXED, PRIOR, 4, 0.5, state, start, np.eye(2), samples, d)
        found.append((samples, d))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_array_equal(d, d.transpose(0, 2, 1))
    assert set(np.unique(samples)) <= {0, 1}
