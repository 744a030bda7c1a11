"""The study: agreement of groups with the classes, by the number of answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Any, ClassVar, NamedTuple

import numpy as np

from benchmarks.papers.active import methods as m
from benchmarks.papers.active import problems as data
from benchmarks.papers.active.limit import unknown_bits
from benchmarks.papers.active.peers import curve_of_package
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of, seeded
from benchmarks.study.problems import Ints, Problem
from clew.metrics import adjusted_rand_score, jaccard_score_pairs
from clew.oracles import Oracle, SimulatedOracle

LEVELS = (0.8, 0.9, 0.95, 1.0)
#: Answers for each row: the budget, and where curves are stored.
BUDGET, GRID = 3, np.linspace(0, 3, 31)
#: Don't-knows for each row after which a replay ends: most questions are not recorded.
MOST_UNKNOWN = 20
#: Answers of people, same and different, by the true answer: DCRC's Table IV (b).
HUMAN = np.array([[42.5, 9.67], [10.83, 162.0]])


class Cell(NamedTuple):
    """Who answers: the share of wrong answers, and a kind of person or of answers."""

    error: float = 0.0
    who: str = ""

    @property
    def name(self) -> str:
        wrong = [f"{self.error:.0%} wrong"] if self.error else []
        return ", ".join([*wrong, *([self.who] if self.who else [])]) or "no errors"

    def oracle(self, y: Ints, seed: int) -> Oracle:
        """Make the simulated person who answers."""
        more: dict[str, Any] = {"error": self.error}
        if self.who == "human confusion":
            rates = HUMAN / HUMAN.sum(axis=1, keepdims=True)
            more = {"confusion": {"pair": np.block([[rates, np.zeros((2, 1))], [0, 0, 1]])}}
        more["persistent"] = self.who == "persistent"
        return SimulatedOracle(y, origin="asked", random_state=seed, **more)


CELLS = tuple(map(Cell, (0.0, 0.1, 0.2)))
MORE_CELLS = (Cell(0.02), Cell(0.1, "persistent"), Cell(0.0, "human confusion"))
MORE_CELLS_OF = ("leaf_flavia", "olivetti_64x64", "digits")
REPLAY, START = Cell(0.0, "replay"), Cell(0.0, "start")
LARGE_TRIALS = 2
#: Trials of some cells, fewer than of the others.
TRIALS = {CELLS[2]: 3, **dict.fromkeys(MORE_CELLS, 2)}


@dataclass(frozen=True)
class ActiveStudy(Study):
    """The study of questions."""

    n_trials: int = 5
    sets: tuple[str, ...] = (*data.SIZES, *data.PEOPLE)
    stem: str = "active"

    #: Results of another version are used, and named, only in cells without any of the present one.
    method_fields: ClassVar[tuple[str, ...]] = ("set", "cell", "method")
    no_answers = START

    def problem(self, name: str) -> Problem:
        part = data.people(name, 0)[0] if name in data.PEOPLE else data.part(name, 0)
        return Problem(name, part.D, part.y)

    def points(self, name: str) -> Sequence[tuple[Any, Any]]:
        if name in data.PEOPLE:
            found = [(method, REPLAY) for method in m.REPLAYED]
            return [*found, *((method, START) for method in m.STARTS)]
        strategies = m.FEW if name in data.LARGE else m.STRATEGIES
        found = [(method, cell) for method in strategies for cell in CELLS]
        if name in MORE_CELLS_OF:
            found += [(method, cell) for method in m.STRATEGIES for cell in MORE_CELLS]
        if name not in data.LARGE:
            found += [(m.LARGE_BATCHES, CELLS[0])]
            found += [(method, START) for method in m.STARTS_BY_NUMBER]
            found += [(method, cell) for method in m.PEERS for cell in CELLS[:2]]
        return [*found, *((method, START) for method in (*m.STARTS, m.LIMIT))]

    def trials_of(self, name: str, method: Any) -> int:
        most = LARGE_TRIALS if name in data.LARGE else self.n_trials
        return min(most, int(method.trials))

    def tasks(self) -> list[Task]:
        return [
            task for task in super().tasks() if task.trial < TRIALS.get(task.cell, task.trial + 1)
        ]

    def version(self, method: Any) -> str:
        return str(method.version)

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        seed = seed_of("active", name, cell.name, trial)
        if name in data.PEOPLE:
            part, oracle = data.people(name, trial)
        else:
            part, oracle = data.part(name, trial), cell.oracle
        if method is m.LIMIT:
            return dict(zip(("bits", "learned_bits"), unknown_bits(*part), strict=True))
        if not method.uses_answers:
            return scores(part.y, m.without_answers(method.name, part, seed))
        answers = oracle(part.y, seed)
        if method.package:
            points, seconds = curve_of_package(method.name, part, answers, budget(part.y), seed)
        else:
            points, seconds = curve(method, part, answers, seed)
        return summary(points, part.y, method.budget) | {"question_seconds": seconds}


Points = list[tuple[int, Ints]]


def curve(method: m.Method, part: data.Part, oracle: Oracle, seed: int) -> tuple[Points, float]:
    """Ask up to the budget; returns groups by number of answers, and CPU seconds a question."""
    assert method.make is not None
    rows = len(part.y)
    strategy = seeded(method.make(part.n_classes, rows), seed).start(part.D)
    points, spent, n, unknown = [(0, strategy.labels())], 0.0, 0, 0
    most = min(method.budget * rows, budget(part.y))
    while n < most and unknown < MOST_UNKNOWN * rows:
        start = process_time()
        asked = strategy.ask(min(method.batch, most - n))
        spent += process_time() - start
        if not asked:
            break
        for at in range(0, len(asked), method.every):
            answers = [oracle.answer(each) for each in asked[at : at + method.every]]
            start = process_time()
            strategy.tell(answers)
            spent += process_time() - start
            known = sum(not answer.is_dont_know for answer in answers)
            n, unknown = n + known, unknown + len(answers) - known
            if n >= points[-1][0] + method.every or n >= most:
                points.append((n, strategy.labels()))
    return points, spent / max(n, 1)


def budget(y: Ints) -> int:
    """Return the largest number of answers."""
    return min(BUDGET * len(y), len(y) * (len(y) - 1) // 2)


def scores(y: Ints, labels: Ints) -> dict[str, float]:
    """Score groups."""
    return {"jcc": float(jaccard_score_pairs(y, labels)),
            "ari": float(adjusted_rand_score(y, labels))}  # fmt: skip


def summary(points: Points, y: Ints, budget: int = BUDGET) -> dict[str, Any]:
    """Score a curve at the points of the grid; add answers to each JCC, and the largest fall."""
    n = np.array([n for n, _ in points])
    jcc, ari = np.array([list(scores(y, labels).values()) for _, labels in points]).T
    at = np.searchsorted(n, GRID[: 10 * budget + 1] * len(y) + 1e-9, side="right") - 1
    found: dict[str, Any] = {
        "curve": jcc[at].round(3).tolist(),
        "ari_curve": ari[at[::5]].round(3).tolist(),
        "ari": float(ari[-1]),
        "fall": float((np.maximum.accumulate(jcc) - jcc).max()),
    }
    for level in LEVELS:
        reached = n[jcc >= level - 1e-9]
        found[f"to {level}"] = float(reached[0]) if len(reached) else np.inf
    return found | {f"at {k}N": float(jcc[at[10 * k]]) for k in range(budget + 1)}


QUICK = replace(
    ActiveStudy(), n_trials=1, sets=("iris", "marks"), stem="active_quick", is_quick=True
)
