"""SKLR: comparisons of distances hold, use slack, contradict each other, or are refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.preprocessing import FunctionTransformer

from clew import Constraints
from clew.constraints._meanings import TRUTH
from clew.exceptions import (
    InconsistentConstraintsError,
    InvalidDataError,
    InvalidParameterError,
    TooLargeError,
)
from clew.similarity import SKLR
from clew.similarity._log_det import PairBounds, limits_of_answers
from clew.similarity.kernels.sklr import conflicts_of, refuse_conflicts

RNG = np.random.default_rng(0)
#: Only the last feature separates the two groups; the others are noise.
GROUP = RNG.integers(2, size=80)
X = np.column_stack([RNG.normal(size=(80, 4)) * 1.5, GROUP * 2.0 + RNG.normal(size=80) * 0.5])


def odd_ones(n, *, error=0.0, seed=0):
    """Questions that the groups determine, some answered wrongly."""
    random = np.random.RandomState(seed)
    rows = np.array([random.permutation(80)[:3] for _ in range(20 * n)])
    answers = TRUTH["odd_one_out"](GROUP, rows)
    answered = np.flatnonzero(answers >= 0)[:n]
    wrong = random.rand(n) < error
    given = np.where(wrong, (answers[answered] + 1) % 3, answers[answered])
    return Constraints.from_odd_one_out(rows[answered], given, n_samples=80)


KNOWN = odd_ones(60)
NOTHING = Constraints(80)


def squared(model, i, j):
    return float(np.square(model.embedding_[i] - model.embedding_[j]).sum())


def divergence(model):
    return np.trace(model.A_) - np.linalg.slogdet(model.A_)[1] - len(model.A_)


def agreement(model):
    found = KMeans(2, n_init=5, random_state=0).fit_predict(model.embedding_)
    return adjusted_rand_score(GROUP, found)


@pytest.mark.parametrize("gamma", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("algorithm", ["dual", "paper"])
def test_without_slack_the_odd_one_is_gamma_times_as_far(gamma, algorithm) -> None:
    model = SKLR(gamma, slack="none", algorithm=algorithm, random_state=0)
    model.fit(X, constraints=KNOWN)
    for rows, odd in zip(KNOWN.odd_one_out, KNOWN.odd_one_out_answers, strict=True):
        k, (i, j) = rows[odd], np.delete(rows, odd)
        nearer = gamma * squared(model, i, j)
        for far in (squared(model, i, k), squared(model, j, k)):
            assert (nearer - far) / (nearer + far) <= 1.01e-3
    assert model.skipped_ == []
    assert model.conflicts_ == []


@pytest.mark.slow
def test_each_kind_of_answer_is_one_kind_of_constraint() -> None:
    model = SKLR(slack="none", random_state=0)

    def fitted(**answers):
        return clone(model).fit(X, constraints=Constraints(80, **answers))

    triplet = fitted(triplets=[(0, 1, 2, 1)])
    assert 2 * squared(triplet, 0, 2) <= squared(triplet, 0, 1) * 1.003
    all_alike = fitted(odd_one_out=[(0, 1, 2, -1)])
    sides = [squared(all_alike, *pair) for pair in ((0, 1), (0, 2), (1, 2))]
    assert max(sides) < 1.005 * min(sides)
    must = fitted(pairs=[(0, 1, 1)])
    assert squared(must, 0, 1) < 0.051 < squared(fitted(), 0, 1)
    near = int(np.argsort(((X - X[0]) ** 2).sum(axis=1))[1])
    cannot = fitted(pairs=[(0, near, 0)])
    assert squared(cannot, 0, near) > 1.94 > squared(fitted(), 0, near)


def test_all_kinds_hold_at_once() -> None:
    known = KNOWN + Constraints.from_labels(GROUP, 20, random_state=0)
    known += Constraints.from_triplets([(0, 1, 2)], [int(GROUP[0] != GROUP[1])], n_samples=80)
    model = SKLR(C=5.0, max_iter=1000, random_state=0).fit(X, constraints=known)
    must = [squared(model, *pair) for pair in known.must_link]
    cannot = [squared(model, *pair) for pair in known.cannot_link]
    assert max(must) < min(cannot)
    assert len(model.multipliers_) == 1 + 2 * 60 + 20


@pytest.mark.slow
def test_answers_reveal_groups_that_features_hide() -> None:
    assert agreement(SKLR(random_state=0).fit(X)) < 0.3
    assert agreement(SKLR(random_state=0).fit(X, constraints=KNOWN)) > 0.7


@pytest.mark.slow
def test_a_quarter_wrong_does_less_harm_with_slack() -> None:
    soft, none = (
        np.mean([
            agreement(SKLR(random_state=0).fit(X, constraints=known))
            for known in (odd_ones(100, error=error, seed=seed) for seed in range(3))
        ])
        for error in (0.25, 0.0)
    )  # fmt: skip
    assert soft > 0.4
    assert none >= soft - 0.1


@pytest.mark.slow
def test_without_answers_the_kernel_is_not_changed() -> None:
    blank = SKLR(random_state=0).fit(X)
    np.testing.assert_array_equal(blank.A_, np.eye(blank.rank_))
    unsure = Constraints(
        80, pairs=[(0, 1, -2)], triplets=[(0, 1, 2, -2)], odd_one_out=[(3, 4, 5, -2)]
    )
    for known in (None, NOTHING, unsure):
        other = SKLR(random_state=0).fit(X, constraints=known)
        np.testing.assert_array_equal(other.embedding_, blank.embedding_)
        assert len(other.multipliers_) == 0


@pytest.mark.slow
def test_dont_know_is_an_equality_only_on_request() -> None:
    unsure = Constraints(80, triplets=[(0, 1, 2, -2)], odd_one_out=[(3, 4, 5, -2)])
    model = SKLR(dont_know="equal", slack="none", random_state=0).fit(X, constraints=unsure)
    assert squared(model, 0, 1) == pytest.approx(squared(model, 0, 2), rel=5e-3)
    assert squared(model, 3, 4) == pytest.approx(squared(model, 4, 5), rel=5e-3)
    pairs = Constraints.from_pairs(dont_know=[(0, 1)], n_samples=80)
    model.fit(X, constraints=pairs)
    assert len(model.multipliers_) == 0


@pytest.mark.slow
def test_weights_count_and_weight_0_is_ignored() -> None:
    half = KNOWN.with_weights(odd_one_out_weights=np.full(60, 0.5))
    a = SKLR(C=0.05, random_state=0).fit(X, constraints=half)
    b = SKLR(C=0.025, random_state=0).fit(X, constraints=KNOWN)
    np.testing.assert_allclose(a.A_, b.A_, rtol=1e-6, atol=1e-8)
    none = KNOWN.with_weights(odd_one_out_weights=np.zeros(60))
    for slack in ("l1", "none"):
        model = SKLR(slack=slack, random_state=0).fit(X, constraints=none)
        np.testing.assert_array_equal(model.A_, np.eye(model.rank_))


@pytest.mark.slow
def test_the_penalty_bounds_the_multipliers() -> None:
    pulls = [
        SKLR(C=penalty, random_state=0).fit(X, constraints=odd_ones(60, error=0.3))
        for penalty in (0.05, 0.5)
    ]
    for model, penalty in zip(pulls, (0.05, 0.5), strict=True):
        assert penalty == model.C_
        unit = 2 * SKLR(random_state=0).fit(X).embedding_.var(axis=0).sum()
        assert model.multipliers_.max() == pytest.approx(penalty / unit)
        assert model.duality_gap_ < 0.007
    assert divergence(pulls[0]) < divergence(pulls[1])


@pytest.mark.slow
def test_the_papers_algorithm_does_not_reach_the_minimum_and_depends_on_order() -> None:
    nearest = SKLR(slack="none", random_state=0).fit(X, constraints=KNOWN)
    other = SKLR(slack="none", random_state=1, tol=1e-4).fit(X, constraints=KNOWN)
    assert divergence(other) == pytest.approx(divergence(nearest), rel=5e-3)
    papers = [
        SKLR(slack="none", algorithm="paper", random_state=seed).fit(X, constraints=KNOWN)
        for seed in range(3)
    ]
    divergences = [divergence(model) for model in papers]
    assert min(divergences) > 1.02 * divergence(nearest)
    assert max(divergences) > 1.001 * min(divergences)


@pytest.mark.parametrize(
    "kernel", ["adaptive", "fourier", rbf_kernel, PCA(3)], ids=["adaptive", "fourier", "rbf", "PCA"]
)
def test_fitted_rows_are_embedded_as_new_ones_are(kernel) -> None:
    model = SKLR(C=0.2, kernel=kernel, random_state=0).fit(X, constraints=KNOWN)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    np.testing.assert_allclose(model.transform(X[3:5]), model.embedding_[3:5], atol=1e-8)
    np.testing.assert_allclose(model.kernel_, model.embedding_ @ model.embedding_.T)
    assert model.embedding_.shape == (80, model.rank_)
    assert model.affinity_matrix_.shape == (80, 80)


@pytest.mark.slow
def test_equation_18_gives_the_learned_kernel_of_fitted_rows() -> None:
    model = SKLR(C=0.2, random_state=0).fit(X, constraints=KNOWN)
    blank = SKLR(random_state=0).fit(X)
    first, inverse = blank.kernel_, np.linalg.pinv(blank.kernel_, rcond=1e-10)
    expected = first + first @ (inverse @ (model.kernel_ - first) @ inverse) @ first
    np.testing.assert_allclose(model.kernel_, expected, atol=1e-8)


@pytest.mark.slow
def test_a_given_kernel_is_the_same_as_its_function() -> None:
    given = rbf_kernel(X, gamma=0.1)
    a = SKLR(C=0.2, kernel="precomputed", random_state=0).fit(given, constraints=KNOWN)
    b = SKLR(C=0.2, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.1), random_state=0)
    b.fit(X, constraints=KNOWN)
    np.testing.assert_allclose(a.kernel_, b.kernel_, atol=1e-6)
    new = X[:5] + 0.3
    np.testing.assert_allclose(
        a.transform(rbf_kernel(new, X, gamma=0.1)), b.transform(new), atol=1e-6
    )


def test_units_of_a_linear_kernel_do_not_matter() -> None:
    a, b = (
        SKLR(C=0.2, kernel=linear_kernel, random_state=0).fit(X * unit, constraints=KNOWN)
        for unit in (1.0, 100.0)
    )
    np.testing.assert_allclose(b.embedding_, a.embedding_ * 100, rtol=1e-4, atol=1e-4)


def test_the_callers_rows_are_not_written_to() -> None:
    given = X.copy()
    SKLR(C=0.2, kernel=FunctionTransformer(), random_state=0).fit(given, constraints=KNOWN)
    np.testing.assert_array_equal(given, X)


@pytest.mark.parametrize("rank", [3, 20, 5000])
def test_rank_is_at_most_what_is_asked_for_and_never_more_than_rows(rank) -> None:
    model = SKLR(C=0.2, rank=rank, random_state=0).fit(X, constraints=KNOWN)
    assert model.rank_ == min(rank, model.rank_) <= 80
    assert model.rank_ == rank or rank == 5000


@pytest.mark.slow
def test_partial_fit_ends_where_fit_with_all_answers_does() -> None:
    early, late = (
        odd_ones(30),
        odd_ones(40, seed=1) + Constraints.from_pairs(must_link=[(0, 1)], n_samples=80),
    )
    options = {"C": 0.1, "tol": 1e-5, "max_iter": 3000, "random_state": 0}
    step = SKLR(**options).fit(X, constraints=early).partial_fit(X, constraints=late)
    whole = SKLR(**options).fit(X, constraints=early + late)
    np.testing.assert_allclose(step.A_, whole.A_, atol=1e-3)
    np.testing.assert_allclose(step.multipliers_, whole.multipliers_, atol=1e-3)
    np.testing.assert_allclose(step.transform(X), step.embedding_, atol=1e-8)
    assert step.partial_fit(X).n_iter_ == 1
    np.testing.assert_allclose(step.A_, whole.A_, atol=1e-3)
    first = SKLR(**options).partial_fit(X, constraints=early)
    np.testing.assert_array_equal(first.A_, SKLR(**options).fit(X, constraints=early).A_)


@pytest.mark.slow
def test_partial_fit_keeps_the_penalty_and_refuses_other_rows() -> None:
    model = SKLR(random_state=0).fit(X, constraints=KNOWN)
    penalty, before = model.C_, model.embedding_.copy()
    with pytest.raises(InvalidDataError, match="takes the fitted rows"):
        model.partial_fit(X[::-1], constraints=KNOWN)
    np.testing.assert_array_equal(model.embedding_, before)
    assert penalty == model.partial_fit(X, constraints=odd_ones(9, seed=3)).C_


@pytest.mark.slow
def test_contradictions_are_refused_without_slack_and_reported_with_it() -> None:
    known = Constraints.from_triplets([(0, 1, 2), (0, 2, 1)], [0, 0], n_samples=80)
    for algorithm in ("dual", "paper"):
        with pytest.raises(InconsistentConstraintsError, match=r"d\(0, 1\) < d\(0, 2\)") as caught:
            SKLR(slack="none", algorithm=algorithm).fit(X, constraints=known)
        assert caught.value.chain == (0, 1, 0, 2, 0, 1)
    model = SKLR(random_state=0).fit(X, constraints=known)
    assert [conflict.chain for conflict in model.conflicts_] == [((0, 1), (0, 2), (0, 1))]
    pairs = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], n_samples=80)
    with pytest.raises(InconsistentConstraintsError, match="0 = 1 = 2"):
        SKLR(slack="none").fit(X, constraints=pairs)
    SKLR(random_state=0).fit(X, constraints=pairs)


@pytest.mark.parametrize("slack", ["l1", "none"])
def test_answers_about_copies_of_rows_are_skipped_and_listed(slack) -> None:
    copies = np.vstack([X, X[:2]])
    known = Constraints(
        82,
        pairs=[(0, 80, 0), (1, 81, 1)],
        triplets=[(0, 5, 80, 0), (0, 80, 5, 0)],
        odd_one_out=[(0, 7, 80, 2), (1, 81, 9, -1)],
    )
    model = SKLR(slack=slack, random_state=0).fit(copies, constraints=known)
    skipped = {(kind, answer) for kind, answer, _ in model.skipped_}
    assert skipped == {("pair", 0), ("triplet", 0), ("odd_one_out", 0), ("odd_one_out", 1)}
    coincide = {(kind, answer) for kind, answer, reason in model.skipped_ if "coincide" in reason}
    assert coincide == skipped
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.embedding_[80], model.embedding_[0], atol=1e-8)


def test_rows_on_one_line_keep_the_ratio_of_their_distances() -> None:
    line = np.arange(10.0)[:, None]
    known = Constraints.from_triplets([(0, 5, 1), (0, 1, 5)], [0, 0], n_samples=10)
    model = SKLR(C=1.0, kernel=linear_kernel).fit(line, constraints=known)
    assert [(skip.kind, skip.answer) for skip in model.skipped_] == [("triplet", 0)]
    assert "one line" in model.skipped_[0].reason


@pytest.mark.slow
def test_the_penalty_is_the_default_for_few_answers_and_chosen_by_many() -> None:
    assert SKLR(random_state=0).fit(X, constraints=odd_ones(5)).C_ == 0.5
    right = SKLR(random_state=0).fit(X, constraints=odd_ones(80)).C_
    wrong = SKLR(random_state=0).fit(X, constraints=odd_ones(80, error=0.45)).C_
    assert 0.05 <= wrong < right <= 2


@pytest.mark.slow
def test_the_penalty_is_chosen_from_pairs_too() -> None:
    known = Constraints.from_labels(GROUP, 60, random_state=0)
    model = SKLR(random_state=0).fit(X, constraints=known)
    assert 0.05 <= model.C_ <= 2
    assert agreement(model) > 0.5
    only_must = known.select(pairs=known.is_must_link) + known.select(pairs=known.is_must_link)
    assert SKLR(random_state=0).fit(X, constraints=only_must).C_ == 0.5


@pytest.mark.slow
def test_same_seed_same_result() -> None:
    a, b = (SKLR(random_state=3).fit(X, constraints=odd_ones(40, error=0.2)) for _ in range(2))
    np.testing.assert_array_equal(a.embedding_, b.embedding_)
    assert a.C_ == b.C_


def test_too_few_sweeps_warn() -> None:
    with pytest.warns(ConvergenceWarning, match=r"after 1 sweeps, \d+ of 120 comparisons"):
        SKLR(slack="none", max_iter=1, random_state=0).fit(X, constraints=KNOWN)


def test_warnings_name_the_calling_line() -> None:
    model = SKLR(C=1.0, max_iter=1, tol=1e-9, random_state=0)
    for call in (model.fit, model.partial_fit):
        with pytest.warns(ConvergenceWarning) as caught:
            call(X, constraints=KNOWN)
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"gamma": 0.5}, "gamma"),
        ({"C": 0.0}, "C must"),
        ({"slack": "l2"}, "slack"),
        ({"kernel": "rbf"}, "kernel must be one of 'adaptive'"),
        ({"kernel": 3}, "kernel must"),
        ({"kernel": PCA(2), "rank": 2}, "set by the transformer"),
        ({"rank": 0}, "rank"),
        ({"algorithm": "paper"}, "has no slack"),
        ({"C": 0.1, "slack": "none"}, "no effect without slack"),
        ({"dont_know": "same"}, "dont_know"),
    ],
)
def test_parameters_outside_their_range_are_refused(wrong, match) -> None:
    with pytest.raises(InvalidParameterError, match=match):
        SKLR(**wrong).fit(X, constraints=KNOWN)


def test_kernels_without_positive_entries_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="must be finite and somewhere positive"):
        SKLR(kernel="precomputed").fit(np.zeros((5, 5)))


def test_dense_kernels_of_many_rows_are_refused() -> None:
    many = np.random.default_rng(0).normal(size=(20_001, 2))
    model = SKLR(rank=3, kernel="fourier", random_state=0).fit(many)
    assert model.embedding_.shape == (20_001, 3)
    with pytest.raises(TooLargeError):
        model.kernel_  # noqa: B018


@pytest.mark.slow
def test_a_refused_refit_leaves_the_model_as_it_was() -> None:
    model = SKLR(C=0.2, random_state=0).fit(X, constraints=KNOWN)
    before = model.embedding_.copy()

    def stop(done, n):
        raise KeyboardInterrupt

    for refit in (model.fit, model.partial_fit):
        with pytest.raises(KeyboardInterrupt):
            refit(X, constraints=odd_ones(50, error=0.5, seed=9), callback=stop)
        np.testing.assert_array_equal(model.embedding_, before)
        np.testing.assert_allclose(model.transform(X), before, atol=1e-8)


@pytest.mark.slow
def test_partial_fit_refuses_another_problem_than_was_fitted() -> None:
    model = SKLR(C=0.2, random_state=0).fit(X, constraints=KNOWN)
    before = model.A_.copy()
    for name, value in (
        ("gamma", 3.0), ("C", 0.1), ("rank", 5), ("kernel", "fourier"), ("dont_know", "equal"),
        ("slack", "none"), ("algorithm", "paper"), ("random_state", 1),
    ):  # fmt: skip
        old = getattr(model, name)
        model.set_params(**{name: value})
        with pytest.raises(InvalidParameterError, match=rf"{name}=.*partial_fit continues a fit"):
            model.partial_fit(X, constraints=odd_ones(5, seed=2))
        model.set_params(**{name: old})
        np.testing.assert_array_equal(model.A_, before)
    model.set_params(tol=0.1, max_iter=5).partial_fit(X, constraints=odd_ones(5, seed=2))


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_kernels_too_large_or_small_to_compute_with_are_refused(factor) -> None:
    kernel = linear_kernel(X) * factor
    with pytest.raises(InvalidDataError, match="Rescale the data"):
        SKLR(kernel="precomputed").fit(kernel, constraints=KNOWN)
    assert SKLR(kernel="precomputed", C=0.2).fit(kernel / factor, constraints=KNOWN).rank_ == 5


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (lambda A, B: np.ones(3), r"shape \(80, 80\)"),
        (lambda A, B: 1.0, r"returned shape \(\)"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "not all finite"),
        (lambda A, B: np.zeros((len(A), len(B))), "must be finite and somewhere positive"),
        (lambda A, B: -rbf_kernel(A, B), "must be finite and somewhere positive"),
    ],
)
def test_functions_that_are_not_kernels_are_refused(kernel, match) -> None:
    with pytest.raises(InvalidDataError, match=match):
        SKLR(kernel=kernel).fit(X, constraints=KNOWN)


def conflicts(known, *, equal_if_unknown=False):
    return conflicts_of(
        limits_of_answers(
            known, gamma=2.0, pair_bounds=PairBounds(0.1, 1.9), equal_if_unknown=equal_if_unknown
        )
    )


def triplets(*rows, **more):
    return Constraints(9, triplets=[(*three, 0) for three in rows], **more)


def test_answers_that_can_all_hold_have_no_conflict() -> None:
    assert conflicts(Constraints(9)) == []
    assert conflicts(triplets((0, 1, 2), (0, 2, 3), (1, 0, 3), (0, 1, 3))) == []
    assert conflicts(triplets((0, 1, 2), (0, 1, 2))) == []


def test_opposite_triplets_are_a_conflict() -> None:
    (conflict,) = conflicts(triplets((3, 4, 5), (0, 1, 2), (0, 2, 1)))
    assert conflict.chain == ((0, 1), (0, 2), (0, 1))
    assert str(conflict) == "the answers imply d(0, 1) < d(0, 2) < d(0, 1)"


def test_two_different_odd_ones_are_a_conflict() -> None:
    known = Constraints.from_odd_one_out([(0, 1, 2), (2, 0, 1)], [2, 2], n_samples=9)
    # The odd one is row 2 in the first answer and row 1 in the second.
    (conflict,) = conflicts(known)
    assert conflict.chain == ((0, 1), (0, 2), (0, 1))


def test_the_chain_is_the_shortest() -> None:
    around = [(0, 1, 2), (2, 0, 3), (3, 2, 4), (4, 3, 5), (5, 4, 0), (0, 5, 1)]
    (conflict,) = conflicts(triplets(*around))
    assert conflict.chain == ((0, 1), (0, 2), (2, 3), (3, 4), (4, 5), (0, 5), (0, 1))
    (shorter,) = conflicts(triplets(*around, (0, 2, 1)))
    assert shorter.chain == ((0, 1), (0, 2), (0, 1))


def test_separate_cycles_are_separate_conflicts() -> None:
    found = conflicts(triplets((0, 1, 2), (0, 2, 1), (3, 4, 5), (3, 5, 4)))
    assert [conflict.chain[0] for conflict in found] == [(0, 1), (3, 4)]


def test_where_all_alike_no_distance_is_smaller() -> None:
    same = {"odd_one_out": [(0, 1, 2, -1)]}
    assert conflicts(Constraints(9, **same)) == []
    (conflict,) = conflicts(triplets((0, 1, 2), **same))
    assert conflict.chain == ((0, 1), (0, 2), (0, 1))


def test_dont_know_contradicts_only_on_request() -> None:
    known = triplets((0, 1, 2), odd_one_out=[(0, 1, 2, -2)])
    assert conflicts(known) == []
    assert len(conflicts(known, equal_if_unknown=True)) == 1


def test_a_must_link_is_nearer_than_a_cannot_link() -> None:
    pairs = {"pairs": [(0, 1, 1), (0, 2, 0)]}
    assert conflicts(triplets((0, 1, 2), **pairs)) == []
    (conflict,) = conflicts(triplets((0, 2, 1), **pairs))
    assert set(conflict.chain) == {(0, 1), (0, 2)}
    assert conflict.chain[0] == conflict.chain[-1]


def test_a_pair_with_both_answers_is_a_conflict() -> None:
    (conflict,) = conflicts(Constraints(9, pairs=[(0, 1, 1), (0, 1, 0)]))
    assert conflict.chain == ((0, 1), (0, 1))


def test_answers_of_weight_0_contradict_nothing() -> None:
    known = triplets((0, 1, 2), (0, 2, 1), triplet_weights=[1, 0])
    assert conflicts(known) == []


def test_refusal_names_the_chain() -> None:
    refuse_conflicts([])
    found = conflicts(triplets((0, 1, 2), (0, 2, 1), (3, 4, 5), (3, 5, 4)))
    with pytest.raises(InconsistentConstraintsError, match=r"d\(0, 1\) < d\(0, 2\).* 1 more") as e:
        refuse_conflicts(found)
    assert e.value.chain == (0, 1, 0, 2, 0, 1)
