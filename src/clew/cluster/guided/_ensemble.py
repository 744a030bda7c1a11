"""Partitions made from all answers, and again from parts of them, to be judged by the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._consensus import co_association, consensus
from clew.cluster.guided._progress import Step, no_step
from clew.constraints import Constraints
from clew.metrics._likelihood import answer_counts, log_likelihood_of_counts

__all__ = ["Ensemble", "Fold", "Labels", "Way", "Weights", "foretold"]

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
Weights = dict[str, float]

#: What the log-likelihood of answers is multiplied by: ways that do well on answers held out count
#: more, but by far not as much more as if all the rest of the model were right.
TEMPER = 0.25
#: Ways of less than this share of the largest weight are left out.
LEAST_WEIGHT = 0.02
#: How much less than that, as a logarithm, the folds so far must foretell to end a way there.
MARGIN = 2.0


class Fold(NamedTuple):
    """Answers to learn from, and answers held out."""

    kept: Constraints
    held: Constraints


class Way(NamedTuple):
    """A way to group."""

    name: str
    group: Callable[[int | None], Labels | Floats]
    """Gets the number of a fold, or None for all answers; gives groups, or chances of groups."""
    log_prior: float = 0.0
    """How much likelier than others it is taken to be right, as a logarithm."""


class Ensemble(NamedTuple):
    """What ways to group made of all answers and of those of each fold, and how they did."""

    whole: dict[str, Labels | Floats]
    """Groups, or chances of groups, of all rows, by way."""
    of_folds: list[dict[str, Labels]]
    """Groups that saw only a fold's part of the answers."""
    scores: dict[str, float]
    """Mean log-likelihood of the answers held out, of ways that were ended in the folds before; NaN
    without folds."""
    weights: Weights
    """How much each way counts, the most 1; of those that were ended 0."""
    n_held: float = 0.0
    """Weight of the answers held out."""

    @classmethod
    def of(
        cls,
        ways: Sequence[Way],
        folds: Sequence[Fold],
        step: Step = no_step,
        *,
        margin: float = MARGIN,
    ) -> Self:
        """Let ways to group compete.

        Parameters
        ----------
        ways : sequence of Way
            The ways.
        folds : sequence of Fold
            Answers that judge. Without any, all ways count by what is known of them before.
        step : callable
            Called after each partition that was made.
        margin : float, default=2.0
            How far behind a way must be before the last fold to go no further, as a logarithm.

        Returns
        -------
        Ensemble

        Notes
        -----
        Ways that are hopelessly behind after a fold go no further.
        """

        def made(way: Way, at: int | None) -> Labels | Floats:
            groups = way.group(at)
            step()
            return groups

        of_folds: list[dict[str, Labels]] = []
        priors = {way.name: way.log_prior for way in ways}
        left, scores = list(ways), dict.fromkeys(priors, 0.0)
        told: dict[str, tuple[float, float]] = {}
        for at in range(len(folds)):
            of_folds.append({way.name: as_labels(made(way, at)) for way in left})
            told = {
                way.name: foretold([made_of[way.name] for made_of in of_folds], folds)
                for way in left
            }
            scores |= {name: total / max(weight, 1e-300) for name, (total, weight) in told.items()}
            totals = {name: total * len(folds) / (at + 1) for name, (total, _) in told.items()}
            weights = _weights(totals, priors, slack=margin if at + 1 < len(folds) else 0.0)
            left = [way for way in left if weights[way.name] > 0]
        if not folds:
            weights = _weights(scores, priors)
            scores = dict.fromkeys(priors, np.nan)
        whole = {way.name: made(way, None) for way in left}
        n_held = max((weight for _, weight in told.values()), default=0.0)
        return cls(whole, of_folds, scores, dict.fromkeys(priors, 0.0) | weights, n_held)

    @property
    def best(self) -> list[str]:
        """Names of the ways that count."""
        return [name for name, weight in self.weights.items() if weight > 0]

    def lead_over(self, name: str) -> float:
        """Give the log-likelihood of all answers held out by which the best is ahead of a way."""
        if name not in self.best:
            return np.inf
        return self.n_held * (max(self.scores[other] for other in self.best) - self.scores[name])

    def joined(self, n_clusters: int, seed: int) -> tuple[Labels, list[Labels]]:
        """Give the consensus of all answers, and that of each fold."""
        whole = {name: as_labels(self.whole[name]) for name in self.best}
        parts = [whole, *self.of_folds]
        every = [consensus(*self._chosen(p), n_clusters, random_state=seed) for p in parts]
        return every[0], every[1:]

    def held_out_association(self, pairs: Sequence[NDArray[np.int64]]) -> Floats:
        """Tell how often rows are together in partitions that saw only the other answers.

        Parameters
        ----------
        pairs : sequence of ndarray of shape (n_pairs, 2)
            Rows, for each fold.

        Returns
        -------
        ndarray
            Of the pairs of all folds, one after the other.
        """
        found = []
        for partitions, of_fold in zip(self.of_folds, pairs, strict=True):
            chosen, weight = self._chosen(partitions)
            found.append(co_association(chosen, weight, of_fold))
        return np.concatenate(found)

    def _chosen(self, partitions: Mapping[str, Labels]) -> tuple[Labels, list[float]]:
        names = self.best
        return np.stack([partitions[name] for name in names]), [self.weights[k] for k in names]


def as_labels(groups: Labels | Floats) -> Labels:
    """Take the likeliest groups where there are chances."""
    likeliest = groups.argmax(axis=1) if groups.ndim == 2 else groups
    return np.asarray(likeliest, dtype=np.int64)


def foretold(partitions: Sequence[Labels], folds: Sequence[Fold]) -> tuple[float, float]:
    """Give the log-likelihood of the answers held out, and their weight.

    Parameters
    ----------
    partitions : sequence of ndarray of shape (n_samples,)
        Groups that saw the answers of each fold, of the first ones at least.
    folds : sequence of Fold
        The answers.
    """
    parts = [
        answer_counts(labels, fold.held) for labels, fold in zip(partitions, folds, strict=False)
    ]
    counts = {kind: np.sum([part[kind] for part in parts], axis=0) for kind in parts[0]}
    return log_likelihood_of_counts(counts), float(sum(t.sum() for t in counts.values()))


def _weights(
    totals: Mapping[str, float], log_priors: Mapping[str, float], slack: float = 0.0
) -> Weights:
    """Turn log-likelihoods into weights, the largest of which is 1; small ones are 0."""
    logarithm = np.array([TEMPER * total + log_priors[name] for name, total in totals.items()])
    logarithm -= logarithm.max()
    weight = np.where(logarithm + slack < np.log(LEAST_WEIGHT), 0.0, np.exp(logarithm))
    return dict(zip(totals, weight.tolist(), strict=True))
