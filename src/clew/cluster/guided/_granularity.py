"""How fine groups are is for answers to say, so features' preference for a number is left out.

Rows may form twenty tight groups of five kinds. Groups of features are then as coherent in either
number, but sizes and costs of groups favor one by more nats than a hundred answers tell. So the
energy of a partition is compared with what Ward's linkage has with as many groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster
from scipy.special import xlogy

from clew.cluster.guided._answer_model import AnswerModel
from clew.cluster.guided._features import Rows
from clew.cluster.guided._one_kind import OneKind
from clew.cluster.guided._partitions import SETTINGS, mean_prediction, renumbered

Floats = NDArray[np.float64]

#: Ward's tree is cut into so many numbers of groups, at most half as many as rows or this.
N_NUMBERS, MOST_GROUPS = 14, 150
#: Energy, in nats, that a number of groups has less for the squared log ratio to the number of the
#: features alone, without answers; ``1 / FADES`` answers for each row halve it. With answers for a
#: share of the rows of `MOST_FADED` or more it is not used.
NUMBER_WEIGHT, FADES, MOST_FADED = 40.0, 40.0, 0.1
#: The same however many answers there are, for more groups than the features' if all are
#: "different", and for fewer if all are "same", or about three rows without a don't-know.
WEIGHT_OF_ONE_KIND = 15.0
#: With so many answers, half of what features have for numbers of groups is left out.
FEW_ANSWERS = 6.0


def cost_of_number(
    number: int, alone: int, answers: AnswerModel, of_one_kind: Sequence[OneKind]
) -> float:
    """Return the energy that groups have less if features alone show another number of them.

    A few answers do not tell the number. Nor does any number of answers of one kind: one more group
    explains each wrong "different", and one less each wrong "same", or leaves it open which of
    three rows stands out.
    """
    far, each = np.log(number / alone), answers.n_pairs / answers.n_samples
    weight = NUMBER_WEIGHT / (1 + FADES * each) if each < MOST_FADED else 0.0
    are_of_one_kind = any(one.are_everybodys and one.are_same == (far < 0) for one in of_one_kind)
    if are_of_one_kind or (far < 0 and answers.are_forced):
        weight = max(weight, WEIGHT_OF_ONE_KIND)
    return float(weight * far**2)


def energy_of_cuts(rows: Rows, answers: AnswerModel) -> Callable[[int], float]:
    """Return the energy, without that of answers, of Ward's linkage with any number of groups."""
    cuts: _Cuts = rows.once("cuts", lambda: _Cuts.of(rows))
    energies = cuts.energies(answers)
    return lambda number: float(np.interp(np.log(number), cuts.log_number, energies))


class _Cuts(NamedTuple):
    """What features say of Ward's cuts into some numbers of groups, (n_numbers,) each."""

    log_number: Floats
    coherence: Floats
    """Log-probability of all rows' groups by the best set of smoothers; 0 without any."""
    entropy: Floats
    """Entropy of the sizes of groups, in nats, times the number of rows."""
    cost: Floats
    """Costs of groups and of joining parts that are far apart."""

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Cut the tree of rows into numbers that grow geometrically; others are interpolated."""
        n, found = len(rows.X), dict[int, tuple[float, float, float]]()
        most = max(2, min(n // 2, MOST_GROUPS))
        parts = None if rows.gaps is None else rows.gaps.parts
        for number in (1, *np.geomspace(2, most, N_NUMBERS).astype(int).tolist()):
            label = renumbered(fcluster(rows.tree, number, "maxclust"))
            size = np.bincount(label)
            k = len(size)
            if k in found:
                continue
            member = np.full((n, k), 0.1 / k)
            member[np.arange(n), label] += 0.9
            every = (mean_prediction(of, label, k, SETTINGS.floor) for of in rows.unfitted)
            logs = [float(np.log((member * one).sum(axis=1)).sum()) for one in every]
            cost = 0.0
            if parts is not None:  # fragments are no finer groups
                n_parts = np.maximum(parts.counts(label), 1)
                cost = SETTINGS.costs_of_groups(size, n_parts, parts.share).sum()
            found[k] = max(logs, default=0.0), -float(xlogy(size, size / n).sum()), float(cost)
        return cls(np.log([*found]), *np.array([*found.values()]).T)

    def energies(self, answers: AnswerModel) -> Floats:
        """Energy of each cut, by the weights that terms have beside as many answers.

        At least that of one group: groups that features do not show are none of these. Times a
        share that grows with the number of answers: a few do not tell how fine groups are.
        """
        factor, of_sizes = 0.0, SETTINGS.size_factor(answers.n_samples)
        if self.coherence.any():
            factor, of_sizes = SETTINGS.coherent(answers)
        found = factor * self.coherence + of_sizes * self.entropy - self.cost
        share = answers.n_pairs / (answers.n_pairs + FEW_ANSWERS)
        return np.asarray(share * np.maximum(found, found[0]))
