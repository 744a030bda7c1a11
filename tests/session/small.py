"""Twenty-four items in three groups, and who answers about them."""

from typing import Any

import numpy as np

from clew import Session
from clew.oracles import SimulatedOracle

N = 24
Y = np.repeat([0, 1, 2], N // 3)
X = np.random.RandomState(0).randn(N, 2) * 0.6 + 4 * np.column_stack([Y == 1, Y == 2])
IDS = [f"item {row:02d}" for row in range(N)]


def session(**parameters: Any) -> Session:
    """A session of 24 items, with a strategy that starts quickly."""
    given: dict[str, Any] = {
        "ids": IDS,
        "strategy": "most_probable",
        "random_state": 0,
    } | parameters
    return Session(X, **given)


def oracle(**parameters: Any) -> SimulatedOracle:
    return SimulatedOracle(Y, **({"random_state": 0} | parameters))
