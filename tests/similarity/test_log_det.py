"""The nearest matrix that satisfies constraints: optimal, for any order and any start."""

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.reference import log_det as reference

from clew.similarity._log_det import Problem, bounds, comparisons, equalities, joined

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 5))
TRIPLES = np.array([rng.permutation(30)[:3] for _ in range(40)])
#: In the first two features alone, each near pair is nearer than its far pair: all comparisons can
#: hold at once.
IS_NEAR = [
    np.linalg.norm((X[a] - X[b])[:2]) < np.linalg.norm((X[a] - X[c])[:2]) for a, b, c in TRIPLES
]
NEAR = np.where(np.array(IS_NEAR)[:, None], TRIPLES[:, :2], TRIPLES[:, ::2])
FAR = np.where(np.array(IS_NEAR)[:, None], TRIPLES[:, ::2], TRIPLES[:, :2])


def problem_of(penalty=np.inf, X=X):
    return Problem(X, comparisons(NEAR, FAR, 1.0, np.full(len(NEAR), penalty)))


def solved(problem, *, seed=0, tol=1e-6, max_iter=3000, **more):
    return problem.solve(tol=tol, max_iter=max_iter, random=np.random.RandomState(seed), **more)


def divergence(A):
    return np.trace(A) - np.linalg.slogdet(A)[1] - len(A)


def mixed(penalty):
    pairs = np.array([[0, 1], [2, 3], [4, 5]])
    return joined(
        comparisons(NEAR[:8], FAR[:8], 2.0, np.full(8, penalty)),
        equalities(NEAR[8:12], FAR[8:12], np.full(4, penalty)),
        bounds(pairs, np.array([True, False, False]), np.full(3, 3.0), np.full(3, penalty)),
        bounds(pairs + 6, np.array([True, False, True]), np.full(3, 2.0), np.full(3, np.inf), 0.5),
    )


def test_the_inverse_is_the_sum_of_the_constraints_by_multiplier() -> None:
    limits = mixed(0.3)
    found = solved(Problem(X, limits))
    inverse = np.eye(5) + sum(
        pull * reference.matrix_of(limits, at, X) for at, pull in enumerate(found.multiplier)
    )
    np.testing.assert_allclose(found.A, np.linalg.inv(inverse), rtol=1e-8)
    for at, off in enumerate(found.excess):
        expected = reference.excess(limits, at, found.multiplier[at], X, found.A)
        assert off == pytest.approx(expected, abs=1e-9)


def test_the_solution_is_the_optimum_of_the_dual() -> None:
    limits = mixed(0.3)
    matrices = [reference.matrix_of(limits, at, X) for at in range(len(limits.rows))]
    bound = np.where(
        limits.inverse_bound > 0, limits.factor / np.maximum(limits.inverse_bound, 1e-9), 0
    )
    has_slack = limits.slack > 0

    def negative_dual(pull):
        inverse = np.eye(5) + np.tensordot(pull, matrices, 1)
        if np.linalg.eigvalsh(inverse)[0] <= 1e-9 or (0.5 * pull * bound)[has_slack].max() >= 1:
            return 1e6
        moved = np.log(1 - 0.5 * (pull * bound)[has_slack]).sum() / 0.5
        return -(np.linalg.slogdet(inverse)[1] - (pull * bound)[~has_slack].sum() + moved)

    found = solved(Problem(X, limits))
    limits_of_pull = [
        (low, min(high, 5.0)) for low, high in zip(limits.low, limits.high, strict=True)
    ]
    for start in (np.zeros(len(bound)), found.multiplier):
        best = minimize(negative_dual, start, bounds=limits_of_pull, method="L-BFGS-B")
        assert negative_dual(found.multiplier) <= best.fun + 1e-5
    assert abs(found.gap) < 1e-4


@pytest.mark.parametrize("penalty", [0.02, 0.2, np.inf])
def test_order_does_not_matter(penalty) -> None:
    found = [solved(problem_of(penalty), seed=seed) for seed in range(3)]
    assert all(each.n_off == 0 for each in found)
    for other in found[1:]:
        np.testing.assert_allclose(other.A, found[0].A, rtol=1e-3, atol=1e-5)
        assert divergence(other.A) == pytest.approx(divergence(found[0].A), rel=1e-4)


def test_uncorrected_projections_keep_all_comparisons_but_go_farther_than_they_must() -> None:
    nearest = solved(problem_of(), tol=1e-3)
    papers = [solved(problem_of(), seed=seed, tol=1e-3, corrected=False) for seed in range(4)]
    for found in papers:
        assert found.n_off == 0
        assert (found.excess <= 1e-3).all()
    divergences = [divergence(found.A) for found in papers]
    assert min(divergences) > 1.02 * divergence(nearest.A)
    assert max(divergences) > 1.001 * min(divergences)


def test_the_matrix_is_positive_definite_although_constraints_contradict() -> None:
    both = comparisons(np.r_[NEAR, FAR], np.r_[FAR, NEAR], 2.0, np.full(80, np.inf))
    found = solved(Problem(X, both), max_iter=20, tol=1e-3)
    assert found.n_off
    assert np.isfinite(found.A).all()
    assert np.linalg.eigvalsh(found.A)[0] > 0


def test_multipliers_stay_below_the_penalty_and_reach_it_where_answers_are_violated() -> None:
    both = comparisons(np.r_[NEAR, FAR], np.r_[FAR, NEAR], 2.0, np.full(80, 0.05))
    found = solved(Problem(X, both), tol=1e-4)
    assert found.n_off == 0
    assert found.multiplier.max() == 0.05
    assert (found.multiplier[found.excess > 1e-4] == 0.05).all()
    assert (found.multiplier[found.excess < -1e-4] == 0).all()
    assert 0 <= found.gap < 1e-3


def test_more_features_than_rows_give_the_same_in_their_span() -> None:
    wide = np.hstack([X, rng.normal(size=(30, 60))])
    limits = comparisons(NEAR[:6], FAR[:6], 2.0, np.full(6, np.inf))
    found = solved(Problem(wide, limits))
    inverse = np.eye(65) + sum(
        pull * reference.matrix_of(limits, at, wide) for at, pull in enumerate(found.multiplier)
    )
    np.testing.assert_allclose(found.A, np.linalg.inv(inverse), atol=1e-8)
    assert found.n_off == 0


@pytest.mark.parametrize("penalty", [0.1, np.inf])
def test_a_start_does_not_change_the_solution(penalty) -> None:
    start = solved(problem_of(min(penalty, 0.05)), tol=1e-3)
    problem = problem_of(penalty)
    fresh, warm = (
        solved(problem, multiplier=multiplier) for multiplier in (None, start.multiplier)
    )
    np.testing.assert_allclose(warm.A, fresh.A, rtol=1e-3, atol=1e-5)
    assert solved(problem, multiplier=fresh.multiplier).n_iter == 0


def test_no_constraints_change_nothing() -> None:
    nothing = np.empty((0, 2), np.int64)
    found = solved(Problem(X, comparisons(nothing, nothing, 2.0, np.empty(0))))
    np.testing.assert_array_equal(found.A, np.eye(5))
    assert found.n_off == 0
    assert found.gap == 0


def test_callback_counts_sweeps() -> None:
    calls = []
    found = solved(problem_of(0.2), callback=lambda done, n: calls.append((done, n)))
    assert calls == [(done, 3000) for done in range(1, found.n_iter + 1)]
