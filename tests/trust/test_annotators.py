"""Confusion matrices are those of the simulation, for groups and for uncertain outcomes."""

import numpy as np
import pytest
from sklearn.base import clone

from clew import Constraints, Question
from clew.answers import CODES, KINDS
from clew.constraints._meanings import TRUTH
from clew.exceptions import InvalidConstraintsError, InvalidDataError, InvalidParameterError
from clew.oracles import SimulatedOracle
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import OUTCOMES, outcome_probabilities
from clew.trust.annotators import Prior, matrices_around, shrink, uniform_matrix

Y = np.repeat([0, 1, 2], 40)
PAIR = np.array([[0.7, 0.2, 0.1], [0.05, 0.75, 0.2]])
#: Does not depend on the order in which a question names b and c.
TRIPLET = np.array([[0.65, 0.15, 0.2], [0.15, 0.65, 0.2], [0.2, 0.2, 0.6]])


def answers_of(rng, n, *, confusion=None, names=("ann",), kinds=("pair", "triplet"), **rates):
    """Simulated answers about random rows."""
    oracle = SimulatedOracle(
        Y, annotators=names, confusion=confusion, random_state=int(rng.integers(99)), **rates
    )
    asked = [
        Question(kind, tuple(rng.permutation(len(Y))[: 2 if kind == "pair" else 3].tolist()))
        for kind in kinds
        for _ in range(n)
    ]
    return Constraints.from_answers(oracle.answer_all(asked), n_samples=len(Y))


def with_dont_know(matrix):
    """Add the row for a true don't-know, which the oracle's matrix of pairs has too."""
    return np.vstack([matrix, [0, 0, 1]])


@pytest.mark.slow
def test_many_answers_recover_the_matrix_of_their_annotator():
    table = {"pair": with_dont_know(PAIR), "triplet": TRIPLET}
    known = answers_of(np.random.default_rng(0), 4000, confusion=table)
    found = ConfusionMatrices().fit(known, Y)
    np.testing.assert_allclose(found.of("ann")["pair"], PAIR, atol=0.03)
    np.testing.assert_allclose(found.of("ann")["triplet"], TRIPLET, atol=0.03)
    np.testing.assert_allclose(found.matrices_["pair"].sum(axis=-1), 1)


def test_odd_one_out_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(1)
    known = answers_of(rng, 300, kinds=("odd_one_out",), error=0.3)
    order = rng.permuted(np.tile(np.arange(3), (300, 1)), axis=1)
    rows = np.take_along_axis(known.odd_one_out, order, axis=1)
    said = known.odd_one_out_answers
    moved = np.where(said < 0, said, (order == said[:, None]).argmax(axis=1))
    other = Constraints.from_odd_one_out(rows, moved, n_samples=len(Y))
    other = Constraints(
        len(Y),
        odd_one_out=np.column_stack([other.odd_one_out, moved]),
        odd_one_out_annotators=["ann"] * 300,
    )
    first, second = (ConfusionMatrices().fit(c, Y) for c in (known, other))
    np.testing.assert_allclose(
        first.matrices_["odd_one_out"], second.matrices_["odd_one_out"], atol=1e-12
    )


def forced_choices(n=400, error=0.0):
    """Triplets from people who never answer don't-know, stored with the nearer row first."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(len(Y))[:3] for _ in range(n)])
    first, second = (Y[rows[:, 0]] == Y[rows[:, at]] for at in (1, 2))
    says_first = np.where(first == second, rng.uniform(size=n) < 0.5, first)
    says_first ^= rng.uniform(size=n) < error
    rows[~says_first, 1:] = rows[~says_first, :0:-1]
    return Constraints.from_triplets(rows, np.zeros(n, int), n_samples=len(Y))


def test_true_groups_explain_forced_choices_stored_nearer_first():
    known, rng = forced_choices(error=0.1), np.random.default_rng(1)
    truth = ConfusionMatrices().fit(known, Y).log_likelihood(known, Y)
    for _ in range(10):
        other = rng.permutation(Y)
        assert ConfusionMatrices().fit(known, other).log_likelihood(known, other) < truth - 20


@pytest.mark.parametrize("n", [1, 10, 400])
def test_an_open_question_is_no_evidence_under_forced_choice(n):
    known = forced_choices(n)
    q = np.eye(3)[Y]
    by_case = {
        of.kind: outcome_probabilities(of.kind, [q[rows] for rows in of.rows.T])
        for of in known.tables
    }
    for model in (
        ConfusionMatrices().fit(known, Y),
        ConfusionMatrices.uniform(0.1, constraints=known),
        ConfusionMatrices.uniform(0.0, constraints=known),
        ConfusionMatrices().fit_probabilities(known, by_case),
    ):
        matrix = model.of("")["triplet"]
        np.testing.assert_allclose(matrix[2, :2], 0.5, atol=0.01)
        assert matrix[0, 0] > 0.85
        np.testing.assert_allclose(matrix.sum(axis=1), 1)


def test_the_error_rate_counts_only_questions_that_the_groups_answer():
    found = ConfusionMatrices().fit(forced_choices(4000, error=0.2), Y)
    assert found.error_rates_[0] == pytest.approx(0.2, abs=0.03)


def test_forced_choice_of_the_odd_one_out():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(len(Y))[:3] for _ in range(300)])
    said = TRUTH["odd_one_out"](Y, rows)
    without = np.where(said < 0, rng.integers(3, size=300), said)
    known = Constraints.from_odd_one_out(rows, without, n_samples=len(Y))
    matrix = ConfusionMatrices().fit(known, Y).of("")["odd_one_out"]
    np.testing.assert_allclose(matrix[3:, :3], 1 / 3, atol=0.01)
    # These people may answer "none differs", but not don't-know.
    some = np.where(said == -2, rng.integers(3, size=300), said)
    known = Constraints.from_odd_one_out(rows, some, n_samples=len(Y))
    matrix = ConfusionMatrices().fit(known, Y).of("")["odd_one_out"]
    assert matrix[3, 3] > 0.8
    np.testing.assert_allclose(matrix[4, :3], 1 / 3, atol=0.03)


def test_without_answers_the_prior_remains():
    found = ConfusionMatrices(prior_error=0.2).fit(Constraints(len(Y)), Y)
    np.testing.assert_allclose(found.pooled_["triplet"], uniform_matrix("triplet", 0.2))


@pytest.mark.slow
def test_matrices_of_few_answers_are_near_the_prior():
    rng, prior = np.random.default_rng(2), uniform_matrix("pair", 0.15)
    table = {"pair": with_dont_know(np.array([[0.2, 0.8, 0.0], [0.8, 0.2, 0.0]]))}
    away = [
        np.abs(
            ConfusionMatrices()
            .fit(answers_of(rng, n, kinds=("pair",), confusion=table), Y)
            .of("ann")["pair"]
            - prior
        ).max()
        for n in (2, 20, 200, 2000)
    ]
    assert away[0] < 0.2
    assert away[-1] > 0.5
    assert away == sorted(away)


def test_matrices_of_few_answers_are_shrunk_toward_the_pooled_one():
    rng = np.random.default_rng(3)
    many = answers_of(rng, 1000, kinds=("pair",), names=("a", "b", "c"), error=0.35)
    few = answers_of(rng, 2, kinds=("pair",), names=("new",), error=0.0)
    found = ConfusionMatrices(prior_strength=2.0).fit(many + few, Y)
    wrong = {name: found.of(name)["pair"][0, 1] for name in found.annotators_}
    assert wrong["new"] == pytest.approx(np.mean([wrong[n] for n in "abc"]), abs=0.06)
    assert abs(wrong["new"] - 0.075) > 0.1


def test_matrices_are_those_of_highest_posterior_probability():
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 9, (3, 3, 3)).astype(float)
    prior, pooled = Prior(0.15, 20.0, 10.0), rng.dirichlet(np.ones(3), 3)

    def log_posterior(matrices):
        return (counts * np.log(matrices)).sum() + 10 * (pooled * np.log(matrices / pooled)).sum()

    found = shrink("triplet", counts, prior, pooled)
    best = log_posterior(found.matrices)
    assert found.penalty == pytest.approx(best - (counts * np.log(found.matrices)).sum())
    for _ in range(50):
        near = found.matrices * np.exp(rng.normal(0, 0.05, found.matrices.shape))
        assert log_posterior(near / near.sum(axis=-1, keepdims=True)) < best


@pytest.mark.slow
def test_error_rates_of_several_annotators():
    rng = np.random.default_rng(5)
    rates = {"good": 0.02, "fair": 0.2, "poor": 0.45}
    kinds = ("pair", "triplet", "odd_one_out")
    known = answers_of(
        rng, 700, names=tuple(rates), kinds=kinds, error=list(rates.values()), dont_know=0.1
    )
    found = ConfusionMatrices().fit(known, Y)
    for name, rate, bounds in zip(
        found.annotators_, found.error_rates_, found.error_intervals_, strict=True
    ):
        assert rate == pytest.approx(rates[name] / 0.9, abs=0.04)
        assert bounds[0] < rate < bounds[1]


@pytest.mark.slow
def test_intervals_contain_the_truth_at_their_nominal_rate():
    # The true matrix is drawn from the model's prior, so that the level of the intervals is exact.
    rng, inside, n = np.random.default_rng(6), [], 60
    for _ in range(60):
        truth = rng.dirichlet(20 * uniform_matrix("pair", 0.15)[0])
        said = rng.choice([1, 0, -2], n, p=truth)
        pairs = [(0, i + 1, code) for i, code in enumerate(said)]
        model = ConfusionMatrices(prior_strength=1e6)
        low, high = (
            model.fit(Constraints(n + 1, pairs=pairs), np.zeros(n + 1, int))
            .intervals_["pair"][0, 0]
            .T
        )
        inside += list((low < truth) & (truth < high))
    assert 0.9 < np.mean(inside) < 0.99


@pytest.mark.slow
def test_more_answers_narrow_the_intervals():
    rng = np.random.default_rng(7)
    width = [
        np.ptp(
            ConfusionMatrices()
            .fit(answers_of(rng, n, kinds=("pair", "odd_one_out"), error=0.2), Y)
            .intervals_[kind],
            axis=-1,
        ).max()
        for kind in ("pair", "odd_one_out")
        for n in (10, 1000)
    ]
    assert width[1] < width[0] / 2
    assert width[3] < width[2]


def test_two_answers_of_half_the_weight_equal_one_and_weight_0_is_ignored():
    known = answers_of(np.random.default_rng(8), 200, error=0.3)
    nothing = known.with_weights(pair_weights=np.zeros(200), triplet_weights=np.zeros(200))
    empty = ConfusionMatrices().fit(nothing, Y)
    np.testing.assert_allclose(empty.matrices_["pair"][0], uniform_matrix("pair", 0.15))
    assert not empty.n_answers_.any()
    halves = known.with_weights(pair_weights=np.full(200, 0.5), triplet_weights=np.full(200, 0.5))
    twice = ConfusionMatrices().fit(halves + halves, Y)
    once = ConfusionMatrices().fit(known, Y)
    np.testing.assert_allclose(twice.matrices_["triplet"], once.matrices_["triplet"])


def test_probabilities_of_groups_are_accepted():
    known = answers_of(np.random.default_rng(9), 200, error=0.3)
    of_labels = ConfusionMatrices().fit(known, Y)
    of_memberships = ConfusionMatrices().fit(known, np.eye(3)[Y])
    np.testing.assert_allclose(of_labels.matrices_["triplet"], of_memberships.matrices_["triplet"])
    vague = ConfusionMatrices().fit(known, np.full((len(Y), 3), 1 / 3))
    # With uniform memberships, answers do not distinguish the two rows of the matrix.
    rows = vague.matrices_["pair"][0]
    assert np.abs(rows[0] - rows[1]).max() < np.abs(of_labels.matrices_["pair"][0][:, 0]).max()


def test_rows_without_a_group_are_with_no_other():
    known = Constraints.from_pairs(must_link=[(0, 1)] * 50, n_samples=2)
    found = ConfusionMatrices().fit(known, [-1, -1])
    assert found.of("")["pair"][1, 0] > 0.5  # must-links between different groups


def test_log_likelihood_of_a_small_example():
    known = Constraints.from_pairs(
        must_link=[(0, 1)], cannot_link=[(0, 2)], dont_know=[(1, 2)], n_samples=3
    ).with_weights(pair_weights=[1.0, 0.5, 0.0])
    model = ConfusionMatrices.uniform(0.2)
    q = np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]])
    expected = np.log(0.5 * 0.8 + 0.5 * 0.1) + 0.5 * np.log(0.1)
    assert model.log_likelihood(known, q) == pytest.approx(expected)


def test_unknown_annotators_are_refused():
    known = answers_of(np.random.default_rng(10), 20, names=("ann", "ben"))
    found = ConfusionMatrices().fit(known, Y)
    with pytest.raises(InvalidParameterError, match=r"'zoe'.*'ann', 'ben'"):
        found.of("zoe")
    strangers = answers_of(np.random.default_rng(11), 20, names=("zoe",))
    with pytest.raises(InvalidConstraintsError, match="'zoe'"):
        found.log_likelihood(strangers, Y)
    of_ann = known.select(pairs=known.pair_annotators == 0, triplets=known.triplet_annotators == 0)
    with pytest.raises(InvalidParameterError, match="'ben'"):
        ConfusionMatrices().fit(of_ann, Y).of("ben")


@pytest.mark.parametrize(
    "wrong",
    [
        Y[:-1],
        np.ones((len(Y), 3)),
        np.full(len(Y), 0.5),
        np.zeros((len(Y), 2)),
        Y[:, None, None],
        np.array([["a", "b"]] * len(Y)),
        np.ones((len(Y), 1), complex),
        [[1.0], [0.5, 0.5]],
        None,
        np.full((len(Y), 2), np.nan),
        np.full((len(Y), 2), np.inf),
    ],
)
def test_invalid_memberships_are_refused(wrong):
    with pytest.raises(InvalidDataError):
        ConfusionMatrices().fit(Constraints(len(Y)), wrong)


@pytest.mark.parametrize("name", ["prior_error", "prior_strength", "pooling_strength"])
def test_parameters_outside_their_range_are_refused(name):
    model = clone(ConfusionMatrices()).set_params(**{name: 0.0})
    with pytest.raises(InvalidParameterError, match=name):
        model.fit(Constraints(len(Y)), Y)
    model.set_params(**{name: 1e300})
    with pytest.raises(InvalidParameterError, match=name):
        model.fit(Constraints(len(Y)), Y)
    for epsilon in (1.5, np.nan, "half", True):
        with pytest.raises(InvalidParameterError, match="epsilon"):
            ConfusionMatrices.uniform(epsilon)
    for names in ("ann", ("ann", "ann")):
        with pytest.raises(InvalidParameterError, match="annotators"):
            ConfusionMatrices.uniform(0.1, names)


@pytest.mark.parametrize("strength", [1e-300, 1e9])
def test_intervals_contain_the_estimates_for_any_strength_of_the_prior(strength):
    known = answers_of(np.random.default_rng(12), 50, kinds=("pair", "triplet", "odd_one_out"))
    model = ConfusionMatrices(prior_strength=strength, pooling_strength=strength).fit(known, Y)
    for kind, matrices in model.matrices_.items():
        low, high = np.moveaxis(model.intervals_[kind], -1, 0)
        assert (low <= high).all()
        # The posterior of an answer that was never given is so skewed that its mean exceeds the
        # upper bound.
        is_given = matrices > 0.01
        assert ((low <= matrices) & (matrices <= high))[is_given].all()


def test_groups_without_answers_need_no_memory():
    # With each row in its own group, a matrix of rows by groups would take 20 GB.
    known = Constraints.from_pairs(cannot_link=[(0, 49_999), (7, 12)], n_samples=50_000)
    alone = ConfusionMatrices().fit(known, np.arange(50_000))
    few = ConfusionMatrices().fit(known.subset([0, 7, 12, 49_999]), np.arange(4))
    np.testing.assert_array_equal(alone.matrices_["pair"], few.matrices_["pair"])
    assert alone.log_likelihood(known, np.arange(50_000)) < 0


@pytest.mark.slow
def test_many_annotators_and_answers_take_linear_time_and_memory():
    rng = np.random.default_rng(0)
    n, m, n_annotators = 2_000, 100_000, 5_000
    y, rows = np.arange(n) % 10, rng.integers(n, size=(m, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    is_same = (y[rows[:, 0]] == y[rows[:, 1]]) ^ (rng.uniform(size=len(rows)) < 0.1)
    who = rng.integers(n_annotators, size=len(rows)).astype(str)
    known = Constraints(n, pairs=np.column_stack([rows, is_same]), pair_annotators=who)
    model = ConfusionMatrices().fit(known, y)
    assert np.average(model.error_rates_) == pytest.approx(0.1, abs=0.02)
    assert model.log_likelihood(known, y) / len(rows) > -0.5
    with pytest.raises(InvalidParameterError, match=r"there are '[0-9]+', .*…"):
        model.of("nobody")


@pytest.mark.parametrize("names", [[["a", "b"], ["c"]], [1, 2], ["a", "a"], "ab", [None]])
def test_names_have_to_be_different_strings(names):
    with pytest.raises(InvalidParameterError, match="different strings"):
        ConfusionMatrices.uniform(0.1, names)


def test_a_list_is_no_name_of_an_annotator():
    with pytest.raises(InvalidParameterError, match="nobody called"):
        ConfusionMatrices.uniform(0.1, ["a"]).of(["a"])


@pytest.mark.parametrize("of_pairs", [None, np.ones((1, 2)), [[1, 0], [1]], [[1, 0], [2, -1]]])
def test_outcome_probabilities_need_one_row_for_each_answer(of_pairs):
    known = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(1, 2)], n_samples=3)
    given = {} if of_pairs is None else {"pair": of_pairs}
    with pytest.raises(InvalidDataError, match=r"probabilities\['pair'\]"):
        ConfusionMatrices().fit_probabilities(known, given)


def test_no_annotators():
    none = Constraints(4)
    groups = [0, 0, 1, 1]
    found = ConfusionMatrices().fit(none, groups)
    assert found.annotators_ == ()
    assert found.matrices_["pair"].shape == (0, 2, 3)
    assert found.error_intervals_.shape == (0, 2)
    assert found.log_likelihood(none, groups) == 0
    assert ConfusionMatrices().fit_probabilities(none, {}).annotators_ == ()
    assert ConfusionMatrices.uniform(0.1, ()).matrices_["pair"].shape == (0, 2, 3)


SWAPPED = np.array([[0.1, 0.8, 0.1], [0.85, 0.1, 0.05]])


def probabilities_of(known, groups):
    """Probabilities of the outcomes of each answer, from groups or probabilities of groups."""
    q = np.eye(3)[groups] if groups.ndim == 1 else groups
    return {
        of.kind: outcome_probabilities(of.kind, [q[r] for r in of.rows.T]) for of in known.tables
    }


def uncertain(probabilities, rng, n_looks=2):
    """Make calibrated probabilities, from observations of the true outcome of which 30 % err."""
    found = {}
    for kind, certain in probabilities.items():
        case = certain.argmax(axis=1)
        n_cases = certain.shape[1]
        probability = np.ones(certain.shape)
        for _ in range(n_looks):
            errs = rng.uniform(size=len(case)) < 0.3
            seen = np.where(errs, (case + rng.integers(1, n_cases, len(case))) % n_cases, case)
            probability *= np.where(np.arange(n_cases) == seen[:, None], 0.7, 0.3 / (n_cases - 1))
        shares = np.bincount(case, minlength=n_cases) / max(len(case), 1)
        probability *= shares
        found[kind] = probability / np.maximum(probability.sum(axis=1, keepdims=True), 1e-300)
    return found


def annotators(n=1500, seed=0):
    """Three annotators: one who errs a little, one who says the opposite, and one who guesses."""
    rng = np.random.default_rng(seed)
    tables = {"usual": PAIR, "opposite": SWAPPED, "guesses": np.array([[0.5, 0.5, 0]] * 2)}
    parts = [
        answers_of(
            rng, n, kinds=("pair",), names=(name,), confusion={"pair": with_dont_know(table)}
        )
        for name, table in tables.items()
    ]
    return sum(parts[1:], parts[0]), tables


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_annotators_are_found_from_uncertain_groups(seed):
    known, tables = annotators(seed=seed)
    probabilities = uncertain(probabilities_of(known, Y), np.random.default_rng(seed))
    found = ConfusionMatrices().fit_probabilities(known, probabilities)
    for name, table in tables.items():
        # Shrinkage draws an annotator who differs from all others a little toward them.
        np.testing.assert_allclose(found.of(name)["pair"], table, atol=0.15)
        if name != "guesses":
            # Counting answers weighted by these probabilities would make everybody a guesser.
            at = known.pair_annotators == known.annotators.index(name)
            said = known.pair_answers[at][:, None] == np.array(CODES["pair"])
            naive = probabilities["pair"][at].T @ said
            naive /= naive.sum(axis=1, keepdims=True)
            assert np.abs(found.of(name)["pair"] - table).max() < np.abs(naive - table).max()
    rates = dict(zip(found.annotators_, found.error_rates_, strict=True))
    assert rates["opposite"] > 0.8
    assert rates["guesses"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_triplets_with_uncertain_groups():
    known = answers_of(
        np.random.default_rng(0), 2500, kinds=("triplet",), confusion={"triplet": TRIPLET}
    )
    probabilities = uncertain(probabilities_of(known, Y), np.random.default_rng(1))
    found = ConfusionMatrices().fit_probabilities(known, probabilities)
    np.testing.assert_allclose(found.of("ann")["triplet"], TRIPLET, atol=0.08)


def test_probabilities_of_0_and_1_give_the_same_as_groups():
    rng = np.random.default_rng(1)
    kinds = ("pair", "triplet", "odd_one_out")
    parts = [
        answers_of(rng, 60, kinds=kinds, names=(name,), error=error)
        for name, error in (("ann", 0.1), ("ben", 0.4))
    ]
    known = parts[0] + parts[1]
    expected = ConfusionMatrices().fit(known, Y)
    found = ConfusionMatrices().fit_probabilities(known, probabilities_of(known, Y))
    assert found.annotators_ == expected.annotators_
    np.testing.assert_array_equal(found.n_answers_, expected.n_answers_)
    for kind in KINDS:
        np.testing.assert_allclose(found.matrices_[kind], expected.matrices_[kind])
        np.testing.assert_allclose(found.pooled_[kind], expected.pooled_[kind])
        np.testing.assert_allclose(found.intervals_[kind], expected.intervals_[kind])
    np.testing.assert_allclose(found.error_rates_, expected.error_rates_)
    np.testing.assert_allclose(found.error_intervals_, expected.error_intervals_)


def test_answers_of_weight_0_are_ignored():
    known = answers_of(np.random.default_rng(2), 100, error=0.2)
    probabilities = uncertain(probabilities_of(known, Y), np.random.default_rng(2))
    is_kept = np.arange(100) < 60
    weights = is_kept.astype(float)
    weighted = known.with_weights(pair_weights=weights, triplet_weights=weights)
    kept = known.select(pairs=is_kept, triplets=is_kept, odd_one_out=np.zeros(0, bool))
    fewer = {kind: of[is_kept] if len(of) else of for kind, of in probabilities.items()}
    first = ConfusionMatrices().fit_probabilities(weighted, probabilities)
    other = ConfusionMatrices().fit_probabilities(kept, fewer)
    for kind in KINDS:
        np.testing.assert_allclose(first.matrices_[kind], other.matrices_[kind])
    np.testing.assert_array_equal(first.n_answers_, other.n_answers_)


def test_without_answers_about_uncertain_groups_the_prior_remains():
    known = Constraints(9)
    probabilities = {kind: np.zeros((0, len(cases))) for kind, cases in OUTCOMES.items()}
    found = ConfusionMatrices(prior_error=0.2).fit_probabilities(known, probabilities)
    expected = ConfusionMatrices(prior_error=0.2).fit(known, np.arange(9))
    for kind in KINDS:
        np.testing.assert_allclose(found.pooled_[kind], expected.pooled_[kind])


def test_bad_parameters_are_refused():
    with pytest.raises(InvalidParameterError, match="prior_error"):
        ConfusionMatrices(prior_error=0.0).fit_probabilities(Constraints(3), {})


@pytest.mark.slow
def test_matrices_around_a_rate_keep_it_for_one_annotator_and_tell_several_apart():
    rng = np.random.default_rng(0)
    one = answers_of(rng, 200)
    alone = matrices_around(0.3, (0.2, 0.4), one, {})
    assert alone.error_rates_.tolist() == [0.3]
    assert alone.error_intervals_.tolist() == [[0.2, 0.4]]
    both, _ = annotators()
    around = matrices_around(0.2, (0.1, 0.3), both, probabilities_of(both, Y))
    assert around.prior_error == pytest.approx(2 * 0.2 / 1.2)
    wanted = ConfusionMatrices(prior_error=2 * 0.2 / 1.2)
    wanted.fit_probabilities(both, probabilities_of(both, Y))
    np.testing.assert_array_equal(around.error_rates_, wanted.error_rates_)
