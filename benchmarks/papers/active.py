"""Active clustering: Figures 5 to 7 of the thesis, with wrong answers, real people and a limit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import linkage
from scipy.optimize import minimize
from scipy.special import log_softmax

from benchmarks.papers import _active_methods as m
from benchmarks.papers._active_methods import curve_of_package
from benchmarks.study import pictures
from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of, seeded
from benchmarks.study.problems import Floats, Ints, Problem, classical_scaling
from benchmarks.study.report import Block, Picture, Report, Table
from benchmarks.study.results import Results, Score
from clew.metrics import adjusted_rand_score, jaccard_score_pairs
from clew.oracles import Oracle, SimulatedOracle
from clew.questions.guided._start import N_DIMENSIONS, START_WEIGHTS, feature_scale, pair_features

N_LIMIT_COORDINATES, N_FOLDS = 30, 5
#: Scale of the start weights, and weights of the mean and the maximum over the rows of a group.
FACTOR, OF_MEAN, OF_MAX = 2.0, 0.65, 0.35
#: Penalty of the squared weights that are learned, for standardized features.
PENALTY = 1.0


def unknown_bits(D: Floats, y: Ints) -> tuple[float, float]:
    """Return the entropy of a row's group in bits, given the features and all other groups.

    Each row is compared with the other rows of every true group: the posterior of its group is a
    softmax of scores of the pair features of `questions.Guided`, and the mean of -log2 of the
    posterior of the true groups is what is unknown. It estimates the conditional entropy of the
    groups from above; for groups drawn at random it is log2 of their number. On the other hand, no
    strategy knows the groups of all other rows, so the problem is harder than that. The first has
    the weights that `Guided` starts with; the second has weights learned from the true groups of
    other rows by cross-validation, and no strategy can learn more about what the features mean.
    """
    coordinates = classical_scaling(D, min(N_LIMIT_COORDINATES, len(D) - 1))
    ward = linkage(coordinates[:, :N_DIMENSIONS], "ward")
    scale = feature_scale(len(y) / len(np.unique(y)))
    of_pairs = pair_features(D, coordinates, ward, scale, 0).astype(float)
    features = np.zeros((len(D), len(D), of_pairs.shape[1]))
    features[np.tri(len(D), k=-1, dtype=bool)] = of_pairs
    features += features.swapaxes(0, 1)
    intercept, *weights = FACTOR * START_WEIGHTS
    means, maxima = of_groups(intercept + features @ np.array(weights), y)
    start = log_softmax(OF_MEAN * means + OF_MAX * maxima, axis=1)
    columns = []
    for k in range(features.shape[2]):
        columns += [*of_groups(features[:, :, k], y), of_groups(-features[:, :, k], y)[1]]
    return bits(start, y), bits(_held_out(np.stack(columns, axis=2), y), y)


def limit(bits_of_row: float, error: float) -> float:
    """Return how many answers for each row give the bits, if a share `error` of them is wrong."""
    entropy = -sum(p * np.log2(p) for p in (error, 1 - error) if p > 0)
    return float(bits_of_row / (1 - entropy))


def bits(log_posterior: Floats, y: Ints) -> float:
    """Return the mean of -log2 of the posterior of the true groups."""
    return float(-log_posterior[np.arange(len(y)), y].mean() / np.log(2))


def of_groups(W: Floats, y: Ints) -> tuple[Floats, Floats]:
    """Return mean and maximum of each row's values with the other rows of each group."""
    members = np.eye(y.max() + 1)[y]
    W = W.copy()
    np.fill_diagonal(W, 0.0)
    means = (W @ members) / np.maximum(members.sum(axis=0) - members, 1)
    np.fill_diagonal(W, W.min())
    return means, np.stack([W[:, y == group].max(axis=1) for group in range(y.max() + 1)], axis=1)


def _held_out(scores: Floats, y: Ints) -> Floats:
    """Fit a conditional logistic model to the scores of rows with groups; predict held-out rows."""
    scores = (scores - scores.mean(axis=(0, 1))) / (scores.std(axis=(0, 1)) + 1e-9)
    fold = np.random.RandomState(0).randint(N_FOLDS, size=len(y))
    found = np.empty(scores.shape[:2])
    for k in range(N_FOLDS):
        known, held = scores[fold != k], scores[fold == k]
        start = np.zeros(scores.shape[2])
        weights = minimize(_loss, start, (known, y[fold != k]), "L-BFGS-B", jac=True).x
        found[fold == k] = log_softmax(held @ weights, axis=1)
    return found


def _loss(weights: Floats, scores: Floats, y: Ints) -> tuple[float, Floats]:
    log_posterior, rows = log_softmax(scores @ weights, axis=1), np.arange(len(y))
    expected = np.einsum("ik,ikf->f", np.exp(log_posterior), scores)
    gradient = expected - scores[rows, y].sum(axis=0) + PENALTY * weights
    return float(-log_posterior[rows, y].sum() + PENALTY / 2 * weights @ weights), gradient


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
    n_trials: int = 5
    sets: tuple[str, ...] = (*m.SIZES, *m.PEOPLE)
    stem: str = "active"

    #: Results of another version are used, and named, only in cells without any of the present one.
    method_fields: ClassVar[tuple[str, ...]] = ("set", "cell", "method")
    no_answers = START

    def problem(self, name: str) -> Problem:
        part = m.people(name, 0)[0] if name in m.PEOPLE else m.part(name, 0)
        return Problem(name, part.D, part.y)

    def points(self, name: str) -> Sequence[tuple[Any, Any]]:
        if name in m.PEOPLE:
            found = [(method, REPLAY) for method in m.REPLAYED]
            return [*found, *((method, START) for method in m.STARTS)]
        strategies = m.FEW if name in m.LARGE else m.STRATEGIES
        found = [(method, cell) for method in strategies for cell in CELLS]
        if name in MORE_CELLS_OF:
            found += [(method, cell) for method in m.STRATEGIES for cell in MORE_CELLS]
        if name not in m.LARGE:
            found += [(m.LARGE_BATCHES, CELLS[0])]
            found += [(method, START) for method in m.STARTS_BY_NUMBER]
            found += [(method, cell) for method in m.PEERS for cell in CELLS[:2]]
        return [*found, *((method, START) for method in (*m.STARTS, m.LIMIT))]

    def trials_of(self, name: str, method: Any) -> int:
        most = LARGE_TRIALS if name in m.LARGE else self.n_trials
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
        if name in m.PEOPLE:
            part, oracle = m.people(name, trial)
        else:
            part, oracle = m.part(name, trial), cell.oracle
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


def curve(method: m.Method, part: m.Part, oracle: Oracle, seed: int) -> tuple[Points, float]:
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


QUICK = ActiveStudy(1, ("iris", "marks"), "active_quick", True)


CLEAN, WRONG, WORSE = CELLS
DRAWN = {
    m.GUIDED: pictures.RED, m.MARGIN: pictures.ORANGE, m.MOST_PROBABLE: pictures.GREEN,
    m.THESIS: pictures.BLUE, m.EXPLORE: pictures.PINK, m.COBRAS: pictures.SKY,
    m.RANDOM: pictures.GRAY,
}  # fmt: skip
LINES = dict(zip(m.STARTS, (":", "--", "-."), strict=True))
ALL = (*m.STRATEGIES, m.LARGE_BATCHES, *m.PEERS, *m.STARTS)
FORMS = {"to": ".0f", "qu": ".4f"}
N_COLUMNS = 5


class ActiveReport(Report[ActiveStudy]):
    def __init__(self, results: Results[ActiveStudy]) -> None:
        super().__init__(results)
        self.real = [name for name in self.sets if name in m.PEOPLE]
        self.large = [name for name in self.sets if name in m.LARGE]
        self.small = [name for name in self.sets if name not in (*self.real, *self.large)]

    def _score(self, name: str, cell: Cell, method: m.Method, field: str) -> Score:
        if not method.uses_answers:
            cell, field = START, "jcc" if field.startswith("at") else field
        return Score.of(self.results.values(name, cell, method, field))

    def _table(
        self, methods: Sequence[m.Method], columns: Sequence[tuple[str, Cell, str]]
    ) -> Table:
        """Lay out fields of sets and cells, the best of each column in bold."""
        rows = {of.name: [self._score(name, cell, of, field) for name, cell, field in columns]
                for of in methods}  # fmt: skip
        rows = {name: row for name, row in rows.items() if any(each.is_known for each in row)}
        texts = [[name] for name in rows]
        for i, (_, _, field) in enumerate(columns):
            column = [row[i] for row in rows.values()]
            best = np.nanmax([sign_of(field) * each.mean for each in column] or [0.0])
            for text, each in zip(texts, column, strict=True):
                is_best = np.isfinite(best) and sign_of(field) * each.mean == best
                text.append(f"**{text_of(each, field)}**" if is_best else text_of(each, field))
        parts = [[name, cell.name, field] for name, cell, field in columns]
        differ = [i for i in range(3) if len({part[i] for part in parts}) > 1] or [0]
        return Table(["", *(", ".join(part[i] for i in differ) for part in parts)], texts)

    def _tables(self, shown: Sequence[tuple[Cell, str]]) -> Iterator[Block]:
        for cell, field in shown:
            yield f"{field.capitalize()}, {cell.name}:"
            yield self._table(ALL, [(name, cell, field) for name in self.small])

    def answers(self) -> Iterator[Block]:
        shown = [(CLEAN, f"to {level}") for level in LEVELS]
        return self._tables([*shown, (WRONG, "to 0.9")])

    def agreement(self) -> Iterator[Block]:
        return self._tables([
            (CLEAN, "at 1N"), (CLEAN, "at 3N"), (WRONG, "at 1N"), (WRONG, "at 3N"),
            (WORSE, "at 3N"), (WRONG, "ari"), (CLEAN, "fall"), (WRONG, "fall"), (WORSE, "fall"),
        ])  # fmt: skip

    def seconds(self) -> Table:
        columns = [(name, CLEAN, "question_seconds") for name in (*self.small, *self.large)]
        return self._table((*m.STRATEGIES, *m.PEERS), columns)

    def starts(self) -> Table:
        columns = [(name, CLEAN, "at 0N") for name in self.small]
        return self._table((*m.STARTS, m.GUIDED, *m.STARTS_BY_NUMBER), columns)

    def batches(self) -> Table:
        """Compare batches of 20 and of 5 in trials in which both reach a level."""
        fields = [f"to {level}" for level in LEVELS[:3]]
        reached = {(name, f): self._reached(name, f) for name in self.small for f in fields}
        rows = [[name, *(means_of(reached[name, f]) for f in fields)] for name in self.small]
        totals = [pd.concat([reached[name, f] for name in self.small]).sum() for f in fields]
        more = [f"{of['20'] / of['5'] - 1:+.1%}" if of["5"] else "–" for of in totals]
        return Table(["", *fields], [*rows, ["all", *more]])

    def _reached(self, name: str, field: str) -> pd.DataFrame:
        methods = (m.GUIDED, m.LARGE_BATCHES)
        values = [self.results.values(name, CLEAN, of, field) for of in methods]
        both = pd.concat(values, axis=1, keys=["5", "20"]).astype(float)
        return both.replace(np.inf, np.nan).dropna()

    def more(self) -> Table:
        cells = (WRONG, *MORE_CELLS)
        sets = [name for name in MORE_CELLS_OF if name in self.small]
        return self._table(m.STRATEGIES, [(n, cell, "at 3N") for n in sets for cell in cells])

    def replay(self) -> Table:
        fields = [f"at {k}N" for k in (0, 1, 3)]
        return self._table(
            (*m.REPLAYED, *m.STARTS), [(n, REPLAY, f) for n in self.real for f in fields]
        )

    def thesis_sizes(self) -> Table:
        shown = ((CLEAN, "to 0.9"), (CLEAN, "at 1N"), (CLEAN, "at 3N"), (WRONG, "at 3N"))
        return self._table((*m.FEW, *m.STARTS), [(n, *each) for n in self.large for each in shown])

    def best(self) -> Iterator[Table]:
        """Compare Guided with the best of all others, on each set."""
        levels = [f"to {level}" for level in LEVELS[:3]]
        for cell, fields in ((CLEAN, levels), (WRONG, ["at 3N"]), (WORSE, ["at 3N"])):
            rows = [[n, *(part for f in fields for part in self._beside(n, cell, f))]
                    for n in self.small]  # fmt: skip
            header = [part for f in fields for part in (f, "best other")]
            yield Table([cell.name, *header], rows)

    def _beside(self, name: str, cell: Cell, field: str) -> tuple[str, str]:
        others = {of.name: self._score(name, cell, of, field) for of in (*m.OTHERS, *m.PEERS)}
        known = {k: of for k, of in others.items() if np.isfinite(of.mean)}
        best = max(known, key=lambda k: sign_of(field) * known[k].mean, default="")
        other = f"{text_of(known[best], field)} ({best})" if best else "not reached"
        return text_of(self._score(name, cell, m.GUIDED, field), field), other

    def limits(self) -> Table:
        """Lay out the limit in answers a row, and the multiple that Guided needs for JCC .9."""
        rows = []
        for name in (*self.small, *self.large):
            bits = [self._score(name, START, m.LIMIT, f) for f in ("bits", "learned_bits")]
            row = [name, *(each.text(".2f") for each in bits)]
            for cell in CELLS:
                least = [limit(each.mean, cell.error) for each in bits]
                asked = self._score(name, cell, m.GUIDED, "to 0.9").mean
                times = asked / (least[0] * len(self.study.problem(name).y))
                row += [*(f"{each:.1f}" for each in least),
                        f"{times:.1f}" if np.isfinite(times) else "–"]  # fmt: skip
            rows.append(row)
        header = [f"{cell.name}: {text}" for cell in CELLS for text in ("limit", "learned", "×")]
        return Table(["", "bits", "learned", *header], rows)

    def curves(self) -> Iterator[Picture]:
        for cell, stem in zip(CELLS, ("clean", "wrong", "worse"), strict=True):
            yield self._picture(stem, f"JCC by answers a row, {cell.name}", self.small, cell)
        for cell, stem in zip(
            CELLS[: 2 * bool(self.large)], ("large", "large_wrong"), strict=False
        ):
            yield self._picture(stem, f"The sizes of the thesis, {cell.name}", self.large, cell)

    def _picture(self, stem: str, title: str, sets: Sequence[str], cell: Cell) -> Picture:
        return Picture(stem, title, partial(self._drawn, title, sets, cell), 64)

    def _drawn(self, title: str, sets: Sequence[str], cell: Cell) -> Any:
        n_columns = min(N_COLUMNS, len(sets))
        figure, grid = pictures.panels(-(-len(sets) // n_columns), n_columns)
        for place, name in zip(grid.flat, sets, strict=False):
            for of, color in DRAWN.items():
                curve = self.results.values(name, cell, of, "curve")
                if len(curve):
                    frame = pd.DataFrame(curve.tolist())
                    x = GRID[: frame.shape[1]].tolist()
                    pictures.line(place, x, frame, color=color, marker="", label=of.name)
            for of, style in LINES.items():
                level = self._score(name, START, of, "jcc").mean
                place.axhline(level, color="black", linestyle=style, linewidth=0.8, label=of.name)
            bits = self._score(name, START, m.LIMIT, "bits").mean
            place.axvline(limit(bits, cell.error), color="black", linewidth=1, label=m.LIMIT.name)
            place.set(xlim=(0, BUDGET), ylim=(0, 1.02))
            pictures.tidied(place, name, "answers a row")
        pictures.legend_beside(grid[0, -1])
        figure.suptitle(f"{title} (mean ± standard error)", fontsize=11)
        return figure


def means_of(trials: pd.DataFrame) -> str:
    """Write the mean of each column."""
    return " / ".join(f"{mean:.0f}" for mean in trials.mean()) if len(trials) else "–"


def sign_of(field: str) -> int:
    """Return 1 if more is better, otherwise -1."""
    return 1 if field.startswith(("at", "ari")) else -1


def text_of(score: Score, field: str) -> str:
    """Write a score; a level that some trial does not reach is infinite."""
    return "not reached" if np.isinf(score.mean) else score.text(FORMS.get(field[:2], ".2f"))


command = study_command(ActiveStudy(), ActiveReport, __file__, QUICK, "One trial of two small sets")
