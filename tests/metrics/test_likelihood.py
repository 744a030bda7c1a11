"""The log-likelihood of answers given a partition: definition, symmetries, and invalid input."""

from itertools import permutations, product

import numpy as np
import pytest

from clew import Constraints, Question
from clew.answers import ANSWER_WORDS, Kind
from clew.exceptions import InvalidDataError
from clew.metrics import answer_log_likelihood
from clew.metrics.likelihood import answer_counts, log_likelihood_of_counts, log_likelihood_of_each
from clew.oracles import SimulatedOracle

CODES: dict[Kind, tuple[int, ...]] = {
    kind: tuple(words.values()) for kind, words in ANSWER_WORDS.items()
}


def scored_by_hand(labels: np.ndarray, constraints: Constraints) -> float:
    """The definition, answer by answer."""
    table = np.zeros((2, 2))
    for (i, j), answer, weight in zip(
        constraints.pairs, constraints.pair_answers, constraints.pair_weights, strict=True
    ):
        if answer in (0, 1):
            table[int(labels[i] == labels[j]), answer] += weight
    base = (table[:, 1].sum() + 0.5) / (table.sum() + 1)
    p = (table[:, 1] + 2 * base) / (table.sum(axis=1) + 2)
    if p[1] < p[0]:
        p[:] = base
    p = p.clip(1e-3, 1 - 1e-3)
    return float((table[:, 1] * np.log(p) + table[:, 0] * np.log(1 - p)).sum())


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.array([rng.choice(20, 2, replace=False) for _ in range(60)])
    answers = rng.choice([0, 1, -2], 60)
    c = Constraints(20, pairs=np.column_stack([rows, answers]), pair_weights=rng.uniform(size=60))
    labels = rng.integers(3, size=20)
    assert answer_log_likelihood(labels, c) == pytest.approx(scored_by_hand(labels, c))


@pytest.mark.parametrize("error", [0.0, 0.15, 0.3])
def test_the_truth_scores_above_random_partitions_despite_wrong_answers(error: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=300)
    c = Constraints.from_labels(y, 500, error=error, random_state=0)
    truth = answer_log_likelihood(y, c)
    others = [answer_log_likelihood(rng.permutation(y), c) for _ in range(50)]
    assert truth > max(others)


def test_one_group_and_groups_of_one_row_score_alike() -> None:
    y = np.arange(40) % 4
    c = Constraints.from_labels(y, 200, random_state=0)
    one = answer_log_likelihood(np.zeros(40), c)
    each = answer_log_likelihood(np.arange(40), c)
    assert one == pytest.approx(each, rel=0.02)
    assert answer_log_likelihood(y, c) > one / 2


def test_names_of_groups_and_order_of_rows_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=30)
    c = Constraints.from_labels(y, 50, error=0.2, random_state=1)
    order = rng.permutation(30)
    renamed = np.array([7, -3, 5])[y]
    assert answer_log_likelihood(renamed, c) == answer_log_likelihood(y, c)
    assert answer_log_likelihood(y[order], c.subset(order)) == pytest.approx(
        answer_log_likelihood(y, c)
    )


def test_no_answers_score_zero() -> None:
    assert answer_log_likelihood([0, 1, 1], Constraints(3)) == 0.0


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"shape \(3,\)"):
        answer_log_likelihood([0, 1], Constraints(3))


def true_answer(kind: str, groups: tuple[int, ...]) -> int:
    """Answers of a person who never errs about rows of these groups."""
    if kind == "pair":
        return int(groups[0] == groups[1])
    a, b, c = groups
    if kind == "triplet":
        return -2 if (a == b) == (a == c) else 0 if a == b else 1
    if a == b == c:
        return -1
    return 0 if b == c else 1 if a == c else 2 if a == b else -2


def counted_by_hand(
    kind: Kind, labels: np.ndarray, constraints: Constraints
) -> dict[tuple[int, int], float]:
    """Weights of answers by true and given answer, counted in each order of the rows."""
    rows, said, weights = {
        "pair": (constraints.pairs, constraints.pair_answers, constraints.pair_weights),
        "triplet": (constraints.triplets, constraints.triplet_answers, constraints.triplet_weights),
        "odd_one_out": (
            constraints.odd_one_out,
            constraints.odd_one_out_answers,
            constraints.odd_one_out_weights,
        ),
    }[kind]
    counts = dict.fromkeys(product(CODES[kind], repeat=2), 0.0)
    for of, answer, weight in zip(rows, said, weights, strict=True):
        if (kind, answer) != ("pair", -2):
            orders = orders_of(kind, int(answer))
            for order, same in orders:
                true = true_answer(kind, tuple(labels[of[order]]))
                counts[true, same] += weight / len(orders)
    return counts


def orders_of(kind: Kind, answer: int) -> list[tuple[list[int], int]]:
    """The orders in which the rows could have been named, each with the equivalent answer."""
    if kind == "pair":
        return [([0, 1], answer)]
    if kind == "triplet":
        return [([0, 1, 2], answer), ([0, 2, 1], {0: 1, 1: 0, -2: -2}[answer])]
    orders = [list(order) for order in permutations(range(3))]
    return [(order, order.index(answer) if answer >= 0 else answer) for order in orders]


def likelihood_by_hand(kind: Kind, counts: dict[tuple[int, int], float]) -> float:
    """The definition, case by case: shares of answers, shrunk toward the overall shares."""
    codes = sorted({said for _, said in counts})
    total = sum(counts.values())
    overall = {c: (sum(counts[t, c] for t in codes) + 1 / len(codes)) / (total + 1) for c in codes}
    found = 0.0
    for true in codes:
        here = sum(counts[true, c] for c in codes)
        probability = {c: (counts[true, c] + 2 * overall[c]) / (here + 2) for c in codes}
        elsewhere = sum(counts[t, true] for t in codes if t != true) + 2 * overall[true]
        is_against = probability[true] < elsewhere / (total - here + 2)
        if is_against and (kind == "pair" or true != -2):
            probability = overall
        found += sum(
            counts[true, c] * np.log(min(max(probability[c], 1e-3), 1 - 1e-3)) for c in codes
        )
    return found


def any_answers(seed: int, n: int = 15, n_each: int = 80) -> Constraints:
    """Answers of all kinds and any weights."""
    rng = np.random.default_rng(seed)

    def asked(kind: Kind, size: int) -> np.ndarray:
        rows = np.array([rng.permutation(n)[:size] for _ in range(n_each)])
        return np.column_stack([rows, rng.choice(CODES[kind], n_each)])

    return Constraints(
        n,
        pairs=asked("pair", 2),
        triplets=asked("triplet", 3),
        odd_one_out=asked("odd_one_out", 3),
        pair_weights=rng.uniform(size=n_each),
        triplet_weights=rng.uniform(size=n_each),
        odd_one_out_weights=rng.uniform(size=n_each),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_groups", [1, 3, 8])
def test_all_kinds_equal_the_definition(seed: int, n_groups: int) -> None:
    c = any_answers(seed)
    labels = np.random.default_rng(seed).integers(n_groups, size=15)
    tables = answer_counts(labels, c)
    expected = 0.0
    for kind, codes in CODES.items():
        counts = counted_by_hand(kind, labels, c)
        given = [code for code in codes if (kind, code) != ("pair", -2)]
        by_hand = [[counts[true, said] for said in given] for true in given]
        np.testing.assert_allclose(tables[kind], by_hand)
        if kind == "pair":
            counts = {key: value for key, value in counts.items() if -2 not in key}
        expected += likelihood_by_hand(kind, counts)
    assert answer_log_likelihood(labels, c) == pytest.approx(expected)


def test_tables_of_parts_add_up() -> None:
    c, labels = any_answers(0), np.arange(15) % 3
    is_first = np.arange(80) % 3 == 0
    parts = [
        c.select(pairs=which, triplets=which, odd_one_out=which) for which in (is_first, ~is_first)
    ]
    whole = answer_counts(labels, c)
    tables = [answer_counts(labels, part) for part in parts]
    added = {kind: sum(table[kind] for table in tables) for kind in whole}
    for kind, table in whole.items():
        np.testing.assert_allclose(added[kind], table)
    assert log_likelihood_of_counts(added) == pytest.approx(answer_log_likelihood(labels, c))


@pytest.mark.parametrize("kind", ["triplet", "odd_one_out"])
@pytest.mark.parametrize("error", [0.0, 0.3])
def test_the_truth_scores_above_random_partitions_by_answers_about_three_rows(
    kind: Kind, error: float
) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=60)
    oracle = SimulatedOracle(y, error=error, random_state=0)
    asked = [Question(kind, tuple(rng.permutation(60)[:3].tolist())) for _ in range(300)]
    c = Constraints.from_answers(oracle.answer_all(asked), n_samples=60)
    others = [answer_log_likelihood(rng.permutation(y), c) for _ in range(30)]
    assert answer_log_likelihood(y, c) > max(others) + 5


def test_forced_choices_stored_nearer_first_score_the_truth_highest() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4
    rows = np.array([rng.permutation(60)[:3] for _ in range(400)])
    first, second = (y[rows[:, 0]] == y[rows[:, at]] for at in (1, 2))
    swaps = np.where(first == second, rng.uniform(size=400) < 0.5, second)
    rows[swaps, 1:] = rows[swaps, :0:-1]
    c = Constraints.from_triplets(rows, np.zeros(400, int), n_samples=60)
    others = [answer_log_likelihood(rng.permutation(y), c) for _ in range(30)]
    assert answer_log_likelihood(y, c) > max(others) + 20
    # An open question has either answer with the same probability.
    opens = Constraints.from_triplets(rows[first == second], np.zeros(400, int)[first == second],
                                      n_samples=60)  # fmt: skip
    expected = (first == second).sum() * np.log(0.5)
    assert answer_log_likelihood(y, opens) == pytest.approx(expected, abs=0.5)


def test_only_dont_knows_about_three_rows_count() -> None:
    c = Constraints(4, pairs=[(0, 1, -2)], triplets=[(0, 1, 2, -2)], odd_one_out=[(0, 1, 2, -2)])
    tables = answer_counts([0, 1, 2, 2], c)
    assert not tables["pair"].any()
    assert tables["triplet"][-1, -1] == tables["triplet"].sum() == 1
    assert tables["odd_one_out"][-1, -1] == tables["odd_one_out"].sum() == 1


def test_log_likelihoods_of_each_answer_add_up_to_that_of_all():
    y = np.arange(30) % 3
    c = Constraints.from_labels(
        y, 40, n_triplets=30, n_odd_one_out=30, error=0.1, dont_know=0.2, random_state=0
    )
    c = c.with_weights(pair_weights=np.linspace(0, 1, 40))
    labels = np.random.RandomState(0).permutation(y)
    each = log_likelihood_of_each(labels, c, answer_counts(labels, c))
    assert each.shape == (100,)
    assert (each[:40][c.is_dont_know] == 0).all()
    assert (each <= 0).all()
    assert each.sum() == pytest.approx(answer_log_likelihood(labels, c))
