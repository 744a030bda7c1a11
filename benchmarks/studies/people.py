"""Every method on people's real answers, by number of answers, names and features."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans

from benchmarks.studies._human import (
    CountWard,
    MajorityClosure,
    People,
    agreement,
    groups_predict,
    held_out_scores,
    load,
    net_counts,
    rank_correlation,
)
from benchmarks.study import pictures
from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.methods import CLUSTERERS, SIMILARITIES, Method, Outcome, run_method
from benchmarks.study.problems import Floats, Ints, Problem
from benchmarks.study.report import Claim, Page, Picture, Report, Table
from benchmarks.study.results import Results, Score
from clew import Constraints, cluster, similarity
from clew.constraints._support import fold_numbers
from clew.metrics import adjusted_rand_score

CLUSTERERS["correlation"] = lambda k: cluster.CorrelationClustering(k)
CLUSTERERS["count, Ward"] = lambda k: CountWard(k)
CLUSTERERS["majority"] = lambda k: MajorityClosure()
SIMILARITIES["ordinal"] = lambda t: similarity.OrdinalEmbedding()
SIMILARITIES["ordinal, features"] = lambda t: similarity.OrdinalEmbedding(features="ridge")

#: Number of groups for sets without classes.
N_GROUPS = 8
#: One of `N_FOLDS` parts of the questions is held out; at most `MAX_HELD` answers are scored.
N_FOLDS, MAX_HELD = 5, 5000
N_TREES = 300
Amount = int | str  # Answers for the fit; or "1/4", "4/5" or "all" of them


class HumanSet(NamedTuple):
    """A set: its file, its classes, and the numbers of answers."""

    file: str
    classes: tuple[str, ...]  # Names of columns of classes; the first has the number of groups
    amounts: tuple[Amount, ...]
    anonymous: tuple[Amount, ...] = ()  # Numbers of answers that are measured without names too
    with_features: tuple[Amount, ...] = ()
    has_k: bool = True  # Whether the number of groups is given


SETS = {
    "car60, class4": HumanSet(
        "car60_as_triplets", ("class4",), (600, 3000, "4/5", "all"), (3000, "all"), (600, 3000)
    ),
    "restaurant": HumanSet(
        "crowder_restaurant", ("entity",), ("1/4", "4/5", "all"), ("all",), (), False
    ),
    "restaurant_qt": HumanSet(
        "crowder_restaurant_qt", ("entity",), ("1/4", "4/5", "all"), ("all",), (), False
    ),
    "pk_odd": HumanSet("pk_shapecolor_odd", ("shape", "color"), (64, 1000), (64, 1000), (64, 1000)),
    "pk_triplet": HumanSet(
        "pk_shapecolor_triplet", ("shape", "color"), (64, 1000), (1000,), (1000,)
    ),
    "pk_pairs": HumanSet(
        "pk_shapecolor_pairs_l5", ("shape", "color"), (64, 1000), (1000,), (1000,)
    ),
    "reptile, triplets": HumanSet(
        "reptile_tool30_triplets", ("category",), (300, "4/5"), ("4/5",), (300, "4/5")
    ),
    "reptile, pairs": HumanSet(
        "reptile_tool30_pairs", ("category",), (300, "4/5"), ("4/5",), (300, "4/5")
    ),
    "material100": HumanSet("material100", ("name_group",), (3000, 12_000), (), (3000,)),
    "car60, class3": HumanSet("car60_as_triplets", ("class3",), (3000, "all")),
    "letters_latin": HumanSet("letters_latin_odd", (), (3000, 12_000), (3000,)),
    "zappos85": HumanSet("zappos85", (), (3000, 12_000), (), (3000,)),
    "alien_eggs300": HumanSet("alien_eggs300", (), (3000, "4/5"), (3000,), (3000,)),
}
GUIDED = Method("guided", "GuidedClustering", "guided", input="none")
SPACE = Method("space", "OrdinalEmbedding", similarity="ordinal", input="none")
COUNT = Method("count", "count similarity + Ward", "count, Ward", input="none")
CORRELATION = Method("correlation", "CorrelationClustering", "correlation", "", "pairs", "none")
MAJORITY = Method("majority", "majority + closure", "majority", "", "pairs", "none")
#: On rows without features, each row is a feature of its own.
SKLR = Method("sklr", "SKLR", "kernel k-means", "SKLR", input="rows", max_answers=1000)
DCRC = Method("dcrc", "DCRC", "DCRC", input="rows", max_answers=1000)
WITHOUT_FEATURES = (GUIDED, SPACE, COUNT, CORRELATION, MAJORITY, SKLR, DCRC)
GUIDED_X = Method("guided_x", "GuidedClustering, features", "guided")
WITH_FEATURES = (
    GUIDED_X,
    Method("space_x", "OrdinalEmbedding, features", similarity="ordinal, features"),
    Method("sklr_x", "SKLR, features", "kernel k-means", "SKLR", max_answers=1000),
    Method("e2cp", "E2CP", "spectral", "E2CP", "as_pairs"),
    Method("coprf", "soft COP-RF", "spectral", "COP-RF", "as_pairs"),
    Method("itml", "ITML", "k-means", "ITML", "as_pairs"),
    Method("ward", "Ward, no answers", "Ward", "", "nothing"),
)
METHODS = (*WITHOUT_FEATURES, *WITH_FEATURES)
#: Methods whose results depend on the names of annotators.
BY_ANNOTATOR = (GUIDED, SPACE, CORRELATION)


@dataclass(frozen=True)
class Cell:
    """A number of answers, with the names of annotators or without."""

    amount: Amount
    is_named: bool = True

    @property
    def name(self) -> str:
        count = f"{self.amount:,}" if isinstance(self.amount, int) else self.amount
        return f"{count} answers" + ("" if self.is_named else ", anonymous")


NO_ANSWERS = Cell("no")


class Draw(NamedTuple):
    """Answers of a trial, to fit and to score."""

    known: Constraints
    held: Constraints  # Empty if all answers are fitted


@lru_cache(maxsize=2)
def draw(name: str, cell: Cell, trial: int) -> Draw:
    """Draw answers to fit; the held-out questions are the same for all numbers of answers."""
    seed = seed_of("people", SETS[name].file, trial)
    every = load(SETS[name].file, seed).constraints(is_named=cell.is_named)
    (argument,) = (key for key, of in fold_numbers(every, N_FOLDS, seed).items() if len(of))
    is_held = fold_numbers(every, N_FOLDS, seed)[argument] == 0
    random = np.random.RandomState(seed)
    held = random.permutation(np.flatnonzero(is_held))[:MAX_HELD]
    known = random.permutation(np.flatnonzero(~is_held))
    if cell.amount == "all":
        known, held = np.arange(len(is_held)), held[:0]
    elif cell.amount != "4/5":
        amount = len(is_held) // 4 if isinstance(cell.amount, str) else cell.amount
        known = known[:amount]
    return Draw(*(_selected(every, argument, which) for which in (known, held)))


def _selected(every: Constraints, argument: str, which: Ints) -> Constraints:
    empty: dict[str, Any] = {"pairs": [], "triplets": [], "odd_one_out": []}
    return every.select(**empty | {argument: np.sort(which)})


def can_read(method: Method, of: HumanSet, kind: str) -> bool:
    """Return whether a method takes the answers, and does not need the number of groups."""
    needs_k = method.name not in ("guided", "space", "correlation", "majority")
    return (kind == "pair" or method.answers != "pairs") and (of.has_k or not needs_k)


@dataclass(frozen=True)
class PeopleStudy(Study):
    n_trials: int = 3
    sets: tuple[str, ...] = tuple(SETS)
    stem: str = "people"
    n_trees: int = N_TREES
    no_answers = NO_ANSWERS
    max_answers: int = 1_000_000

    def problem(self, name: str) -> Problem:
        people = load(SETS[name].file)
        return Problem(name, np.eye(people.n), np.arange(people.n))

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        of, people = SETS[name], load(SETS[name].file)
        found = []
        for amount in of.amounts:
            methods: tuple[Method, ...] = WITHOUT_FEATURES
            if amount in of.with_features and people.X is not None:
                methods = METHODS
            count = amount if isinstance(amount, int) else len(people.answer)
            if count <= self.max_answers:
                found += [(m, Cell(amount)) for m in methods if count <= m.max_answers]
            if amount in of.anonymous and count <= self.max_answers:
                found += [(m, Cell(amount, is_named=False)) for m in BY_ANNOTATOR]
        return [point for point in found if can_read(point[0], of, people.kind)]

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        of, seed = SETS[name], seed_of("people", SETS[name].file, trial)
        people = load(of.file, seed)
        inputs: dict[str, Any] = {"none": None, "rows": np.eye(people.n), "features": people.X}
        known, held = draw(name, cell, trial) if cell != NO_ANSWERS else (None, None)
        truth = [people.classes[which] for which in of.classes]
        n_groups = len(np.unique(truth[0][truth[0] >= 0])) if truth else N_GROUPS
        k: Any = n_groups if of.has_k else None
        ks = () if k is None and not method.clusterer else (k,)
        found = run_method(method, inputs[method.input], known, ks, seed, self.n_trees)
        scores: dict[str, Any] = dict(found.notes)
        labelings = {"": found.labels.get(k)}
        if found.embedding is not None and k is not None:
            labelings["_ward"] = AgglomerativeClustering(k).fit_predict(found.embedding)
        for suffix, labels in labelings.items():
            for which, y in zip(of.classes, truth, strict=True):
                if labels is not None:
                    field = "ari" if which == of.classes[0] else f"ari_{which}"
                    scores[field + suffix] = adjusted_rand_score(y[y >= 0], labels[y >= 0])
        if known is not None and found.model is not None:
            scores |= _about_answers(found, known, held, labelings[""])
        if labelings[""] is not None:
            scores["n_groups"] = len(np.unique(labelings[""]))
        return {field: float(v) if isinstance(v, np.floating) else v for field, v in scores.items()}


def _about_answers(
    found: Outcome, known: Constraints, held: Constraints | None, labels: Ints | None
) -> dict[str, Any]:
    """Score held-out answers, and correlate estimated accuracies with agreement of annotators."""
    model, scores = found.model, {}
    if held is not None and len(held):
        if found.embedding is not None:
            questions = {table.kind: table.rows for table in held.tables}
            predicted: list[Floats] = list(model.predict_proba(questions).values())
            scores = held_out_scores(held, predicted) | {"log_loss": -model.score(held)}
        elif labels is not None:
            scores = held_out_scores(held, groups_predict(known, held, labels))
    if len(known.annotators) > 1:
        confusion = getattr(getattr(model, "dawid_skene_", model), "confusion_", None)
        estimate: dict[str, float] = {}
        if confusion is not None:
            estimate = dict(zip(confusion.annotators_, 1 - confusion.error_rates_, strict=True))
        elif found.embedding is not None:
            estimate = dict(zip(model.annotators_, model.annotator_slopes_, strict=True))
        ours = np.array([estimate.get(who, np.nan) for who in known.annotators])
        correlation = rank_correlation(ours, agreement(known))
        scores |= {} if np.isnan(correlation) else {"agreement": correlation}
    if hasattr(model, "regime_"):
        scores["regime"] = str(model.regime_)
    return scores


#: Colors of pairs by the number of people who called them the same.
VOTES = {3: pictures.BLUE, 2: pictures.SKY, 1: pictures.ORANGE, 0: pictures.RED}


def car_space() -> Any:
    """Draw the photographs of 60 cars at their positions, in frames colored by group."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    cars = load("car60_as_triplets")
    space = similarity.OrdinalEmbedding(2, random_state=0).fit(constraints=cars.constraints())
    at = space.embedding_
    group = KMeans(4, n_init=10, random_state=0).fit_predict(at)
    figure, grid = pictures.panels(1, 1, figsize=(8, 7))
    panel = grid[0, 0]
    colors = (pictures.BLUE, pictures.RED, pictures.GREEN, pictures.ORANGE)
    drawn = _apart(at, 0.08 * np.ptp(at))
    for row, place in enumerate(drawn):
        frame = {"edgecolor": colors[group[row]], "linewidth": 2.5}
        photo = OffsetImage(cars.pixels[row], zoom=1.0, interpolation="bilinear")
        panel.add_artist(AnnotationBbox(photo, place, pad=0.1, bboxprops=frame))
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    margin = 0.09 * (high - low)
    (left, bottom), (right, top) = low - margin, high + margin
    panel.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
    panel.set_title("60 cars, placed by 14,194 answers of 146 people; frames: four groups")
    return figure


def _apart(places: Any, least: float, n_steps: int = 60) -> Any:
    """Push apart places that are nearer than `least`, so that few pictures overlap."""
    moved = np.array(places)
    for _ in range(n_steps):
        difference = moved[:, None] - moved
        distance = np.linalg.norm(difference, axis=2) + np.eye(len(moved)) * 9 * least + 1e-9
        push = np.maximum(least - distance, 0) / distance
        moved += 0.25 * (push[:, :, None] * difference).sum(axis=1)
    return moved


def restaurant_groups() -> Any:
    """Draw the sizes of groups of restaurant records, and the two largest with their answers."""
    records = load("crowder_restaurant")
    known = records.constraints()
    model = cluster.GuidedClustering(random_state=0).fit(constraints=known)
    sizes = np.bincount(model.labels_)
    net, number = net_counts(known)
    figure, grid = pictures.panels(1, 3, figsize=(11.5, 3.8), width_ratios=[0.8, 1.4, 1])
    panel, counts = grid[0, 0], np.bincount(sizes)
    bars = panel.bar(np.arange(len(counts)), counts, color=pictures.GRAY)
    panel.bar_label(bars, [str(count or "") for count in counts], fontsize=8)
    panel.set_yscale("symlog", linthresh=1)
    panel.set_ylim(0, 4 * counts.max())
    panel.set_xticks(np.flatnonzero(counts))
    title = f"{len(sizes)} groups of {len(model.labels_)} records"
    pictures.tidied(panel, title, "records in a group", "groups")
    largest = np.argsort(-sizes, kind="stable")
    for panel, label in zip(grid[0, 1:], largest, strict=False):
        rows = np.flatnonzero(model.labels_ == label)
        _draw_group(panel, rows, net, number, records)
    for votes, color in VOTES.items():
        panel.plot([], [], color=color, lw=2.5, label=f"{votes} of 3: same")
    pictures.legend_beside(panel)
    return figure


def _draw_group(panel: Any, rows: Ints, net: Floats, number: Floats, records: People) -> None:
    """Draw records on a circle, and for each asked pair how many people called it the same."""
    angle = 2 * np.pi * np.arange(len(rows)) / len(rows) + np.pi / 2
    places = np.column_stack([np.cos(angle), np.sin(angle)])
    truth = records.classes["entity"][rows]
    for first, second in combinations(range(len(rows)), 2):
        i, j = rows[first], rows[second]
        if number[i, j]:
            votes = round((number[i, j] + net[i, j]) / 2)
            panel.plot(*places[[first, second]].T, color=VOTES[min(votes, 3)], lw=2.5, zorder=1)
    for place, row, of in zip(places, rows, truth, strict=True):
        text = f"{records.names[row]}\n(restaurant {of})"
        box = {"facecolor": "white", "edgecolor": pictures.GRAY, "boxstyle": "round,pad=0.25"}
        panel.text(*place, text, ha="center", va="center", fontsize=8, bbox=box)
    panel.set(xlim=(-1.5, 1.5), ylim=(-1.35, 1.35))
    panel.set_axis_off()
    panel.set_title(f"{len(rows)} records, {len(np.unique(truth))} restaurants", fontsize=9)


def people_scatter() -> Any:
    """Plot the slope of each annotator against the share of other people who agree."""
    marks = load("pk_shapecolor_odd").constraints()
    model = similarity.OrdinalEmbedding(random_state=0).fit(constraints=marks)
    shared = agreement(marks)
    figure, grid = pictures.panels(1, 1, figsize=(5, 3.6))
    grid[0, 0].scatter(shared, model.annotator_slopes_, color=pictures.BLUE)
    title = "16 marks, 20 people, 560 odd-one-out answers each"
    pictures.tidied(grid[0, 0], title, "share of other people who agree", "slope")
    return figure


WARD = Method("space_ward", "OrdinalEmbedding + Ward", "", "ordinal", input="none")
WITHOUT_ANSWERS = WITH_FEATURES[-1]
HELD_OUT = {"log_loss": "log-loss", "accuracy": "accuracy"}
LABELS = {SPACE: "OrdinalEmbedding + k-means"}
#: Goals for the ARI of GuidedClustering without features: set, answers, value.
GOALS = (
    ("car60, class4", 600, 0.50), ("car60, class4", 3000, 0.72), ("car60, class4", "all", 0.83),
    ("restaurant", "all", 0.89), ("restaurant_qt", "all", 0.93),
    ("pk_odd", 64, 0.60), ("pk_odd", 1000, 1.0),
)  # fmt: skip
CARS = (
    "Photographs of 60 cars at their positions: sports cars, ordinary cars, off-road cars, and "
    "a truck, a tractor and a fire engine"
)
RESTAURANTS = "Sizes of the groups of restaurant records; the two largest, with their answers"
ANNOTATORS = "Slope of each of 20 people against how often others gave the same answer: it rises"


class PeopleReport(Report[PeopleStudy]):
    def __init__(self, results: Results[PeopleStudy]) -> None:
        super().__init__(results)
        self.cars = Picture("cars", CARS, car_space, n_colors=256)
        self.restaurants = Picture("restaurants", RESTAURANTS, restaurant_groups)
        self.people = Picture("annotators", ANNOTATORS, people_scatter)

    def cells(self, name: str, *, is_named: bool = True) -> list[Cell]:
        found = dict.fromkeys(cell for _, cell in self.study.points(name))
        return [cell for cell in found if cell.is_named == is_named and cell != NO_ANSWERS]

    def value(self, place: tuple[str, Cell], method: Method, field: str = "ari") -> Any:
        if method == WARD:
            method, field = SPACE, f"{field}_ward"
        name, cell = place
        if not method.uses_answers:  # Its result is noted at the cells with features
            cell = next((c for m, c in self.study.points(name) if m == method), cell)
        return self.results.values(name, cell, method, field)

    def in_short(self) -> Page:
        """Compare results with the goals, and the main methods at the most answers of each set."""
        rows = []
        for name, amount, sought in GOALS:
            if name in self.sets:
                found = Score.of(self.value((name, Cell(amount)), GUIDED))
                reached = "yes" if found.mean >= sought - 0.005 else "**no**"
                rows.append([name, Cell(amount).name, found, f"{sought:.2f}", reached])
        goals = Table(["GuidedClustering", "", "ARI", "sought", "reached"], rows)
        methods, rows = (GUIDED, SPACE, COUNT, MAJORITY, WITHOUT_ANSWERS), []
        for name in self.sets:
            if SETS[name].classes:
                cell = self.cells(name)[-1]
                scores = [Score.of(self.value((name, cell), m)) for m in methods]
                rows.append([f"{name}, {cell.name}", *scores])
        labels = [LABELS.get(m, m.label) for m in methods]
        groups = Table(["ARI, no features except the last", *labels], rows)
        rows = []
        for name in self.sets:
            at = (name, self.held_cells(name)[-1])
            pairs = [[self.value(at, m, f) for m in (GUIDED, SPACE)] for f in HELD_OUT]
            rows.append([f"{name}, {at[1].name}", *(score for pair in pairs for score in pair)])
        columns = [f"{field}, {by}" for field in HELD_OUT.values() for by in ("groups", "space")]
        return Page("short", [goals, groups, Table(["held-out answers", *columns], rows)])

    def claims(self) -> Iterator[Claim]:
        """Compare GuidedClustering at the most answers of each set with classes."""
        with_classes = [name for name in self.sets if SETS[name].classes]
        where = {name: (name, self.cells(name)[-1]) for name in with_classes}
        graded = {n: at for n, at in where.items() if SETS[n].has_k}
        many = {n: at for n, at in where.items() if not SETS[n].has_k}
        ours = partial(self.value, method=GUIDED)
        for places, other, text in (
            (graded, COUNT, "GuidedClustering above count similarity + Ward"),
            (graded, SPACE, "GuidedClustering above k-means in the space"),
            (many, MAJORITY, "GuidedClustering above majority + closure"),
        ):
            yield Claim(text, ours, partial(self.value, method=other), places)
        held = {n: (n, self.held_cells(n)[-1]) for n in self.sets if SETS[n].has_k}
        yield Claim(
            "OrdinalEmbedding predicts held-out answers with a lower log-loss than the groups",
            partial(self.value, method=SPACE, field="log_loss"),
            partial(self.value, method=GUIDED, field="log_loss"), held, is_below=True,
        )  # fmt: skip

    def held_cells(self, name: str) -> list[Cell]:
        return [cell for cell in self.cells(name) if cell.amount != "all"]

    def groups(self) -> Iterator[Table]:
        for name in self.sets:
            cells = self.cells(name)
            for which, of in enumerate(SETS[name].classes):
                field = "ari" if which == 0 else f"ari_{of}"
                rows = []
                for m in (*METHODS[:2], WARD, *METHODS[2:]):
                    scores = [self.value((name, cell), m, field) for cell in cells]
                    if any(map(len, scores)):
                        rows.append([LABELS.get(m, m.label), *scores])
                title = name if which == 0 else f"{name}: {of}"
                yield Table([title, *(cell.name for cell in cells)], rows, is_marked=True)

    def held_out(self) -> Iterator[Table]:
        methods = [m for m in METHODS if m.uses_answers]
        for field in HELD_OUT:
            places = [(name, self.held_cells(name)[-1]) for name in self.sets]
            for part in (places[:5], places[5:9], places[9:]):
                rows = []
                for m in methods:
                    scores = [Score.of(self.value(at, m, field)) for at in part]
                    if any(score.is_known for score in scores):
                        rows.append([m.label, *scores])
                header = [f"{name}, {cell.name}" for name, cell in part]
                yield Table([HELD_OUT[field], *header], rows, True, field == "log_loss")

    def names(self) -> Table:
        rows = []
        for name in self.sets:
            for cell in self.cells(name, is_named=False):
                named = Cell(cell.amount)
                pair = [self.value((name, of), GUIDED) for of in (named, cell)]
                loss = [self.value((name, of), GUIDED, "log_loss") for of in (named, cell)]
                rows.append([name, named.name, *pair, *loss])
        header = ["named", "anonymous", "log-loss, named", "anonymous"]
        return Table(["", "", *header], rows)

    def annotators(self) -> Table:
        rows = []
        for name in self.sets:
            at = (name, self.cells(name)[-1])
            scores = [self.value(at, m, "agreement") for m in BY_ANNOTATOR]
            if any(map(len, scores)):
                rows.append([name, at[1].name, *scores])
        return Table(["", "", *(m.label for m in BY_ANNOTATOR)], rows)

    def regimes(self) -> Table:
        rows = []
        for name in self.sets:
            for m in (GUIDED, GUIDED_X):
                for cell in self.cells(name):
                    count = Counter(self.value((name, cell), m, "regime"))
                    text = ", ".join(f"{regime} {n}" for regime, n in count.most_common())
                    sizes = self.value((name, cell), m, "n_groups")
                    if text:
                        rows.append([name, m.label, cell.name, text, f"{sizes.mean():.0f}"])
        return Table(["", "", "", "regime", "groups"], rows)

    def seconds(self) -> Table:
        methods = [m for m in METHODS if m.uses_answers]
        rows = []
        for name in self.sets:
            at = (name, self.held_cells(name)[-1])
            spent = [self.value(at, m, "fit_seconds").mean() for m in methods]
            rows.append(
                [f"{name}, {at[1].name}", *("–" if np.isnan(x) else f"{x:.2f}" for x in spent)]
            )
        return Table(["", *(m.label for m in methods)], rows)


QUICK = PeopleStudy(1, ("pk_odd", "pk_pairs"), "people_quick", True, max_answers=64)
command = study_command(
    PeopleStudy(), PeopleReport, __file__, QUICK, "One trial, two small sets, 64 answers"
)
