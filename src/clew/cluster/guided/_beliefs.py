"""Who errs how, judged by partitions that did not see the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import Kind
from clew.cluster.guided._ensemble import Ensemble, Fold, Weights, weights_of
from clew.cluster.guided._error_rate import ErrorRate, error_rate
from clew.constraints import Constraints
from clew.trust import ConfusionMatrices

__all__ = ["Beliefs", "beliefs_about", "credit_of"]

Floats = NDArray[np.float64]

LEAST_RATE, MOST_RATE = 0.02, 0.4
#: Answers that weigh as much as what is expected of all, and of each.
STRENGTH = 50.0
#: For each kind, which rows of an answer are together in its cases (`clew.trust._cases.CASES`):
#: every way in which three rows can be parted, by the case that it makes.
WAYS: dict[Kind, NDArray[np.int64]] = {
    # Together: 1 and 2 alone, 1 and 3 alone, 2 and 3 alone, all, none.
    "triplet": np.array([0, 1, 2, 2, 2]),
    "odd_one_out": np.array([2, 1, 0, 3, 4]),
}
N_CASES = {"triplet": 3, "odd_one_out": 5}


#: What is known of errors without answers.
UNKNOWN = ErrorRate(float("nan"), (0.0, 1.0), 1.0, 0.0)


class Beliefs(NamedTuple):
    """What is believed of answers."""

    rate: ErrorRate
    confusion: ConfusionMatrices


def credit_of(ensemble: Ensemble, folds: Sequence[Fold]) -> dict[str, float]:
    """Tell how far to believe each annotator, as far as partitions without answers can.

    Parameters
    ----------
    ensemble : Ensemble
        Partitions that saw no answers.
    folds : sequence of Fold
        All answers.

    Returns
    -------
    dict of str to float
        The best 1; 0 for somebody who is wrong half of the time or more.
    """
    weights = weights_of(ensemble.scores(folds), {})
    confusion = beliefs_about(ensemble, weights, folds).confusion
    edge = np.maximum(0.5 - confusion.error_rates_, 0.0)
    credit = edge / edge.max() if edge.max() > 0 else np.ones(len(edge))
    return dict(zip(confusion.annotators_, credit.tolist(), strict=True))


def beliefs_about(
    ensemble: Ensemble, weights: Weights, folds: Sequence[Fold]
) -> Beliefs:
    """Estimate how many answers are wrong, and who errs how.

    Parameters
    ----------
    ensemble : Ensemble
        Partitions.
    weights : dict of str to float
        How much each way to group counts.
    folds : sequence of Fold
        Answers held out.

    Returns
    -------
    Beliefs
    """
    if not folds:
        return Beliefs(UNKNOWN, ConfusionMatrices.uniform(LEAST_RATE))
    held = [fold.held for fold in folds]
    as_pairs = [of.as_pairs() for of in held]
    score = ensemble.held_out_association(weights, [pairs.pairs for pairs in as_pairs])
    said = sum(as_pairs[1:], as_pairs[0])
    weight = np.where(said.is_dont_know, 0.0, said.pair_weights)
    rate = error_rate(np.concatenate(score), said.is_must_link, weight)
    known = sum(held[1:], held[0])
    error = min(max(rate.rate, LEAST_RATE), MOST_RATE)
    expected = 2 * error / (1 + error)  # of three labels, one of which is don't-know
    if len(known.annotators) < 2:
        return Beliefs(rate, ConfusionMatrices.uniform(expected, known.annotators))
    chances: dict[Kind, Floats] = {}
    for kind, rows in (
        ("pair", [of.pairs for of in held]),
        ("triplet", [of.triplets for of in held]),
        ("odd_one_out", [of.odd_one_out for of in held]),
    ):
        chances[kind] = _chances(kind, rows, ensemble, weights, rate)
    matrices = ConfusionMatrices(
        prior_error=expected, prior_strength=STRENGTH, pooling_strength=STRENGTH
    )
    return Beliefs(rate, matrices.fit_chances(known, chances))


def _chances(
    kind: Kind,
    rows: Sequence[NDArray[np.int64]],
    ensemble: Ensemble,
    weights: Weights,
    rate: ErrorRate,
) -> Floats:
    """Give the chances of the cases of answers, (m, n_cases)."""
    ends = ((0, 1),) if kind == "pair" else ((0, 1), (0, 2), (1, 2))
    together = [
        rate.together(
            np.concatenate(
                ensemble.held_out_association(weights, [of[:, [a, b]] for of in rows])
            )
        )
        for a, b in ends
    ]
    if kind == "pair":
        return np.column_stack([together[0], 1 - together[0]])
    ab, ac, bc = together
    apart = (1 - ab) * (1 - ac) * (1 - bc)
    ways = np.column_stack([
        ab * (1 - ac) * (1 - bc), ac * (1 - ab) * (1 - bc), bc * (1 - ab) * (1 - ac),
        ab * ac * bc, apart,
    ])  # fmt: skip
    ways /= np.maximum(ways.sum(axis=1, keepdims=True), 1e-300)
    cases = np.zeros((len(ways), N_CASES[kind]))
    for way, case in enumerate(WAYS[kind]):
        cases[:, case] += ways[:, way]
    return cases
