"""CorrelationInformation: information gain under mean-field correlation clustering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, softmax

from clew._validation import Allowed, RandomState
from clew.questions._pair_order import PAIRS_PER_BLOCK, PairOrder, pair_probabilities
from clew.questions._strategy import PairStrategy

__all__ = ["CorrelationInformation"]

Floats = NDArray[np.float64]

LEAST_PROBABILITY = 0.03
#: Factor of prior log-odds, because those of many pairs are dependent.
WEIGHT_OF_PRIOR = 0.25
#: Sweeps of the mean field, and the weight of the old memberships in each.
N_SWEEPS, DAMPING = 20, 0.5
#: Rounds in which the memberships of the two rows of a pair are updated by its answer.
N_ROUNDS = 3


class CorrelationInformation(PairStrategy):
    """Asks about the pair whose answer is expected to reduce the uncertainty of groups most.

    Groups maximize the sum of the similarities within them (correlation clustering); the mean
    field gives each row a probability of each group. The gain of a pair is the entropy of its two
    rows now, minus the expected entropy after the answer.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. None: as many as `HACC` finds by merging while rows are the same with a
        probability above one half.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    error : float, default=0.05
        Probability that an answer is wrong.
    n_candidates : int, default=50
        Number of pairs, those with the largest entropy of their answers, whose gain is computed.
    random_state : int, RandomState or None, default=None
        Seed of the clusterings from which similarities are computed.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    The similarity of a pair is the log-odds of an answer if the answers imply one, and otherwise a
    quarter of the log-odds of its probability. Only pairs that the answers do not imply are asked
    about. The published gain computes the whole mean field again after each possible answer; here
    only the memberships of the two rows are updated.

    A question takes O(n²·n_clusters); memory 18·n² bytes.

    References
    ----------
    L. Aronsson and M. H. Chehreghani, "Effective acquisition functions for active correlation
    clustering", 2024.

    Examples
    --------
    >>> from clew.questions import CorrelationInformation
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> strategy = CorrelationInformation(2, random_state=0).start(X)
    >>> len(strategy.ask()), strategy.labels().tolist()
    (1, [0, 0, 1, 1])
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "metric": Allowed(names=("euclidean", "precomputed")),
        "error": Allowed(kind=float, low=0, high=0.5, low_open=True, high_open=True),
        "n_candidates": Allowed(kind=int, low=1),
    }

    _order: PairOrder
    _prior: Floats

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        error: float = 0.05,
        n_candidates: int = 50,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.error = error
        self.n_candidates = n_candidates
        self.random_state = random_state

    def _prepare(self, X: Floats, probabilities: ArrayLike | None) -> None:
        P = pair_probabilities(X, self.metric, self.n_clusters, probabilities, self._seed)
        self._order = PairOrder.of(X, self.metric, P)
        clipped = np.clip(P.astype(np.float64), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        self._prior = WEIGHT_OF_PRIOR * np.log(clipped / (1 - clipped))
        np.fill_diagonal(self._prior, 0)

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        similarity, member = self._mean_field()
        i, j = np.triu_indices(self.n_samples_, 1)
        same = member @ member.T
        entropy = (entr(same) + entr(1 - same))[i, j]
        pairs = np.column_stack([i, j])[np.argsort(-entropy, kind="stable")]
        unknown = pairs[self.known.is_unknown(pairs)]
        best, rest = unknown[: self.n_candidates], unknown[self.n_candidates :]
        gain = self._gain(similarity, member, best)
        yield best[np.argsort(-gain, kind="stable")]
        for start in range(0, len(rest), PAIRS_PER_BLOCK):
            yield rest[start : start + PAIRS_PER_BLOCK]

    def _group(self) -> NDArray[np.int64]:
        return np.asarray(self._mean_field()[1].argmax(axis=1))

    @property
    def _evidence(self) -> float:
        """Log-odds of one answer."""
        return float(np.log((1 - self.error) / self.error))

    def _mean_field(self) -> tuple[Floats, Floats]:
        """Return similarities, and the probability of each group for each row."""
        component = self.known.closure.component
        is_apart = self.known.apart()[np.ix_(component, component)]
        similarity = np.where(is_apart, -self._evidence, self._prior)
        similarity[np.equal.outer(component, component)] = self._evidence
        np.fill_diagonal(similarity, 0)
        labels = self._order.groups(self.known.closure, self.n_clusters)
        member = np.eye(int(labels.max()) + 1)[labels]
        for _ in range(N_SWEEPS):
            member = DAMPING * member + (1 - DAMPING) * softmax(similarity @ member, axis=1)
        return similarity, member

    def _gain(self, similarity: Floats, member: Floats, pairs: NDArray[np.integer]) -> Floats:
        """Return the expected decrease of the entropy of the rows of pairs by their answers."""
        i, j = pairs.T
        same = (member[i] * member[j]).sum(axis=1)
        yes = same * (1 - self.error) + (1 - same) * self.error
        gain = entr(member[i]).sum(axis=1) + entr(member[j]).sum(axis=1)
        for sign, probability in ((1, yes), (-1, 1 - yes)):
            step = (sign * self._evidence - similarity[i, j])[:, None]
            field_i, field_j = similarity[i] @ member, similarity[j] @ member
            of_i, of_j = member[i], member[j]
            for _ in range(N_ROUNDS):
                of_i = softmax(field_i + similarity[i, j][:, None] * (of_j - member[j])
                               + step * of_j, axis=1)  # fmt: skip
                of_j = softmax(field_j + similarity[i, j][:, None] * (of_i - member[i])
                               + step * of_i, axis=1)  # fmt: skip
            gain -= probability * (entr(of_i).sum(axis=1) + entr(of_j).sum(axis=1))
        return np.asarray(gain)
