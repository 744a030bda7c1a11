"""Most central of three, and ratings: what is lost by converting them to triplets or pairs."""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from benchmarks.studies.people.answers import load
from benchmarks.study.problems import Floats, Ints
from clew import Constraints
from clew.constraints._folds import fold_numbers
from clew.kernels.ordinal import comparison_loss
from clew.similarity import OrdinalEmbedding
from clew.similarity._ordinal import SLOPES, SMOOTHING, Response, squared_distances

N_FOLDS, N_COMPONENTS = 5, 4
PENALTY, LAPSE, MAX_ITER, DEVIATION = 0.3, 0.05, 150, 0.5
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
    of_triplets = OrdinalEmbedding(N_COMPONENTS, response="tste", random_state=seed)
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
