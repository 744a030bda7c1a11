"""Guided clustering and all other methods, by number, kind and origin of answers and by input."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import roc_auc_score

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.methods import Answers, Method, run_method
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED, SKY
from benchmarks.study.problems import Floats, Problem, load
from benchmarks.study.report import Curves, Line, Panel, Report, Table
from benchmarks.study.results import Results, Score, averaged, best_of, difference
from clew import Constraints, Question, Session
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle
from clew.similarity import ClustRF

#: All sets of fewer than 2,500 rows, the largest first.
SETS = (
    "segment_full", "leaf_flavia", "digits", "lost_faces", "pie10_32x32", "pubfig_900_60",
    "apfaces_900", "vehicle", "pima_diabetes", "balance_scale", "olivetti_64x64", "ionosphere",
    "uci_leaf", "glass", "segment_small", "wine", "iris",
)  # fmt: skip
FEW_SETS = ("digits", "vehicle", "olivetti_64x64", "ionosphere", "glass", "iris")
#: Sets on which sessions ask, and those of the thesis on distances with the one that has no others.
ASKED_SETS = ("olivetti_64x64", "uci_leaf", "ionosphere", "glass", "segment_small", "wine", "iris")
OF_DISTANCES = "apfaces_900"
DISTANCE_SETS = (
    "leaf_flavia", "lost_faces", "pubfig_900_60", OF_DISTANCES, "olivetti_64x64", "uci_leaf",
)  # fmt: skip
#: Preparation of the sets whose features are not standardized.
PLAIN: dict[str, dict[str, int]] = {
    "digits": {},
    "olivetti_64x64": {"n_components": 50},
    "pie10_32x32": {"n_components": 30, "per_class": 100},
    "apfaces_900": {},
}
#: Numbers of answers by name, as a multiple of the number of rows or of pairs.
PER_ROW = {"N/4": 0.25, "N": 1.0, "2N": 2.0}
PER_PAIR = {"0.1 %": 0.001, "0.5 %": 0.005}
AMOUNTS = (*PER_ROW, *PER_PAIR)
ERRORS = (0.0, 0.15, 0.3)
KINDS = ("pairs", "triplets", "odd-one-out", "mixture")
#: Probability that a simulated person answers wrong.
PEOPLE = {
    "four people": {"good": 0.03, "careless": 0.2, "swapped": 0.95, "spam": 0.5},
    "two good people": {"good": 0.03, "good too": 0.03},
}
N_TREES = 500


PAIRS: Answers = "as_pairs"
NOTHING: Answers = "nothing"

GUIDED = Method("guided", "GuidedClustering", "guided")
E2CP = Method("e2cp", "E2CP", "spectral", "E2CP", PAIRS)
COPRF = Method("coprf", "soft COP-RF", "spectral", "COP-RF", PAIRS)
ITML = Method("itml", "ITML", "k-means", "ITML", PAIRS)
SKLR = Method("sklr", "SKLR", "kernel k-means", "SKLR", max_rows=1000)
DCRC = Method("dcrc", "DCRC", "DCRC", max_rows=1000, max_answers=1000)
HARD = Method("coprf_hard", "hard COP-RF", "spectral, k = N/10", "COP-RF hard", PAIRS)
FOREST_E2CP = Method("rf_e2cp", "RF+E2CP", "spectral", "E2CP, given", PAIRS, "forest")
LINKAGE = Method("constrained_linkage", "constrained linkage", "constrained linkage", "", PAIRS)
WARD = Method("ward", "Ward", "Ward", "", NOTHING)
SPECTRAL = Method("spectral", "Euclidean spectral", "spectral", "adaptive kNN", NOTHING)
#: The methods that guided clustering is compared with set by set.
COMPARATORS = (E2CP, COPRF, HARD, FOREST_E2CP, ITML, LINKAGE, WARD, SPECTRAL)
METHODS = (
    GUIDED, E2CP, COPRF, HARD, FOREST_E2CP,
    Method("coprf_e2cp", "COP-RF+E2CP", "spectral", "E2CP on COP-RF", PAIRS),
    ITML, LINKAGE,
    Method("mmc", "MMC diagonal", "k-means", "MMC diagonal", PAIRS),
    Method("mmc_full", "MMC", "k-means", "MMC", PAIRS),
    Method("skms", "SKMS", "kernel k-means", "SKMS", PAIRS, max_rows=1000),
    Method("skms_shift", "SKMS, mean shift", "mean shift", "SKMS", PAIRS, max_rows=1000),
    SKLR, DCRC,
    Method("linked", "LinkedAffinity", "spectral", "links", PAIRS),
    Method("spectral_learning", "SpectralLearning", "spectral", "SL", PAIRS),
    Method("pckmeans", "PCKMeans", "PCKMeans", "", PAIRS),
    Method("mpckmeans", "MPCKMeans", "MPCKMeans", "", PAIRS),
    Method("cop_kmeans", "COPKMeans", "COP-Kmeans", "", PAIRS),
    WARD,
    Method("kmeans", "k-means", "k-means", "", NOTHING),
    SPECTRAL,
    Method("clustrf", "ClustRF", "spectral", "", NOTHING, "forest"),
    Method("consensus_knn", "ConsensusKNN", "spectral", "consensus kNN", NOTHING),
    Method("dominant_neighbors", "DominantNeighbors", "spectral", "dominant neighbors", NOTHING),
)  # fmt: skip
#: Methods measured without answers.
WITHOUT = (GUIDED, *(m for m in METHODS if not m.uses_answers))
#: Methods that are run on all sets and amounts, and those that are not.
EVERYWHERE = tuple(m for m in METHODS if m.is_run(9_999, 999_999))
LIMITED = tuple(m for m in METHODS if m not in EVERYWHERE)
#: With the number of groups open, and on Euclidean distances of the features.
OPEN = Method("guided_open", "GuidedClustering, number open", "guided, number open")
ON_DISTANCES = (
    Method("distances", "GuidedClustering on distances", "guided on distances", input="distances"),
    Method("distances_e2cp", "E2CP", "spectral", "E2CP on distances", PAIRS, "distances"),
    Method("distances_linkage", "linkage", "linkage of distances", "", PAIRS, input="distances"),
    Method("distances_ward", "Ward", "Ward of distances", "", NOTHING, "distances"),
)
#: Methods measured on all kinds of answers, and those that take no pairs.
KIND_METHODS = (GUIDED, E2CP, COPRF, ITML, SKLR, DCRC)
COMPARING = (
    Method("lsml", "LSML", "k-means", "LSML", "comparisons"),
    Method("sparse_lp", "SparseLP", "k-means", "SparseLP", "comparisons"),
    Method("sssvad", "SSSVaD", "SSSVaD", "", "comparisons"),
)


@dataclass(frozen=True)
class Cell:
    """The kind, number and source of answers."""

    kind: str  # One of `KINDS`, or of `PEOPLE`, "asked" (by a session) or "none"
    amount: str = ""  # One of `AMOUNTS`
    error: float = 0.0  # Share of wrong answers; `PEOPLE` have their own error rates
    is_named: bool = True  # Whether answers name their annotator

    @property
    def name(self) -> str:
        if self.kind == "none":
            return "no answers"
        if self.kind in PEOPLE:
            return f"{self.kind}, {self.amount}" + ("" if self.is_named else ", names dropped")
        return f"{self.kind}, {self.amount}, {100 * self.error:g} % wrong"


NO_ANSWERS = Cell("none")


class Part(NamedTuple):
    """Cells that share sets and methods."""

    sets: tuple[str, ...]
    cells: tuple[Cell, ...]
    methods: Callable[[Cell], Sequence[Method]]


def _cells(kinds: Any, amounts: Any, *more: Any) -> tuple[Cell, ...]:
    return tuple(Cell(*of) for of in product(kinds, amounts, *more))


PARTS = {
    "main": Part(
        SETS,
        (NO_ANSWERS, *_cells(["pairs"], AMOUNTS, ERRORS)),
        lambda cell: [m for m in METHODS if cell != NO_ANSWERS or m in WITHOUT],
    ),
    "kinds": Part(
        FEW_SETS,
        _cells(KINDS, ("N/4", "N"), (0.0, 0.15)),
        lambda cell: KIND_METHODS if cell.kind == "pairs" else (*KIND_METHODS, *COMPARING),
    ),
    "people": Part(
        (*FEW_SETS, "segment_small", "wine"),
        _cells(PEOPLE, ("N", "2N"), (0.0,), (True, False)),
        lambda cell: (GUIDED, *COMPARATORS),
    ),
    "asked": Part(
        ASKED_SETS, _cells(["asked", "pairs"], PER_ROW, (0.0, 0.15)), lambda cell: (GUIDED, OPEN)
    ),
    "distances": Part(
        DISTANCE_SETS,
        _cells(["pairs"], ("N/4", "2N"), (0.0, 0.15)),
        lambda cell: (GUIDED, *ON_DISTANCES),
    ),
}


def problem(name: str) -> Problem:
    """Load a set: standardized features, or pixels as they are, or their principal components."""
    return load(name, None if name in PLAIN else "standard", **PLAIN.get(name, {}))


@cache
def n_rows(name: str) -> int:
    return len(problem(name).y)


def n_answers(name: str, amount: str) -> int:
    """Turn an amount into a number of answers."""
    n = n_rows(name)
    return round(PER_ROW.get(amount, 0.0) * n + PER_PAIR.get(amount, 0.0) * n * (n - 1) / 2)


@lru_cache(maxsize=2)
def forest(name: str, seed: int) -> Floats:
    """Compute affinities of the unconstrained forest, which all cells of a trial share."""
    return np.asarray(ClustRF(N_TREES, random_state=seed).fit(problem(name).X).affinity_matrix_)


def data(name: str, kind: str, seed: int) -> Floats:
    """Return the input of a method."""
    of = problem(name)
    if kind == "forest":
        return forest(name, seed)
    if kind == "distances":
        return squareform(pdist(of.X)) if of.distances is None else of.distances
    return of.X


@lru_cache(maxsize=4)
def session(name: str, error: float, seed: int) -> Session:
    """Ask the most answers; fewer are the first of them."""
    X, y = problem(name).X, problem(name).y
    oracle = SimulatedOracle(y, error=error, origin="asked", random_state=seed)
    return Session(X, random_state=seed).run(oracle, n_answers(name, "2N"))


@lru_cache(maxsize=4)
def answers(name: str, cell: Cell, trial: int) -> Constraints:
    """Draw the answers of a trial; the questions do not depend on the share of wrong answers."""
    y, count = problem(name).y, n_answers(name, cell.amount)
    if cell.kind == "asked":
        every = session(name, cell.error, seed_of("guided", name, cell.error, trial)).answers
        return Constraints.from_answers(every[:count], n_samples=len(y))
    seed = seed_of("guided", name, cell.kind, cell.amount, trial)
    if cell.kind in PEOPLE:
        known = _by_people(y, PEOPLE[cell.kind], count, seed)
        pairs = np.column_stack([known.pairs, known.pair_answers])
        return known if cell.is_named else Constraints(len(y), pairs=pairs)
    kinds = KINDS[:-1] if cell.kind == "mixture" else (cell.kind,)
    names = [f"n_{kind.replace('-', '_')}" for kind in kinds]
    numbers: Any = {name: (count + at) // len(names) for at, name in enumerate(names)}
    return Constraints.from_labels(y, **numbers, error=cell.error, random_state=seed)


def _by_people(y: Any, rates: dict[str, float], count: int, seed: int) -> Constraints:
    errors = list(rates.values())
    people = SimulatedOracle(y, annotators=list(rates), error=errors, random_state=seed)
    asked = Constraints.from_labels(y, n_pairs=count, random_state=seed).pairs.tolist()
    given = [
        people.answer(Question("pair", (i, j)), people.annotators[at % len(rates)])
        for at, (i, j) in enumerate(asked)
    ]
    return Constraints.from_answers(given, n_samples=len(y))


def is_wrong(y: Any, known: Constraints) -> Any:
    """Mark the pairs that were answered wrong."""
    first, second = known.pairs.T
    return (y[first] == y[second]) != known.is_must_link


def _of_answers(of: Problem, known: Constraints | None, model: Any) -> dict[str, float]:
    """Score guided clustering's error rate and doubts; empty unless all answers are pairs."""
    if known is None or len(known) != len(known.pairs) or not hasattr(model, "error_interval_"):
        return {}
    wrong = is_wrong(of.y, known)
    low, high = model.error_interval_
    share, rate = float(wrong.mean()), float(model.error_rate_)
    found = {"true_error": share, "error_rate": rate, "error_low": low, "error_high": high}
    if 0 < share < 1:
        found["is_held"] = low <= share <= high
        found["auc"] = roc_auc_score(wrong, model.answer_posterior_.pairs)
    return {field: float(value) for field, value in found.items()}


@dataclass(frozen=True)
class GuidedStudy(Study):
    n_trials: int = 3
    sets: tuple[str, ...] = SETS
    stem: str = "guided"
    n_trees: int = N_TREES
    no_answers = NO_ANSWERS
    problem = staticmethod(problem)
    amounts: tuple[str, ...] = AMOUNTS
    errors: tuple[float, ...] = ERRORS

    def cells(self, part: str) -> list[Cell]:
        cells, amounts, errors = PARTS[part].cells, self.amounts, self.errors
        return [c for c in cells if not c.amount or (c.amount in amounts and c.error in errors)]

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        found = {
            (method, cell): n_answers(name, cell.amount)
            for part, of in PARTS.items()
            if name in of.sets
            for cell in self.cells(part)
            for method in of.methods(cell)
            if method.is_run(n_rows(name), n_answers(name, cell.amount))
        }
        return sorted(found, key=lambda point: (-found[point], point[1].name))

    def measure(self, task: Task) -> dict[str, Any]:
        """Return scores. If a method refuses the answers, "ari" is that of Ward's linkage."""
        name, method, cell, trial = task
        of, seed = problem(name), seed_of("method", name, trial)
        X = data(name, method.input, seed)
        known = None if cell == NO_ANSWERS else answers(name, cell, trial)
        found = run_method(method, X, known, (of.n_classes,), seed, self.n_trees)
        if not found.labels:
            found.labels = {of.n_classes: AgglomerativeClustering(of.n_classes).fit_predict(of.X)}
        labels = found.labels[of.n_classes]
        scores = {"ari": float(adjusted_rand_score(of.y, labels))}
        scores["groups"] = len(np.unique(labels)) / of.n_classes
        return scores | found.notes | _of_answers(of, known, found.model)


#: Goals: lead over the comparators, area under the curve, largest loss by wrong answers.
LEAD, AUC, LOSS = 0.05, 0.85, 0.02
SLOW = ("guided", "e2cp", "coprf", "coprf_hard", "itml", "sklr", "dcrc")
COLORS = (BLUE, RED, GREEN, ORANGE, PINK, SKY, GRAY)
ROUNDING = 1e-9
#: What guided clustering estimates about answers: fields of the log by heading.
ESTIMATES = {
    "AUC": "auc", "estimated share": "error_rate", "true share": "true_error",
    "interval holds it": "is_held",
}  # fmt: skip
Cells = Sequence[Cell]


class GuidedReport(Report[GuidedStudy]):
    def __init__(self, results: Results[GuidedStudy]) -> None:
        super().__init__(results)
        self.over, self.errors = results.mean, self.study.errors
        self.n_sets, self.all = str(len(self.sets)), self.main()

    def main(self, *errors: float) -> list[Cell]:
        """Return the cells of the main part with these shares of wrong answers, by default all."""
        cells = self.study.cells("main")
        return [c for c in cells if c != NO_ANSWERS and c.error in (errors or self.errors)]

    def sets_of(self, part: str) -> list[str]:
        return [name for name in self.sets if name in PARTS[part].sets]

    def mean(self, cells: Cells, method: Method) -> Score:
        """Average over all sets, on points that all methods have."""
        return Score.of(self.over(self.sets, cells, method, EVERYWHERE))

    def gap(
        self, names: Sequence[str], cells: Cells, other: Method, beside: Sequence[Method] = ()
    ) -> Score:
        """Compare guided clustering with another method, on points that these and `beside` have."""
        both = (GUIDED, other)
        return difference(*(self.over(names, cells, m, (*both, *beside)) for m in both))

    def lead(self, cells: Cells, other: Method) -> Score:
        return self.gap(self.sets, cells, other, EVERYWHERE)

    def rival(self, name: str, cells: Cells) -> tuple[str, Score, Score]:
        """Return the best comparator on a set, its score, and the lead of guided clustering."""
        value = partial(self.over, [name], cells)
        best, score = best_of(COMPARATORS, lambda m: Score.of(value(m, (GUIDED, m))))
        return (best.label, score, self.gap([name], cells, best)) if best else ("–", score, score)

    def estimates(self, cells: Cells) -> list[Score]:
        of = partial(self.over, self.sets, cells, GUIDED)
        return [Score.of(of(field=field)) for field in ESTIMATES.values()]

    def gain(self, names: Sequence[str], cell: Cell) -> Score:
        def mean(of: Cell) -> pd.Series:
            return averaged([self.results.values(name, of, GUIDED) for name in names])

        return difference(mean(cell), mean(NO_ANSWERS))

    def in_short(self) -> Iterator[str | Table]:
        best, score = best_of(COMPARATORS, partial(self.mean, self.all))
        if best is None:
            yield "The main part is not measured."
            return
        lead, (auc, *_) = self.lead(self.all, best), self.estimates(self.main(0.15))
        lines = [
            f"The mean ARI over all cells is {self.mean(self.all, GUIDED)}; the best comparator, "
            f"{best.label}, has {score}. The lead is {lead} ({_reached(lead.mean >= LEAD)}; "
            f"the goal is {LEAD})."
        ]
        leads = []
        for cell in self.all:
            best, score = best_of(COMPARATORS, partial(self.mean, [cell]))
            if best:
                gap = self.mean([cell], GUIDED).mean - score.mean
                leads.append((gap, f"{gap:+.3f} over {best.label} ({cell.name})"))
        n_above = sum(gap >= 0 for gap, _ in leads)
        lines += [
            f"The mean ARI is at least that of every comparator in {n_above} of {len(leads)} cells "
            f"({_reached(n_above == len(leads))}); the smallest lead is {min(leads)[1]}.",
            f"With 15 % wrong answers, the AUC of finding them is {auc} "
            f"({_reached(auc.mean >= AUC)}; the goal is {AUC}).",
            self._losses(),
        ]
        others = [m for m in EVERYWHERE if m not in (GUIDED, *COMPARATORS)]
        best, score = best_of(others, partial(self.mean, self.all))
        if best:
            lines.append(
                f"The best of the other methods that run on all sets is {best.label} with "
                f"{score}: {self.lead(self.all, best)}."
            )
        yield "\n".join(f"- {line}" for line in lines)
        rows = [[_wrong(e), self._n_below(e), *self.estimates(self.main(e))] for e in self.errors]
        yield Table(["means over all", "below the best (at single amounts)", *ESTIMATES], rows)

    def _losses(self) -> str:
        worst = max(self.errors)
        points = product(self.sets, self.main(worst))
        gains = [(self.gain([name], c).mean, f"{name}, {c.amount}") for name, c in points]
        losses = sorted(gain for gain in gains if gain[0] < -LOSS)
        text = "; ".join(f"{place}: {gain:+.3f}" for gain, place in losses[:5])
        return (
            f"With {100 * worst:g} % wrong answers, the ARI is more than {LOSS} below that without "
            f"answers for {len(losses)} of {len(gains)} combinations of a set and an amount "
            f"({_reached(not losses)})" + (f": {text}." if text else ".")
        )

    def _n_below(self, error: float) -> str:
        """Count the sets where the best comparator is more than a standard error above."""
        cells, texts = self.main(error), []
        for points in ([cells], [[cell] for cell in cells]):
            gaps = [self.rival(name, point)[2] for name in self.sets for point in points]
            known = [gap for gap in gaps if gap.is_known]
            below = [g for g in known if g.mean < -np.nan_to_num(g.error) - ROUNDING]
            texts.append(f"{len(below)} of {len(known)}")
        return f"{texts[0]} ({texts[1]})"

    def curves(self) -> Curves:
        means = {m: self.mean(self.all, m).mean for m in EVERYWHERE}
        others = [m for m in means if m != GUIDED and not np.isnan(means[m])]
        shown = [GUIDED, *sorted(others, key=lambda m: -means[m])]
        row = []
        for error in self.errors:
            cells, lines = self.main(error), []
            for m, color in zip(shown, COLORS, strict=False):
                columns = [self.over(self.sets, [cell], m, EVERYWHERE) for cell in cells]
                style = {"color": color, "linewidth": 2.2 if m == GUIDED else 1.1}
                lines.append(Line(m.label, pd.concat(columns, axis=1), style))
            ticks = [cell.amount for cell in cells]
            row.append(Panel(_wrong(error), range(len(cells)), lines, ticks))
        title = "ARI by the number of answers"
        return Curves("curves", title, [row], "answers", ["mean ARI over sets"])

    def by_amount(self) -> Iterator[Table]:
        for error in self.errors:
            columns = [*([cell] for cell in self.main(error)), self.main(error)]
            rows = [[m.label, *(self.mean(of, m) for of in columns)] for m in EVERYWHERE]
            bests = [best_of(COMPARATORS, partial(self.mean, of))[0] for of in columns]
            leads = [self.lead(of, m) if m else "–" for of, m in zip(columns, bests, strict=True)]
            rows.append(["best comparator", *(best.label if best else "–" for best in bests)])
            rows.append(["guided ahead by", *leads])
            amounts = [cell.amount for cell in self.main(error)]
            yield Table([_wrong(error), *amounts, "mean"], rows, is_marked=True)

    def over_all(self) -> Table:
        rows = [(m.label, self.mean(self.all, m)) for m in EVERYWHERE]
        rows.sort(key=lambda row: -np.nan_to_num(row[1].mean, nan=-9.0))
        return Table(["all sets, amounts and shares", "ARI"], rows)

    def limited(self) -> Table:
        rows = []
        for m in LIMITED:
            most = f", {m.max_answers:,} answers" if m.max_answers < 10_000 else ""
            gaps = [self.gap(self.sets, self.main(error), m) for error in self.errors]
            rows.append([m.label, f"{m.max_rows:,} rows{most}", *gaps])
        return Table(["guided ahead of", "run up to", *map(_wrong, self.errors)], rows)

    def by_set(self) -> Iterator[Table]:
        columns = ["guided", "no answers", "best comparator", "its", "gap"]
        for error in self.errors:
            cells, rows = self.main(error), []
            for name in self.sets:
                ours = self.over([name], cells, GUIDED)
                without = self.results.values(name, NO_ANSWERS, GUIDED)
                rows.append([name, ours, without, *self.rival(name, cells)])
            yield Table([_wrong(error), *columns], rows)

    def about_answers(self) -> Table:
        rows = [[c.name.removeprefix("pairs, "), *self.estimates([c])] for c in self.all]
        return Table(["mean over sets", *ESTIMATES], rows)

    def beside_no_answers(self) -> Table:
        worst = max(self.errors)
        where = {name: [name] for name in self.sets} | {"mean": self.sets}
        rows = [[k, *(self.gain(of, cell) for cell in self.main(worst))] for k, of in where.items()]
        return Table([_wrong(worst), *(cell.amount for cell in self.main(worst))], rows)

    def seconds(self) -> Table:
        methods, rows = [m for m in METHODS if m.name in SLOW], []
        for name in self.sets:
            spent = [
                pd.concat([self.results.values(name, c, m, "fit_seconds") for c in self.all])
                for m in methods
            ]
            rows.append([name, *(f"{of.mean():.2f}" if of.count() else "–" for of in spent)])
        return Table(["mean over cells", *(m.label for m in methods)], rows)

    def kinds(self) -> Iterator[Table]:
        names, common = self.sets_of("kinds"), [m for m in KIND_METHODS if m in EVERYWHERE]
        others = [m for m in (*KIND_METHODS, *COMPARING) if m not in common]
        kinds = self.study.cells("kinds")
        for amount, error in dict.fromkeys((cell.amount, cell.error) for cell in kinds):
            cells = [[Cell(kind, amount, error)] for kind in KINDS]
            mean, gap = partial(self.over, names), partial(self.gap, names)
            rows = [[m.label, *(mean(of, m, common) for of in cells)] for m in common]
            ahead = [[f"guided ahead of {m.label}", *(gap(of, m) for of in cells)] for m in others]
            yield Table([f"{amount}, {_wrong(error)}", *KINDS], [*rows, *ahead], is_marked=True)

    def people(self) -> Iterator[Table]:
        """Compare answers with and without annotators; the comparator has the better of the two."""
        columns = ["names known", "names dropped", "best comparator", "its"]
        sets, cells = self.sets_of("people"), self.study.cells("people")
        for named, dropped in zip(cells[::2], cells[1::2], strict=True):
            rows = []
            for label, of in ({name: [name] for name in sets} | {"mean": sets}).items():
                best, theirs = best_of(COMPARATORS, partial(self._better, of, (named, dropped)))
                scores = [self.over(of, [cell], GUIDED) for cell in (named, dropped)]
                rows.append([label, *scores, best.label if best else "–", theirs])
            yield Table([named.name, *columns], rows)

    def _better(self, names: Sequence[str], cells: Cells, method: Method) -> Score:
        scores = [Score.of(self.over(names, [c], method, COMPARATORS)) for c in cells]
        return max(scores, key=lambda score: np.nan_to_num(score.mean, nan=-9.0))

    def asked(self) -> Table:
        """Compare the number of groups open and given."""
        names, rows = self.sets_of("asked"), []
        for cell in self.study.cells("asked"):
            of = partial(self.over, names, [cell], beside=(GUIDED, OPEN))
            rows.append([cell.name, of(GUIDED), of(OPEN), of(OPEN, field="groups")])
        return Table(["answers", GUIDED.label, OPEN.label, "groups a class"], rows)

    def distances(self) -> Table:
        names, cells = self.sets_of("distances"), self.study.cells("distances")
        methods = (GUIDED, *ON_DISTANCES)
        rows = [[name, *(self.over([name], cells, m) for m in methods)] for name in names]
        return Table(["mean over answers", *(m.label for m in methods)], rows)


def _wrong(error: float) -> str:
    return f"{100 * error:g} % wrong"


def _reached(is_so: bool) -> str:
    return "reached" if is_so else "**not reached**"


QUICK = GuidedStudy(1, ("glass", "iris"), "guided_quick", True, amounts=("N",))
command = study_command(
    GuidedStudy(), GuidedReport, __file__, QUICK, "One trial, two small sets, one amount"
)
