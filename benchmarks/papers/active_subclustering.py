"""Active subclustering: Figure 6 of chapter 4 of the thesis."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.papers.subclustering import problem
from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED
from benchmarks.study.problems import Floats, Ints, Problem
from benchmarks.study.report import Curves, Line, Panel, Report, Table
from benchmarks.study.results import Score
from clew import Answer, Question
from clew.cluster.medoids._distances import RowDistances
from clew.cluster.medoids._subclusters import draw_candidates, overlaps, thesis_costs
from clew.datasets import make_face_like
from clew.kernels.subclusters import swap_eagerly
from clew.metrics import subclustering_jaccard
from clew.oracles import Oracle, SimulatedOracle
from clew.questions import ActiveSubclustering

#: λ as a multiple of the typical distance: the better one of the study of subclustering.
SCALE = 0.3
N_LISTED, PER_CLUSTER, MAX_SWAPS = 200, 20, 200_000
#: Cost of a pair of equal centers, and factor by which the utility of a row that was put off falls.
SAME_COST, LATER = 1e4, 0.9


class ThesisRun:
    """The subclusters, and the questions that change them; ``same(i, j)`` answers."""

    def __init__(self, X: Floats, k: int, size: int, seed: int) -> None:
        self.size, random = size, np.random.RandomState(seed)
        distances = RowDistances(X, "euclidean")
        listed = min(N_LISTED, len(X) - 1)
        wanted = min(PER_CLUSTER * k, len(X))
        found = draw_candidates(distances, wanted, listed + 1, random)
        few = found._replace(nearest=found.nearest[:, : size - 1],
                             distance=found.distance[:, : size - 1])  # fmt: skip
        scale = SCALE * float(np.median(few.distance[:, -1]))
        apart = distances.between(found.rows, found.rows) * np.float32(distances.unit / scale)
        self.own, self.pair, self.overlap = thesis_costs(
            few, apart.copy(), overlaps(few), scale, is_rule=True
        )
        self.rows, self.listed = found.rows, found.nearest
        self.probability = np.exp(-apart).astype(np.float64)
        self.likely = np.exp(-found.distance / scale)
        self.centers = random.choice(wanted, k, replace=False).astype(np.int64)
        self.places = {int(r): list(range(size - 1)) for r in range(wanted)}
        self.right: dict[tuple[int, int], bool] = {}
        self._swap()
        self.later = np.ones((k, size - 1))

    def exemplars(self) -> Ints:
        """Return the rows of each subcluster, the center first."""
        return np.array([[self.rows[r], *self.listed[r, self.places[r]]] for r in self.centers])

    def _swap(self) -> None:
        swap_eagerly(self.own, self.pair, self.overlap, self.centers, 1e-9, MAX_SWAPS)

    def questions(self, same: Callable[[int, int], bool]) -> Iterator[int]:
        """Ask and learn, one question for each step."""
        n_between = n_within = between_yes = within_no = 1
        known = np.zeros((len(self.rows), len(self.rows)), np.bool_)
        k = len(self.centers)
        while True:
            of = np.ix_(self.centers, self.centers)
            between = np.where(known[of] | np.eye(k, dtype=bool), -1.0, self.probability[of])
            stays = 1 - np.where(known[of] | np.eye(k, dtype=bool), 0, between).max(axis=1)
            is_open = np.array([[(r, p) not in self.right for p in self.places[r]]
                                for r in self.centers.tolist()])  # fmt: skip
            likely = np.array([self.likely[r, self.places[r]] for r in self.centers])
            within = np.where(is_open, (1 - likely) * stays[:, None] * self.later, -1.0)
            if max(between.max(), within.max()) < 0:
                return
            if between.max() >= within.max():
                a, b = np.unravel_index(int(between.argmax()), (k, k))
                i, j = self.centers[a], self.centers[b]
                is_same = same(int(self.rows[i]), int(self.rows[j]))
                n_between, between_yes = n_between + 1, between_yes + is_same
                known[i, j] = known[j, i] = True
                self.pair[i, j] = self.pair[j, i] = SAME_COST if is_same else 0.0
                if is_same:
                    before = self.centers.copy()
                    self._swap()
                    self.later[before != self.centers] = 1.0
                yield 1
                continue
            a, at = np.unravel_index(int(within.argmax()), within.shape)
            r = int(self.centers[a])
            limit = max(1, (n_between / between_yes) / (n_within / within_no))
            for n_asked in range(1, len(self.listed[0])):
                place = self.places[r][at]
                is_same = same(int(self.rows[r]), int(self.listed[r, place]))
                n_within, within_no = n_within + 1, within_no + (not is_same)
                self.right[r, place] = is_same
                yield 1
                if is_same or not self._replace(r, int(at)):
                    break
                if n_asked >= limit:
                    self.later[a, at] *= LATER
                    break

    def _replace(self, r: int, at: int) -> bool:
        """Put the next nearest free row in place of one; return whether there is one."""
        used = {int(row) for row in self.exemplars().ravel()}
        for place in range(self.listed.shape[1]):
            if (r, place) not in self.right and int(self.listed[r, place]) not in used:
                self.places[r][at] = place
                return True
        return False


LARGE, HARD = "face_like_200", "face_like_200_hard"
#: Sizes of subclusters, and largest numbers of questions.
SETS = {
    "face_like_40": (10, 600), "leaf_flavia": (10, 600), "pubfig_900_60": (5, 1000),
    LARGE: (10, 1500), HARD: (10, 3000),
}  # fmt: skip
TARGET = 0.92
#: Mean standard deviation within the classes of the harder set.
HARD_NOISE = 1.8
BATCH = 10
N_POINTS = 20


class Cell(NamedTuple):
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


QUICK = ActiveSubclusteringStudy(
    1, ("face_like_40", "pubfig_900_60"), "active_subclustering_quick", True
)


LINES = (
    ("ActiveSubclustering", OURS, CELLS[0], RED),
    ("10 % wrong answers", OURS, CELLS[1], ORANGE),
    ("20 % wrong answers", OURS, CELLS[2], PINK),
    ("thesis", THESIS, CELLS[0], BLUE),
    ("thesis, 10 % wrong", THESIS, CELLS[1], GREEN),
    ("random questions", RANDOM, CELLS[0], GRAY),
)


class ActiveSubclusteringReport(Report[ActiveSubclusteringStudy]):
    def curve(self, name: str, method: Method, cell: Cell) -> pd.DataFrame:
        at = points_of(name)
        columns = [self.results.values(name, cell, method, f"sjc {n}") for n in at]
        return pd.concat(columns, axis=1, keys=at)

    def figure_6(self) -> Curves:
        panels = []
        for name in self.sets:
            lines = [
                Line(label, frame, {"color": color})
                for label, method, cell, color in LINES
                if len(frame := self.curve(name, method, cell).dropna())
            ]
            if lines:
                panels.append(Panel(name, points_of(name), lines))
        panels = panels or [Panel("no results", (), ())]
        return Curves("figure_6", "SJC by the number of questions", [panels], "questions", ("SJC",))

    def scores(self) -> Iterator[Table]:
        for share, title in ((0, "no questions"), (4, "a fifth"), (10, "half"), (20, "all")):
            fields = {name: f"sjc {points_of(name)[share]}" for name in self.sets}
            yield self._table(title, fields, is_marked=share > 0)

    def _table(self, title: str, fields: Mapping[str, str], *, is_marked: bool = False) -> Table:
        rows = [
            [label, *(self.results.values(name, cell, method, fields[name]) for name in self.sets)]
            for label, method, cell, _ in LINES
        ]
        return Table([title, *self.sets], rows, is_marked)

    def to_target(self) -> Table:
        rows = []
        for label, method, cell, _ in LINES:
            texts = []
            for name in self.sets:
                all_of = self.results.values(name, cell, method, f"sjc {points_of(name)[-1]}")
                found = self.results.values(name, cell, method, "to target").dropna().astype(float)
                mean = Score.of(found).text(".0f") if len(found) else "–"
                missed = len(all_of) - len(found)
                texts.append(mean if not missed else f"{mean} ({missed} never)")
            rows.append([label, *texts])
        return Table(["questions", *self.sets], rows)

    def seconds(self) -> Iterator[Table]:
        for field, title in (("start", "start, s"), ("per question", "a question, ms")):
            yield self._table(title, dict.fromkeys(self.sets, field))


command = study_command(
    ActiveSubclusteringStudy(), ActiveSubclusteringReport, __file__, QUICK,
    "One trial, two small sets",
)  # fmt: skip
