"""The study: SJC by the number of questions, with right and wrong answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.active_subclustering.thesis import ThesisRun
from benchmarks.papers.subclustering.study import problem
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.problems import Floats, Ints, Problem
from clew import Answer, Question
from clew.datasets import make_face_like
from clew.metrics import subclustering_jaccard
from clew.oracles import Oracle, SimulatedOracle
from clew.questions import ActiveSubclustering

LARGE, HARD = "face_like_200", "face_like_200_hard"
#: Sizes of subclusters, and largest numbers of questions.
SETS = {
    "face_like_40": (10, 600),
    "leaf_flavia": (10, 600),
    "pubfig_900_60": (5, 1000),
    LARGE: (10, 1500),
    HARD: (10, 3000),
}
TARGET = 0.92
#: Mean standard deviation within the classes of the harder set.
HARD_NOISE = 1.8
BATCH = 10
N_POINTS = 20


class Cell(NamedTuple):
    """The share of wrong answers."""

    error: float

    @property
    def name(self) -> str:
        return f"{self.error:.0%} wrong"


CELLS = (Cell(0.0), Cell(0.1), Cell(0.2))


@dataclass(frozen=True)
class Method:
    """A way to ask: `run` yields numbers of questions, and functions that return subclusters."""

    name: str
    run: Callable[..., Iterator[tuple[int, Callable[[], Ints]]]]
    version: str = "1"
    uses_answers: bool = True


Steps = Iterator[tuple[int, Callable[[], Ints]]]


def ours(X: Floats, k: int, size: int, seed: int, oracle: Oracle) -> Steps:
    """Ask the questions of the strategy, in batches."""
    strategy = ActiveSubclustering(k, size=size, random_state=seed).start(X)
    yield 0, strategy.exemplars
    while questions := strategy.ask(BATCH):
        strategy.tell([oracle.answer(question) for question in questions])
        yield len(questions), strategy.exemplars


def at_random(X: Floats, k: int, size: int, seed: int, oracle: Oracle) -> Steps:
    """Ask about random pairs of two centers, or of a center and one of its rows."""
    strategy = ActiveSubclustering(k, size=size, random_state=seed).start(X)
    random, n_between = np.random.RandomState(seed), k * (k - 1) // 2
    yield 0, strategy.exemplars
    while True:
        rows = strategy.exemplars()
        answers: list[Answer] = []
        for _ in range(BATCH):
            if random.randint(n_between + k * (size - 1)) < n_between:
                i, j = rows[random.choice(k, 2, replace=False), 0]
            else:
                group = rows[random.randint(k)]
                i, j = group[0], group[random.randint(1, size)]
            answers.append(oracle.answer(Question("pair", (int(i), int(j)))))
        strategy.tell(answers)
        yield BATCH, strategy.exemplars


def thesis(X: Floats, k: int, size: int, seed: int, oracle: Oracle) -> Steps:
    """Run Algorithm 3."""
    run = ThesisRun(X, k, size, seed)
    yield 0, run.exemplars
    for n in run.questions(lambda i, j: oracle.answer(Question("pair", (i, j))).value == 1):
        yield n, run.exemplars


OURS = Method("ActiveSubclustering", ours)
RANDOM = Method("random questions", at_random)
THESIS = Method("thesis", thesis)


def points_of(name: str) -> list[int]:
    """Return the numbers of questions at which a set is scored."""
    return [round(SETS[name][1] * at / N_POINTS) for at in range(N_POINTS + 1)]


@dataclass(frozen=True)
class ActiveSubclusteringStudy(Study):
    """The study of active subclustering."""

    n_trials: int = 3
    sets: tuple[str, ...] = tuple(SETS)
    stem: str = "active_subclustering"

    def problem(self, name: str) -> Problem:
        if name != HARD:
            return problem(name)
        made = make_face_like(noise=HARD_NOISE, random_state=0)
        return Problem(name, made.X, made.y)

    def points(self, name: str) -> Sequence[tuple[Any, Any]]:
        wrong = [(OURS, cell) for cell in CELLS]
        return [*wrong, (THESIS, CELLS[0]), (RANDOM, CELLS[0]), (THESIS, CELLS[1])]

    def trials_of(self, name: str, method: Any) -> int:
        return 1 if name in (LARGE, HARD) else self.n_trials

    def version(self, method: Any) -> str:
        return str(method.version)

    def group(self, task: Task) -> Any:
        return task.trial, task.method.name, task.cell

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        seed = seed_of("active subclustering", name, trial)
        whole, size = self.problem(name), SETS[name][0]
        order = np.random.RandomState(seed).permutation(len(whole.y))
        X, y = np.ascontiguousarray(whole.X[order]), whole.y[order]
        oracle = SimulatedOracle(y, error=cell.error, origin="asked", random_state=seed)
        scores: dict[int, float] = {}
        n_asked, left, target = 0, points_of(name), None
        start = process_time()
        for n, exemplars in method.run(X, whole.n_classes, size, seed, oracle):
            n_asked += n
            if n == 0:
                began = process_time()
            while left and n_asked >= left[0]:
                scores[left.pop(0)] = float(subclustering_jaccard(y, exemplars()))
                if target is None and max(scores.values()) >= TARGET:
                    target = n_asked
            if not left:
                break
        spent, last = process_time() - began, list(scores.values())[-1]
        scores |= dict.fromkeys(left, last)  # nothing is left to ask
        return {
            **{f"sjc {at}": score for at, score in scores.items()},
            "to target": target,
            "start": round(began - start, 2),
            "per question": round(1000 * spent / max(n_asked, 1), 2),
        }


QUICK = replace(
    ActiveSubclusteringStudy(),
    n_trials=1,
    sets=("face_like_40", "pubfig_900_60"),
    stem="active_subclustering_quick",
    is_quick=True,
)
