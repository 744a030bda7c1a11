"""OrdinalEmbedding and other software, and kinds of questions: held-out answers of people."""

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from benchmarks._environments import run_in_environment
from benchmarks.studies._human import held_out_scores, load
from benchmarks.studies.people import SETS as PEOPLE, Amount, Cell, draw, marked
from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of, tag_of
from benchmarks.study.problems import Floats, Ints, Problem
from benchmarks.study.report import Table
from benchmarks.study.results import Results, Score
from clew import Constraints
from clew.constraints._support import fold_numbers
from clew.kernels.ordinal import comparison_loss
from clew.similarity import OrdinalEmbedding
from clew.similarity._ordinal import (
    PAIR_OF_ANSWER,
    SLOPES,
    SMOOTHING,
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


N_CENTRAL_COMPONENTS = 4
PENALTY, MAX_ITER, DEVIATION = 0.3, 150, 0.5
#: For each row of a question, the positions of the two others. The chosen row is at position 0.
OPPOSITE = np.array([(1, 2), (0, 2), (0, 1)])
RESPONSE = Response("tste", LAPSE)


def most_central(method: str, n_questions: int | None, seed: int) -> dict[str, float]:
    """Score held-out choices of the most central of three cars."""
    people = load("car60", seed)
    rows = np.array([np.roll(r, -a) for r, a in zip(people.rows, people.answer, strict=True)])
    _, who = np.unique(people.annotator, return_inverse=True)
    random = np.random.RandomState(seed)
    every = Constraints.from_odd_one_out(rows, np.zeros(len(rows)), n_samples=people.n)
    is_held = fold_numbers(every, N_FOLDS, seed)["odd_one_out"] == 0
    known = random.permutation(np.flatnonzero(~is_held))[:n_questions]
    of_triplets = OrdinalEmbedding(N_CENTRAL_COMPONENTS, response="tste", random_state=seed)
    of_triplets.fit(
        constraints=Constraints.from_most_central(
            rows[known], np.zeros(len(known)), n_samples=people.n, annotators=who[known]
        )
    )
    slopes = np.ones(who.max() + 1)
    slopes[list(map(int, of_triplets.annotators_))] = of_triplets.annotator_slopes_
    space = of_triplets.embedding_
    if method == "choice":
        space, slopes = fitted_to_choices(rows[known], who[known], len(slopes), space)
    p = of_most_central(space, rows[is_held], slopes[who[is_held]])
    accuracy = np.mean(p[:, 0] >= p.max(axis=1))
    return {"log_loss": float(-np.log(p[:, 0]).mean()), "accuracy": float(accuracy)}


def of_most_central(space: Floats, rows: Ints, slopes: Floats | float) -> Floats:
    """Return the probability that each row is chosen: a softmax of the other two's distance."""
    apart = RESPONSE.dissimilarity(squared_distances(space, rows, OPPOSITE))
    chosen = softmax(apart * np.reshape(slopes, (-1, 1)), axis=1)
    return np.asarray(LAPSE / 3 + (1 - LAPSE) * chosen)


def fitted_to_choices(
    rows: Ints, who: Ints, n_annotators: int, start: Floats
) -> tuple[Floats, Floats]:
    """Maximize the likelihood of the choices themselves, not of triplets made from them."""
    weights, slopes, space = np.ones(len(rows)), np.ones(n_annotators), start

    def objective(flat: Floats, slope: Floats) -> tuple[float, Floats]:
        z = np.ascontiguousarray(flat.reshape(start.shape))
        gradient = np.zeros_like(z)
        # A negative slope makes the farthest pair the most probable one.
        loss = comparison_loss(
            z, rows, OPPOSITE, -slope, weights, LAPSE, RESPONSE.code, SMOOTHING, gradient
        )
        return loss + PENALTY / 2 * float((z**2).sum()), (gradient + PENALTY * z).ravel()

    options: Any = {"maxiter": MAX_ITER}
    for _ in range(2):
        found = minimize(
            objective, space.ravel(), (slopes[who],), "L-BFGS-B", jac=True, options=options
        )
        space = found.x.reshape(start.shape)
        grid = np.log(SLOPES)
        log_posterior = np.tile(-0.5 * (grid / DEVIATION) ** 2, (n_annotators, 1))
        for column, slope in enumerate(SLOPES):
            p = of_most_central(space, rows, slope)[:, 0]
            log_posterior[:, column] += np.bincount(who, np.log(p), minlength=n_annotators)
        slopes = np.exp(softmax(log_posterior, axis=1) @ grid)
    return space, slopes


#: Sets of ratings: their file, the ratings for "different" and "same", and the file of triplets
#: that are predicted from them.
RATINGS = {
    "reptile, ratings": ("reptile_tool30_pairs", 0, 6, "reptile_tool30_triplets"),
    "pk, ratings": ("pk_shapecolor_pairs_l5", 5, 0, "pk_shapecolor_triplet"),
}


def ratings(name: str, method: str, n_ratings: int | None, seed: int) -> dict[str, float]:
    """Fit ratings, or whether they are above a threshold, and score triplets of other people."""
    file, different, same, triplets = RATINGS[name]
    people: Any = load(file, seed)
    held = load(triplets, seed).constraints(is_named=False)
    which = np.random.RandomState(seed).permutation(len(people.rows))[:n_ratings]
    annotators = np.array(people.annotator)[which]
    if method == "rating":
        known = Constraints.from_ratings(
            people.rows[which], people.rating[which], different=different, same=same,
            n_samples=people.n, annotators=annotators,
        )  # fmt: skip
    else:
        pairs = np.column_stack([people.rows, people.answer])[which]
        known = Constraints(people.n, pairs=pairs, pair_annotators=annotators)
    model = OrdinalEmbedding(random_state=seed).fit(constraints=known)
    found = model.predict_proba({"triplet": held.triplets})
    assert isinstance(found, dict)
    is_right = found["triplet"].argmax(axis=1) == held.triplet_answers
    return {"log_loss": -model.score(held), "accuracy": float(is_right.mean())}


class Method(NamedTuple):
    name: str
    label: str
    fit: str = ""  # Name in cblearn, if it is from there


ORDINAL = Method("ordinal", "OrdinalEmbedding")
ONE_SLOPE = Method("one_slope", "OrdinalEmbedding, one slope")
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
    n_trials: int = 3
    sets: tuple[str, ...] = (*AMOUNTS, MOST_CENTRAL, *RATINGS)
    stem: str = "spaces"

    def problem(self, name: str) -> Problem:
        files = {MOST_CENTRAL: "car60"} | {rated: of[0] for rated, of in RATINGS.items()}
        people = load(files.get(name) or PEOPLE[name].file)
        return Problem(name, np.eye(people.n), np.arange(people.n))

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        if name == MOST_CENTRAL:
            return [(method, cell) for cell in CENTRAL_CELLS for method in CENTRAL]
        if name in RATINGS:
            return [(method, cell) for cell in RATED_CELLS for method in RATED]
        return [(method, Cell(AMOUNTS[name])) for method in METHODS]

    def version(self, method: Method) -> str:
        return tag_of(method, N_COMPONENTS, N_CENTRAL_COMPONENTS)

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        seed, start = seed_of("spaces", name, trial), process_time()
        amount = cell.amount if isinstance(cell.amount, int) else None
        if name == MOST_CENTRAL:
            found = most_central(method.name, amount, seed)
        elif name in RATINGS:
            found = ratings(name, method.name, amount, seed)
        else:
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


class SpacesReport:
    def __init__(self, results: Results[SpacesStudy]) -> None:
        self.results, self.study = results, results.study
        self.sets = [name for name in AMOUNTS if name in self.study.found_sets]

    def _beside_others(self, field: str, sign: int) -> Table:
        rows = [
            [
                method.label,
                *(
                    Score.of(self.results.values(n, Cell(AMOUNTS[n]), method, field))
                    for n in self.sets
                ),
            ]
            for method in METHODS
        ]
        header = [f"{name}, {Cell(AMOUNTS[name]).name}" for name in self.sets]
        return marked(["", *header], rows, sign)

    def accuracy(self) -> Table:
        return self._beside_others("accuracy", 1)

    def log_loss(self) -> Table:
        return self._beside_others("log_loss", -1)

    def seconds(self) -> Table:
        rows = []
        for method in METHODS:
            spent = [
                self.results.values(n, Cell(AMOUNTS[n]), method, "fit_seconds").mean()
                for n in self.sets
            ]
            rows.append([method.label, *(f"{x:.1f}" for x in spent)])
        return Table(["", *self.sets], rows)

    def _converted(
        self, names: list[str], cells: tuple[Cell, ...], methods: tuple[Method, ...]
    ) -> Table:
        rows = []
        for name in names:
            for cell in cells if name in self.study.found_sets else ():
                scores = [
                    Score.of(self.results.values(name, cell, method, field))
                    for field in ("accuracy", "log_loss")
                    for method in methods
                ]
                rows.append([name, cell.name, *scores])
        header = [f"{field}, {m.label}" for field in ("accuracy", "log-loss") for m in methods]
        return Table(["", "", *header], rows)

    def most_central(self) -> Table:
        return self._converted([MOST_CENTRAL], CENTRAL_CELLS, CENTRAL)

    def ratings(self) -> Table:
        return self._converted(list(RATINGS), RATED_CELLS, RATED)


QUICK = SpacesStudy(1, (MOST_CENTRAL, "reptile, ratings"), "spaces_quick", True)
command = study_command(
    SpacesStudy(), SpacesReport, __file__, QUICK, "One trial, two small sets, no other software"
)
