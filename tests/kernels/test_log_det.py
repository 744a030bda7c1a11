"""Log-det projections against a slow twin, and the conditions of a projection."""

import numpy as np
import pytest
from tests.reference import log_det as reference

from clew.kernels.log_det import Limits, squared_distances, sweep

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 4))


def mixed(n=14, *, cap=np.inf, seed=0):
    """Random constraints of all kinds: comparisons, and hard and soft bounds."""
    random = np.random.default_rng(seed)
    rows = np.array([random.permutation(len(X))[:4] for _ in range(n)])
    kind = np.arange(n) % 6
    factor = np.select([kind == 0, kind == 1, kind == 3, kind == 5], [2.0, 1.0, -1.0, -1.0], 1.0)
    bound = np.where(kind < 2, 0.0, np.where(factor > 0, 0.5, 1 / 20))
    rows[bound > 0, 2:] = rows[bound > 0, :2]
    slack = np.where(kind >= 4, 0.5, 0.0)
    high = np.full(n, cap)
    low = np.where(kind == 1, -high, 0.0)
    return Limits(rows, factor, bound, slack, low, high)


def one(rows, factor, inverse_bound=0.0, **more):
    values = {"factor": factor, "inverse_bound": inverse_bound, "slack": 0.0, "low": 0.0}
    values |= {"high": np.inf} | more
    return Limits(np.array([rows]), **{name: np.array([value]) for name, value in values.items()})


def swept(limits, *, max_rows=64, corrected=True, tol=1e-9, multiplier=None, A=None, X=X):
    multiplier = np.zeros(len(limits.rows)) if multiplier is None else multiplier.copy()
    A = np.eye(X.shape[1]) if A is None else A.copy()
    sweep(limits, X, max_rows, 1, tol, corrected, multiplier, A)
    return A, multiplier


@pytest.mark.parametrize("factor", [1.0, 2.0, 7.5])
@pytest.mark.parametrize("rows", [(0, 1, 2, 3), (0, 1, 0, 2), (4, 5, 6, 5)])
def test_after_one_projection_the_comparison_holds_with_equality(factor, rows) -> None:
    limits = one(rows, factor, low=-np.inf)
    start = np.cov(X.T)
    A, multiplier = swept(limits, A=start)
    C = reference.matrix_of(limits, 0, X)
    assert abs(np.trace(A @ C)) < 1e-12
    np.testing.assert_allclose(A, np.linalg.inv(np.linalg.inv(start) + multiplier[0] * C))
    assert np.linalg.eigvalsh(A)[0] > 0


@pytest.mark.parametrize(("factor", "bound"), [(1.0, 0.3), (-1.0, 30.0)])
def test_after_one_projection_the_bound_is_met(factor, bound) -> None:
    limits = one((0, 1, 0, 1), factor, 1 / bound)
    A, multiplier = swept(limits)
    C = reference.matrix_of(limits, 0, X)
    assert np.trace(A @ C) == pytest.approx(factor * bound, abs=1e-12)
    np.testing.assert_allclose(A, np.linalg.inv(np.eye(4) + multiplier[0] * C))


@pytest.mark.parametrize("factor", [1.0, -1.0])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_a_soft_bound_is_that_of_the_paper(factor, gamma) -> None:
    # Davis et al., algorithm 1: the step alpha, and the moved bound.
    bound = 0.3 if factor > 0 else 30.0
    limits = one((0, 1, 0, 1), factor, 1 / bound, slack=1 / gamma)
    A, multiplier = swept(limits)
    c = X[0] - X[1]
    p = c @ c
    step = factor * gamma / (gamma + 1) * (1 / bound - 1 / p)
    assert multiplier[0] == pytest.approx(step)
    moved = gamma * bound / (gamma - factor * step * bound)
    assert c @ A @ c == pytest.approx(moved)


@pytest.mark.parametrize("max_rows", [4, 7, 64])
@pytest.mark.parametrize("cap", [np.inf, 0.05])
def test_sweep_equals_its_twin_for_any_block_size(max_rows, cap) -> None:
    limits = mixed(cap=cap)
    A, multiplier = swept(limits, max_rows=max_rows)
    for _ in range(2):  # the second sweep also undoes steps of the first
        expected = reference.sweep(limits, X, 1e-9, True, multiplier, A)
        A, multiplier = swept(limits, max_rows=max_rows, multiplier=multiplier, A=A)
        np.testing.assert_allclose(multiplier, expected[1], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(A, expected[0], rtol=1e-6, atol=1e-8)
    assert (multiplier <= limits.high).all()
    assert (multiplier >= limits.low).all()
    assert np.linalg.eigvalsh(A)[0] > 0


@pytest.mark.parametrize("max_rows", [4, 64])
def test_uncorrected_sweep_equals_its_twin_and_skips_constraints_that_hold(max_rows) -> None:
    limits = mixed(12)
    A, multiplier = swept(limits, max_rows=max_rows, corrected=False, tol=0.01)
    expected = reference.sweep(limits, X, 0.01, False, np.zeros(12), np.eye(4))
    np.testing.assert_allclose(multiplier, expected[1], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(A, expected[0], rtol=1e-6, atol=1e-8)
    holds = one((0, 1, 0, 2), 1.0)
    while reference.excess(holds, 0, 0.0, X, np.eye(4)) > 0:  # pragma: no branch
        holds.rows[0] = holds.rows[0][[2, 3, 0, 1]]
    _, multiplier = swept(holds, corrected=False)
    assert multiplier[0] == 0


def test_rounds_over_a_block_repeat_until_all_constraints_hold() -> None:
    limits = mixed(6)
    A, multiplier = np.eye(4), np.zeros(6)
    sweep(limits, X, 64, 500, 1e-10, True, multiplier, A)
    for at in range(6):
        off = reference.excess(limits, at, multiplier[at], X, A)
        assert off < 1e-6
        if multiplier[at] != 0:
            assert off == pytest.approx(0, abs=1e-6)


def test_equal_rows_cause_no_step() -> None:
    twice = np.vstack([X, X[:1]])
    far, bounded = one((0, 1, 0, 12), 2.0), one((0, 12, 0, 12), -1.0, 1.0)
    for limits in (far, bounded):
        A, multiplier = swept(limits, X=twice)
        assert multiplier[0] == 0
        np.testing.assert_array_equal(A, np.eye(4))


def test_distances_are_squared_and_euclidean() -> None:
    rows = np.array([[0, 1, 2, 3], [4, 4, 5, 6]])
    found = np.empty((2, 2))
    squared_distances(X, rows, found)
    expected = [[sum((X[a] - X[b]) ** 2) for a, b in (row[:2], row[2:])] for row in rows]
    np.testing.assert_allclose(found, expected)
