"""Margin: answers as evidence, and questions about the row whose group is least certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._validation import Allowed, RandomState
from clew._warnings import silenced
from clew.answers import Question
from clew.cluster import ConstrainedLinkage
from clew.kernels.soft_evidence import improve_groups, sums_by_group
from clew.questions._answers import Batch, KnownPairs, Pair
from clew.questions._pair_order import all_distances, pair_probabilities
from clew.questions._strategy import Strategy

__all__ = ["Margin"]

#: Prior probabilities are clipped to between this and 1 - this.
LEAST_PROBABILITY = 0.03
LEAST_GAIN = 1e-6
#: Kinds of questions, in turn: about the row with the smallest margin (twice), about the row with
#: the least evidence (twice), and about the two nearest groups.
TURNS = ("margin", "margin", "support", "support", "groups")


#: Proposed first rows and proposed second rows of a pair, the best first.
Proposals = Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]


class Scores(NamedTuple):
    """Evidence for each row in each group; groups are numbered without gaps."""

    labels: NDArray[np.int64]
    total: NDArray[np.float64]
    """Mean prior log-odds plus evidence, (n_samples, n_groups); 0 for a group of its own."""
    evidence: NDArray[np.float64]
    """Summed evidence, (n_samples, n_groups)."""


class Margin(Strategy):
    """Uses answers as evidence, and asks about the row whose group is least certain.

    Each answer adds ``log((1 - error) / error)`` of log-odds to its pair, positive or negative; the
    log-odds of other pairs come from their probability. Each row is put into the group with the
    largest mean prior log-odds plus evidence. It needs no number of groups. Wrong answers are
    outvoted, because other pairs of the same two groups are asked about; no pair is asked twice.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups, used for the probabilities and the first groups only; None if unknown.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    error : float, default=0.05
        Probability that an answer is wrong.
    random_state : int, RandomState or None, default=None
        Seed of the clusterings from which probabilities are computed.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    Two of five questions are about rows with the smallest margin between the best two groups, two
    about rows with the least evidence for their group, and one about the nearest two groups
    without evidence that they differ. So pairs may be asked whose answer follows from others.

    Even with right answers only, its groups do not become perfect. A question takes O(n²) steps;
    memory 12·n² bytes.

    Examples
    --------
    >>> from clew.questions import Margin
    >>> strategy = Margin(2, random_state=0).start([[0.0], [0.1], [5.0], [5.1]])
    >>> len(strategy.ask(2)), strategy.labels().tolist()
    (2, [0, 0, 1, 1])
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "metric": Allowed(names=("euclidean", "precomputed")),
        "error": Allowed(kind=float, low=0, high=0.5, low_open=True, high_open=True),
    }

    _probabilities: NDArray[np.float32]
    _prior: NDArray[np.float32]
    _first_labels: NDArray[np.int64]

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        error: float = 0.05,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.error = error
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        P = pair_probabilities(X, self.metric, self.n_clusters, probabilities, self._seed)
        clipped = np.clip(P, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        self._probabilities, self._prior = P, np.log(clipped / (1 - clipped))
        np.fill_diagonal(self._prior, 0)
        given = all_distances(X, self.metric)
        distances = 1 - P.astype(np.float64) + 1e-3 * given / (given.max() or 1.0)
        np.fill_diagonal(distances, 0)
        k, limit = self.n_clusters, None if self.n_clusters else 0.5
        with silenced():
            first = ConstrainedLinkage(k, distance_threshold=limit, metric="precomputed")
            self._first_labels = first.fit(distances).labels_

    def _evidence(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the answered pairs and the log-odds of their answers."""
        votes = self.known.votes
        pairs = np.array(list(votes), np.int64).reshape(-1, 2)
        weight = np.fromiter(votes.values(), np.float64, len(votes))
        return pairs, weight * np.log((1 - self.error) / self.error)

    def _group(self) -> NDArray[np.int64]:
        labels, (pairs, evidence) = self._first_labels.copy(), self._evidence()
        improve_groups(self._prior, pairs, evidence, labels, LEAST_GAIN, 2 * len(labels))
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)

    def _scores(self) -> Scores:
        labels, (pairs, evidence) = self._group(), self._evidence()
        n_groups = int(labels.max()) + 1
        prior_sums, sums = sums_by_group(self._prior, pairs, evidence, labels, n_groups)
        others = np.bincount(labels)[None, :] - (labels[:, None] == np.arange(n_groups))
        total = np.where(others > 0, prior_sums / np.maximum(others, 1) + sums, 0.0)
        return Scores(labels, total, sums)

    def _choose(self, n: int, pending: Sequence[Question]) -> list[Question]:
        # Pairs that earlier answers imply may be asked, so a batch starts from no answers.
        batch = Batch(KnownPairs(self.n_samples_), pending)
        found, chosen = self._scores(), list[Question]()
        turn, n_failed = len(self.answers) + len(pending), 0
        kinds = {
            kind: iter(method(found)) for kind, method in {
                "margin": self._by_margin, "support": self._by_support, "groups": self._by_groups,
            }.items()
        }  # fmt: skip
        while len(chosen) < n and n_failed < len(TURNS):
            pair = self._next_pair(kinds[TURNS[turn % len(TURNS)]], found, batch)
            turn, n_failed = turn + 1, 0 if pair else n_failed + 1
            if pair:
                chosen.append(Question("pair", pair))
        return chosen or self._any_pair(batch)

    def _next_pair(self, proposals: Proposals, found: Scores, batch: Batch) -> Pair | None:
        """Return the best pair, not asked before, of the first proposal that has one."""
        sure = found.total[np.arange(len(found.labels)), found.labels]
        for rows, others in proposals:
            value = self._probabilities[np.ix_(rows, others)] + 0.02 * (
                np.clip(sure[others], -5, 5) + np.clip(sure[rows], -5, 5)[:, None]
            )
            for at in np.argsort(-value, axis=None, kind="stable"):
                i, j = rows[at // len(others)], others[at % len(others)]
                pair = (int(min(i, j)), int(max(i, j)))
                if i != j and self._accept(batch, *pair):
                    return pair
        return None

    def _by_margin(self, found: Scores) -> Proposals:
        """Propose rows by margin, each with the less supported one of its two best groups."""
        labels, total, evidence = found
        if total.shape[1] < 2:
            return
        every = np.arange(len(labels))
        rest = total.copy()
        rest[every, labels] = -np.inf
        second = rest.argmax(axis=1)
        for i in np.argsort(total[every, labels] - rest[every, second], kind="stable"):
            both = [labels[i], second[i]]
            for group in sorted(both, key=lambda c: abs(evidence[i, c])):
                yield np.array([i]), np.flatnonzero(labels == group)

    def _by_support(self, found: Scores) -> Proposals:
        """Propose rows by the evidence for their group, with that group; the weakest first."""
        labels, total, evidence = found
        every = np.arange(len(labels))
        support = evidence[every, labels]
        enough = 2 * np.log((1 - self.error) / self.error)
        for i in np.argsort(support + 0.01 * total[every, labels], kind="stable"):
            if support[i] < enough:
                yield np.array([i]), np.flatnonzero(labels == labels[i])

    def _by_groups(self, found: Scores) -> Proposals:
        """Propose pairs of groups by probability, without evidence that they differ."""
        labels, _, evidence = found
        member = np.equal.outer(np.arange(evidence.shape[1]), labels).astype(np.float64)
        size = member.sum(axis=1)
        near = member @ self._probabilities @ member.T / np.outer(size, size)
        against = member @ evidence < -1.5 * np.log((1 - self.error) / self.error)
        a, b = np.triu_indices(len(near), 1)
        for k in np.argsort(-near[a, b], kind="stable"):
            if not against[a[k], b[k]]:
                yield np.flatnonzero(labels == a[k]), np.flatnonzero(labels == b[k])

    def _accept(self, batch: Batch, i: int, j: int) -> bool:
        return ("pair", (i, j)) not in self.known.asked and batch.accept(i, j)

    def _any_pair(self, batch: Batch) -> list[Question]:
        """Return the most probable pair that was not asked, where nothing is doubtful."""
        i, j = np.triu_indices(self.n_samples_, 1)
        for k in np.argsort(-self._probabilities[i, j], kind="stable"):
            if self._accept(batch, int(i[k]), int(j[k])):
                return [Question("pair", (int(i[k]), int(j[k])))]
        return []
