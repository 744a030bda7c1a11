"""The study of sessions: its log holds what estimates are made of, and its regression fits them."""

import numpy as np
import pytest
from benchmarks.studies import session as s
from benchmarks.studies.session import (
    SHARES,
    Run,
    SessionReport,
    logged_quality,
    regression,
    run_of,
)
from benchmarks.study.results import Results

from clew import Session
from clew.oracles import SimulatedOracle
from clew.session._remaining import remaining_of


@pytest.mark.slow
def test_the_log_makes_the_same_estimates_as_the_session() -> None:
    y = np.repeat([0, 1, 2], 8)
    X = np.random.RandomState(0).randn(24, 2) + 3 * np.eye(3)[y][:, :2]
    session = Session(X, check_every=4, random_state=0)
    session.run(SimulatedOracle(y, random_state=0), 24)
    record = {"n_items": 24, "states": [s._state(session, y)]}
    run, result = run_of("three", 0.0, record), session.result()
    quality = logged_quality(run.states[0])
    assert quality is not None
    assert result.quality_ is not None
    assert quality.n_checks == result.quality_.n_checks == 6
    np.testing.assert_allclose(quality.jaccard, result.quality_.jaccard, atol=1e-3)
    remaining = remaining_of(*run.progress(run.states[0]))
    assert remaining is not None
    assert result.remaining_ is not None
    np.testing.assert_allclose(remaining[:3], result.remaining_[:3], atol=2)


@pytest.mark.parametrize("name", ["blobs", "moons", "leaf_like", "wine"])
def test_rows_are_drawn_anew_in_each_trial(name: str) -> None:
    (data, y), (other, _) = s.rows(name, 0), s.rows(name, 1)
    (values,), (others,) = data.values(), other.values()
    assert len(values) == len(y)
    assert abs(len(y) - s.SIZES[name][0]) <= 2  # sizes of blobs are rounded
    assert not np.array_equal(values, others)


def test_no_set_is_both_fitted_on_and_held_out() -> None:
    assert not set(s.FITTED_ON) & set(s.HELD_OUT)


def test_the_regression_finds_the_effect_of_the_unresolved_share() -> None:
    random, runs = np.random.RandomState(0), []
    for _ in range(60):
        n_items, needed = random.randint(50, 300), 10 * random.randint(10, 25)
        states = [
            {
                "jaccard value": 1.0,
                "unresolved": (needed - n) / (5 * n_items),
                "jaccard": 0.5,
                "n_answers": float(n),
            }
            for n in range(20, needed, 10)
        ]
        end = states[-1] | {"n_answers": float(needed), "jaccard": 0.96}
        runs.append(Run("made", 0.0, n_items, [*states, end]))
    found = regression(runs)
    left = [run.at(share, found) for run in runs for share in SHARES]
    ratios = [each[0].median / each[1] for each in left if each]
    assert np.mean([2 / 3 <= ratio <= 3 / 2 for ratio in ratios]) >= 0.7
    assert found.range[0] < 0 < found.range[1]


def test_the_report_of_an_empty_log() -> None:
    report = SessionReport(Results(s.SessionStudy(1, ("iris",), "session_absent")))
    assert report.quality().rows[0][:2] == ["held out", "0"]
    assert report.stopping().rows[0][:4] == ["held out", "0", "0", "0"]
    assert report.remaining().rows[0][:3] == ["held out, at 20%", "0", "0"]
