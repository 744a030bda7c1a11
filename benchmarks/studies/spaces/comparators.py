"""Embeddings of the package cblearn: positions from triplets, and probabilities of answers."""

from collections.abc import Callable

import numpy as np

from benchmarks.kernels._environments import run_in_environment
from benchmarks.studies.people.baselines import held_out_scores
from benchmarks.study.problems import Floats, Ints
from clew import Constraints
from clew.constraints._folds import fold_numbers
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
        "cblearn", "benchmarks.studies.spaces.packages:fitted",
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
