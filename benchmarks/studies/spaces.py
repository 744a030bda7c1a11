"""OrdinalEmbedding and other software: held-out answers of people."""

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks._environments import run_in_environment
from benchmarks.studies._human import held_out_scores, load
from benchmarks.studies.people import SETS as PEOPLE, Amount, Cell, draw
from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of, tag_of
from benchmarks.study.problems import Floats, Ints, Problem
from benchmarks.study.report import Report, Table
from clew import Constraints
from clew.constraints._support import fold_numbers
from clew.similarity import OrdinalEmbedding
from clew.similarity._ordinal import (
    PAIR_OF_ANSWER,
    OrdinalAnswers,
    Response,
    definite,
    squared_distances,
)

#: The dissimilarity of each method, from squared distances and the number of components.
FORMS: dict[str, Callable[[Floats, int], Floats]] = {
    "TSTE": lambda squared, d: np.log1p(squared / max(d - 1, 1)),
    "CKL": lambda squared, d: np.log(0.05 + squared),
    "GNMDS": lambda squared, d: squared,
    "SOE": lambda squared, d: np.sqrt(squared),
}
N_COMPONENTS = (2, 4, 8)
#: Numbers that dissimilarities are multiplied by, and the share of random answers.
SCALES, LAPSE = np.geomspace(0.01, 100, 41), 0.05
N_FOLDS = 5


def as_triplets(known: Constraints) -> Ints:
    """Return rows (a, b, c), where a is more like b than like c; two for an odd-one-out answer."""
    answers = OrdinalAnswers.of(definite(known), by_annotator=False)
    one, other, odd = answers.odd_one_out.rows.T
    rows = [np.stack(three, axis=1) for three in ((one, other, odd), (other, one, odd))]
    weights = [answers.triplet.weights, *[answers.odd_one_out.weights] * 2]
    # Equal answers were merged: each is repeated as often as it was given.
    return np.repeat(
        np.concatenate([answers.triplet.rows, *rows]), np.concatenate(weights).astype(int), axis=0
    )


def fitted(name: str, parts: list[Constraints], seed: int) -> tuple[list[list[Floats]], float]:
    """Fit each number of components to each part; returns positions and CPU seconds."""
    found, positions = run_in_environment(
        "cblearn", "benchmarks._peers:embedded",
        {f"part{at}": as_triplets(part) for at, part in enumerate(parts)},
        method=name, n_components=N_COMPONENTS, n_rows=parts[0].n_samples, seed=seed,
    )  # fmt: skip
    spaces = [[positions[f"part{at}_{d}"] for d in N_COMPONENTS] for at in range(len(parts))]
    return spaces, float(found["seconds"])


def predicted(name: str, space: Floats, scale: float, held: Constraints) -> list[Floats]:
    """Return the probabilities of the answers to questions about three rows."""
    response, found = Response("distance", LAPSE), [np.zeros((len(held.pairs), 2))]
    for table in held.tables[1:]:
        squared = squared_distances(space, table.rows, PAIR_OF_ANSWER[table.kind])
        found.append(response.of_options(FORMS[name](squared, space.shape[1]), scale))
    return found


def scores(name: str, known: Constraints, held: Constraints, seed: int) -> dict[str, float]:
    """Choose components and scale by a fold of the answers, and score the held-out ones."""
    folds = fold_numbers(known, N_FOLDS, seed)
    kept, judging = (
        known.select(**{kind: (fold == 0) == is_judging for kind, fold in folds.items()})
        for is_judging in (False, True)
    )
    (of_kept, of_all), seconds = fitted(name, [kept, known], seed)
    losses = [
        [
            held_out_scores(judging, predicted(name, space, scale, judging))["log_loss"]
            for scale in SCALES
        ]
        for space in of_kept
    ]
    which, scale = np.unravel_index(np.argmin(losses), np.shape(losses))
    best = held_out_scores(held, predicted(name, of_all[which], float(SCALES[scale]), held))
    return best | {"n_components": N_COMPONENTS[which], "fit_seconds": seconds}


class Method(NamedTuple):
    name: str
    label: str
    fit: str = ""  # Name in cblearn, if it is from there


ORDINAL = Method("ordinal", "OrdinalEmbedding")
ONE_SLOPE = Method("one_slope", "OrdinalEmbedding, one slope")
METHODS = (
    ORDINAL, ONE_SLOPE, Method("tste", "t-STE", "TSTE"), Method("soe", "SOE", "SOE"),
    Method("crowd_kernel", "crowd kernel", "CKL"), Method("gnmds", "GNMDS", "GNMDS"),
)  # fmt: skip
AMOUNTS: dict[str, Amount] = {
    "car60, class4": "4/5", "letters_latin": 6_000, "zappos85": 6_000, "material100": 6_000,
    "reptile, triplets": "4/5", "alien_eggs300": "4/5",
}  # fmt: skip


@dataclass(frozen=True)
class SpacesStudy(Study):
    n_trials: int = 3
    sets: tuple[str, ...] = tuple(AMOUNTS)
    stem: str = "spaces"
    has_peers: bool = True

    def problem(self, name: str) -> Problem:
        people = load(PEOPLE[name].file)
        return Problem(name, np.eye(people.n), np.arange(people.n))

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        methods = METHODS if self.has_peers else (ORDINAL, ONE_SLOPE)
        return [(method, Cell(AMOUNTS[name])) for method in methods]

    def version(self, method: Method) -> str:
        return tag_of(method, N_COMPONENTS, 4)  # 4: as when the log was written

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        seed, start = seed_of("spaces", name, trial), process_time()
        known, held = draw(name, cell, trial)
        if method.fit:
            return scores(method.fit, known, held, seed)
        model = OrdinalEmbedding(annotator_slopes=method == ORDINAL, random_state=seed)
        model.fit(constraints=known)
        predicted = model.predict_proba({table.kind: table.rows for table in held.tables})
        assert isinstance(predicted, dict)
        found = held_out_scores(held, list(predicted.values()))
        found |= {"log_loss": -model.score(held), "n_components": model.n_components_}
        return found | {"fit_seconds": process_time() - start}


class SpacesReport(Report[SpacesStudy]):
    def _values(self, name: str, method: Method, field: str) -> pd.Series:
        return self.results.values(name, Cell(AMOUNTS[name]), method, field)

    def _beside_others(self, field: str, *, is_lowest: bool = False) -> Table:
        rows = [[m.label, *(self._values(n, m, field) for n in self.sets)] for m in METHODS]
        header = [f"{name}, {Cell(AMOUNTS[name]).name}" for name in self.sets]
        return Table(["", *header], rows, is_marked=True, is_lowest=is_lowest)

    def accuracy(self) -> Table:
        return self._beside_others("accuracy")

    def log_loss(self) -> Table:
        return self._beside_others("log_loss", is_lowest=True)

    def seconds(self) -> Table:
        rows = []
        for m in METHODS:
            spent = [self._values(name, m, "fit_seconds").mean() for name in self.sets]
            rows.append([m.label, *(f"{x:.1f}" for x in spent)])
        return Table(["", *self.sets], rows)


QUICK = SpacesStudy(1, ("reptile, triplets",), "spaces_quick", True, has_peers=False)
command = study_command(SpacesStudy(), SpacesReport, __file__, QUICK, "One set, no other software")
