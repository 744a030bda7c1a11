"""Sessions of the log, with their estimates, and the regression of the questions that remain."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.studies.session.study import MEASURES, STATE
from benchmarks.study.log import Record
from benchmarks.study.problems import Floats
from clew.session._quality import Estimate, Quality
from clew.session._remaining import (
    GOAL,
    LEAST_ANSWERS,
    LEAST_CHECKS,
    OFFSET,
    Remaining,
    Status,
    advice_of,
    remaining_of,
)

#: Sessions that need fewer answers to reach the goal are left out: a fifth of so few answers
#: would not suffice for an estimate.
LEAST_NEEDED = 60
#: Shares of the answers to the goal at which the questions that remain are estimated; the standard
#: deviation of the normal densities that weigh the states of a session in the regression; the
#: ridge, and the least residual in the weights of least absolute deviations.
SHARES, WIDTH, RIDGE, LEAST_RESIDUAL = (0.2, 0.5, 0.8), 0.1, 1e-2, 0.15
#: Weight of each state after the goal.
AFTER = 0.1

State = dict[str, float]


class Regression(NamedTuple):
    """The regression of `clew.session._remaining`."""

    coefficients: Floats
    """Intercept, d, log groups, d * log groups, log items, log answers."""
    range: tuple[float, float]
    """5 % and 95 % quantiles of the truth minus the estimate (logarithms), before the goal."""


class Run(NamedTuple):
    """A session of the log."""

    set: str
    error: float
    n_items: int
    states: list[State]

    @property
    def needed(self) -> float | None:
        """Number of answers to the goal; None if it was not reached."""
        return next((s["n_answers"] for s in self.states if s["jaccard"] >= GOAL), None)

    @property
    def stopped(self) -> State | None:
        """The first state at which stopping is advised; None if there is none."""
        return next(
            (s for s in self.states if advice_of(quality_of(s), None, has_questions=True)), None
        )

    def progress(self, state: State) -> Status:
        return Status(
            self.n_items,
            int(state["n_groups"]),
            int(state["n_answers"]),
            state["jaccard value"],
        )

    def left(self, state: State) -> float:
        """Return the number of further answers to the goal, which is reached."""
        assert self.needed is not None
        return max(self.needed - state["n_answers"], 0.0)

    def with_estimate(self) -> list[State]:
        """Return the states that have an estimate; none if the goal is not reached, or soon."""
        is_short = (self.needed or 0) < LEAST_NEEDED
        return [s for s in self.states if s["n_answers"] >= LEAST_ANSWERS and not is_short]

    def at(self, share: float, fitted: Regression | None = None) -> tuple[Remaining, float] | None:
        """Return the estimate after a share of the answers, and how many remained in truth.

        `fitted` is used in place of the library's regression.
        """
        states = [s for s in self.with_estimate() if self.left(s) > 0]
        if not states:
            return None
        needed = self.needed or 0
        state = min(states, key=lambda s: abs(s["n_answers"] - share * needed))
        progress = self.progress(state)
        if fitted is None:
            found = remaining_of(progress)
        else:
            found = remaining_of(progress, fitted.coefficients.tolist(), fitted.range)
        assert found is not None
        return found, self.left(state)


def run_of(name: str, error: float, record: Record) -> Run:
    """Read a session from the log."""
    states = [dict(zip(STATE, state, strict=True)) for state in record["states"]]
    return Run(name, error, record["n_items"], states)


def quality_of(state: State) -> Quality | None:
    """Read the estimates of a state; None if too few checks are answered."""
    if state["n_checks"] < LEAST_CHECKS:
        return None
    jaccard, precision, recall = (
        Estimate(*(state[f"{name} {end}"] for end in ("value", "low", "high"))) for name in MEASURES
    )
    return Quality(jaccard, precision, recall, int(state["n_checks"]), {})


def regression(runs: Sequence[Run]) -> Regression:
    """Fit log(questions left + 5) by least absolute deviations, each session with equal weight."""
    features, logs, weights, before = [], [], [], []
    for run in runs:
        states = run.with_estimate()
        share = np.array([s["n_answers"] / (run.needed or 1) for s in states])
        near = np.exp(-0.5 * ((share[:, None] - SHARES) / WIDTH) ** 2).sum(axis=1)
        weight = near + AFTER * (share >= 1)
        weights += list(weight / max(weight.sum(), 1e-9))
        before += list(share < 1)
        features += [(1.0, *run.progress(state).features()) for state in states]
        logs += [np.log(run.left(state) + OFFSET) for state in states]
    X, y, w = np.array(features), np.array(logs), np.array(weights)
    slopes = np.zeros(X.shape[1])
    for step in range(6):
        residual = np.abs(y - X @ slopes) if step else np.ones(len(y))
        of = w / np.maximum(residual, LEAST_RESIDUAL)
        slopes = np.linalg.solve(
            X.T @ (of[:, None] * X) + RIDGE * np.eye(X.shape[1]), X.T @ (of * y)
        )
    low, high = np.quantile((y - X @ slopes)[np.array(before)], [0.05, 0.95])
    return Regression(slopes, (float(low), float(high)))
