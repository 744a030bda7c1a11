"""One partition from pair probabilities: the one with the best expected Jaccard index."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from clew.kernels.partitions.labels import best_partition
from clew.kernels.partitions.pairs import expected_pairs

MAX_ITER = 30
#: Labels from another start are used if their ``sum(P - t)`` is higher by more than this, so that
#: labels do not change without a reason.
LEAST_GAIN = 0.5
#: Labels change if the expected index J rises by at least this share of ``1 - J``: smaller changes
#: are mostly undone by the next answers.
LEAST_SHARE = 0.03
LOWEST, HIGHEST = 0.2, 0.98
#: Pairs that are added to those joined by both when labels are compared. Without them, labels that
#: join no rows would have an index of 0, even where all answers are "different".
PRIOR_PAIRS = 1.0
#: Labels are computed from a moving average of probabilities. Old probabilities keep `KEPT_SHARE`
#: of their weight after `KEPT_ANSWERS` answers a row, or, if answers may be wrong, after `KEPT_MIN`
#: plus the share of wrong answers.
KEPT_SHARE, KEPT_ANSWERS, KEPT_MIN = 0.6, 0.02, 0.01
#: Limit of the share of wrong answers in this sum: `MOST_ERROR` up to one answer a row, less by
#: `FALL_PER_ROUND` for each further answer a row, but at least `LEAST_LIMIT`.
MOST_ERROR, FALL_PER_ROUND, LEAST_LIMIT = 0.2, 0.13, 0.07
#: Weight of the probabilities for questions in labels, after one answer a row.
QUESTIONS_SHARE = 0.5
#: Factor of distances within groups.
WITHIN = 1e-3


class JaccardLabels(NamedTuple):
    """Labels that maximize the expected Jaccard index of pairs, updated after each batch.

    The index is a ratio. The labels that maximize it also maximize ``sum(P - t)`` over the pairs
    within groups, with ``t = J / (1 + J)`` for their own index J.
    """

    labels: NDArray[np.int64]
    """(n_rows,)"""
    average: NDArray[np.float32]
    """Probabilities of pairs, averaged over the last batches with decreasing weights."""
    jaccard: float = 0.7
    """Expected Jaccard index of the labels."""

    @classmethod
    def of(cls, labels: NDArray[np.int64], average: NDArray[np.float32]) -> Self:
        """Take labels as they are, with the probabilities of pairs."""
        return cls(labels, average, _clipped(expected_jaccard(average, labels)))

    def updated(self, same: NDArray[np.float32], start: NDArray[np.int64]) -> JaccardLabels:
        """Find labels for a new average `same` (n_rows, n_rows), in half precision, diagonal 1.

        The search starts from the present labels, and from `start` (n_rows,).
        """
        threshold = self.jaccard / (1 + self.jaccard)
        labels, value = best_partition(same, self.labels, threshold, MAX_ITER)
        others, other_value = best_partition(same, start, threshold, MAX_ITER)
        if other_value > value + LEAST_GAIN:
            labels = others
        first = _clipped(expected_jaccard(same, labels, PRIOR_PAIRS))
        labels, _ = best_partition(same, labels, first / (1 + first), MAX_ITER)
        before = expected_jaccard(same, self.labels, PRIOR_PAIRS)
        after = expected_jaccard(same, labels, PRIOR_PAIRS)
        if after < before + LEAST_SHARE * (1 - before):
            labels, after = self.labels, before
        return JaccardLabels(labels, same, _clipped(after))


def cut_at(
    same: NDArray[np.float32],
    log_odds: NDArray[np.float32],
    labels: NDArray[np.int64],
    n_clusters: int,
) -> NDArray[np.int64]:
    """Merge or split the groups `labels` (n_rows,) until there are `n_clusters`.

    A cut of Ward's linkage of `same` and `log_odds` (n_rows, n_rows), which merges small groups
    first, so that a few rows that fit nowhere do not take the place of a group. Distances within
    groups are divided by 1,000, so that groups are complete before any two are merged.
    """
    n = len(labels)
    if labels.max() + 1 == n_clusters or n == 1:
        return labels
    far = (log_odds.max() - log_odds.astype(np.float64)) / max(float(np.ptp(log_odds)), 1e-9)
    distance = (1.0 - same) * (1 + far) / 2
    distance[labels[:, None] == labels[None, :]] *= WITHIN
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(np.clip(distance, 0.0, 1.0), checks=False), "ward")
    return fcluster(tree, n_clusters, "maxclust").astype(np.int64) - 1


def expected_jaccard(
    same: NDArray[np.float32], labels: NDArray[np.int64], prior: float = 0.0
) -> float:
    """Return the ratio of two expected numbers of pairs: joined by both, and joined by either.

    `prior` pairs are added to both numbers. 1 if nothing is joined and nothing should be.
    """
    found, n_within, total = expected_pairs(same, labels)
    union = n_within + total - found + prior
    return min(max((found + prior) / union, 0.0), 1.0) if union > 1e-9 else 1.0


def weight_of_new(n_answers: int, n_rows: int, error: float | None = None, n_all: int = 0) -> float:
    """Return the weight of new probabilities in the average from which labels are computed.

    The larger the share of wrong answers, `error`, the longer the average, so that a wrong answer
    changes labels less until others contradict it. After many answers, `n_all`, there mostly are
    such answers, and the average is shorter. `n_answers` came since the last probabilities.
    """
    kept = KEPT_ANSWERS
    if error is not None:
        rounds = max(n_all / n_rows - 1, 0.0)
        limit = max(MOST_ERROR - FALL_PER_ROUND * rounds, LEAST_LIMIT)
        kept = KEPT_MIN + min(error, limit)
    return float(1 - KEPT_SHARE ** (n_answers / (kept * n_rows)))


def share_of_questions(n_answers: int, n_rows: int) -> float:
    """Return the weight of the probabilities for questions, between 0 and 1; labels have the rest.

    The probabilities for questions contain the probability that two groups are one, fitted to the
    answers. Once there are enough answers, they are better where groups look different but are one.
    """
    return QUESTIONS_SHARE * min(1.0, n_answers / n_rows)


def _clipped(jaccard: float) -> float:
    return min(max(jaccard, LOWEST), HIGHEST)
