"""The expected change of every possible answer against HACC from the beginning."""

import numpy as np
import pytest
from tests.reference import expected_change as reference

from clew import Constraints
from clew.cluster.linkage.hacc import Edges
from clew.questions.expected_change import N_SLOTS, Changes


def problem(seed, largest):
    """Draw a state with ties; by `seed` with all answers, cannot-links only or must-links only."""
    random = np.random.RandomState(seed)
    n = random.randint(4, largest + 1)
    n_clusters = random.randint(1, min(n, 10))
    y = random.randint(random.randint(1, 8), size=n)
    D = random.randint(0, random.choice([3, 10, 1000]), (n, n)).astype(float)
    D += D.T + random.choice([0.0, 5.0]) * np.not_equal.outer(y, y)
    P = np.triu(random.randint(0, 11, (n, n)) / 10, 1)
    P = (P + P.T).astype(np.float32)
    m = min(random.randint(random.choice([2, 10, 40, 120, 300])), n * (n - 1) // 2)
    c = Constraints.from_labels(y, m, random_state=random)
    kept = [c.is_must_link | True, c.is_cannot_link, c.is_must_link][seed % 3]
    sizes = random.randint(1, 4, n) if seed % 2 else np.ones(n, np.int64)
    return D, P, c.select(pairs=kept), n_clusters, sizes


def ordered(D):
    pairs = [(i, j) for i in range(len(D)) for j in range(i + 1, len(D))]
    return sorted(pairs, key=lambda pair: D[pair])


def changes_of(D, P, c, n_clusters, sizes, **options):
    first, second = np.array(ordered(D), np.uint16).T.copy()
    options = {"skip_below": 0.0, "is_local": False, "n_jobs": 1, **options}
    edges = Edges(first, second, len(D))
    return Changes(P, edges, sizes.astype(np.int64), c.closure(), n_clusters, **options)


def check(seed, largest):
    D, P, c, k, sizes = problem(seed, largest)
    found = list(changes_of(D, P, c, k, sizes).best_first())
    answers = (ordered(D), P, k, c.must_link, c.cannot_link, c.closure(), sizes)
    expected = reference.expected_changes(*answers)
    assert bool(found) == bool(expected)
    for change in found:
        assert change.expected == pytest.approx(expected[change.rows], abs=1e-9)
    values = [change.expected for change in found]
    assert values == sorted(values, reverse=True)
    if found:
        assert values[0] == pytest.approx(max(expected.values()), abs=1e-9)


@pytest.mark.parametrize("seed", range(24))
def test_the_chosen_pair_is_the_best_of_all(seed):
    check(seed, 13)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_the_chosen_pair_is_the_best_of_all_for_more_rows(seed):
    check(seed, 24)


def test_threads_and_few_slots_change_nothing(monkeypatch):
    states = [problem(seed, 30) for seed in range(12)]
    expected = [list(changes_of(*state).best_first()) for state in states]
    assert [list(changes_of(*state, n_jobs=2).best_first()) for state in states] == expected
    assert N_SLOTS > 2
    monkeypatch.setattr("clew.questions.expected_change.N_SLOTS", 2)
    assert [list(changes_of(*state).best_first()) for state in states] == expected


def test_pairs_that_were_asked_about_are_left_out():
    for seed in range(9):
        D, P, c, k, sizes = problem(seed, 13)
        for best in list(changes_of(D, P, c, k, sizes).best_first())[:1]:
            P[best.rows] = P[best.rows[::-1]] = np.nan
            rest = changes_of(D, P, c, k, sizes).best_first()
            assert best.rows not in [change.rows for change in rest]


def test_h1_counts_improbable_must_links_as_no_change():
    for seed in range(9):
        state = problem(seed, 13)
        exact = {c.rows: c.expected for c in changes_of(*state).best_first()}
        for change in changes_of(*state, skip_below=0.5).best_first():
            is_skipped = change.groups[0] != change.groups[1] and state[1][change.rows] < 0.5
            assert change.expected == (0 if is_skipped else exact[change.rows])


def test_h2_moves_no_row_of_another_group():
    D = np.abs(np.subtract.outer([0, 1, 2.1, 10, 11, 12.1], [0, 1, 2.1, 10, 11, 12.1]))
    P = np.full((6, 6), 0.5, np.float32)
    found = changes_of(D, P, Constraints(6), 2, np.ones(6), is_local=True).best_first()
    by_pair = {change.rows: change.expected for change in found}
    # Two rows apart, one row apart from two, and both groups as one.
    expected = [0.5 * (1 - 5 / 6), 0.5 * (1 - 4 / 6), 0.5 * (1 - 6 / 15)]
    assert sorted(set(np.round(list(by_pair.values()), 9))) == pytest.approx(expected)
