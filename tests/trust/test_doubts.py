"""Doubts are compared with enumeration, with exact ones on trees, and with planted errors."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from clew import Constraints
from clew.answers import ANSWER_WORDS, DONT_KNOW
from clew.constraints._meanings import TRUTH
from clew.exceptions import (
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
    UnsupportedConstraintError,
)
from clew.trust import (
    AnswerPosterior,
    ConfusionMatrices,
    answer_evidence,
    answer_posterior,
    pair_posterior,
)
from clew.trust.doubts import _loss

RNG = np.random.default_rng(0)
Q = RNG.dirichlet(np.ones(3), 6)
KNOWN = Constraints(
    6,
    pairs=[(0, 1, 1), (2, 3, 0), (4, 5, -2)],
    triplets=[(0, 1, 2, 0), (3, 4, 5, 1), (1, 2, 3, -2)],
    odd_one_out=[(0, 1, 2, 0), (3, 4, 5, 2), (1, 3, 5, -1), (0, 2, 4, -2)],
)
FIELDS = {"pair": "pairs", "triplet": "triplets", "odd_one_out": "odd_one_out"}
#: Probability of each wrong answer in the matrices of an error rate of 0.2.
WRONG = {"pair": 0.1, "triplet": 0.1, "odd_one_out": 0.05}


def said(known):
    """Kind, rows and answers."""
    yield "pair", known.pairs, known.pair_answers
    yield "triplet", known.triplets, known.triplet_answers
    yield "odd_one_out", known.odd_one_out, known.odd_one_out_answers


def by_bayes(kind, rows, answer, q):
    """Probability that one answer is wrong, over all groups of its rows."""
    right = wrong = 0.0
    for groups in itertools.product(range(q.shape[1]), repeat=len(rows)):
        probability = np.prod([q[row, group] for row, group in zip(rows, groups, strict=True)])
        true = TRUTH[kind](np.array(groups), np.arange(len(rows))[None])[0]
        if true == answer:
            right += 0.8 * probability
        else:
            wrong += WRONG[kind] * probability
    return wrong / (right + wrong)


def test_against_enumeration():
    model = ConfusionMatrices.uniform(0.2)
    found = answer_posterior(KNOWN, Q, model, inference=None)
    assert isinstance(found, AnswerPosterior)
    for kind, rows, answers in said(KNOWN):
        doubts = getattr(found, FIELDS[kind])
        for row, answer, doubt in zip(rows, answers, doubts, strict=True):
            if answer == DONT_KNOW:
                assert np.isnan(doubt)
            else:
                assert doubt == pytest.approx(by_bayes(kind, row, answer, Q), abs=1e-12)


@pytest.mark.parametrize("kind", FIELDS)
def test_an_answer_is_no_evidence_for_itself(kind):
    # Removing the message of the only answer restores the prior memberships.
    from clew.cluster.dcrc._em import AnsweredRows

    size = 2 if kind == "pair" else 3
    known = Constraints(size, **{FIELDS[kind]: [(*range(size), 1)]})
    model = ConfusionMatrices.uniform(0.2)
    prior = Q[:size]
    q = prior.copy()
    answers = AnsweredRows(known, with_dont_know_pairs=False, is_hard=False)
    answers.update_memberships(np.log(prior), model.matrices_, q, max_sweeps=1000, tol=1e-15)
    assert np.abs(q - prior).max() > 0.01
    (own,) = getattr(answer_posterior(known, q, model), FIELDS[kind])
    assert own == pytest.approx(by_bayes(kind, range(size), 1, prior), abs=1e-9)


def test_wrong_answers_are_doubted_most():
    y = np.repeat([0, 1, 2], 30)
    known = Constraints.from_labels(
        y, 60, n_triplets=60, n_odd_one_out=60, error=0.2, random_state=0
    )
    q = 0.85 * np.eye(3)[y] + 0.05
    found = answer_posterior(known, q, inference=None)
    for kind, rows, answers in said(known):
        doubt = getattr(found, FIELDS[kind])
        is_decided = answers != DONT_KNOW
        is_wrong = TRUTH[kind](y, rows) != answers
        assert roc_auc_score(is_wrong[is_decided], doubt[is_decided]) > 0.95


def test_groups_are_taken_as_certain():
    known = Constraints.from_pairs(must_link=[(0, 1), (0, 2)], n_samples=3)
    found = answer_posterior(known, [0, 0, 1], ConfusionMatrices.uniform(0.1))
    np.testing.assert_allclose(found.pairs, [0, 1], atol=1e-12)
    alone = answer_posterior(known, [-1, -1, -1], ConfusionMatrices.uniform(0.1))
    np.testing.assert_allclose(alone.pairs, [1, 1], atol=1e-12)


def test_an_unreliable_annotator_is_doubted_more():
    known = Constraints(
        4, pairs=[(0, 1, 1), (0, 1, 1)], pair_annotators=["good", "poor"]
    )  # fmt: skip
    both = [ConfusionMatrices.uniform(e, ("good", "poor")) for e in (0.1, 0.5)]
    mixed = both[0]
    mixed.matrices_["pair"][1] = both[1].matrices_["pair"][1]
    q = np.array([[0.8, 0.2]] * 4)
    good, poor = answer_posterior(known, q, mixed, inference=None).pairs
    assert poor > 2 * good


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(InvalidDataError, match="memberships"):
        answer_posterior(KNOWN, Q[:-1])
    with pytest.raises(InvalidConstraintsError, match="no confusion matrix of ''"):
        answer_posterior(KNOWN, Q, ConfusionMatrices.uniform(0.1, ("ann",)))
    with pytest.raises(TypeError, match="Constraints"):
        answer_posterior([(0, 1)], Q)
    with pytest.raises(TypeError, match="ConfusionMatrices, got float"):
        answer_posterior(KNOWN, Q, 0.1)
    with pytest.raises(NotFittedError):
        answer_posterior(KNOWN, Q, ConfusionMatrices())


def test_rows_without_answers_change_nothing():
    wide = np.vstack([np.full((3, 3), 1 / 3), Q])
    known = Constraints(9, pairs=[(3, 4, 1), (5, 6, 0)], triplets=[(3, 8, 4, 1)])
    found = answer_posterior(known, wide)
    alone = answer_posterior(known.subset(np.arange(3, 9)), Q)
    for doubts, expected in zip(found, alone, strict=True):
        np.testing.assert_allclose(doubts, expected)


def test_no_answers_leave_nothing_to_doubt():
    assert [len(doubts) for doubts in answer_posterior(Constraints(6), Q)] == [0, 0, 0]


class OnTrees:
    """Answers of all kinds that form no loops, with the exact posterior by enumeration."""

    def __init__(self, seed, kinds, n_groups=2):
        rng = np.random.default_rng(seed)
        n, tables = 1, {kind: [] for kind in FIELDS}
        for kind in kinds:
            size = 1 if kind == "pair" else 2
            rows = rng.permutation([int(rng.integers(n)), *range(n, n + size)])
            codes = [code for code in ANSWER_WORDS[kind].values() if code != DONT_KNOW]
            tables[kind].append((*rows, rng.choice(codes)))
            n += size
        self.known = Constraints(n, **{FIELDS[kind]: of for kind, of in tables.items() if of})
        self.prior = rng.dirichlet(np.ones(n_groups), n)
        self.model = ConfusionMatrices.uniform(0.2)
        self.n_groups = n_groups

    def exact(self):
        """Posterior memberships, and the probabilities that answers are wrong."""
        n = len(self.prior)
        memberships, whole = np.zeros_like(self.prior), 0.0
        wrong = {kind: np.zeros(len(rows)) for kind, rows, _ in said(self.known)}
        for groups in itertools.product(range(self.n_groups), repeat=n):
            weight = np.prod(self.prior[np.arange(n), groups])
            is_wrong = {}
            for kind, rows, answers in said(self.known):
                is_wrong[kind] = TRUTH[kind](np.array(groups), rows) != answers
                weight *= np.prod(np.where(is_wrong[kind], WRONG[kind], 0.8))
            whole += weight
            memberships[np.arange(n), groups] += weight
            for kind, of in is_wrong.items():
                wrong[kind] += weight * of
        return memberships / whole, {kind: of / whole for kind, of in wrong.items()}


@pytest.mark.parametrize(
    "kinds",
    [
        ["pair"],
        ["pair"] * 6,
        ["triplet"] * 3,
        ["odd_one_out"] * 3,
        ["pair", "triplet", "odd_one_out", "pair"],
    ],
    ids=["one pair", "pairs", "triplets", "odd-one-out", "all kinds"],
)
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_belief_propagation_is_exact_on_trees(kinds, n_groups, seed):
    tree = OnTrees(seed, kinds, n_groups)
    memberships, wrong = tree.exact()
    found = answer_posterior(tree.known, memberships, tree.model, inference="belief_propagation")
    for kind, expected in wrong.items():
        np.testing.assert_allclose(getattr(found, FIELDS[kind]), expected, atol=1e-6)


def test_mean_field_messages_are_not_those_of_belief_propagation():
    # With certain rows, mean-field messages would be correct too.
    tree = OnTrees(0, ["pair"])
    tree.prior = np.array([[0.9, 0.1], [0.7, 0.3]])
    memberships, wrong = tree.exact()
    found = answer_posterior(tree.known, memberships, tree.model, inference="mean_field")
    assert abs(found.pairs[0] - wrong["pair"][0]) > 0.01


def test_weights_are_powers_of_messages():
    # An answer of weight 0 has sent no message.
    known = Constraints(2, pairs=[(0, 1, 1)], pair_weights=[0.0])
    q, model = np.array([[0.9, 0.1], [0.2, 0.8]]), ConfusionMatrices.uniform(0.2)
    free = answer_posterior(known, q, model, inference=None).pairs
    for inference in ("mean_field", "belief_propagation"):
        np.testing.assert_allclose(
            answer_posterior(known, q, model, inference=inference).pairs, free
        )


@pytest.mark.slow
def test_groups_of_their_own_need_no_matrix_of_rows_by_groups():
    n = 200_000
    known = Constraints(
        n, pairs=np.column_stack([np.arange(n - 1), np.arange(1, n), np.ones(n - 1)]).astype(int)
    )
    model = ConfusionMatrices().fit(known, np.arange(n))
    assert model.of("")["pair"][1, 0] > 0.9
    assert (answer_posterior(known, np.arange(n), model).pairs == 1).all()


def test_an_unknown_inference_is_refused():
    with pytest.raises(InvalidParameterError, match="'mean_field', 'belief_propagation' or None"):
        answer_posterior(KNOWN, Q, inference="gibbs")


def test_a_frame_lists_the_answers_by_id_the_most_doubtful_first():
    known = Constraints(
        ids=["ant", "bee", "cat", "dog"],
        pairs=[("ant", "bee", 1), ("cat", "ant", 1), ("bee", "cat", -2)],
        odd_one_out=[("ant", "bee", "dog", 0)],
        pair_annotators="ann",
        odd_one_out_annotators="ben",
    )
    confusion = ConfusionMatrices.uniform(0.1, ("ann", "ben"))
    doubts = answer_posterior(known, [0, 0, 1, 2], confusion)
    frame = doubts.to_frame()
    assert list(frame.columns) == [*known.to_frame().columns, "p_wrong", "reason"]
    assert frame.index.tolist() == [1, 3, 0, 2]
    assert frame["id_i"].tolist() == ["ant", "ant", "ant", "bee"]
    assert frame["answer"].tolist() == ["same", "first", "same", "dont_know"]
    assert frame["annotator"].tolist() == ["ann", "ben", "ann", "ann"]
    assert frame["p_wrong"].tolist()[:3] == [1.0, 1.0, 0.0]
    assert np.isnan(frame["p_wrong"].iloc[3])
    assert frame["reason"].tolist() == [
        "the groups imply 'different'",
        "the groups imply 'third'",
        "",
        "",
    ]
    np.testing.assert_array_equal(frame.sort_index()["p_wrong"], np.concatenate([*doubts]))


def test_the_frame_of_no_answers_is_empty():
    frame = answer_posterior(Constraints(3), np.full((3, 2), 0.5)).to_frame()
    assert len(frame) == 0
    assert "reason" in frame.columns


def test_forced_choices_are_not_wrong_where_groups_leave_the_question_open():
    y = np.repeat([0, 1, 2], 20)
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(60)[:3] for _ in range(600)])
    together = y[rows[:, :1]] == y[rows[:, 1:]]
    is_open = together[:, 0] == together[:, 1]
    answers = np.where(is_open, rng.integers(0, 2, 600), together[:, 1])
    is_wrong = ~is_open & (rng.uniform(size=600) < 0.1)
    answers[is_wrong] = 1 - answers[is_wrong]
    known = Constraints.from_triplets(rows, answers, n_samples=60)
    doubt = answer_posterior(known, y).triplets
    np.testing.assert_array_equal(doubt[is_open], 0)
    np.testing.assert_array_equal(doubt > 0.5, is_wrong)


def answers_from(is_same):
    """Make one answer for each entry, about rows that do not matter."""
    n = len(is_same)
    rows = np.arange(2 * n).reshape(n, 2)
    return Constraints(2 * n, pairs=np.column_stack([rows, is_same]))


def planted_evidence(error, n=4000, seed=0, scale=3.0, intercept=-1.0):
    """Draw evidence, then true answers from the model, then make a share of the answers wrong."""
    random = np.random.default_rng(seed)
    evidence = scale * random.normal(size=n)
    truth = random.uniform(size=n) < expit(evidence + intercept)
    is_wrong = random.uniform(size=n) < error
    return evidence, answers_from((truth ^ is_wrong).astype(int)), is_wrong


@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_gradient_against_finite_differences(n_columns):
    random = np.random.default_rng(n_columns)
    columns = random.normal(size=(50, n_columns))
    said_same, weight = random.uniform(size=50) < 0.4, random.uniform(size=50)
    for _ in range(5):
        at = random.normal(size=n_columns + 2)
        _, gradient = _loss(at, columns, said_same, weight)
        numeric = approx_fprime(at, lambda p: _loss(p, columns, said_same, weight)[0], 1e-7)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("error", [0.0, 0.15, 0.3])
def test_planted_error_rate_is_found(error):
    evidence, answers, _ = planted_evidence(error)
    assert pair_posterior(evidence, answers).error_rate == pytest.approx(error, abs=0.03)


@pytest.mark.slow
def test_bayes_rule_with_the_true_parameters():
    error = 0.2
    evidence, answers, _ = planted_evidence(error, n=20_000)
    contrary = expit(np.where(answers.is_must_link, -1, 1) * (evidence - 1.0))
    expected = contrary * error / (contrary * error + (1 - contrary) * (1 - error))
    off = np.abs(pair_posterior(evidence, answers).p_wrong - expected)
    assert off.max() < 0.1
    assert off.mean() < 0.02


@pytest.mark.parametrize("error", [0.15, 0.3])
def test_probabilities_are_calibrated(error):
    evidence, answers, is_wrong = planted_evidence(error, n=8000)
    p = pair_posterior(evidence, answers).p_wrong
    place = np.digitize(p, [0.05, 0.2, 0.4, 0.6, 0.8])
    for level in np.unique(place):
        inside = place == level
        tolerance = 0.03 + 4 * np.sqrt(0.25 / inside.sum())
        assert is_wrong[inside].mean() == pytest.approx(p[inside].mean(), abs=tolerance)
    assert p.mean() == pytest.approx(is_wrong.mean(), abs=0.03)


def test_uninformative_columns_do_little_harm():
    evidence, answers, is_wrong = planted_evidence(0.15)
    noise = np.random.default_rng(1).normal(size=len(evidence))
    alone = pair_posterior(evidence, answers)
    both = pair_posterior(np.column_stack([evidence, noise]), answers)
    assert roc_auc_score(is_wrong, both.p_wrong) > roc_auc_score(is_wrong, alone.p_wrong) - 0.01
    assert both.error_rate == pytest.approx(alone.error_rate, abs=0.02)


def test_dont_know_has_no_probability_and_no_weight():
    evidence = np.array([2.0, np.nan, -2.0, 1.0])
    found = pair_posterior(evidence, answers_from([1, -2, 0, 0]))
    assert np.isnan(found.p_wrong).tolist() == [False, True, False, False]
    assert found.weight[1] == 0
    without = pair_posterior(evidence[[0, 2, 3]], answers_from([1, 0, 0]))
    np.testing.assert_array_equal(found.p_wrong[[0, 2, 3]], without.p_wrong)
    assert found.error_rate == without.error_rate


@pytest.mark.parametrize("said", [[1] * 40, [0] * 40, [1], [0]])
def test_answers_of_one_kind_and_a_single_answer(said):
    evidence = np.random.default_rng(0).normal(size=len(said))
    found = pair_posterior(evidence, answers_from(said))
    assert ((found.p_wrong > 0) & (found.p_wrong < 0.5)).all()
    np.testing.assert_allclose(found.weight, 1 - found.p_wrong)
    assert 0 < found.error_rate < 0.2


def test_nobody_answered():
    found = pair_posterior(np.empty((0, 2)), Constraints(5))
    assert found.p_wrong.shape == found.weight.shape == (0,)
    assert np.isnan(found.error_rate)
    found = pair_posterior([np.nan, 1.0], answers_from([-2, -2]))
    assert np.isnan(found.p_wrong).all()
    assert not found.weight.any()
    assert np.isnan(found.error_rate)


@pytest.mark.parametrize(
    "evidence", [[1.0], [1.0, np.nan], [1.0, np.inf], np.ones((3, 2)), np.ones((2, 1, 1)), 1.0]
)
def test_evidence_must_fit_the_answers(evidence):
    with pytest.raises(InvalidDataError, match="2 pairs"):
        pair_posterior(evidence, answers_from([1, 0]))


def test_other_kinds_of_answers_are_refused():
    c = Constraints.from_triplets([(0, 1, 2)], [0], n_samples=3)
    with pytest.raises(
        UnsupportedConstraintError, match=r"posterior learns only from .*, not from triplets"
    ):
        pair_posterior(np.empty((0, 2)), c)


@pytest.mark.parametrize("seed", [0, 1])
def test_wrong_answers_about_real_features_are_found(planted, seed):
    X, answers, is_wrong = planted(error=0.15, seed=seed)
    found = pair_posterior(answer_evidence(X, answers, n_trees=200, random_state=0), answers)
    assert roc_auc_score(is_wrong, found.p_wrong) > 0.85
    assert found.error_rate == pytest.approx(0.15, abs=0.08)


def test_answers_without_errors_keep_their_weight(planted):
    X, answers, _ = planted(error=0.0)
    found = pair_posterior(answer_evidence(X, answers, n_trees=200, random_state=0), answers)
    assert found.error_rate < 0.05
    assert np.median(found.weight) > 0.95


def test_evidence_does_not_depend_on_units_or_threads(planted):
    X, answers, _ = planted(n_pairs=60, dont_know=0.1)
    first = answer_evidence(X, answers, n_trees=50, random_state=0)
    again = answer_evidence(X, answers, n_trees=50, random_state=0, n_jobs=2)
    scaled = answer_evidence(X * 2.0 ** np.arange(-3, 3), answers, n_trees=50, random_state=0)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, scaled)
    assert (np.isnan(first).all(axis=1) == answers.is_dont_know).all()
    assert np.nanmean(first[:, 1]) == pytest.approx(0, abs=1e-12)
    assert np.nanstd(first[:, 1]) == pytest.approx(1)
