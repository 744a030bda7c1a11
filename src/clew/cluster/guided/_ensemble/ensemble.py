"""Clusterings fitted to all answers and to the training answers of each fold, with their scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.answers import ORIGINS, Kind
from clew.cluster.guided._ensemble.consensus import co_association, consensus
from clew.cluster.guided._ensemble.progress import IN_ONE_THREAD, Steps
from clew.constraints import Constraints
from clew.metrics.likelihood import (
    answer_counts,
    log_likelihood_of_counts,
    log_likelihood_of_each,
)

__all__ = [
    "Clustering",
    "Ensemble",
    "Fold",
    "Labels",
    "Weights",
    "held_out_log_likelihood",
    "held_out_log_likelihood_of_asked",
    "held_out_log_likelihood_of_one_group",
]

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
Weights = dict[str, float]

#: Factor of the held-out log-likelihood in the weights: with the full log-likelihood one member
#: would get all the weight, although errors of members are correlated.
TEMPER = 0.25
#: Members below this share of the largest weight get weight 0.
LEAST_WEIGHT = 0.02
#: A member is pruned before the last fold if its log weight is below log(`LEAST_WEIGHT`) by this.
PRUNING_MARGIN = 2.0


NO_PRIORS: Mapping[str, float] = {}


class Fold(NamedTuple):
    """Training answers, and held-out answers."""

    kept: Constraints
    held: Constraints


class Clustering(NamedTuple):
    """A clustering that can be fitted to the training answers of each fold."""

    name: str
    fitted_to: Callable[[int | None], Labels | Floats]
    """Maps the number of a fold, or None for all answers, to labels or to probabilities."""
    log_prior: float = 0.0
    """Log prior weight."""


class Ensemble(NamedTuple):
    """Fitted clusterings, with their held-out scores and weights."""

    whole: dict[str, Labels | Floats]
    """Labels or probabilities of all rows, fitted to all answers, by name."""
    of_folds: list[dict[str, Labels]]
    """Labels fitted to the training answers of each fold, by name."""
    scores: dict[str, float]
    """Mean log-likelihood of the held-out answers (for a pruned clustering, of the folds before it
    was pruned); NaN without folds."""
    weights: Weights
    """Weights in the consensus; the largest is 1, and 0 for pruned clusterings."""
    n_held: float = 0.0
    """Total weight of the held-out answers."""
    log_priors: Mapping[str, float] = NO_PRIORS
    """Log prior weights, by name."""

    @classmethod
    def of(
        cls,
        clusterings: Sequence[Clustering],
        folds: Sequence[Fold],
        steps: Steps = IN_ONE_THREAD,
        *,
        pruning_margin: float = PRUNING_MARGIN,
        n_groups: int = 0,
    ) -> Self:
        """Fit clusterings to each fold and to all answers, score and weigh them.

        Parameters
        ----------
        clusterings : sequence of Clustering
            The clusterings to fit.
        folds : sequence of Fold
            Answers. Without folds, the prior weights are the weights.
        steps : Steps
            Threads for the fits to the same answers, and the callback that counts the fits.
        pruning_margin : float, default=2.0
            A clustering is not fitted to further folds if its log weight is this far below that of
            the least positive weight. ``np.inf`` prunes nothing.
        n_groups : int, default=0
            Clusterings with fewer nonempty groups are pruned, unless all have fewer. They would
            often have the best scores: a clustering predicts no answer to a triplet whose rows are
            in three groups, and with few large groups such triplets are rare.

        Returns
        -------
        Ensemble
        """
        fits = _Fits(len(folds), steps)
        of_folds: list[dict[str, Labels]] = []
        priors = {clustering.name: clustering.log_prior for clustering in clusterings}
        left, scores = list(clusterings), dict.fromkeys(priors, 0.0)
        totals = scores
        held_out: dict[str, tuple[float, float]] = {}
        for at in range(len(folds)):
            of_folds.append({name: as_labels(of) for name, of in fits.of(left, at).items()})
            priors |= dict.fromkeys(_with_fewer_groups(of_folds[-1], n_groups), -np.inf)
            held_out = {
                one.name: held_out_log_likelihood([labels[one.name] for labels in of_folds], folds)
                for one in left
            }
            scores |= {
                name: total / max(weight, 1e-300) for name, (total, weight) in held_out.items()
            }
            to_all = len(folds) / (at + 1)
            totals = {name: total * to_all for name, (total, _) in held_out.items()}
            margin = pruning_margin if at + 1 < len(folds) else 0.0
            weights = _weights(totals, priors, margin)
            left = [clustering for clustering in left if weights[clustering.name] > 0]
        if not folds:
            weights = _weights(scores, priors)
            scores = dict.fromkeys(priors, np.nan)
        whole = fits.of(left, None)
        if fewer := _with_fewer_groups(whole, n_groups):
            priors |= dict.fromkeys(fewer, -np.inf)
            weights = _weights({name: totals[name] for name in whole}, priors)
        n_held = max((weight for _, weight in held_out.values()), default=0.0)
        weights = dict.fromkeys(priors, 0.0) | weights
        return cls(whole, of_folds, scores, weights, n_held, priors)

    def rescored(self, folds: Sequence[Fold]) -> Self:
        """Score and weigh the fitted clusterings by other answers.

        Parameters
        ----------
        folds : sequence of Fold
            Answers, in the folds that the clusterings were fitted to. Answers that were added later
            were seen by no clustering; each is scored in the fold that it belongs to.

        Returns
        -------
        Ensemble
            The same clusterings with new scores and weights, which are the old ones for the answers
            that they were fitted to. Pruned clusterings stay pruned.
        """
        held_out = {
            name: held_out_log_likelihood(
                [labels[name] for labels in self.of_folds if name in labels], folds
            )
            for name in self.scores
        }
        weights = _weights({name: held_out[name][0] for name in self.whole}, self.log_priors)
        return self._replace(
            scores={
                name: total / max(weight, 1e-300) for name, (total, weight) in held_out.items()
            },
            weights=dict.fromkeys(self.scores, 0.0) | weights,
            n_held=max(weight for _, weight in held_out.values()),
        )

    @property
    def names(self) -> list[str]:
        """Names of the clusterings of positive weight."""
        return [name for name, weight in self.weights.items() if weight > 0]

    def lead_over(self, name: str) -> float:
        """Return the held-out log-likelihood of the best clustering minus that of `name`."""
        if name not in self.names:
            return np.inf
        return self.n_held * (max(self.scores[other] for other in self.names) - self.scores[name])

    def consensus(
        self, n_clusters: int, seed: int, steps: Steps = IN_ONE_THREAD
    ) -> tuple[Labels, list[Labels]]:
        """Return the weighted consensus over all answers, and that of each fold."""
        whole = {name: as_labels(self.whole[name]) for name in self.names}
        parts = [whole, *self.of_folds]

        def of_part(part: Mapping[str, Labels]) -> Labels:
            return consensus(*self._weighted(part), n_clusters, random_state=seed)

        every = steps.uncounted().each(of_part, parts)
        return every[0], every[1:]

    def held_out_association(self, pairs: Sequence[NDArray[np.int64]]) -> Floats:
        """Return the co-association of pairs, in clusterings fitted without the fold's answers.

        Parameters
        ----------
        pairs : sequence of ndarray of shape (n_pairs, 2)
            Rows, for each fold.

        Returns
        -------
        ndarray
            The pairs of all folds, concatenated.
        """
        found = []
        for labels, of_fold in zip(self.of_folds, pairs, strict=True):
            chosen, weight = self._weighted(labels)
            found.append(co_association(chosen, weight, of_fold))
        return np.concatenate(found)

    def _weighted(self, labels: Mapping[str, Labels]) -> tuple[Labels, list[float]]:
        names = self.names
        return np.stack([labels[name] for name in names]), [self.weights[name] for name in names]


class _Fits:
    """Fits of clusterings to each fold in turn, and then to all answers.

    Each fold decides which clusterings are fitted to the next one. With several threads, the
    clusterings left after the first fold are fitted to all other folds and to all answers at once:
    later folds prune few of them, and threads can rarely share two or three fits evenly.
    """

    def __init__(self, n_folds: int, steps: Steps) -> None:
        self._parts, self._steps = [*range(n_folds), None], steps
        self._found: dict[tuple[str, int | None], Labels | Floats] = {}

    def of(self, left: Sequence[Clustering], fold: int | None) -> dict[str, Labels | Floats]:
        """Return the clusterings fitted to a fold, by name."""
        parts = [fold]
        if fold != 0 and self._steps.n_threads > 1:
            parts = self._parts[self._parts.index(fold) :]
        tasks = [
            (one, part) for part in parts for one in left if (one.name, part) not in self._found
        ]
        found = self._steps.each(lambda task: task[0].fitted_to(task[1]), tasks)
        self._found |= {
            (one.name, part): groups for (one, part), groups in zip(tasks, found, strict=True)
        }
        return {one.name: self._found.pop((one.name, fold)) for one in left}


def _with_fewer_groups(clusterings: Mapping[str, Labels | Floats], n_groups: int) -> list[str]:
    """Return the names of the clusterings that fill fewer groups than wanted, if others do not."""
    if not n_groups:
        return []
    filled = {name: len(np.unique(as_labels(of))) for name, of in clusterings.items()}
    least = min(n_groups, max(filled.values()))
    return [name for name, n_filled in filled.items() if n_filled < least]


def as_labels(groups: Labels | Floats) -> Labels:
    """Turn probabilities into labels; labels are returned as they are."""
    likeliest = groups.argmax(axis=1) if groups.ndim == 2 else groups
    return np.asarray(likeliest, dtype=np.int64)


def held_out_log_likelihood(
    partitions: Sequence[Labels], folds: Sequence[Fold]
) -> tuple[float, float]:
    """Return the log-likelihood of the held-out answers, and their total weight.

    Parameters
    ----------
    partitions : sequence of ndarray of shape (n_samples,)
        Labels fitted without the held-out answers of each fold, or only of the first folds.
    folds : sequence of Fold
        The answers.
    """
    counts = _held_out_counts(partitions, folds)
    return log_likelihood_of_counts(counts), float(sum(t.sum() for t in counts.values()))


def held_out_log_likelihood_of_asked(partitions: Sequence[Labels], folds: Sequence[Fold]) -> Floats:
    """Return the log-likelihood of each held-out answer to a question that a strategy asked.

    Parameters
    ----------
    partitions : sequence of ndarray of shape (n_samples,)
        Labels fitted without the held-out answers of each fold.
    folds : sequence of Fold
        The answers.
    """
    counts = _held_out_counts(partitions, folds)
    return np.concatenate(
        [
            log_likelihood_of_each(labels, _asked(fold.held), counts)
            for labels, fold in zip(partitions, folds, strict=True)
        ]
    )


def held_out_log_likelihood_of_one_group(folds: Sequence[Fold]) -> tuple[float, float]:
    """Return the same for a single group of all rows, the baseline of all clusterings."""
    alike = np.zeros(folds[0].held.n_samples, np.int64)
    return held_out_log_likelihood([alike] * len(folds), folds)


def _asked(known: Constraints) -> Constraints:
    asked = ORIGINS.index("asked")
    return known.with_tables(table.take(table.origins == asked) for table in known.tables)


def _held_out_counts(
    partitions: Sequence[Labels], folds: Sequence[Fold]
) -> dict[Kind, NDArray[np.float64]]:
    parts = [
        answer_counts(labels, fold.held) for labels, fold in zip(partitions, folds, strict=False)
    ]
    return {kind: np.sum([part[kind] for part in parts], axis=0) for kind in parts[0]}


def _weights(
    totals: Mapping[str, float], log_priors: Mapping[str, float], slack: float = 0.0
) -> Weights:
    """Turn log-likelihoods into weights, the largest of which is 1; small ones are 0."""
    logarithm = np.array([TEMPER * total + log_priors[name] for name, total in totals.items()])
    logarithm -= logarithm.max()
    weight = np.where(logarithm + slack < np.log(LEAST_WEIGHT), 0.0, np.exp(logarithm))
    return dict(zip(totals, weight.tolist(), strict=True))
