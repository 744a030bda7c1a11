"""The study: which held-out answers a space predicts, by method and by kind of question."""

from dataclasses import dataclass
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.studies.people.answers import load
from benchmarks.studies.people.baselines import held_out_scores
from benchmarks.studies.people.study import SETS as PEOPLE
from benchmarks.studies.people.study import Amount, Cell, draw
from benchmarks.studies.spaces import comparators, kinds
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of, tag_of
from benchmarks.study.problems import Problem
from clew.similarity import OrdinalEmbedding


class Method(NamedTuple):
    """A row of a table."""

    name: str
    label: str
    fit: str = ""  # Name in cblearn, if it is from there


ORDINAL = Method("ordinal", "OrdinalEmbedding")
ONE_SLOPE = Method("one_slope", "OrdinalEmbedding, annotators=False")
METHODS = (
    ORDINAL,
    ONE_SLOPE,
    Method("tste", "t-STE", "TSTE"),
    Method("soe", "SOE", "SOE"),
    Method("crowd_kernel", "crowd kernel", "CKL"),
    Method("gnmds", "GNMDS", "GNMDS"),
)
CENTRAL = (Method("triplets", "two triplets"), Method("choice", "one choice of three"))
RATED = (Method("rating", "weights from ratings"), Method("threshold", "same or different"))

AMOUNTS: dict[str, Amount] = {
    "car60, class4": "4/5",
    "letters_latin": 6_000,
    "zappos85": 6_000,
    "material100": 6_000,
    "reptile, triplets": "4/5",
    "alien_eggs300": "4/5",
}
MOST_CENTRAL = "car60, most central"
CENTRAL_CELLS = tuple(Cell(amount) for amount in (300, 1500, "4/5"))
RATED_CELLS = tuple(Cell(amount) for amount in (150, 500, "all"))


@dataclass(frozen=True)
class SpacesStudy(Study):
    """The study of spaces."""

    n_trials: int = 3
    sets: tuple[str, ...] = (*AMOUNTS, MOST_CENTRAL, *kinds.RATINGS)
    stem: str = "spaces"

    def problem(self, name: str) -> Problem:
        files = {MOST_CENTRAL: "car60"} | {rated: of[0] for rated, of in kinds.RATINGS.items()}
        people = load(files.get(name) or PEOPLE[name].file)
        return Problem(name, np.eye(people.n), np.arange(people.n))

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        if name == MOST_CENTRAL:
            return [(method, cell) for cell in CENTRAL_CELLS for method in CENTRAL]
        if name in kinds.RATINGS:
            return [(method, cell) for cell in RATED_CELLS for method in RATED]
        return [(method, Cell(AMOUNTS[name])) for method in METHODS]

    def version(self, method: Method) -> str:
        return tag_of(method, comparators.N_COMPONENTS, kinds.N_COMPONENTS)

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        seed, start = seed_of("spaces", name, trial), process_time()
        amount = cell.amount if isinstance(cell.amount, int) else None
        if name == MOST_CENTRAL:
            found = kinds.most_central(method.name, amount, seed)
        elif name in kinds.RATINGS:
            found = kinds.ratings(name, method.name, amount, seed)
        else:
            known, held = draw(name, cell, trial)
            if method.fit:
                return comparators.scores(method.fit, known, held, seed)
            model = OrdinalEmbedding(annotators=method == ORDINAL, random_state=seed)
            model.fit(constraints=known)
            predicted = model.predict_proba({table.kind: table.rows for table in held.tables})
            assert isinstance(predicted, dict)
            found = held_out_scores(held, list(predicted.values()))
            found |= {"log_loss": -model.score(held), "n_components": model.n_components_}
        return found | {"fit_seconds": process_time() - start}
