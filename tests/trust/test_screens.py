"""What people overlook on screens of members."""

import numpy as np
import pytest

from clew.answers import Answer, Question
from clew.exceptions import InvalidDataError
from clew.oracles import SimulatedOracle
from clew.trust import screen_errors

Y = np.repeat([0, 1], 50)
SCREEN = Question("confirm", (0, 1, 2, 50, 51, 52), parts=(1, 2, 3))


def test_planted_strangers_measure_misses():
    oracle = SimulatedOracle(Y, error=[0.3, 0.0], annotators=["hasty", "slow"], random_state=0)
    answers = [oracle.answer(SCREEN, name) for name in ("hasty", "slow") for _ in range(200)]
    found = screen_errors(answers, Y)
    assert found["hasty"].n_strangers == 600
    value, low, high = found["hasty"].missed
    assert low < 0.3 < high
    assert value == pytest.approx(0.3, abs=0.05)
    assert found["hasty"].ticked[0] == pytest.approx(0.06, abs=0.03)
    assert found["slow"].n_missed == 0
    assert found["slow"].missed[2] < 0.01


def test_other_answers_and_rows_without_a_group_do_not_count():
    others = [Answer(Question("pair", (0, 1)), "same", "ann"), Answer(SCREEN, "dont_know", "ann")]
    assert screen_errors(others, Y) == {}
    labels = np.where(Y == 1, -1, Y)
    assert screen_errors([Answer(SCREEN, 0, "ann")], labels)["ann"].n_strangers == 0
    with pytest.raises(InvalidDataError, match="labels are of 3 rows"):
        screen_errors([Answer(SCREEN, 0)], [0, 0, 1])
    with pytest.raises(InvalidDataError, match="integers"):
        screen_errors([], [[0.5]])
