"""Sampling partitions: every kernel compared with a slow twin in plain Python."""

import itertools

import numpy as np
import pytest
from tests.reference import partitions as plain

from clew.kernels.partitions.labels import best_partition, greedy_merges
from clew.kernels.partitions.pairs import (
    TIE_BREAK,
    BlockScoring,
    add_average,
    add_same_probabilities,
    block_probabilities,
    core_features,
    expected_pairs,
    fill_below,
    fill_log_odds,
    group_probabilities,
    number_of_pairs,
    question_values,
    row_probabilities,
)
from clew.kernels.partitions.sampling import (
    advance,
    draw_blocks,
    draw_rows,
    draw_splits,
    row_log_odds,
)
from clew.kernels.partitions.shares import SharePrior, add_share_probabilities
from clew.kernels.partitions.tables import (
    Answered,
    Groups,
    Scoring,
    fill_tables,
    group_sums,
    move_row,
    split_group,
)
from clew.kernels.random_bits import draw, random_order, seed_stream

N = 14
BELOW = np.tri(N, k=-1, dtype=bool)
SCORING = Scoring(top_share=0.65, alone=-2.0, apart=2.0, temperature=0.7)
COLD = SCORING._replace(temperature=1e-6)
BLOCKS = BlockScoring(top_share=0.7, smaller=-0.3, larger=0.2)


def problem(seed, n=N, n_answers=12):
    """Log-odds, evidence as a matrix, and the same as `Answered`."""
    random = np.random.RandomState(seed)
    W = random.normal(-0.5, 2.0, (n, n)).astype(np.float32)
    W = np.tril(W, -1) + np.tril(W, -1).T
    E = np.zeros((n, n))
    for i, j in random.randint(n, size=(n_answers, 2)):
        if i != j:
            E[i, j] = E[j, i] = random.choice([-2.0, 2.0])
    return W, E, answered_of(E)


def answered_of(E):
    """A matrix of evidence as the kernels take it."""
    start = np.concatenate(([0], np.cumsum((E != 0).sum(axis=1))))
    return Answered(start, np.ascontiguousarray(np.nonzero(E)[1]), E[np.nonzero(E)])


def groups_of(labels, W):
    n = len(labels)
    groups = Groups(
        np.array(labels, np.int64),
        np.empty(n + 1, np.int64),
        np.array([max(labels) + 1]),
        np.empty(n + 1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n + 1, n), np.float32),
        np.empty((n + 1, n), np.float32),
    )
    fill_tables(groups, W)
    return groups


def random_labels(seed, n=N, k=4):
    labels = np.random.RandomState(seed).randint(k, size=n)
    labels[:k] = range(k)
    return labels


def stream(seed):
    state = np.zeros(1, np.uint64)
    seed_stream(state, seed, 0)
    return state


def assert_consistent(groups, W):
    """Check that all fields follow from the labels."""
    k = groups.count[0]
    assert set(groups.label) == set(range(k))
    assert np.array_equal(groups.size[:k], np.bincount(groups.label))
    fresh = groups_of(groups.label, W)
    np.testing.assert_allclose(groups.total[:k], fresh.total[:k], atol=1e-4)
    assert np.array_equal(groups.top[:k], fresh.top[:k])
    for a in range(k):
        rows, i = [], groups.first[a]
        while i >= 0:
            rows.append(i)
            i = groups.after[i]
        assert sorted(rows) == np.flatnonzero(groups.label == a).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_tables_follow_moves(seed):
    W, _, _ = problem(seed)
    groups = groups_of(random_labels(seed), W)
    random = np.random.RandomState(seed)
    for _ in range(60):
        row = random.randint(N)
        is_single = groups.size[groups.label[row]] == 1
        to = random.randint(groups.count[0] + (0 if is_single else 1))
        if to != groups.label[row]:
            move_row(groups, row, to, W)
            assert_consistent(groups, W)


@pytest.mark.parametrize("seed", range(5))
def test_sums_scores_and_probabilities_are_those_of_the_plain_twin(seed):
    W, E, answered = problem(seed)
    labels = random_labels(seed)
    groups = groups_of(labels, W)
    _, top, evidence = group_sums(groups, answered)
    one_hot = np.eye(4)[labels]
    np.testing.assert_allclose(evidence, one_hot.T @ E @ one_hot)
    assert top[0, 1] == W[np.ix_(labels == 0, labels == 1)].max()
    score = np.empty(N + 1)
    for row in range(N):
        row_log_odds(groups, row, answered, SCORING, score)
        np.testing.assert_allclose(
            score[:4], plain.row_scores(labels, W, E, row, SCORING), atol=1e-5
        )
    of_rows = row_probabilities(groups, answered, SCORING)
    of_groups = group_probabilities(groups, answered, SCORING)
    of_blocks = block_probabilities(groups, answered, BLOCKS)
    expected = (
        plain.row_probabilities(labels, W, E, SCORING),
        plain.group_probabilities(labels, W, E, SCORING),
        plain.block_probabilities(labels, W, E, BLOCKS),
    )
    for found, wanted in zip((of_rows, of_groups, of_blocks), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    sums = np.zeros((2, number_of_pairs(N)), np.float32)
    add_same_probabilities(groups, of_rows, of_groups, of_blocks, *sums)
    wanted = plain.same_probabilities(labels, *expected)[:, BELOW]
    np.testing.assert_allclose(sums, wanted, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_by_shares_are_those_of_the_plain_twin(seed):
    W, E, answered = problem(seed)
    labels = random_labels(seed, k=6)
    groups, prior = groups_of(labels, W), SharePrior(0.25, 6.0, 0.8)
    found = np.zeros(number_of_pairs(N), np.float32)
    add_share_probabilities(groups, answered, prior, found)
    wanted = plain.share_probabilities(labels, E, prior)[BELOW]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_row_kept_out_of_all_other_groups_is_in_the_last():
    labels = np.repeat([0, 1, 2, 3], [8, 8, 8, 1])
    E = np.zeros((25, 25))
    for other in (0, 8):
        E[24, other] = E[other, 24] = -3.0
    groups, prior = groups_of(labels, np.zeros((25, 25), np.float32)), SharePrior(0.25, 6.0, 0.8)
    found = np.zeros(number_of_pairs(25), np.float32)
    add_share_probabilities(groups, answered_of(E), prior, found)
    of_last = found[number_of_pairs(24) :]
    assert of_last[16:].min() > 0.6
    assert of_last[:16].max() < 0.1


def test_draws_have_the_wanted_frequencies():
    state, log_weight = stream(0), np.array([0.0, 1.0, -1e300, 2.0, 99.0])
    drawn = np.array([draw(log_weight.copy(), 4, 2.0, state) for _ in range(20_000)])
    wanted = np.exp(log_weight[:4] / 2)
    assert np.abs(np.bincount(drawn, minlength=4) / 20_000 - wanted / wanted.sum()).max() < 0.01


def test_orders_are_permutations_and_all_occur():
    state, seen = stream(1), set()
    for _ in range(200):
        order = np.arange(3)
        random_order(order, state)
        seen.add(tuple(order.tolist()))
    assert len(seen) == 6


@pytest.mark.parametrize("seed", range(5))
def test_at_temperature_0_rows_move_to_their_best_group(seed):
    W, E, answered = problem(seed)
    groups = groups_of(random_labels(seed), W)
    for _ in range(50):
        draw_rows(groups, W, answered, COLD, stream(seed))
        assert_consistent(groups, W)
    scores = [plain.row_scores(groups.label, W, E, row, COLD) for row in range(N)]
    settled = [s[groups.label[i]] >= max(s.max(), COLD.alone) - 1e-3 for i, s in enumerate(scores)]
    # In a few problems, rows are still moving at the last sweep.
    assert np.mean(settled) > 0.8


def test_at_temperature_0_only_groups_that_are_probably_one_are_merged():
    W = np.full((6, 6), -4.0, np.float32)
    W[:4, :4] = 4.0
    _, _, answered = problem(0, n=6, n_answers=0)
    groups = groups_of([0, 0, 1, 1, 2, 2], W)
    draw_blocks(groups, W, answered, COLD, stream(0))
    assert_consistent(groups, W)
    assert groups.label.tolist() in ([0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 0, 0])


@pytest.mark.parametrize("source", ["features", "answers"])
def test_at_temperature_0_a_group_that_is_probably_two_is_split(source):
    y = np.repeat([0, 1], 4)
    apart = np.where(y[:, None] == y, 3.0, -5.0)
    W, E = (apart, 0 * apart) if source == "features" else (0 * apart + 0.1, apart)
    np.fill_diagonal(E, 0)
    answered = answered_of(E)
    groups = groups_of(np.zeros(8, int), W.astype(np.float32))
    draw_splits(groups, W.astype(np.float32), answered, COLD, 8, stream(2))
    assert_consistent(groups, W.astype(np.float32))
    assert groups.count[0] == 2
    # Seeds of one class may leave one row on the wrong side.
    draw_rows(groups, W.astype(np.float32), answered, COLD, stream(3))
    assert len(set(zip(groups.label.tolist(), y.tolist(), strict=True))) == 2


def test_at_temperature_0_a_group_that_is_probably_one_is_not_split():
    W = np.full((8, 8), 3.0, np.float32)
    groups = groups_of(np.zeros(8, int), W)
    _, _, answered = problem(0, n=8, n_answers=0)
    draw_splits(groups, W, answered, COLD, 8, stream(2))
    assert groups.count[0] == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_step_keeps_the_tables_right_and_depends_on_the_stream_alone(seed):
    W, _, answered = problem(seed)
    runs = []
    for _ in range(2):
        groups, state = groups_of(random_labels(seed), W), stream(seed)
        for _ in range(10):
            advance(groups, W, answered, SCORING, 2, state)
            assert_consistent(groups, W)
        runs.append(groups.label.tolist())
    assert runs[0] == runs[1]


@pytest.mark.parametrize("seed", range(5))
def test_greedy_merges_are_those_of_the_plain_twin(seed):
    W, _, _ = problem(seed)
    found, wanted = greedy_merges(W, 0.65), plain.greedy_merges(W.astype(float), 0.65)
    assert np.array_equal(found[:, None] == found, wanted[:, None] == wanted)


@pytest.mark.parametrize("seed", range(5))
def test_no_move_and_no_merge_improves_the_best_partition(seed):
    random = np.random.RandomState(seed)
    same = random.random_sample((N, N)).astype(np.float32)
    same = np.maximum(same, same.T)
    start = random_labels(seed)
    labels, value = best_partition(same, start, 0.5, 100)
    assert value == pytest.approx(plain.partition_value(same, labels, 0.5), abs=1e-4)
    assert value >= plain.partition_value(same, start, 0.5)
    for row in range(N):
        for to in range(labels.max() + 2):
            moved = labels.copy()
            moved[row] = to
            assert plain.partition_value(same, moved, 0.5) <= value + 2e-3
    for a in range(labels.max() + 1):
        for b in range(a):
            merged = np.where(labels == a, b, labels)
            assert plain.partition_value(same, merged, 0.5) <= value + 2e-3


def test_values_of_questions_are_those_of_the_plain_twin():
    random = np.random.RandomState(0)
    same = random.random_sample((N, N)).astype(np.float32)
    same[3, 1], same[4, 1] = 0.0, 1.0
    W, _, _ = problem(0)
    taken = random.random_sample((N, N)) < 0.2
    weight = random.random_sample(N).astype(np.float32) + 1
    central = random.random_sample(N).astype(np.float32) / 50
    value = np.empty((N, N), np.float32)
    question_values(same, W, taken, weight, central, 0.1, value)
    wanted = plain.question_values(same, W, taken, weight, central, 0.1, TIE_BREAK)
    np.testing.assert_allclose(value, wanted, atol=1e-5)


@pytest.mark.parametrize("smallest", [1e-9, 1e-4, 0.1])
def test_averages_are_those_of_half_precision(smallest):
    random = np.random.RandomState(0)
    labels, questions, old = np.exp(random.uniform(np.log(smallest), 0, (3, 60, 60))).astype("f4")
    start = random.randint(4, size=60)
    share, start_share, weight = random.random_sample(3).astype(np.float32)
    given = labels, questions, share, start, start_share, weight, old
    assert np.array_equal(add_average(*given), plain.average(*given))


def test_sums_of_expected_pairs():
    random = np.random.RandomState(0)
    same, labels = random.random_sample((30, 30)).astype(np.float32), random.randint(4, size=30)
    below = np.tril(np.ones((30, 30), bool), -1)
    within = below & (labels[:, None] == labels)
    wanted = same[within].sum(), within.sum(), same[below].sum()
    assert expected_pairs(same, labels) == pytest.approx(wanted, rel=1e-5)


def features_of_pairs(seed):
    random = np.random.RandomState(seed)
    features = random.normal(0, 3, (number_of_pairs(N), 2)).astype(np.float32)
    return features, random.normal(0, 3, len(features)).astype(np.float32)


def test_log_odds_of_pairs_are_weighted_sums_within_bounds():
    features, ratio = features_of_pairs(0)
    weights, block_weights = np.array([[0.5, 1, -1, 2], [-0.5, 0.1, 0.2, 0.3]], np.float32)
    pairs, blocks = np.full((2, N, N), np.nan, np.float32)
    fill_log_odds(features, ratio, weights, -5.0, 4.0, block_weights, 1.0, pairs, blocks)
    columns = np.column_stack((np.ones(len(ratio)), features, ratio))
    score = columns @ weights
    score = np.where(score < -5, -5 - np.log1p(np.maximum(-5 - score, 0)), score)
    score = np.where(score > 4, 4 + np.log1p(np.maximum(score - 4, 0)), score)
    np.testing.assert_allclose(pairs[BELOW], score, atol=1e-4)
    np.testing.assert_allclose(blocks[BELOW], np.clip(columns @ block_weights, -1, 1), atol=1e-4)


def test_core_features_mix_the_mean_and_the_nearest_pair():
    features, ratio = features_of_pairs(1)
    log_odds = problem(1)[0]
    square = np.zeros((N, N, 3))
    square[BELOW] = np.column_stack((features, ratio))
    square += square.swapaxes(0, 1)
    first, second = np.array([3, 9, 4]), np.array([12, 0])
    i, j = max(itertools.product(first, second), key=lambda pair: log_odds[pair])
    mixed = np.empty(3)
    core_features(features, ratio, log_odds, first, second, 0.6, mixed)
    mean = square[np.ix_(first, second)].mean(axis=(0, 1))
    np.testing.assert_allclose(mixed, 0.4 * mean + 0.6 * square[i, j], atol=1e-5)


def test_sums_of_pairs_become_a_matrix():
    first, second = np.random.RandomState(0).random_sample((2, number_of_pairs(N))).astype("f4")
    square = np.zeros((N, N), np.float32)
    fill_below(first, second, np.float32(4), square)
    np.testing.assert_allclose(square[BELOW], (first + second) / 4, rtol=1e-6)


def test_split_groups_have_the_tables_of_their_labels():
    W, _, _ = problem(2)
    groups = groups_of(random_labels(2), W)
    rows = np.flatnonzero(groups.label == 1)
    side = np.arange(len(rows)) % 2
    split_group(groups, 1, rows, side, W)
    assert groups.count[0] == 5
    assert set(groups.label[rows[side == 1]]) == {4}
    fresh = groups_of(groups.label, W)
    for name in ("size", "total", "top"):
        found, wanted = (getattr(one, name)[:5] for one in (groups, fresh))
        np.testing.assert_allclose(found, wanted, atol=1e-5)
