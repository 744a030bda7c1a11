"""The study: every method on people's real answers, by number of answers, names and features."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import AgglomerativeClustering

from benchmarks.studies.people.answers import load
from benchmarks.studies.people.baselines import (
    CountWard,
    MajorityClosure,
    agreement,
    groups_predict,
    held_out_scores,
    rank_correlation,
)
from benchmarks.study.engine import Study, Task
from benchmarks.study.fits import Outcome, run_method
from benchmarks.study.log import seed_of
from benchmarks.study.methods import CLUSTERERS, SIMILARITIES, Method
from benchmarks.study.problems import Floats, Ints, Problem
from clew import Constraints, cluster, similarity
from clew.constraints._folds import fold_numbers
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
    """The study of real answers."""

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
