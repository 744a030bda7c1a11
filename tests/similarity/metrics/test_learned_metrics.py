"""Metrics learned from pairs and from comparisons: the objectives of the papers are minimized."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from clew import Constraints
from clew._units import Units
from clew.exceptions import TooLargeError, UnsupportedConstraintError
from clew.metrics import adjusted_rand_score
from clew.similarity import KISSME, LSML, MMC, SparseLP

RNG = np.random.default_rng(0)
N = 90
y = np.repeat([0, 1, 2], N // 3)
#: The first feature separates the groups; two noise features have a larger variance.
X = np.column_stack([y + RNG.normal(0, 0.2, N), RNG.normal(0, 2.0, (N, 2))])
X = (X - X.mean(axis=0)) / X.std(axis=0)
#: Standardized and rotated, so that no single feature separates the groups.
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
PAIRS = Constraints.from_labels(y, 80, random_state=0)
ROWS = np.array([RNG.choice(N, 3, replace=False) for _ in range(150)])


def triplets_of(labels, rows=ROWS, weights=None):
    a, b, c = labels[rows].T
    answers = np.select([(a == b) & (a != c), (a == c) & (a != b)], [0, 1], -2)
    return Constraints(
        len(labels), triplets=np.column_stack([rows, answers]), triplet_weights=weights
    )


TRIPLETS = triplets_of(y)
METHODS = [
    (KISSME(), PAIRS),
    (MMC(), PAIRS),
    (MMC(diagonal=True), PAIRS),
    (LSML(), TRIPLETS),
    (SparseLP(), TRIPLETS),
    (SparseLP(diagonal=True), TRIPLETS),
]
each = pytest.mark.parametrize(("method", "answers"), METHODS)
comparing = pytest.mark.parametrize("method", [LSML(), SparseLP(), SparseLP(diagonal=True)])


def squared(metric, pairs, data=X):
    apart = data[pairs[:, 0]] - data[pairs[:, 1]]
    return np.einsum("ij,jk,ik->i", apart, metric, apart)


def ari(model, k=3):
    groups = KMeans(k, n_init=5, random_state=0).fit_predict(model.embedding_)
    return adjusted_rand_score(y, groups)


@each
def test_answers_determine_the_direction_that_matters(method, answers):
    assert ari(method.fit(X)) < 0.5  # without answers the metric is Euclidean
    np.testing.assert_array_equal(method.metric_, np.eye(3))
    assert ari(method.fit(X, constraints=answers)) > 0.9
    if not getattr(method, "diagonal", False):
        assert ari(method.fit(X @ TURN, constraints=answers)) > 0.9


@each
def test_the_metric_is_a_metric(method, answers):
    method.fit(X @ TURN, constraints=answers)
    metric = method.metric_
    np.testing.assert_array_equal(metric, metric.T)
    assert np.linalg.eigvalsh(metric).min() >= -1e-12 * np.abs(metric).max()
    np.testing.assert_allclose(method.components_.T @ method.components_, metric, atol=1e-10)
    pairs = ROWS[:, :2]
    apart = method.embedding_[pairs[:, 0]] - method.embedding_[pairs[:, 1]]
    np.testing.assert_allclose(
        (apart**2).sum(axis=1), squared(metric, pairs, X @ TURN), rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(method.transform(X @ TURN), method.embedding_)


@each
@pytest.mark.parametrize("factor", [1e-100, 1e-3, 1e100])
def test_the_unit_of_all_features_does_not_matter(method, answers, factor):
    expected = method.fit(X, constraints=answers).metric_
    found = method.fit(X * factor + 5 * factor, constraints=answers).metric_
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@each
def test_answers_of_weight_0_and_dont_knows_are_ignored(method, answers):
    nothing = answers.with_weights(
        pair_weights=np.zeros(len(answers.pairs)), triplet_weights=np.zeros(len(answers.triplets))
    )
    np.testing.assert_array_equal(method.fit(X, constraints=nothing).metric_, np.eye(3))
    unknown = Constraints(
        N, pairs=[(0, 1, -2)], triplets=[(0, 1, 2, -2)], odd_one_out=[(3, 4, 5, -2)]
    )
    model = method if method.supports.triplets else None
    if model is None:
        unknown = unknown.select(triplets=[], odd_one_out=[])
    np.testing.assert_array_equal(method.fit(X, constraints=unknown).metric_, np.eye(3))


@each
def test_a_weight_counts_as_part_of_an_answer(method, answers):
    other = triplets_of(RNG.permutation(y)) if method.supports.triplets else answers
    if not method.supports.triplets:
        other = Constraints.from_labels(RNG.permutation(y), 80, random_state=1)
    half = {"pair_weights": np.full(len(other.pairs), 0.5)}
    half |= {"triplet_weights": np.full(len(other.triplets), 0.5)}
    once = method.fit(X, constraints=answers + answers + other).metric_
    weighed = method.fit(X, constraints=answers + other.with_weights(**half)).metric_
    if isinstance(method, LSML):  # twice the answers count twice relative to the Euclidean prior
        double = LSML(penalty=2.0).fit(X, constraints=answers + answers + other).metric_
        weighed = LSML(penalty=2.0).fit(X, constraints=answers + other.with_weights(**half)).metric_
        once = double
    if isinstance(method, KISSME):  # relative to its prior as well
        once = KISSME(shrinkage=18).fit(X, constraints=answers + answers + other).metric_
    np.testing.assert_allclose(weighed, once, rtol=1e-3, atol=1e-3 * np.abs(once).max())


@each
def test_hard_cases_of_data_work(method, answers):
    flat = np.column_stack([X, np.full(N, 3.0), np.zeros(N)])
    copies = np.repeat(X[:: N // 3], N // 3, axis=0)
    for data in (flat, copies, X[:, :1], np.ones((N, 2))):
        method.fit(data, constraints=answers)
        assert np.isfinite(method.metric_).all()
        assert np.isfinite(method.embedding_).all()


@each
def test_a_few_contradictory_answers_change_the_metric_a_little(method, answers):
    if method.supports.pairs:
        wrong = Constraints.from_pairs(cannot_link=PAIRS.must_link[:3], n_samples=N)
    else:
        i, j, k = TRIPLETS.triplets[TRIPLETS.triplet_answers == 0][:3].T
        wrong = Constraints.from_triplets(np.column_stack([i, k, j]), [0] * 3, n_samples=N)
    metric = method.fit(X, constraints=answers + wrong).metric_
    assert metric.diagonal().argmax() == 0
    assert not np.array_equal(metric, method.fit(X, constraints=answers).metric_)


@comparing
def test_all_alike_is_refused_by_name(method):
    c = Constraints.from_odd_one_out([(0, 1, 2), (3, 4, 5)], [1, -1], n_samples=N)
    with pytest.raises(UnsupportedConstraintError, match=r"1 odd_one_out .*all alike"):
        method.fit(X, constraints=c)
    assert not hasattr(method, "metric_") or method.metric_.shape == (3, 3)


@comparing
def test_all_alike_of_weight_0_is_ignored(method):
    c = Constraints(N, odd_one_out=[(0, 1, 2, -1)], odd_one_out_weights=[0.0])
    alone = clone(method).fit(X, constraints=TRIPLETS).metric_
    np.testing.assert_array_equal(clone(method).fit(X, constraints=TRIPLETS + c).metric_, alone)


@comparing
def test_an_odd_one_out_is_two_comparisons(method):
    odd = Constraints.from_odd_one_out([(0, 1, 60), (70, 40, 80)], [2, 1], n_samples=N)
    same = Constraints.from_triplets(
        [(0, 1, 60), (1, 0, 60), (70, 80, 40), (80, 70, 40)], [0] * 4, n_samples=N
    )
    np.testing.assert_allclose(
        method.fit(X, constraints=odd).metric_,
        method.fit(X, constraints=same).metric_,
        rtol=1e-5, atol=1e-6,
    )  # fmt: skip


def lsml_objective(metric, penalty, data=X):
    a, b, c = TRIPLETS.triplets.T
    kept = TRIPLETS.triplet_answers >= 0
    swapped = TRIPLETS.triplet_answers == 1
    near = np.column_stack([a, np.where(swapped, c, b)])[kept]
    far = np.column_stack([a, np.where(swapped, b, c)])[kept]
    residual = np.sqrt(squared(metric, near, data)) - np.sqrt(squared(metric, far, data))
    divergence = np.trace(metric) - np.linalg.slogdet(metric)[1] - len(metric)
    return penalty * (np.maximum(residual, 0) ** 2).mean() + divergence


@pytest.mark.parametrize("penalty", [1.0, 50.0])
def test_lsml_minimizes_the_paper_s_objective(penalty):
    model = LSML(penalty=penalty).fit(X, constraints=TRIPLETS)
    least = lsml_objective(model.metric_, penalty)
    assert Units.of_mean_variance(X).unit == pytest.approx(1.0)
    assert model.objective_ == pytest.approx(least, rel=1e-6)
    # Convex: a minimum nearby is the minimum.
    for _ in range(50):
        change = RNG.normal(size=(3, 3))
        near = model.metric_ + 1e-3 * np.linalg.eigvalsh(model.metric_)[0] * (change + change.T)
        assert lsml_objective(near, penalty) >= least - 1e-9


def test_lsml_s_auto_penalty_is_ten_times_the_number_of_comparisons():
    n = int((TRIPLETS.triplet_answers >= 0).sum())
    auto, given = LSML(), LSML(penalty=10.0 * n)
    np.testing.assert_allclose(
        auto.fit(X, constraints=TRIPLETS).metric_, given.fit(X, constraints=TRIPLETS).metric_
    )


def test_lsml_of_penalty_0_stays_euclidean():
    model = LSML(penalty=0.0).fit(X, constraints=TRIPLETS)
    np.testing.assert_allclose(model.metric_, np.eye(3), atol=1e-6)


def test_lsml_warns_if_it_does_not_converge():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        LSML(max_iter=1).fit(X, constraints=TRIPLETS)


def mmc_ratio(metric, ridge):
    near = squared(metric, PAIRS.must_link).mean() + ridge * np.trace(metric)
    return np.sqrt(squared(metric, PAIRS.cannot_link)).mean() / np.sqrt(near)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("ridge", [1e-6, 1.0])
def test_mmc_maximizes_the_paper_s_ratio(diagonal, ridge):
    model = MMC(diagonal=diagonal, ridge=ridge).fit(X, constraints=PAIRS)
    most = mmc_ratio(model.metric_, ridge)
    assert -1e-9 < model.duality_gap_ < 1e-4
    for _ in range(200):
        root = RNG.normal(size=(3, 3)) * 10.0 ** RNG.uniform(-2, 1, 3)
        other = np.diag((root**2).sum(axis=0)) if diagonal else root @ root.T
        assert mmc_ratio(other, ridge) <= most * (1 + 1e-4)
        mixed = 0.9 * model.metric_ / np.trace(model.metric_) + 0.1 * other / np.trace(other)
        assert mmc_ratio(mixed, ridge) <= most * (1 + 1e-4)


def test_mmc_diagonal_is_the_minimum_that_another_minimizer_finds():
    near, far = ((X[p[:, 0]] - X[p[:, 1]]) ** 2 for p in (PAIRS.must_link, PAIRS.cannot_link))

    def value(root):
        weight = root * root
        apart = np.sqrt(far @ weight)
        slope = near.sum(axis=0) - (0.5 / apart) @ far / apart.sum()
        return near.sum(axis=0) @ weight - np.log(apart.sum()), 2.0 * root * slope

    found = minimize(value, np.full(3, 0.1), jac=True, method="L-BFGS-B", options={"ftol": 1e-16})
    ours = MMC(diagonal=True, ridge=1e-9).fit(X, constraints=PAIRS).metric_.diagonal()
    np.testing.assert_allclose(ours / ours.sum(), found.x**2 / (found.x**2).sum(), atol=1e-4)


def test_mmc_keeps_the_total_variance_and_diagonal_metrics_are_diagonal():
    for diagonal in (False, True):
        model = MMC(diagonal=diagonal).fit(3.0 * X, constraints=PAIRS)
        assert model.embedding_.var(axis=0).sum() == pytest.approx((3.0 * X).var(axis=0).sum())
        assert np.count_nonzero(model.metric_) == 3 or not diagonal


def test_mmc_learns_from_must_links_alone_and_from_cannot_links_alone():
    must = Constraints.from_pairs(must_link=PAIRS.must_link, n_samples=N)
    cannot = Constraints.from_pairs(cannot_link=PAIRS.cannot_link, n_samples=N)
    assert ari(MMC().fit(X, constraints=must)) > 0.9
    assert ari(MMC().fit(X, constraints=cannot)) > 0.5


def test_sparse_lp_s_diagonal_dominates_and_entries_are_few():
    wide = np.column_stack([X @ TURN, RNG.normal(size=(N, 9))])
    model = SparseLP().fit(wide, constraints=TRIPLETS)
    absolute = np.abs(model.metric_)
    own = absolute.diagonal()
    assert (own >= absolute.sum(axis=1) - own - 1e-9).all()
    assert np.count_nonzero(model.metric_) < 72
    free = SparseLP(sparsity=0.0).fit(wide, constraints=TRIPLETS)
    assert np.abs(free.metric_).sum() > absolute.sum()


@pytest.mark.parametrize("diagonal", [False, True])
def test_sparse_lp_s_objective_is_the_paper_s(diagonal):
    model = SparseLP(diagonal=diagonal).fit(X, constraints=TRIPLETS)
    asked = TRIPLETS.triplet_answers >= 0
    a, b, c = TRIPLETS.triplets[asked].T
    sign = np.where(TRIPLETS.triplet_answers[asked] == 0, 1.0, -1.0)

    def value(metric):
        gain = squared(metric, np.column_stack([a, c])) - squared(metric, np.column_stack([a, b]))
        return np.maximum(1 - sign * gain, 0).mean() + 0.1 * np.abs(metric).sum()

    assert model.objective_ == pytest.approx(value(model.metric_), rel=1e-6)
    for _ in range(100):
        off = np.triu(RNG.normal(0, 0.01, (3, 3)), 1) * (not diagonal)
        other = model.metric_ + off + off.T + np.diag(RNG.normal(0, 0.03, 3))
        own = other.diagonal()
        if (own >= np.abs(other).sum(axis=1) - np.abs(own)).all():
            assert value(other) >= model.objective_ - 1e-9


def test_sparse_lp_with_a_large_penalty_stays_euclidean():
    model = SparseLP(sparsity=1e6).fit(X, constraints=TRIPLETS)
    np.testing.assert_array_equal(model.metric_, np.eye(3))


def test_sparse_lp_refuses_many_features():
    wide = RNG.normal(size=(N, 101))
    with pytest.raises(TooLargeError, match=r"at most 100 features, got 101.* diagonal=True"):
        SparseLP().fit(wide, constraints=TRIPLETS)
    assert SparseLP(diagonal=True).fit(wide, constraints=TRIPLETS).metric_.shape == (101, 101)
    assert SparseLP().fit(wide).metric_.shape == (101, 101)  # without answers nothing is solved


def test_a_refused_refit_leaves_the_model_from_before():
    model = LSML().fit(X, constraints=TRIPLETS)
    before = model.metric_.copy()
    with pytest.raises(UnsupportedConstraintError):
        model.fit(2 * X[::-1], constraints=PAIRS)
    np.testing.assert_array_equal(model.metric_, before)
