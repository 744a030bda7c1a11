"""Two simple methods, and scores of held-out answers and of annotators."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.cluster import AgglomerativeClustering

from benchmarks.study.problems import Floats, Ints
from clew import Constraints
from clew.answers import CODES
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import outcome_probabilities

#: Number of possible answers of each kind, without "all alike" and don't-know.
N_DEFINITE = {"pair": 2, "triplet": 2, "odd_one_out": 3}
#: Annotators are compared with each other if at least this many of their answers are to questions
#: that others answered, too.
MIN_SHARED = 10


def net_counts(known: Constraints) -> tuple[Floats, Floats]:
    """Count, for each pair, answers "same" minus answers "different", and all answers."""
    pairs = known.as_pairs()
    n, (first, second) = known.n_samples, pairs.pairs.T
    counts = np.zeros((2, n, n))
    np.add.at(counts[0], (first, second), 2.0 * pairs.is_must_link - 1)
    np.add.at(counts[1], (first, second), 1.0)
    net, number = counts + counts.transpose(0, 2, 1)
    return net, number


class CountWard(BaseEstimator):
    """Ward's linkage on the rows of a matrix of shares: how often two rows are put together."""

    def __init__(self, n_clusters: int = 2) -> None:
        self.n_clusters = n_clusters

    def fit(self, X: object = None, y: object = None, *, constraints: Constraints) -> Self:
        net, number = net_counts(constraints)
        share = net / (number + 1) + np.eye(len(net))
        self.labels_ = AgglomerativeClustering(self.n_clusters).fit_predict(share)
        return self


class MajorityClosure(BaseEstimator):
    """Groups of rows that are connected by pairs which most people call the same."""

    def fit(self, X: object = None, y: object = None, *, constraints: Constraints) -> Self:
        joined: Any = csr_array(net_counts(constraints)[0] > 0)
        self.labels_ = connected_components(joined, directed=False)[1]
        return self


def groups_predict(known: Constraints, held: Constraints, labels: Ints) -> list[Floats]:
    """Predict answers from groups and confusion matrices of annotators, for each kind."""
    matrices, found = ConfusionMatrices().fit(known, labels).matrices_, []
    for table in held.tables:
        outcomes = outcome_probabilities(table.kind, [labels[rows] for rows in table.rows.T])
        p = np.einsum("mo,mol->ml", outcomes, matrices[table.kind][table.annotators])
        p = p[:, : N_DEFINITE[table.kind]]
        # The first label of a pair is "same", whose code is 1.
        p = p[:, ::-1] if table.kind == "pair" else p
        found.append(p / p.sum(axis=1, keepdims=True))
    return found


def held_out_scores(held: Constraints, predicted: list[Floats]) -> dict[str, float]:
    """Return mean log-loss and accuracy; a tie of k answers counts as 1/k."""
    losses, right = [], []
    for table, p in zip(held.tables, predicted, strict=True):
        given = p[np.arange(len(p)), table.answers][:, None]
        losses.append(-np.log(np.maximum(given[:, 0], 1e-9)))
        is_best = (given >= p - 1e-9).all(axis=1) if len(p) else np.zeros(0)
        right.append(is_best / np.maximum((p >= given - 1e-9).sum(axis=1), 1))
    return {
        "log_loss": float(np.concatenate(losses).mean()),
        "accuracy": float(np.concatenate(right).mean()),
    }


def agreement(known: Constraints) -> Floats:
    """Return for each annotator how often others gave the same answer to the same question."""
    same, number = np.zeros((2, len(known.annotators)))
    for table in known.tables:
        if not len(table):
            continue
        ordered = table.in_row_order()
        _, question = np.unique(ordered.rows, axis=0, return_inverse=True)
        code = ordered.answers - min(CODES[table.kind])
        counts = np.zeros((question.max() + 1, code.max() + 1))
        np.add.at(counts, (question.ravel(), code), 1)
        others = counts.sum(axis=1)[question.ravel()] - 1
        share = (counts[question.ravel(), code] - 1) / np.maximum(others, 1)
        np.add.at(same, ordered.annotators[others > 0], share[others > 0])
        np.add.at(number, ordered.annotators[others > 0], 1)
    return np.where(number >= MIN_SHARED, same / np.maximum(number, 1), np.nan)


def rank_correlation(ours: Any, theirs: Floats) -> float:
    """Return Spearman's rank correlation over the annotators that both know."""
    from scipy.stats import spearmanr

    both = ~np.isnan(ours) & ~np.isnan(theirs)
    if both.sum() < 5 or min(np.ptp(ours[both]), np.ptp(theirs[both])) == 0:
        return float("nan")
    return float(spearmanr(ours[both], theirs[both]).statistic)
