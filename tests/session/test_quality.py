"""Random checks are drawn with the stated probabilities, and intervals from them hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

from clew import Answer, Question, Session
from clew.datasets import load
from clew.metrics import jaccard_score_pairs
from clew.oracles import SimulatedOracle
from clew.questions import Guided
from clew.questions._log import Key
from clew.session._checks import FLOOR, Check, draw_check
from clew.session._evidence import Evidence
from clew.session._quality import expected_pairs, quality_of
from clew.session._remaining import advice_of, progress_of, remaining_of

Labels = NDArray[np.int64]


def some_evidence(y: Labels, random: np.random.RandomState) -> tuple[Evidence, Labels]:
    """Groups with some misplaced rows, and probabilities that are over- or underconfident."""
    n, share = len(y), random.uniform(0, 0.25)
    labels, wrong = y.copy(), random.random_sample(n) < share
    labels[wrong] = random.randint(y.max() + 1, size=int(wrong.sum()))
    sure = np.clip(1 - share + random.normal(size=n) * 0.1 - 0.3 * wrong, 0.02, 0.995)
    within = labels[:, None] == labels[None, :]
    p = np.where(within, sure[:, None] * sure, (1 - sure[:, None] * sure) / (y.max() + 1))
    p = expit(logit(np.clip(p, 0.001, 0.999)) + random.normal() * 0.4).astype(np.float32)
    np.fill_diagonal(p, 1)
    return Evidence(p, p, is_estimated=True, rows=np.arange(n)), labels


def answered(check: Check, y: Labels, error: float, random: np.random.RandomState) -> Answer:
    i, j = check.pair
    same = (y[i] == y[j]) != (random.random_sample() < error)
    return Answer(Question("pair", check.pair, origin="random"), int(same), origin="random")


def test_intervals_hold_the_truth() -> None:
    y, random = np.repeat(np.arange(6), 10), np.random.RandomState(0)
    held, widths = [], []
    for seed in range(60):
        (evidence, labels), error = some_evidence(y, random), [0.0, 0.1][seed % 2]
        drawn = [
            draw_check(evidence, labels, set(), number=k, n_answers=0, seed=seed) for k in range(12)
        ]
        checks = [(each, answered(each, y, error, random)) for each in drawn if each]
        found = quality_of(checks, expected_pairs(evidence, labels), error)
        assert found is not None
        truth = float(jaccard_score_pairs(y, labels))
        held.append(found.jaccard.low - 1e-3 <= truth <= found.jaccard.high + 1e-3)
        widths.append(found.jaccard.high - found.jaccard.low)
    assert np.mean(held) >= 0.9
    assert np.mean(widths) < 0.7


def test_a_check_states_the_probability_of_its_draw() -> None:
    evidence, labels = some_evidence(np.repeat(np.arange(3), 4), np.random.RandomState(3))
    between = np.triu(labels[:, None] != labels[None, :], 1)
    weight = (evidence.questions + FLOOR) * between
    counts = np.zeros_like(weight)
    for seed in range(1200):
        check = draw_check(evidence, labels, set(), number=2, n_answers=0, seed=seed)
        assert check is not None
        assert not check.is_within
        i, j = check.pair
        assert check.probability == pytest.approx(weight[i, j] / weight.sum(), rel=1e-4)
        counts[i, j] += 1
    np.testing.assert_allclose(counts / 1200, weight / weight.sum(), atol=0.04)


def test_pairs_within_groups_are_equally_likely() -> None:
    evidence, labels = some_evidence(np.repeat(np.arange(3), 4), np.random.RandomState(3))
    n_within = np.triu(labels[:, None] == labels[None, :], 1).sum()
    check = draw_check(evidence, labels, set(), number=1, n_answers=0, seed=0)
    assert check is not None
    assert check.is_within
    assert check.probability == pytest.approx(1 / n_within)


def test_no_check_if_all_pairs_were_asked() -> None:
    evidence, labels = some_evidence(np.array([0, 0, 1]), np.random.RandomState(0))
    asked: set[Key] = {("pair", (0, 1)), ("pair", (0, 2)), ("pair", (1, 2))}
    assert draw_check(evidence, labels, asked, number=1, n_answers=3, seed=0) is None


def test_checks_against_the_groups_lower_the_estimate() -> None:
    y = np.repeat(np.arange(4), 8)
    evidence, labels = some_evidence(y, np.random.RandomState(1))
    check = draw_check(evidence, labels, set(), number=1, n_answers=0, seed=0)
    assert check is not None
    question = Question("pair", check.pair, origin="random")
    good, bad = ([(check, Answer(question, code))] * 6 for code in (1, 0))
    expected = expected_pairs(evidence, labels)
    better, worse = (quality_of(checks, expected, 0.05) for checks in (good, bad))
    assert better is not None
    assert worse is not None
    assert worse.precision.value < better.precision.value - 0.1
    assert worse.jaccard.value < better.jaccard.value - 0.1


def test_expected_pairs_of_certain_groups() -> None:
    labels = np.repeat([0, 1], 5)
    p = (labels[:, None] == labels[None, :]).astype(np.float32)
    certain = expected_pairs(Evidence(p, p, is_estimated=False, rows=np.arange(10)), labels)
    assert certain.n_within == 20
    assert certain.false == certain.missed == 0


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
    assert advice_of(None, None, has_questions=False).is_enough
    assert not advice_of(None, None, has_questions=True).is_enough


def test_remaining_needs_the_default_strategy() -> None:
    session = Session(np.arange(10.0)[:, None], strategy="random", random_state=0)
    session.run(SimulatedOracle(np.repeat([0, 1], 5), random_state=0), 20)
    assert remaining_of(progress_of(session.strategy), None) is None


@pytest.mark.slow
def test_intervals_hold_the_truth_in_sessions() -> None:
    held = []
    for at, name in enumerate(("wine", "breast_cancer", "iris")):
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
