"""SSSVaD: feature weights of each group, learned from its rows and from triplets."""

import numpy as np
import pytest

from clew import Constraints
from clew.cluster import SSSVaD
from clew.cluster.kmeans.sssvad import Comparisons, descend_with_weights, distances
from clew.constraints._meanings import inequalities_of
from clew.exceptions import FewerGroupsWarning, InvalidParameterError, UnsupportedConstraintError
from clew.metrics import adjusted_rand_score, n_violated

RNG = np.random.default_rng(1)
N = 80
y = np.repeat([0, 1], N // 2)
#: The first feature separates the groups of `y`; the second separates two others, more clearly.
X = np.column_stack(
    [y + RNG.normal(0, 0.22, N), (np.arange(N) % 2) + RNG.normal(0, 0.1, N)]
)  # fmt: skip
ROWS = np.array([RNG.choice(N, 3, replace=False) for _ in range(120)])
SPLIT = y[ROWS[:, 1]] != y[ROWS[:, 2]]
TRIPLETS = Constraints.from_triplets(
    ROWS[SPLIT], (y[ROWS[SPLIT, 0]] == y[ROWS[SPLIT, 2]]).astype(int), n_samples=N
)


def run_of(penalty=5.0, max_iter=100, seed=0, n_groups=3):
    comparisons = Comparisons.of(X, inequalities_of(TRIPLETS), penalty)
    return comparisons, descend_with_weights(X, comparisons, n_groups, 2.0, 0.01, max_iter, seed)


def plain_objective(run, penalty=5.0, power=2.0, floor=0.01):
    """The objective, written as sums over rows and answers."""
    total = 0.0
    for x, g in zip(X, run.labels, strict=True):
        total += sum(run.shares[g] ** power * ((x - run.centers[g]) ** 2 + floor))
    for (a, b, c), answer in zip(TRIPLETS.triplets, TRIPLETS.triplet_answers, strict=True):
        near, far = (b, c) if answer == 0 else (c, b)
        w = run.shares[run.labels[a]] ** power
        total += penalty * max(0.0, w @ (X[a] - X[near]) ** 2 - w @ (X[a] - X[far]) ** 2)
    return total


def test_the_objective_is_the_sum_over_rows_and_answers():
    _, run = run_of()
    assert run.objective == pytest.approx(plain_objective(run))
    np.testing.assert_allclose(run.shares.sum(axis=1), 1)
    assert (run.shares > 0).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("penalty", [0.0, 1.0, 100.0])
def test_no_iteration_raises_the_objective(seed, penalty):
    found = [run_of(penalty, n_iter, seed)[1].objective for n_iter in range(1, 12)]
    assert (np.diff(found) <= 1e-9 * found[0]).all()


def test_without_answers_shares_are_those_of_the_closed_form():
    comparisons = Comparisons.of(X, inequalities_of(Constraints(N)), 1.0)
    run = descend_with_weights(X, comparisons, 2, 3.0, 0.01, 100, 0)
    for group in range(2):
        mine = X[run.labels == group]
        scatter = ((mine - mine.mean(axis=0)) ** 2).sum(axis=0) + 0.01 * len(mine)
        expected = scatter ** (-1 / 2)
        np.testing.assert_allclose(run.shares[group], expected / expected.sum(), rtol=1e-6)


def test_triplets_choose_between_two_partitions():
    without = SSSVaD(2, random_state=0).fit(X)
    model = SSSVaD(2, penalty=10.0, random_state=0).fit(X, constraints=TRIPLETS)
    assert adjusted_rand_score(y, without.labels_) < 0.1
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert (model.shares_[:, 0] > 0.5).all()
    assert model.n_violated_ == n_violated(model.labels_, TRIPLETS)


def test_an_odd_one_out_is_two_comparisons_with_the_similar_rows_as_anchors():
    odd = Constraints.from_odd_one_out([(3, 1, 7), (5, 2, 8)], [0, 2], n_samples=N)
    same = Constraints.from_triplets(
        [(1, 7, 3), (7, 1, 3), (2, 5, 8), (5, 2, 8)], [0] * 4, n_samples=N
    )
    ours, others = (Comparisons.of(X, inequalities_of(c), 1.0) for c in (odd, same))
    np.testing.assert_array_equal(ours.anchor, [1, 7, 2, 5])
    np.testing.assert_array_equal(ours.anchor, others.anchor)
    np.testing.assert_allclose(ours.gap, others.gap)


def test_distances_are_weighted():
    centers, weights = RNG.normal(size=(3, 2)), RNG.uniform(size=(3, 2))
    expected = (weights * (X[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances(X, centers, weights), expected, atol=1e-12)


def test_weights_of_answers_matter_and_dont_knows_are_ignored():
    unknown = Constraints.from_triplets([(0, 1, 2)], [-2], n_samples=N)
    plain = SSSVaD(2, random_state=0).fit(X)
    weightless = TRIPLETS.with_weights(triplet_weights=np.zeros(len(TRIPLETS.triplets)))
    for answers in (unknown, weightless):
        model = SSSVaD(2, random_state=0).fit(X, constraints=answers)
        np.testing.assert_array_equal(model.shares_, plain.shares_)
    half = TRIPLETS.with_weights(triplet_weights=np.full(len(TRIPLETS.triplets), 0.5))
    a = SSSVaD(2, penalty=4.0, random_state=0).fit(X, constraints=half)
    b = SSSVaD(2, penalty=2.0, random_state=0).fit(X, constraints=TRIPLETS)
    np.testing.assert_allclose(a.shares_, b.shares_)


def test_the_unit_of_a_feature_does_not_matter():
    scale = np.array([1e-9, 1e9])
    a = SSSVaD(2, random_state=0).fit(X, constraints=TRIPLETS)
    b = SSSVaD(2, random_state=0).fit(X * scale, constraints=TRIPLETS)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.shares_, b.shares_, rtol=1e-6)
    np.testing.assert_allclose(b.cluster_centers_, a.cluster_centers_ * scale)
    np.testing.assert_array_equal(a.predict(X), b.predict(X * scale))


def test_constant_features_single_features_and_equal_rows():
    flat = np.column_stack([X, np.full(N, 3.0)])
    model = SSSVaD(2, random_state=0).fit(flat, constraints=TRIPLETS)
    assert model.shares_[:, :2].min() > 0.01  # the constant feature does not get all weight
    assert np.isfinite(SSSVaD(2, random_state=0).fit(X[:, :1], constraints=TRIPLETS).objective_)
    with pytest.warns(FewerGroupsWarning, match="only 2 different rows"):
        SSSVaD(3).fit(np.repeat(X[:2], 5, axis=0))


def test_unsupported_answers_and_invalid_parameters_raise():
    for answers in (
        Constraints.from_pairs(must_link=[(0, 1)], n_samples=N),
        Constraints.from_odd_one_out([(0, 1, 2)], [-1], n_samples=N),
    ):
        with pytest.raises(UnsupportedConstraintError, match="SSSVaD"):
            SSSVaD(2).fit(X, constraints=answers)
    for wrong in ({"power": 1.0}, {"penalty": -1.0}, {"n_clusters": N + 1}, {"ridge": 0.0}):
        with pytest.raises(InvalidParameterError):
            SSSVaD(**{"n_clusters": 2} | wrong).fit(X)


def test_a_power_near_1_may_give_features_weight_0():
    model = SSSVaD(3, power=1.0001, random_state=0).fit(X)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.cluster_centers_).all()
    assert len(np.unique(model.labels_)) == 3
