"""Random checks are drawn with the stated probabilities, and intervals from them hold the truth."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.datasets import make_blobs

from clew import Answer, Question, Session
from clew.cluster.guided import Regime
from clew.datasets import load
from clew.metrics import jaccard_score_pairs
from clew.oracles import SimulatedOracle
from clew.questions import Guided
from clew.questions._answers import Key
from clew.session._quality import (
    LEAST,
    Check,
    Estimate,
    PairProbabilities,
    Quality,
    draw_check,
    expected_pairs,
    quality_of,
)
from clew.session._remaining import Remaining, advice_of, remaining_of
from clew.session._result import confidence_of

pytestmark = pytest.mark.usefixtures("small_search")

Labels = NDArray[np.int64]
Same = NDArray[np.float32]


def some_evidence(y: Labels, random: np.random.RandomState) -> tuple[Same, Labels]:
    """Groups with some misplaced rows, and probabilities that are calibrated up to noise."""
    n = len(y)
    sure = np.clip(random.uniform(0.75, 0.99) + random.normal(size=n) * 0.1, 0.3, 0.995)
    labels, wrong = y.copy(), random.random_sample(n) > sure
    labels[wrong] = random.randint(y.max() + 1, size=int(wrong.sum()))
    within = labels[:, None] == labels[None, :]
    p = np.where(within, sure[:, None] * sure, (1 - sure[:, None] * sure) / (y.max() + 1))
    p = expit(logit(np.clip(p, 0.001, 0.999)) + random.normal() * 0.4).astype(np.float32)
    np.fill_diagonal(p, 1)
    return p, labels


def drawn(same: Same, labels: Labels, asked: set[Key], number: int, seed: int) -> Check | None:
    return draw_check(
        same, labels, np.arange(len(labels)), asked, number=number, n_answers=0, seed=seed
    )


def answered(check: Check, y: Labels, error: float, random: np.random.RandomState) -> Answer:
    i, j = check.pair
    same = (y[i] == y[j]) != (random.random_sample() < error)
    return Answer(Question("pair", check.pair, origin="random"), int(same), origin="random")


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "size"), [(6, 10), (40, 4)])
def test_intervals_hold_the_truth(n_groups: int, size: int) -> None:
    y, random = np.repeat(np.arange(n_groups), size), np.random.RandomState(0)
    held, of_groups = [], []
    for seed in range(40):
        (same, labels), error = some_evidence(y, random), [0.0, 0.1][seed % 2]
        made = [drawn(same, labels, set(), number, seed) for number in range(1, 13)]
        checks = [(each, answered(each, y, error, random)) for each in made if each]
        found = quality_of(checks, expected_pairs(same, labels), error)
        truth = float(jaccard_score_pairs(y, labels))
        held.append(found.jaccard.low - 1e-3 <= truth <= found.jaccard.high + 1e-3)
        of_groups += [
            value.low - 1e-3 <= true <= value.high + 1e-3
            for group, (precision, recall) in found.groups.items()
            for value, true in zip((precision, recall), true_of(group, y, labels), strict=True)
        ]
    assert np.mean(held) >= 0.9
    assert np.mean(of_groups) >= 0.9


def true_of(group: int, y: Labels, labels: Labels) -> tuple[float, float]:
    """Precision and recall of a group, pair by pair."""
    rows, n = np.flatnonzero(labels == group), len(y)
    within = [y[i] == y[j] for i in rows for j in rows if i != j]
    same = [labels[i] == labels[j] for i in rows for j in range(n) if i != j and y[i] == y[j]]
    return float(np.mean(within or [True])), float(np.mean(same or [True]))


def test_certain_groups_have_narrow_intervals_each() -> None:
    labels = np.repeat([0, 1, 2], [6, 6, 1])
    p = (labels[:, None] == labels[None, :]).astype(np.float32)
    p[:6, 6:12] = p[6:12, :6] = 0.4  # whether groups 0 and 1 are one is open
    p[0, 1:6] = p[1:6, 0] = 0.5  # whether row 0 belongs to its group is open
    groups = quality_of([], expected_pairs(p, labels), 0.05).groups
    assert set(groups) == {0, 1, 2}
    assert groups[0].precision.low < 0.8 < 0.95 < groups[1].precision.low
    assert groups[1].recall.low < 0.6
    assert groups[2].precision == groups[2].recall == (1.0, 1.0, 1.0)
    assert str(groups[2]) == "precision 1.00 (1.00-1.00), recall 1.00 (1.00-1.00)"


@pytest.mark.slow
def test_a_check_states_the_probability_of_its_draw() -> None:
    same, labels = some_evidence(np.repeat(np.arange(3), 4), np.random.RandomState(3))
    between = np.triu(labels[:, None] != labels[None, :], 1)
    weight = np.sqrt(np.maximum(same, LEAST)) * between
    counts = np.zeros_like(weight)
    for seed in range(1200):
        check = drawn(same, labels, set(), 2, seed)
        assert check is not None
        assert not check.is_within
        i, j = check.pair
        assert check.probability == pytest.approx(weight[i, j] / weight.sum(), rel=1e-4)
        assert check.p_wrong == pytest.approx(same[i, j])
        counts[i, j] += 1
    np.testing.assert_allclose(counts / 1200, weight / weight.sum(), atol=0.04)


def test_pairs_within_groups_are_equally_likely() -> None:
    same, labels = some_evidence(np.repeat(np.arange(3), 4), np.random.RandomState(3))
    n_within = np.triu(labels[:, None] == labels[None, :], 1).sum()
    check = drawn(same, labels, set(), 1, 0)
    assert check is not None
    assert check.is_within
    assert check.probability == pytest.approx(1 / n_within)


def test_one_check_of_four_is_within_groups() -> None:
    same, labels = some_evidence(np.repeat(np.arange(3), 8), np.random.RandomState(3))
    made = [drawn(same, labels, set(), number, 0) for number in range(1, 41)]
    assert sum(check.is_within for check in made if check) == 10


def test_no_check_if_all_pairs_were_asked() -> None:
    same, labels = some_evidence(np.array([0, 0, 1]), np.random.RandomState(0))
    asked: set[Key] = {("pair", (0, 1)), ("pair", (0, 2)), ("pair", (1, 2))}
    assert drawn(same, labels, asked, 1, 0) is None


@pytest.mark.parametrize(("number", "of"), [(1, "precision"), (2, "recall")])
def test_checks_against_the_groups_lower_the_estimate(number: int, of: str) -> None:
    y = np.repeat(np.arange(4), 8)
    same, labels = some_evidence(y, np.random.RandomState(1))
    check = drawn(same, labels, set(), number, 0)
    assert check is not None
    question = Question("pair", check.pair, origin="random")
    right = int(check.is_within)
    good, bad = ([(check, Answer(question, code))] * 12 for code in (right, 1 - right))
    expected = expected_pairs(same, labels)
    better, worse = (quality_of(checks, expected, 0.05) for checks in (good, bad))
    assert getattr(worse, of).value < getattr(better, of).value - 0.05
    assert worse.jaccard.value < better.jaccard.value - 0.05


def test_expected_pairs_of_certain_groups() -> None:
    labels = np.repeat([0, 1], 5)
    p = (labels[:, None] == labels[None, :]).astype(np.float32)
    certain = expected_pairs(p, labels)
    np.testing.assert_array_equal(certain.n_within, [10, 10])
    np.testing.assert_array_equal([certain.false, certain.missed], 0)


def test_expected_pairs_are_sums_of_probabilities() -> None:
    same, labels = some_evidence(np.repeat(np.arange(3), 5), np.random.RandomState(4))
    found = expected_pairs(same, labels)
    for at, group in enumerate(found.numbers):
        own = labels == group
        false = sum(1 - same[i, j] for i in np.flatnonzero(own) for j in np.flatnonzero(own[:i]))
        assert found.false[at] == pytest.approx(false, rel=1e-4)
        assert found.missed[at] == pytest.approx(same[own][:, ~own].sum(), rel=1e-4)


def test_early_results_say_that_it_is_too_early() -> None:
    y = np.repeat(np.arange(3), 8)
    session = Session(
        items=range(24), strategy=Guided(update_every=5), check_every=5, random_state=0
    )
    oracle = SimulatedOracle(y, random_state=0)
    early = session.run(oracle, 10).result()
    assert early.quality_ is None
    assert early.remaining_ is None
    assert "too early" in early.stop_.reason
    late = session.run(oracle, 20).result()
    assert late.quality_ is not None
    assert late.remaining_ is not None
    assert late.remaining_.low <= late.remaining_.median <= late.remaining_.high
    assert early.quality_ is None


def test_advice_to_stop() -> None:
    assert advice_of(None, None, has_questions=False)
    assert not advice_of(None, None, has_questions=True)
    labels = np.repeat([0, 1], 8)
    p = (labels[:, None] == labels[None, :]).astype(np.float32)
    certain, open_ = (quality_of([], expected_pairs(each, labels), 0.05) for each in (p, p / 2))
    assert advice_of(certain, None, has_questions=True)
    random = Regime("features", "the answers look random")
    advice = advice_of(certain, None, has_questions=True, regime=random)
    assert not advice
    assert str(advice) == "go on: the answers look random: these are groups by features alone"
    assert certain.jaccard.high - certain.jaccard.low <= 0.2
    assert not advice_of(open_, None, has_questions=True)


def test_nobody_is_surer_than_answers_allow() -> None:
    labels, tail = np.repeat([0, 1, 2], [8, 8, 1]), 0.05 + 1e-9
    p = (labels[:, None] == labels[None, :]).astype(np.float32)
    few = quality_of([], expected_pairs(p, labels), 0.05, n_answers=[40, 40, 10, 0])
    many = quality_of([], expected_pairs(p, labels), 0.05, n_answers=[4000] * 4)
    for name in ("jaccard", "precision", "recall"):
        assert getattr(few, name).low <= tail ** (1 / 40) < getattr(few, name).value
        assert getattr(few, name).low < getattr(many, name).low
    assert few.groups[1].precision.low <= tail ** (1 / 10)
    assert few.groups[2].precision.low == 1.0
    assert few.groups[2].recall.low <= tail
    assert not advice_of(
        quality_of([], expected_pairs(p, labels), 0.05, n_answers=[8] * 4), None, has_questions=True
    )


def test_the_advice_to_stop_stands_until_groups_are_clearly_worse() -> None:
    less, worse = (
        Quality(Estimate(value, 0.6, 1.0), Estimate(1, 1, 1), Estimate(1, 1, 1), 4, {})
        for value in (0.93, 0.89)
    )
    assert advice_of(less, None, has_questions=True, was_enough=True)
    assert not advice_of(less, None, has_questions=True)
    assert not advice_of(worse, None, has_questions=True, was_enough=True)


def test_few_questions_are_said_to_be_few() -> None:
    assert str(Remaining(0, 0, 13)) == "few more questions (up to 13)"
    assert str(Remaining(1, 0, 13)) == "about 1 more question (0 to 13)"
    assert str(Remaining(1247, 90, 2126)) == "about 1,247 more questions (90 to 2,126)"
    assert "3 of 4 random checks" in str(advice_of(None, None, has_questions=True, n_checks=3))


def test_nothing_remains_of_finished_groups() -> None:
    for n_groups in (2, 40):
        labels = np.repeat(np.arange(n_groups), 8)
        p = (labels[:, None] == labels[None, :]).astype(np.float32)
        pairs = PairProbabilities(p, is_estimated=True, rows=np.arange(len(p)))
        unresolved = 1 - confidence_of(pairs, labels).mean()
        assert remaining_of(len(labels), 2 * len(labels), unresolved, 1.0) == (0, 0, 0, None)
    assert remaining_of(20_000, 60_000, 0.0, 1.0) == (0, 0, 0, None)


def test_remaining_falls_as_groups_become_right() -> None:
    for n in (24, 200, 20_000):
        left = [remaining_of(n, n, share, 1 - share) for share in (0.9, 0.5, 0.2, 0.1, 0.03, 0.0)]
        medians = [each.median / n for each in left if each]
        assert len(medians) == 6
        assert medians == sorted(medians, reverse=True)
        assert 2 < medians[0] < 4
        assert medians[-2] < 0.05


@pytest.mark.slow
def test_small_pure_groups_leave_many_questions() -> None:
    y = np.random.RandomState(0).permutation(np.arange(60) % 5)
    session = Session(items=range(60), random_state=0)
    session.run(SimulatedOracle(y, random_state=0), 40)
    result = session.result()
    assert len(set(result.labels_.tolist())) > 30
    assert result.confidence_.mean() < 0.5  # most items were compared with few others
    assert result.remaining_ is not None
    assert result.remaining_.median > 30


def test_the_random_checks_that_are_still_needed_remain() -> None:
    X, y = make_blobs(60, 5, centers=3, cluster_std=0.3, random_state=0)
    session = Session(X, random_state=0)
    result = session.run(SimulatedOracle(y, random_state=0), 30).result()
    assert (result.n_checks_, result.quality_) == (1, None)
    assert result.remaining_ is not None
    assert result.remaining_[:3] == (50, 40, 60)


@pytest.mark.slow
def test_nothing_is_said_while_nothing_is_known() -> None:
    X = np.random.RandomState(0).randn(40, 3)
    session = Session(X, strategy=Guided(update_every=20), random_state=0)
    oracle = SimulatedOracle(np.repeat(np.arange(4), 10), dont_know=1.0, random_state=0)
    result = session.run(oracle, 300, batch=20).result()
    assert len(session.answers) == 300
    assert result.remaining_ is None
    assert result.quality_ is None
    assert not result.stop_


def test_remaining_needs_the_default_strategy() -> None:
    session = Session(np.arange(10.0)[:, None], strategy="random", random_state=0)
    session.run(SimulatedOracle(np.repeat([0, 1], 5), random_state=0), 20)
    assert session.result().remaining_ is None


@pytest.mark.slow
def test_intervals_hold_the_truth_in_sessions() -> None:
    held = []
    for at, name in enumerate(("wine", "breast_cancer", "iris", "digits")):
        data = load(name)
        rows = np.random.RandomState(at).permutation(len(data.y))[:120]
        assert data.X is not None
        X, y = data.X[rows], np.asarray(data.y)[rows]
        for error in (0.0, 0.1, 0.2):
            session = Session(X, strategy=Guided(update_every=10, random_state=at), random_state=at)
            oracle = SimulatedOracle(y, error=error, random_state=at)
            for _ in range(10):
                result = session.run(oracle, 20, batch=5).result()
                if result.quality_ is not None:
                    truth = float(jaccard_score_pairs(y, result.labels_))
                    _, low, high = result.quality_.jaccard
                    held.append(low - 2e-3 <= truth <= high + 2e-3)
    assert len(held) > 50
    assert np.mean(held) >= 0.9
