"""Who errs how, judged by partitions that did not see the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import DIFFERENT, KINDS, SAME, Kind
from clew.cluster.guided._ensemble import Clustering, Ensemble, Fold
from clew.cluster.guided._error_rate import ErrorRate, Judged, error_rate
from clew.constraints import Constraints
from clew.constraints._support import of_some_weight
from clew.constraints._tables import PARAMETER
from clew.similarity._comparisons import Relations, inequalities_of
from clew.trust import ConfusionMatrices
from clew.trust.groups._outcomes import OUTCOMES
from clew.trust.groups._shrinkage import forced_choice_kinds

__all__ = ["Beliefs", "beliefs_about", "believed", "credit_of", "credited", "telling"]

Floats = NDArray[np.float64]

LEAST_RATE, MOST_RATE = 0.02, 0.4
#: Answers that weigh as much as what is expected of all, and of each.
STRENGTH = 20.0
#: Error rates of guesses about pairs, triplets and odd ones out.
GUESSING = np.array([0.5, 0.5, 0.75])
#: For each kind, which rows of an answer are together in its cases (`_outcomes.OUTCOMES`):
#: every way in which three rows can be parted, by the case that it makes.
WAYS: dict[Kind, NDArray[np.int64]] = {
    # Together: 1 and 2 alone, 1 and 3 alone, 2 and 3 alone, all, none.
    "triplet": np.array([0, 1, 2, 2, 2]),
    "odd_one_out": np.array([2, 1, 0, 3, 4]),
}


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
        In [-1, 1], the largest in size 1: near 0 for somebody who guesses, negative for somebody
        who says the opposite.
    """
    held = [fold.held for fold in folds]
    return _credit(beliefs_about(ensemble, folds).confusion, sum(held[1:], held[0]))


def _credit(confusion: ConfusionMatrices, known: Constraints) -> dict[str, float]:
    """Compare each annotator with somebody who guesses as many answers of each kind."""
    n = len(known.annotators)
    counts = np.stack([np.bincount(table.annotators, minlength=n) for table in known.tables])
    guessing = GUESSING @ counts / np.maximum(counts.sum(axis=0), 1)
    edge = 1 - confusion.error_rates_ / np.where(guessing > 0, guessing, 0.5)
    credit = edge / (np.abs(edge).max() or 1.0)
    return dict(zip(confusion.annotators_, credit.tolist(), strict=True))


def credited(known: Constraints, credit: Mapping[str, float]) -> Constraints:
    """Weigh answers by how far their annotators are believed.

    Parameters
    ----------
    known : Constraints
        What people said.
    credit : mapping of str to float
        See `credit_of`.

    Returns
    -------
    Constraints
        Pairs of those who say the opposite are turned round; of them other answers weigh nothing.
    """
    of_each = np.array([credit[name] for name in known.annotators])
    pairs, *about_three = known.tables
    of_pairs = of_each[pairs.annotators]
    is_turned = (of_pairs < 0) & ~known.is_dont_know
    turned = np.where(pairs.answers == SAME, DIFFERENT, SAME)
    tables = (
        replace(
            pairs,
            answers=np.where(is_turned, turned, pairs.answers),
            weights=pairs.weights * np.abs(of_pairs),
        ),
        *(
            table.with_weights(table.weights * np.maximum(of_each[table.annotators], 0.0))
            for table in about_three
        ),
    )
    return known.with_tables(tables)


def telling(known: Constraints) -> Constraints:
    """Leave out answers of weight 0, and annotators who gave no others."""
    some = of_some_weight(known)
    heard = np.unique(np.concatenate([table.annotators for table in some.tables]))
    tables = tuple(
        replace(table, annotators=np.searchsorted(heard, table.annotators)) for table in some.tables
    )
    names = tuple(known.annotators[code] for code in heard)
    return known.with_tables(tables, names)


def believed(
    folds: Sequence[Fold], ways: Sequence[Clustering]
) -> tuple[list[Fold], dict[str, float]]:
    """Weigh the answers of folds by how far ways that saw none let their annotators be believed.

    Parameters
    ----------
    folds : sequence of Fold
        All answers.
    ways : sequence of Clustering
        Ways to group that follow no answers.

    Returns
    -------
    folds : list of Fold
        As from `credited`.
    credit : dict of str to float
        As from `credit_of`.
    """
    credit = credit_of(Ensemble.of(ways, folds), folds)
    return [Fold(*(credited(part, credit) for part in fold)) for fold in folds], credit


def beliefs_about(
    ensemble: Ensemble, folds: Sequence[Fold], annotators: Sequence[str] = ("",)
) -> Beliefs:
    """Estimate how many answers are wrong, and who errs how.

    Parameters
    ----------
    ensemble : Ensemble
        Partitions.
    folds : sequence of Fold
        Answers held out.
    annotators : sequence of str, default=("",)
        Who answered, where no answer tells anything.

    Returns
    -------
    Beliefs
    """
    if not folds:
        return Beliefs(UNKNOWN, ConfusionMatrices.uniform(LEAST_RATE, annotators or ("",)))
    held = [fold.held for fold in folds]
    rate = _rate(held, ensemble)
    known = sum(held[1:], held[0])
    error = min(max(rate.rate, LEAST_RATE), MOST_RATE)
    expected = 2 * error / (1 + error)  # of three labels, one of which is don't-know
    if len(known.annotators) < 2:
        confusion = ConfusionMatrices.uniform(expected, known.annotators, constraints=known)
        confusion.error_rates_ = np.full(len(known.annotators), rate.rate)
        confusion.error_intervals_ = np.tile(rate.interval, (len(known.annotators), 1))
        return Beliefs(rate, confusion)
    matrices = _matrices(held, ensemble, rate, expected)
    # Partitions tell more than it seems where some say the opposite of others.
    credit = _credit(matrices, known)
    again = _rate([credited(part, credit) for part in held], ensemble)
    return Beliefs(rate, _matrices(held, ensemble, again, expected))


def _rate(held: Sequence[Constraints], ensemble: Ensemble) -> ErrorRate:
    """Estimate the error rate of the answers held out in each fold."""
    forced = forced_choice_kinds(sum(held[1:], held[0]))
    pairs = [_without(of, forced).as_pairs() for of in held]
    score = ensemble.held_out_association([of.pairs for of in pairs])
    said = sum(pairs[1:], pairs[0])
    weight = np.where(said.is_dont_know, 0.0, said.pair_weights)
    choices = [inequalities_of(_without(of, set(KINDS) - forced)) for of in held]
    choice_weight = np.concatenate([of.weight for of in choices])
    return error_rate(
        Judged.of(
            score, said.is_must_link, weight, _choice_scores(choices, ensemble), choice_weight
        )
    )


def _without(known: Constraints, kinds: set[Kind]) -> Constraints:
    """Leave out the answers of some kinds."""
    none = {
        PARAMETER[table.kind]: np.zeros(len(table), np.bool_)
        for table in known.tables
        if table.kind in kinds
    }
    return known.select(**none)


def _choice_scores(choices: Sequence[Relations], ensemble: Ensemble) -> Floats:
    """Look up the three pairs among the rows of each choice, (n_choices, 3)."""
    third = []
    for of in choices:
        is_shared = of.near[:, :, None] == of.far[:, None, :]
        one, other = of.near[~is_shared.any(axis=2)], of.far[~is_shared.any(axis=1)]
        third.append(np.column_stack([one, other]))
    every = [of.near for of in choices], [of.far for of in choices], third
    return np.column_stack([ensemble.held_out_association(pairs) for pairs in every])


def _matrices(
    held: Sequence[Constraints], ensemble: Ensemble, rate: ErrorRate, expected: float
) -> ConfusionMatrices:
    """Estimate who errs how, where partitions tell of rows what `rate` says they do."""
    chances = {
        of_kind[0].kind: _chances(
            of_kind[0].kind, [table.rows for table in of_kind], ensemble, rate
        )
        for of_kind in zip(*(known.tables for known in held), strict=True)
    }
    matrices = ConfusionMatrices(
        prior_error=expected, prior_strength=STRENGTH, pooling_strength=STRENGTH
    )
    return matrices.fit_probabilities(sum(held[1:], held[0]), chances)


def _chances(
    kind: Kind,
    rows: Sequence[NDArray[np.int64]],
    ensemble: Ensemble,
    rate: ErrorRate,
) -> Floats:
    """Give the chances of the cases of answers, (m, n_cases)."""
    ends = ((0, 1),) if kind == "pair" else ((0, 1), (0, 2), (1, 2))
    together = [
        rate.together(ensemble.held_out_association([of[:, [a, b]] for of in rows]))
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
    cases = np.zeros((len(ways), len(OUTCOMES[kind])))
    for way, case in enumerate(WAYS[kind]):
        cases[:, case] += ways[:, way]
    return cases
