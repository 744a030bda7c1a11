"""DCRC: gradients, the lower bound, all kinds of answers, the choice of settings, invalid input."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.cluster import DCRC
from clew.cluster.dcrc._em import Penalties, TrainingRows, negative_objective
from clew.cluster.dcrc._selection import (
    DEFAULT_LAM,
    DEFAULT_TAU,
    LAMS,
    TAUS,
    Choice,
    agreement,
    n_scorable,
)
from clew.exceptions import (
    FewerGroupsWarning,
    InconsistentConstraintsError,
    InvalidConstraintsError,
    InvalidParameterError,
)
from clew.metrics import adjusted_rand_score, n_violated

X, Y = make_blobs(120, 3, centers=4, cluster_std=2.0, random_state=3)
X = StandardScaler().fit_transform(X)
#: Two groups that k-means does not find: the halves along the direction of the least variance.
LEAST = X @ np.linalg.svd(X)[2][-1]
TWO = (np.median(LEAST) < LEAST).astype(int)
QUICK = DCRC(4, kernel=None, tau=0.5, lam=0.01, init="kmeans", n_init=2, random_state=0)
KINDS = {
    "pairs": {"n_pairs": 250},
    "triplets": {"n_triplets": 250},
    "odd_one_out": {"n_odd_one_out": 250},
    "all": {"n_pairs": 80, "n_triplets": 80, "n_odd_one_out": 80},
}


def answers(y=TWO, seed=0, **counts):
    """Random answers that fit some labels."""
    given = {"n_pairs": 0, **counts}
    return Constraints.from_labels(y, given.pop("n_pairs"), random_state=seed, **given)


@pytest.mark.parametrize("penalties", [(0, 0, 0), (0.7, 0, 0.1), (0.7, 0.7, 0.1), (0, 0.4, 0)])
@pytest.mark.parametrize("n_answered", [0, 5, 12])
def test_gradient_against_finite_differences(penalties, n_answered):
    rng = np.random.default_rng(0)
    n, k = 12, 3
    features = np.vstack([rng.normal(size=(2, n)), np.ones(n)])
    share = rng.dirichlet(np.ones(n))
    seen, q = TrainingRows(features, n_answered, share, 4), rng.dirichlet(np.ones(k), n_answered).T
    q = q.reshape(k, n_answered)
    weights = rng.normal(size=k * 3)
    _, gradient = negative_objective(weights, seen, q, Penalties(*penalties))
    step = 1e-6
    for at in range(len(weights)):
        nudge = np.zeros_like(weights)
        nudge[at] = step
        above, below = (
            negative_objective(weights + sign * nudge, seen, q, Penalties(*penalties))[0]
            for sign in (1, -1)
        )
        assert gradient[at] == pytest.approx((above - below) / (2 * step), abs=1e-6)


def test_objective_by_the_papers_formula():
    rng = np.random.default_rng(1)
    n, k, a, tau, lam, m = 10, 3, 4, 0.7, 0.2, 6
    rows = np.column_stack([rng.normal(size=(n, 2)), np.ones(n)])
    weights, q = rng.normal(size=(k, 3)), rng.dirichlet(np.ones(k), a)
    p = np.exp(rows @ weights.T)
    p /= p.sum(axis=1, keepdims=True)
    entropy = [-(row * np.log(row)).sum() for row in p]
    size = p.mean(axis=0)
    expected = (q * np.log(p[:a])).sum() / m - lam * (weights[:, :2] ** 2).sum()
    expected += tau * (-(size * np.log(size)).sum() - np.mean(entropy[a:]))
    seen = TrainingRows(np.ascontiguousarray(rows.T), a, np.full(n, 1 / n), m)
    value, _ = negative_objective(weights.ravel(), seen, q.T, Penalties.of(tau, lam, balance=True))
    assert -value == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.01, 0.3, "annotators"])
@pytest.mark.parametrize("balance", [True, False])
def test_the_lower_bound_never_falls(kind, epsilon, balance):
    c = answers(**KINDS[kind], error=0.1, dont_know=0.1)
    c += answers(**KINDS[kind], error=0.4, seed=1).with_weights(
        pair_weights=np.full(KINDS[kind].get("n_pairs", 0), 0.5)
    )
    model = clone(QUICK).set_params(n_clusters=2, epsilon=epsilon, balance=balance, tol=1e-8)
    bound = model.fit(X, constraints=c).lower_bound_
    assert len(bound) == model.n_iter_ > 1
    assert np.diff(bound).min() > -1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "epsilon", [0.0, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.05, "annotators"))]
)
def test_each_kind_of_answer_improves_the_groups(kind, epsilon):
    model = clone(QUICK).set_params(n_clusters=2, epsilon=epsilon, init="best")
    alone = adjusted_rand_score(TWO, model.fit(X).labels_)
    fitted = clone(model).fit(X, constraints=answers(**KINDS[kind]))
    assert adjusted_rand_score(TWO, fitted.labels_) > max(0.5, alone + 0.1)


def test_dont_knows_are_informative_for_triplets_and_ignored_for_pairs():
    c = answers(Y, n_triplets=300)
    unknown = c.triplet_answers == -2
    assert unknown.mean() > 0.4
    q = clone(QUICK).fit(X, constraints=c.select(triplets=unknown)).memberships_
    without = clone(QUICK).fit(X)
    assert np.abs(q - without.memberships_).max() > 0.1
    doubtful = Constraints.from_pairs(dont_know=[(0, 1), (2, 3)], n_samples=len(X))
    same = clone(QUICK).fit(X, constraints=doubtful)
    np.testing.assert_array_equal(same.probabilities_, without.probabilities_)


def test_two_answers_hardly_change_the_groups():
    c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], n_samples=len(X))
    few = clone(QUICK).fit(X, constraints=c)
    without = clone(QUICK).fit(X)
    assert adjusted_rand_score(few.labels_, without.labels_) > 0.8


@pytest.mark.slow
def test_answers_count_by_weight_and_weight_0_is_ignored():
    rows = np.random.default_rng(0).permutation(len(X))[:40].reshape(-1, 2)
    wrong = Constraints.from_pairs(
        must_link=[r for r in rows if Y[r[0]] != Y[r[1]]][:3], n_samples=len(X)
    )
    n = len(wrong.pairs)
    together = []
    for weight in (0.0, 0.3, 1.0):
        weighed = wrong.with_weights(pair_weights=np.full(n, weight))
        q = clone(QUICK).fit(X, constraints=weighed).memberships_
        i, j = wrong.pairs.T
        together.append((q[i] * q[j]).sum())
    assert together == sorted(together)
    assert together[2] > together[0] + 0.1
    none = clone(QUICK).fit(X, constraints=wrong.with_weights(pair_weights=np.zeros(n)))
    np.testing.assert_allclose(none.probabilities_, clone(QUICK).fit(X).probabilities_)


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.1, 1e200, -1e200, 1e-200])
def test_a_constant_feature_is_ignored(value):
    c = answers(Y, n_triplets=60)
    wider = np.column_stack([X, np.full(len(X), value)])
    for init in ("kmeans", "sklr"):
        model = clone(QUICK).set_params(init=init)
        with_it = clone(model).fit(wider, constraints=c).probabilities_
        without = clone(model).fit(X, constraints=c).probabilities_
        np.testing.assert_allclose(with_it, without, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_unit_of_the_features_does_not_matter(scale):
    c = answers(Y, n_triplets=60)
    model = clone(QUICK).set_params(init="best", kernel="cv")
    expected = clone(model).fit(X, constraints=c).probabilities_
    found = clone(model).fit(scale * X, constraints=c).probabilities_
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.slow
def test_a_refit_that_fails_or_is_interrupted_leaves_the_model_unchanged():
    c = answers(Y, n_triplets=60)
    model = clone(QUICK).fit(X, constraints=c)
    before = pickle.dumps(model)

    def press_ctrl_c(done, n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], constraints=c, callback=press_ctrl_c)
    with pytest.raises(InvalidConstraintsError, match="about 61 rows"):
        model.fit(X[:60, :2], constraints=c.subset(np.arange(61)))
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    fresh = clone(QUICK)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, constraints=c, callback=press_ctrl_c)
    assert not hasattr(fresh, "n_features_in_")


def test_fitted_attributes_agree_with_each_other():
    c = answers(Y, n_triplets=60)
    model = clone(QUICK).fit(X, constraints=c)
    np.testing.assert_allclose(model.predict_proba(X), model.probabilities_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    assert model.n_violated_ == n_violated(model.labels_, c)
    moved = (model.memberships_ != model.probabilities_).any(axis=1)
    assert set(np.flatnonzero(moved)) <= set(c.triplets.ravel())
    assert (model.tau_, model.lam_, model.init_, model.cv_scores_) == (0.5, 0.01, "kmeans", {})
    shifted = clone(QUICK).fit(3 * X + 7, constraints=c)
    np.testing.assert_allclose(shifted.probabilities_, model.probabilities_, atol=1e-6)


def test_annotators_get_their_own_error_rates():
    good, poor = (answers(Y, n_triplets=500, error=e, seed=s) for e, s in ((0.02, 0), (0.6, 1)))
    rows = [np.column_stack([part.triplets, part.triplet_answers]) for part in (good, poor)]
    names = ["good"] * 500 + ["poor"] * 500
    c = Constraints(len(X), triplets=np.concatenate(rows), triplet_annotators=names)
    model = clone(QUICK).set_params(epsilon="annotators").fit(X, constraints=c)
    rates = dict(zip(model.confusion_.annotators_, model.confusion_.error_rates_, strict=True))
    assert rates["good"] < 0.1
    assert rates["poor"] > 0.4
    fixed = clone(QUICK).fit(X, constraints=c)
    scores = [adjusted_rand_score(Y, m.labels_) for m in (model, fixed)]
    assert scores[0] >= scores[1]
    assert fixed.confusion_.error_rates_.tolist() == [0.05, 0.05]


@pytest.mark.slow
def test_both_starts_are_tried_and_the_higher_bound_is_kept():
    c = answers(n_triplets=60)
    model = clone(QUICK).set_params(n_clusters=2)
    bounds = {
        init: clone(model).set_params(init=init).fit(X, constraints=c).lower_bound_[-1]
        for init in ("kmeans", "sklr", "best")
    }
    assert bounds["best"] == max(bounds["kmeans"], bounds["sklr"])
    best = clone(model).set_params(init="best").fit(X, constraints=c)
    assert bounds[best.init_] == bounds["best"]
    # Without answers there is nothing for SKLR to learn.
    assert clone(model).set_params(init="sklr").fit(X).init_ == "kmeans"


@pytest.mark.slow
def test_the_start_is_chosen_before_confusion_matrices_are_estimated():
    c = answers(Y, n_triplets=80, error=0.2)
    fits = [
        clone(QUICK).set_params(init="best", epsilon=e).fit(X, constraints=c)
        for e in (0.15, "annotators")
    ]
    alike, estimated = fits
    assert alike.init_ == estimated.init_
    # Until the matrices are estimated, all annotators have the same error rate.
    n = alike.n_iter_
    np.testing.assert_allclose(estimated.lower_bound_[:n], alike.lower_bound_)
    assert estimated.lower_bound_[-1] >= alike.lower_bound_[-1]


def test_only_a_sample_of_many_rows_is_used_for_training():
    many, y = make_blobs(4000, 3, centers=4, random_state=1)
    c = answers(y, n_triplets=60)
    model = clone(QUICK).set_params(max_unanswered=300)
    sampled = model.fit(many, constraints=c)
    assert len(sampled.labels_) == 4000
    assert adjusted_rand_score(y, sampled.labels_) > 0.95
    again = clone(model).fit(many, constraints=c)
    np.testing.assert_array_equal(sampled.probabilities_, again.probabilities_)


def test_contradictions_are_listed_and_raise_if_answers_are_hard():
    c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], n_samples=len(X))
    c += Constraints.from_triplets([(3, 4, 5), (3, 5, 4)], [0, 0], n_samples=len(X))
    soft = clone(QUICK).fit(X, constraints=c)
    assert [conflict.pair for conflict in soft.conflicts_][:2] == [(0, 2), (3, 5)]
    assert soft.conflicts_[0].chain == (0, 1, 2)
    assert np.isfinite(soft.memberships_).all()
    hard = clone(QUICK).set_params(epsilon=0.0)
    with pytest.raises(InconsistentConstraintsError, match="contradict") as caught:
        hard.fit(X, constraints=c)
    assert caught.value.chain == (0, 1, 2)
    weighted = c.with_weights(pair_weights=[1, 1, 0], triplet_weights=[1, 0])
    assert clone(QUICK).fit(X, constraints=weighted).conflicts_ == []
    assert hard.fit(X, constraints=weighted).conflicts_ == []


@pytest.mark.slow
def test_nearly_all_hard_answers_are_satisfied():
    c = answers(n_pairs=200)
    hard = clone(QUICK).set_params(n_clusters=2, epsilon=0.0, init="best").fit(X, constraints=c)
    assert n_violated(hard.memberships_.argmax(axis=1), c) <= 4


def test_answers_about_every_row_leave_no_unanswered_rows():
    rows = np.arange(120).reshape(-1, 2)
    same = (Y[rows[:, 0]] == Y[rows[:, 1]]).astype(int)
    c = Constraints(120, pairs=np.column_stack([rows, same]))
    model = clone(QUICK).fit(X, constraints=c)
    assert np.isfinite(model.lower_bound_).all()


def test_few_rows_and_many_groups():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerGroupsWarning)
        model = clone(QUICK).fit(X[:4], constraints=answers(Y[:4], n_triplets=3))
        assert model.predict_proba(X).shape == (120, 4)
    with pytest.warns(FewerGroupsWarning, match="only 2 different rows"):
        clone(QUICK).fit(np.repeat(X[:2], 5, axis=0))
    with pytest.raises(InvalidParameterError, match="only 3 rows"):
        clone(QUICK).fit(X[:3])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.7), ("epsilon", "pooled"), ("tau", -1), ("lam", "auto"), ("balance", "auto"),
        ("kernel", "rbf"), ("init", "random"), ("max_unanswered", 0), ("rank", 0), ("tol", -1e-3),
    ],
)  # fmt: skip
def test_parameters_outside_their_range_are_refused(name, value):
    with pytest.raises(InvalidParameterError, match=name):
        clone(QUICK).set_params(**{name: value}).fit(X)


def test_iris_by_answers_of_all_kinds():
    features, y = load_iris(return_X_y=True)
    features = StandardScaler().fit_transform(features)
    c = answers(y, **KINDS["all"], error=0.1)
    model = clone(QUICK).set_params(n_clusters=3, epsilon="annotators")
    score = adjusted_rand_score(y, model.fit(features, constraints=c).labels_)
    assert score > adjusted_rand_score(y, clone(model).fit(features).labels_) + 0.15


@pytest.mark.slow
def test_answers_of_weight_0_are_ignored_when_settings_are_chosen():
    c = answers(Y, n_triplets=40)
    weightless = answers(TWO, n_pairs=30, n_triplets=30, seed=1)
    weightless = weightless.with_weights(pair_weights=np.zeros(30), triplet_weights=np.zeros(30))
    model = clone(QUICK).set_params(tau="cv", lam="cv", kernel="cv", init="best")
    alone, joined, none = (
        clone(model).fit(X, constraints=k) for k in (c, c + weightless, weightless)
    )
    assert alone.cv_scores_ == joined.cv_scores_
    np.testing.assert_array_equal(alone.probabilities_, joined.probabilities_)
    assert none.cv_scores_ == {}


def test_the_error_of_a_score_counts_informative_answers_only():
    doubtful = Constraints.from_pairs(dont_know=[(0, 1), (2, 3)], n_samples=len(X))
    assert n_scorable(doubtful + answers(n_triplets=7)) == 7
    better, worse = (Choice(1.0, 0.1, {(1.0, 0.1): score}) for score in (0.6, 0.5))
    # Half a standard error of 0.5 is 0.079 for 10 answers, and 0.112 for 5.
    assert better.is_clearly_above(worse, 10)
    assert not better.is_clearly_above(worse, 5)


@pytest.mark.slow
def test_settings_are_chosen_by_held_out_answers():
    c = answers(Y, n_triplets=80)
    model = clone(QUICK).set_params(tau="cv", lam="cv")
    fits = [clone(model).set_params(n_jobs=n).fit(X, constraints=c) for n in (1, 2)]
    one, two = fits
    assert set(one.cv_scores_) == {(t, lam) for t in TAUS for lam in LAMS}
    assert (one.tau_, one.lam_) in one.cv_scores_
    assert all(0 <= score <= 1 for score in one.cv_scores_.values())
    assert one.cv_scores_ == two.cv_scores_
    np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
    half = clone(model).set_params(lam=0.125).fit(X, constraints=c)
    assert half.lam_ == 0.125
    assert {lam for _, lam in half.cv_scores_} == {0.125}
    few = clone(model).fit(X, constraints=answers(Y, n_triplets=10))
    assert (few.tau_, few.lam_, few.cv_scores_) == (DEFAULT_TAU, DEFAULT_LAM, {})


def test_agreement_of_a_small_example():
    held = Constraints(
        4,
        pairs=[(0, 1, 1), (0, 2, 1), (0, 3, -2)],
        triplets=[(0, 1, 2, -2)],
        odd_one_out=[(0, 1, 2, 2)],
        pair_weights=[1.0, 0.5, 1.0],
    )
    assert agreement(np.array([0, 0, 1, 1]), held) == pytest.approx(2 / 3.5)
    assert agreement(np.zeros(4, int), Constraints(4)) == 0.5


@pytest.mark.slow
def test_a_kernel_separates_groups_that_planes_cannot():
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, 2 * np.pi, 300), np.repeat([0, 1], 150)
    rings = (1 + 2 * y + rng.normal(0, 0.15, 300))[:, None] * np.column_stack(
        [np.cos(angle), np.sin(angle)]
    )
    c = answers(y, n_triplets=200)
    linear = clone(QUICK).set_params(n_clusters=2, tau=0.1).fit(rings, constraints=c)
    kernel = clone(linear).set_params(kernel="adaptive", rank=30).fit(rings, constraints=c)
    assert adjusted_rand_score(y, linear.labels_) < 0.5
    assert adjusted_rand_score(y, kernel.labels_) > 0.9
    np.testing.assert_array_equal(kernel.predict(rings), kernel.labels_)
    assert kernel.coef_.shape == (2, 30)
    chosen = clone(linear).set_params(kernel="cv", rank=30).fit(rings, constraints=c)
    assert chosen.kernel_ == "adaptive"
    np.testing.assert_array_equal(chosen.labels_, kernel.labels_)


@pytest.mark.slow
def test_no_kernel_is_chosen_if_it_predicts_no_more_answers():
    c = answers(Y, n_triplets=60)
    chosen = clone(QUICK).set_params(kernel="cv").fit(X, constraints=c)
    given = clone(QUICK).fit(X, constraints=c)
    assert chosen.kernel_ is None
    np.testing.assert_array_equal(chosen.probabilities_, given.probabilities_)
    assert len(chosen.cv_scores_) == 1
    few = clone(QUICK).set_params(kernel="cv").fit(X, constraints=answers(Y, n_triplets=20))
    assert few.kernel_ is None
    assert few.cv_scores_ == {}
