"""Mutual information of an answer and the groups of its rows, and questions chosen by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, softmax

from clew._validation import Allowed, RandomState, check_rectangular
from clew.exceptions import InvalidParameterError
from clew.questions._pair_order import PAIRS_PER_BLOCK, PairOrder, pair_probabilities
from clew.questions._strategy import PairStrategy


def pair_information(n_clusters: ArrayLike) -> NDArray[np.float64]:
    """Return the mutual information of the true answer about a pair and the groups of its rows.

    Parameters
    ----------
    n_clusters : int or array-like of int
        Number of groups. Each row is in each group with the same probability.

    Returns
    -------
    ndarray of the shape of `n_clusters`
        In nats.

    Raises
    ------
    InvalidParameterError
        If a number is not an integer, or below 1.

    Notes
    -----
    Equation 4: ``log K - P(different)·log(K - 1)``. The groups determine the answer, so this is
    the entropy of the answer.

    References
    ----------
    Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative clustering with relative
    constraints", 2014, section II-A.

    Examples
    --------
    >>> from clew.questions import pair_information
    >>> pair_information([2, 8]).round(3)
    array([0.693, 0.377])
    """
    k = _as_numbers(n_clusters)
    same = 1 / k
    return np.asarray(entr(same) + entr(1 - same))


def triplet_information(n_clusters: ArrayLike, *, dont_know: bool = True) -> NDArray[np.float64]:
    """Return the mutual information of the true answer to a triplet and the groups of its rows.

    Parameters
    ----------
    n_clusters : int or array-like of int
        Number of groups. Each row is in each group with the same probability.
    dont_know : bool, default=True
        Whether don't-know is used as an answer. It is the true one if neither or both of b and c
        are in the group of a.

    Returns
    -------
    ndarray of the shape of `n_clusters`
        In nats.

    Raises
    ------
    InvalidParameterError
        If a number is not an integer, or below 1.

    Notes
    -----
    Equations 3 and 5. The groups determine the answer, so this is the entropy of the answer;
    without don't-know, the sum of the terms of the two other answers.

    References
    ----------
    Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative clustering with relative
    constraints", 2014, section II-A and appendix.

    Examples
    --------
    >>> from clew.questions import triplet_information
    >>> triplet_information([2, 8]).round(3)
    array([1.04 , 0.677])
    >>> triplet_information([2, 8], dont_know=False).round(3)
    array([0.693, 0.484])
    """
    k = _as_numbers(n_clusters)
    first = (k - 1) / k**2
    known = 2 * entr(first)
    return np.asarray(known + entr(1 - 2 * first) if dont_know else known)


def odd_one_out_information(
    n_clusters: ArrayLike, *, dont_know: bool = True
) -> NDArray[np.float64]:
    """Return the mutual information of the true odd-one-out answer and the groups of its rows.

    Parameters
    ----------
    n_clusters : int or array-like of int
        Number of groups. Each row is in each group with the same probability.
    dont_know : bool, default=True
        Whether don't-know is used as an answer. It is the true one if all three rows differ.

    Returns
    -------
    ndarray of the shape of `n_clusters`
        In nats.

    Raises
    ------
    InvalidParameterError
        If a number is not an integer, or below 1.

    Notes
    -----
    Not in the paper; derived like equations 3 and 5. The probability that a given row is the odd
    one is ``(K - 1)/K²``, that of "all alike" is ``1/K²``.

    Examples
    --------
    >>> from clew.questions import odd_one_out_information
    >>> odd_one_out_information([2, 8]).round(3)
    array([1.386, 1.068])
    """
    k = _as_numbers(n_clusters)
    odd, none = (k - 1) / k**2, 1 / k**2
    known = 3 * entr(odd) + entr(none)
    # In this form it is never negative by rounding.
    different = (k - 1) * (k - 2) / k**2
    return np.asarray(known + entr(different) if dont_know else known)


def _as_numbers(n_clusters: ArrayLike) -> NDArray[np.float64]:
    numbers = check_rectangular(n_clusters, "n_clusters")
    if numbers.dtype.kind not in "iu" or (numbers < 1).any():
        raise InvalidParameterError(
            f"n_clusters must hold whole numbers of at least 1, got {n_clusters!r}"
        )
    return numbers.astype(np.float64)


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
