"""How well `clew.Session` estimates its quality and the number of questions that remain."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_blobs, make_moons
from sklearn.preprocessing import scale

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import Record, seed_of, tag_of
from benchmarks.study.problems import Floats, Ints, Problem, load, rows_of
from benchmarks.study.report import Table
from benchmarks.study.results import Results
from clew import Session
from clew._limits import LEAST_ANSWERS, LEAST_CHECKS
from clew.datasets import make_leaf_like
from clew.oracles import SimulatedOracle
from clew.questions import Guided
from clew.session import _remaining as now
from clew.session._quality import Estimate, Quality, expected_pairs, n_informative, quality_of
from clew.session._remaining import GOAL, OFFSET, Remaining, advice_of, features_of, remaining_of
from clew.session._result import confidence_of, groups_of, probabilities_of

#: Number of rows of each set, and maximum number of rows of a group (0: rows are drawn among all).
#: The model of quality was fitted on the first sets. The share of its draws in an interval, and
#: where to stop, were chosen on trial 0 of the held-out ones; questions left were fitted on all.
FITTED_ON = {
    "leaf_like": (150, 15), "face_like": (150, 10), "leaf_flavia": (200, 15), "uci_leaf": (150, 10),
    "olivetti_64x64": (200, 10), "digits": (200, 0), "iris": (150, 0), "glass": (150, 0),
    "segment_small": (150, 0), "letters_ijlt": (150, 0), "apfaces_900": (200, 0),
    "usps_11000": (150, 0), "scene8_outdoor": (150, 0), "pubfig_900_60": (200, 15),
    "pie10_32x32": (150, 0), "digits389": (150, 0), "lost_faces": (200, 0),
    "many_small": (280, 0),
}  # fmt: skip
HELD_OUT = {
    "vehicle": (130, 0), "balance_scale": (130, 0), "ionosphere": (130, 0), "wine": (130, 0),
    "hja_birdsong": (150, 0), "breast_cancer": (130, 0), "pima_diabetes": (130, 0),
    "blobs": (200, 0), "moons": (150, 0),
}  # fmt: skip
SIZES = FITTED_ON | HELD_OUT
MADE = ("leaf_like", "face_like", "blobs", "moons", "many_small")
NOISE = {"leaf_like": 0.55, "face_like": 0.8}
#: A state is logged every `STEP` answers. A session ends after `BUDGET` answers for each row, or
#: when `N_DONE` consecutive states have a Jaccard index of at least `DONE`.
STEP, BUDGET, N_DONE, DONE = 10, 4, 5, 0.97
#: The truth may be outside an interval by this much, for rounding.
TOLERANCE = 0.002
#: Number of answers to the fourth check, before which stopping is never advised.
LEAST_TO_STOP = 80


class Method(NamedTuple):
    name: str = "guided"


class Cell(NamedTuple):
    error: float

    @property
    def name(self) -> str:
        return f"{self.error:.0%} wrong"


#: Truth and estimates of a state: each estimate with the ends of its interval. `groups_precision`
#: and `groups_recall` are the shares of groups whose intervals hold the truth; `unresolved` is 1
#: minus the mean confidence.
MEASURES = ("jaccard", "precision", "recall")
STATE = (
    "n_answers", "n_groups", "n_checks", *MEASURES,
    *(f"{name} {of}" for name in MEASURES for of in ("value", "low", "high")),
    "groups_precision", "groups_recall", "unresolved",
)  # fmt: skip
METHOD = Method()
CELLS = tuple(map(Cell, (0.0, 0.1, 0.2)))


class Rows(NamedTuple):
    """What a session gets, and the classes."""

    data: dict[str, Floats]  # "X" or "distances"
    y: Ints


@lru_cache(maxsize=4)
def rows(name: str, trial: int) -> Rows:
    """Draw the rows of a trial, in random order."""
    n, per_class = SIZES[name]
    seed = seed_of("session", name, trial)
    if name in MADE:
        return _made(name, n, per_class, seed)
    whole = load(name)
    whole = whole if whole.distances is not None else load(name, "standard")
    chosen = rows_of(whole.y, n, per_class, np.random.RandomState(seed))
    y = np.unique(whole.y[chosen], return_inverse=True)[1]
    if whole.distances is not None:
        return Rows({"distances": whole.distances[np.ix_(chosen, chosen)]}, y)
    return Rows({"X": whole.X[chosen]}, y)


def _made(name: str, n: int, per_class: int, seed: int) -> Rows:
    if name == "moons":
        X, y = make_moons(n, noise=0.15, random_state=seed)
        return Rows({"X": X}, y)
    if name == "many_small":  # 40 groups of 3 to 15 rows, 7 rows on average
        random = np.random.RandomState(seed)
        sizes = np.maximum(3, random.permutation(np.linspace(1, 15, 40)).astype(int))
        y = random.permutation(np.repeat(np.arange(40), sizes))
        return Rows({"X": 1.3 * random.randn(40, 16)[y] + random.randn(len(y), 16)}, y)
    if name == "blobs":
        sizes = np.diff(np.linspace(0, 1, 13) ** 2 * n).round().astype(int)
        X, y = make_blobs(sizes, n_features=8, cluster_std=5.0, random_state=seed)
        return Rows({"X": scale(X)}, y)
    made = make_leaf_like(n, class_size=per_class, noise=NOISE[name], random_state=seed)
    assert made.D is not None
    return Rows({"distances": made.D}, made.y)


@dataclass(frozen=True)
class SessionStudy(Study):
    n_trials: int = 2
    sets: tuple[str, ...] = tuple(SIZES)
    stem: str = "session"
    budget: float = BUDGET  # Answers for each row

    def problem(self, name: str) -> Problem:
        y = rows(name, 0).y
        return Problem(name, np.eye(len(y)), y)

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        return [(METHOD, cell) for cell in CELLS]

    def version(self, method: Method) -> str:
        return tag_of(method, STEP, BUDGET, N_DONE, DONE, STATE)

    def measure(self, task: Task) -> dict[str, Any]:
        """Run a session: "states" every ten answers, each a list of numbers."""
        data, y = rows(task.set, task.trial)
        seed = seed_of("session", *task[:1], task.cell.name, task.trial)
        session = Session(**data, random_state=seed)  # type: ignore[arg-type]
        oracle = SimulatedOracle(y, error=task.cell.error, origin="asked", random_state=seed)
        states: list[list[float]] = []
        while len(session.answers) < self.budget * len(y):
            (question,) = session.ask(1) or (None,)
            if question is None:
                break
            session.tell(oracle.answer(question))
            if len(session.answers) % STEP == 0:
                states.append(_state(session, y))
                at = STATE.index("jaccard")
                if len(states) >= N_DONE and min(s[at] for s in states[-N_DONE:]) >= DONE:
                    break
        return {"n_items": len(y), "states": states}


def _state(session: Session, y: Ints) -> list[float]:
    """Return the columns of `STATE`."""
    model = _guided(session)
    with session._loop.model() as chooser:
        labels = groups_of(chooser)
        pairs = probabilities_of(chooser, labels)
    expected = expected_pairs(pairs.same, labels)
    quality = quality_of(
        session._loop.answered_checks(),
        expected,
        model.error_rate(),
        n_answers=n_informative(model.answers, labels, expected),
    )
    member = np.eye(labels.max() + 1)[labels]
    between = member.T @ (y[:, None] == y) @ member
    sizes, right = member.sum(axis=0), between.diagonal() - member.sum(axis=0)
    same = between.sum(axis=1) - sizes
    n_within, n_same = (sizes * (sizes - 1)).sum(), same.sum()
    true = (
        right.sum() / max(n_within + n_same - right.sum(), 1),
        right.sum() / n_within if n_within else 1.0,
        right.sum() / n_same,
    )
    precision, recall = (
        np.divide(right, whole, out=np.ones(len(right)), where=whole > 0)
        for whole in (sizes * (sizes - 1), same)
    )
    values = (
        len(session.answers), len(sizes), quality.n_checks, *true,
        *(value for name in MEASURES for value in getattr(quality, name)),
        _share_held(quality, "precision", precision), _share_held(quality, "recall", recall),
        1 - confidence_of(pairs, labels).mean(),
    )  # fmt: skip
    return [float(f"{value:.4g}") for value in values]


def _share_held(quality: Quality, name: str, true: Floats) -> float:
    """Return the share of groups whose interval holds the truth, within rounding."""
    found = [getattr(quality.groups[at], name) for at in range(len(true))]
    held = [
        each.low - TOLERANCE <= value <= each.high + TOLERANCE
        for each, value in zip(found, true, strict=True)
    ]
    return float(np.mean(held))


def _guided(session: Session) -> Guided:
    assert isinstance(session.strategy, Guided)
    return session.strategy


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
    """Intercept, and slopes of the logarithms of the unresolved share and of answers an item."""
    range: tuple[float, float]
    """5 % and 95 % quantiles of the truth minus the estimate (logarithms), before the goal."""


class Run(NamedTuple):
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
            (s for s in self.states if advice_of(logged_quality(s), None, has_questions=True)), None
        )

    def progress(self, state: State) -> tuple[int, int, float, float]:
        return (
            self.n_items, int(state["n_answers"]), state["unresolved"], state["jaccard value"]
        )  # fmt: skip

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
        found = remaining_of(*self.progress(state), *(fitted or ()))
        assert found is not None
        return found, self.left(state)


def run_of(name: str, error: float, record: Record) -> Run:
    states = [dict(zip(STATE, state, strict=True)) for state in record["states"]]
    return Run(name, error, record["n_items"], states)


def logged_quality(state: State) -> Quality | None:
    """Read the estimates of a state; None if too few checks are answered."""
    if state["n_checks"] < LEAST_CHECKS:
        return None
    jaccard, precision, recall = (
        Estimate(*(state[f"{name} {end}"] for end in ("value", "low", "high"))) for name in MEASURES
    )
    return Quality(jaccard, precision, recall, int(state["n_checks"]), {})


def regression(runs: Sequence[Run]) -> Regression:
    """Fit log(questions left for each item + 1/30) by least absolute deviations.

    Each session has the same weight.
    """
    features, logs, weights, before = [], [], [], []
    for run in runs:
        states = run.with_estimate()
        share = np.array([s["n_answers"] / (run.needed or 1) for s in states])
        near = np.exp(-0.5 * ((share[:, None] - SHARES) / WIDTH) ** 2).sum(axis=1)
        weight = near + AFTER * (share >= 1)
        weights += list(weight / max(weight.sum(), 1e-9))
        before += list(share < 1)
        features += [(1.0, *features_of(*run.progress(state))) for state in states]
        logs += [np.log(run.left(state) / run.n_items + OFFSET) for state in states]
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


#: Jaccard indices that are counted where stopping is advised.
ENDS = (0.9, 0.95)
FACTORS, N_CHECKS = (1.5, 2.0), ((4, 6), (7, 12), (13, 25), (26, 999))


class SessionReport:
    goal, step, budget = f"{now.GOAL}", f"{STEP}", f"{BUDGET}"

    def __init__(self, results: Results[SessionStudy]) -> None:
        self.results = results
        self.fitted_on, self.held_out = (", ".join(sets) for sets in (FITTED_ON, HELD_OUT))

    @cached_property
    def runs(self) -> list[Run]:
        records = self.results.records.items()
        return [run_of(task.set, task.cell.error, record) for task, record in records]

    @cached_property
    def states(self) -> list[tuple[Run, dict[str, float]]]:
        """The session of each state with an estimate, and the true and the estimated values."""
        found = []
        for run in self.runs:
            for state in run.states:
                if (quality := logged_quality(state)) is None:
                    continue
                row = {"n_checks": float(quality.n_checks), "true": state["jaccard"]}
                row |= {"estimate": quality.jaccard.value}
                for name in MEASURES:
                    each, true = getattr(quality, name), state[name]
                    row[name] = each.low - TOLERANCE <= true <= each.high + TOLERANCE
                    row[f"width of {name}"] = each.high - each.low
                row |= {name: state[name] for name in ("groups_precision", "groups_recall")}
                found.append((run, row))
        return found

    def _groups(self) -> dict[str, Callable[[Run], bool]]:
        return {
            "held out": lambda run: run.set in HELD_OUT,
            "fitted on": lambda run: run.set in FITTED_ON,
        }

    def _coverage(self, name: str, rows: Sequence[dict[str, float]]) -> list[str]:
        if not rows:
            return [name, "0", *["–"] * 9]
        mean = {field: float(np.mean([row[field] for row in rows])) for field in rows[0]}
        return [
            name,
            f"{len(rows):,}",
            *(f"{100 * mean[each]:.1f} %" for each in MEASURES),
            *(f"{mean[f'width of {each}']:.2f}" for each in MEASURES),
            *(f"{100 * mean[each]:.1f} %" for each in ("groups_precision", "groups_recall")),
            f"{mean['true']:.2f}, {mean['estimate']:.2f}",
        ]

    def quality(self) -> Table:
        rows = []
        for name, is_in in self._groups().items():
            inside = [(run, row) for run, row in self.states if is_in(run)]
            rows.append(self._coverage(name, [row for _, row in inside]))
            for cell in CELLS:
                of = [row for run, row in inside if run.error == cell.error]
                rows.append(self._coverage(f"{name}, {cell.name}", of))
            for low, high in N_CHECKS:
                of = [row for _, row in inside if low <= row["n_checks"] <= high]
                text = f"{low} to {high}" if high < N_CHECKS[-1][1] else f"{low} or more"
                rows.append(self._coverage(f"{name}, {text} checks", of))
        return Table(self._header("sessions"), rows)

    def by_set(self) -> Table:
        rows = [
            self._coverage(name, [row for run, row in self.states if run.set == name])
            for name in (*HELD_OUT, *FITTED_ON)
        ]
        return Table(self._header("set"), rows)

    def _header(self, first: str) -> list[str]:
        widths = [f"width of {each}" for each in MEASURES]
        groups = ["precision of a group", "recall of a group"]
        truth = "true, estimated Jaccard index"
        return [first, "results", *MEASURES, *widths, *groups, truth]

    def stopping(self) -> Table:
        rows = []
        for name, is_in in self._groups().items():
            runs = [run for run in self.runs if is_in(run)]
            reached = [run for run in runs if run.needed is not None]
            stopped = [state for run in runs if (state := run.stopped) is not None]
            in_time = [
                state["n_answers"] <= 1.3 * max(run.needed or 0, LEAST_TO_STOP)
                for run in reached
                if (state := run.stopped) is not None
            ]
            true = np.array([state["jaccard"] for state in stopped])
            rows.append(
                [
                    *(name, str(len(runs)), str(len(reached)), str(len(stopped))),
                    f"{100 * sum(in_time) / max(len(reached), 1):.0f} %",
                    *(f"{100 * (true >= of).mean():.0f} %" if len(true) else "–" for of in ENDS),
                ]
            )
        header = ["", "sessions", "reach the goal", "stop", "within 1.3 of the goal"]
        return Table([*header, *(f"true index {of} or more" for of in ENDS)], rows)

    def remaining(self) -> Table:
        rows = []
        for name, is_in in self._groups().items():
            for share in SHARES:
                runs = [run for run in self.runs if is_in(run)]
                label = f"{name}, at {share:.0%}"
                rows.append([label, str(len(runs)), *_shares([run.at(share) for run in runs])])
        for share in SHARES:
            label = f"each set, by the others, at {share:.0%}"
            rows.append([label, str(len(self.runs)), *_shares(self._left_out(share))])
        header = ["", "sessions", "reach the goal", "within 1.5", "within 2", "in the range"]
        return Table([*header, "too high"], rows)

    def _left_out(self, share: float) -> list[tuple[Remaining, float] | None]:
        """Estimate for the sessions of each set by a regression on those of all other sets."""
        found: list[tuple[Remaining, float] | None] = []
        for name in sorted({run.set for run in self.runs if run.with_estimate()}):
            others = [run for run in self.runs if run.set != name]
            if any(run.with_estimate() for run in others):
                fitted = regression(others)
                found += [run.at(share, fitted) for run in self.runs if run.set == name]
        return found

    def coefficients(self) -> Table:
        of_sets = [run for run in self.runs if run.set in FITTED_ON and run.with_estimate()]
        fitted = regression(of_sets) if of_sets else None
        names = ["intercept", "log unresolved", "log answers", "low end", "high end"]
        found = [f"{of:.3f}" for of in (*fitted.coefficients, *fitted.range)] if fitted else []
        in_use = [f"{of:.3f}" for of in (*now.COEFFICIENTS, *now.RANGE)]
        values = zip(names, found or ["–"] * len(names), in_use, strict=True)
        rows = [list(row) for row in values]
        return Table(["", "fitted to this log", "in use"], rows)


def _shares(estimates: Sequence[tuple[Remaining, float] | None]) -> list[str]:
    found = [each for each in estimates if each is not None]
    if not found:
        return ["0", *["–"] * 4]
    ratio = np.array([of.median / left for of, left in found])
    shares = [np.maximum(ratio, 1 / np.maximum(ratio, 1e-9)) <= factor for factor in FACTORS]
    shares += [[of.low <= left <= of.high for of, left in found], ratio > 1]
    return [str(len(found)), *(f"{100 * np.mean(share):.0f} %" for share in shares)]


QUICK = SessionStudy(1, ("iris",), "session_quick", True, budget=0.7)
command = study_command(SessionStudy(), SessionReport, __file__, QUICK, "One trial, one set")
