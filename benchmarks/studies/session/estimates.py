"""Estimates of a session from the numbers in the log, and the regression that they are made of."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.studies.session.study import CHECK, STATE
from benchmarks.study.log import Record
from benchmarks.study.problems import Floats
from clew.answers import Answer, Question
from clew.session._checks import Check
from clew.session._evidence import LEAST, Evidence, p_between
from clew.session._quality import ExpectedPairs, Quality, quality_of
from clew.session._remaining import (
    GOAL,
    LEAST_ANSWERS,
    OFFSET,
    Progress,
    Remaining,
    remaining_of,
)

#: Sessions that need fewer answers to reach the goal are left out: a fifth of so few answers
#: would not suffice for an estimate.
LEAST_NEEDED = 60
#: Mean and standard deviation of the normal density that weighs the states of a session in the
#: regression, by their number of answers as a share of the number to the goal; and the ridge.
AT, WIDTH, RIDGE = 0.25, 0.25, 0.1
PAIR = Question("pair", (0, 1))
EVIDENCE = Evidence(*2 * (np.empty((0, 0), np.float32),), True, np.empty(0, np.int64))


class Regression(NamedTuple):
    """The regression of `clew.session._remaining`."""

    coefficients: Floats
    """Intercept, cores, items, error rate."""
    range: tuple[float, float]
    """5 % and 95 % quantiles of the truth minus the estimate (logarithms), when 13 to 30 % of the
    answers to the goal are given."""


class Run(NamedTuple):
    """A session of the log."""

    set: str
    error: float
    n_items: int
    states: list[dict[str, float]]
    checks: list[tuple[Check, Answer]]

    @property
    def needed(self) -> float | None:
        """Number of answers to the goal; None if it was not reached."""
        return next((s["n_answers"] for s in self.states if s["jaccard"] >= GOAL), None)

    def quality(self, state: dict[str, float]) -> Quality | None:
        """Estimate the quality at a state."""
        checks = [check for check in self.checks if check[0].n_answers < state["n_answers"]]
        fields = (int(state["n_within"]), state["false"], state["missed"], state["n_typical"])
        return quality_of(checks, ExpectedPairs(*fields), state["error"])

    def progress(self, state: dict[str, float]) -> Progress:
        return Progress(
            self.n_items, int(state["n_answers"]), int(state["n_cores"]), state["error"]
        )

    def before_goal(self) -> list[dict[str, float]]:
        """Return the states before the goal that have an estimate; for short sessions, none."""
        needed = self.needed or 0
        is_short = needed < LEAST_NEEDED
        return [s for s in self.states if LEAST_ANSWERS <= s["n_answers"] < needed * (not is_short)]

    def at_a_fifth(self, fitted: Regression | None = None) -> tuple[Remaining, float] | None:
        """Return the estimate after a fifth of the questions, and how many remained in truth.

        `fitted` is used in place of the library's regression.
        """
        if not (states := self.before_goal()):
            return None
        needed = self.needed or 0
        state = min(states, key=lambda s: abs(s["n_answers"] - needed / 5))
        progress, quality = self.progress(state), self.quality(state)
        if fitted is None:
            found = remaining_of(progress, quality)
        else:
            found = remaining_of(progress, quality, fitted.coefficients.tolist(), fitted.range)
        assert found is not None
        return found, needed - state["n_answers"]


def run_of(name: str, error: float, record: Record) -> Run:
    """Read a session from the log."""
    states = [dict(zip(STATE, state, strict=True)) for state in record["states"]]
    checks = [_check(dict(zip(CHECK, check, strict=True))) for check in record["checks"]]
    return Run(name, error, record["n_items"], states, checks)


def _check(of: dict[str, float]) -> tuple[Check, Answer]:
    is_within = bool(of["is_within"])
    same, uncertain = (np.array([of[name]], np.float32) for name in ("same", "uncertain"))
    p_wrong = 1 - same if is_within else p_between(same, uncertain, EVIDENCE)
    clipped = float(np.clip(p_wrong, LEAST, 1 - LEAST)[0])
    check = Check((0, 1), is_within, 1.0, clipped, int(of["n_answers"]))
    return check, Answer(PAIR, int(of["is_same"]))


def regression(runs: Sequence[Run]) -> Regression:
    """Fit log(questions left + 5), each session with the same weight."""
    features, logs, weights, near = [], [], [], []
    for run in runs:
        share = np.array([s["n_answers"] / (run.needed or 1) for s in run.before_goal()])
        weight = np.exp(-0.5 * ((share - AT) / WIDTH) ** 2)
        weights += list(weight / max(weight.sum(), 1e-9))
        near += list((share > 0.13) & (share < 0.3))
        for state in run.before_goal():
            of = run.progress(state)
            features.append(of.features())
            logs.append(np.log((run.needed or 0) - of.n_answers + OFFSET))
    X, y, w = np.array(features), np.array(logs), np.array(weights)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    Z = np.column_stack([np.ones(len(X)), (X - mean) / deviation])
    penalty = RIDGE * w.sum() * np.diag([0.0, *np.ones(X.shape[1])])
    slopes = np.linalg.solve(Z.T @ (w[:, None] * Z) + penalty, Z.T @ (w * y))
    low, high = np.quantile((y - Z @ slopes)[np.array(near)], [0.05, 0.95])
    slopes[1:] /= deviation
    slopes[0] -= slopes[1:] @ mean
    return Regression(slopes, (float(low), float(high)))
