"""Groups whose mutual dissimilarities explain answers, averaged over their posterior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from clew._parallel import stop_if_abandoned
from clew.cluster._kmeans import kmeans
from clew.cluster.guided._ensemble.ensemble import Labels
from clew.constraints import Constraints
from clew.kernels.forest.random_bits import seed_stream
from clew.kernels.partitions.ordinal_groups import (
    DIFFERENT,
    ODD,
    SAME,
    TRIPLET,
    AnswerEnds,
    GroupPrior,
    sample_groups,
)
from clew.similarity._ordinal import OrdinalAnswers, definite

__all__ = ["OrdinalGroups", "are_groups_worth_sampling"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The model has this many groups more than wanted, one for each 8 rows at most: the posterior means
#: of dissimilarities are then finer than groups.
MOST_MORE_GROUPS, ROWS_A_GROUP = 6, 8
PRIOR = GroupPrior(concentration=1.0, mean=2.0, deviation=2.0, lapse=0.1, threshold=1.0)
#: Markov chains; in each, sweeps before the first sample (an even number), and samples.
N_CHAINS, N_BURN_IN, N_SAMPLES = 4, 150, 75
#: Largest step of a proposed dissimilarity.
STEP = 1.0
#: Coordinates in which k-means finds the groups, and its starts.
N_COMPONENTS, N_INIT = 6, 10
#: Least number of rows for each group of the model.
LEAST_ROWS = 4
#: Largest number of rows, and largest number of operations in a sweep: some 2 s in all.
MAX_ROWS, MAX_OPERATIONS = 1000, 100_000


def are_groups_worth_sampling(known: Constraints, n_clusters: int) -> bool:
    """Whether samples are cheap, and there are enough rows for the groups of the model.

    With many answers, or a few rows for each group, spaces are as good.
    """
    n_rows, n_groups = known.n_samples, _n_groups(n_clusters, known.n_samples)
    n_operations = 3 * len(known) * n_groups + n_groups**3
    return LEAST_ROWS * n_groups <= n_rows <= MAX_ROWS and n_operations <= MAX_OPERATIONS


class OrdinalGroups(NamedTuple):
    """Groups of rows and dissimilarities of groups, sampled from their posterior.

    References
    ----------
    K. Nowicki and T. A. B. Snijders, "Estimation and prediction for stochastic blockstructures",
    JASA 2001, for relations instead of comparisons.
    """

    labels: Integers
    """(n_draws, n_rows)"""
    dissimilarity: Floats
    """(n_draws, n_groups, n_groups)"""

    @classmethod
    def fit(cls, known: Constraints, n_clusters: int, seed: int) -> OrdinalGroups:
        """Sample the posterior.

        Parameters
        ----------
        known : Constraints
            The answers. Annotators are not distinguished.
        n_clusters : int
            Number of groups wanted; the model has up to `MOST_MORE_GROUPS` more.
        seed : int
            Seed of the samples.

        Returns
        -------
        OrdinalGroups
        """
        n_rows = known.n_samples
        n_groups = _n_groups(n_clusters, n_rows)
        ends = _ends(OrdinalAnswers.of(definite(known), by_annotator=False), n_rows)
        random, state = np.random.RandomState(seed), np.empty(1, np.uint64)
        labels = np.empty((N_CHAINS, N_SAMPLES, n_rows), np.int64)
        dissimilarity = np.empty((N_CHAINS, N_SAMPLES, n_groups, n_groups))
        for chain in range(N_CHAINS):
            stop_if_abandoned()
            seed_stream(state, seed, chain)
            start = random.randint(n_groups, size=n_rows).astype(np.int64)
            between = PRIOR.mean * (1 - np.eye(n_groups))
            sample_groups(
                ends, PRIOR, N_BURN_IN, STEP, state, start, between,
                labels[chain], dissimilarity[chain],
            )  # fmt: skip
        return cls(labels.reshape(-1, n_rows), dissimilarity.reshape(-1, n_groups, n_groups))

    def divided(self, n_clusters: int, seed: int) -> Labels:
        """Divide the rows by k-means, with mean dissimilarities as squared distances.

        Means over samples also tell which groups are near each other; shares of samples in which
        two rows are in one group do not.
        """
        n_rows = self.labels.shape[1]
        squared = np.zeros((n_rows, n_rows))
        for labels, dissimilarity in zip(self.labels, self.dissimilarity, strict=True):
            squared += dissimilarity[labels[:, None], labels]
        squared /= len(self.labels)
        squared -= squared.min(initial=np.inf, where=~np.eye(n_rows, dtype=bool))
        np.fill_diagonal(squared, 0.0)
        # Classical scaling.
        squared -= squared.mean(axis=0)
        squared -= squared.mean(axis=1, keepdims=True)
        kept = (max(0, n_rows - N_COMPONENTS), n_rows - 1)
        value, vectors = eigh(-squared / 2, subset_by_index=kept)
        rows = vectors * np.sqrt(np.maximum(value, 0.0))
        return kmeans(rows, n_clusters, n_init=N_INIT, random_state=seed).labels

    def log_likelihood(self, held: Constraints) -> float:
        """Return the log-likelihood of answers about three rows, by mean probabilities."""
        _, triplet, odd = OrdinalAnswers.of(definite(held), by_annotator=False).tables
        total = 0.0
        for table, n_options in ((triplet, 2), (odd, 3)):
            a, b, c = (self.labels[:, rows] for rows in table.rows.T)
            at = np.arange(len(self.labels))[:, None]
            options = [self.dissimilarity[at, a, b], self.dissimilarity[at, a, c]]
            options += [self.dissimilarity[at, b, c]] * (n_options - 2)
            chosen = 1 / np.exp(options[0] - np.stack(options)).sum(axis=0)
            p = PRIOR.lapse / n_options + (1 - PRIOR.lapse) * chosen
            total += float(table.weights @ np.log(p.mean(axis=0)))
        return total


def _n_groups(n_clusters: int, n_rows: int) -> int:
    return min(n_clusters + min(MOST_MORE_GROUPS, n_rows // ROWS_A_GROUP), n_rows)


def _ends(answers: OrdinalAnswers, n_rows: int) -> AnswerEnds:
    """List answers by row."""
    pair, triplet, odd = answers.tables
    parts = (triplet, odd, pair)
    rows = np.concatenate([triplet.rows, odd.rows, pair.rows[:, [0, 1, 0]]]).astype(np.int64)
    kinds = [
        np.full(len(triplet.rows), TRIPLET),
        np.full(len(odd.rows), ODD),
        np.where(pair.is_same, SAME, DIFFERENT),
    ]
    kind = np.concatenate(kinds).astype(np.int64)
    answer, position = np.nonzero(np.arange(3) < np.where(kind <= ODD, 3, 2)[:, None])
    named = rows[answer, position]
    order = np.argsort(named, kind="stable")
    start = np.searchsorted(named[order], np.arange(n_rows + 1))
    return AnswerEnds(
        rows,
        kind,
        np.concatenate([part.weights for part in parts]),
        start.astype(np.int64),
        answer[order].astype(np.int64),
        position[order].astype(np.int64),
    )
