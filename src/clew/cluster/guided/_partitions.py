"""Partitions of rows given features and answers: refined, compared by energy, and merged.

A partition's state is the probability of each group for each row, the error rate of each annotator,
and the weights of the smoothers. It follows answers through their likelihood alone, so it does not
matter how questions were chosen; but see `Habits` for answers about three rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax, xlogy

from clew.cluster.guided._answer_model import AnswerModel, Habits
from clew.cluster.guided._gaps import (
    GroupsOfPieces,
    PartsApart,
    Pieces,
    joined,
    with_joined,
    without_group,
)
from clew.cluster.guided._smoothers import Smoother
from clew.kernels.belief_propagation import propagate_beliefs, update_all_messages

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Settings:
    """Constants of the model, fitted to six sets of images, leaves and measurements."""

    first_error: float = 0.08
    #: Beta prior of the error rate, and the number of answers that it counts for in an annotator's.
    error_prior: tuple[float, float] = (1.5, 15.0)
    pooling: float = 2.0
    #: Bounds of the error rate, and the upper one of several annotators, some of whom swap the
    #: answers, unless most of all answers are wrong.
    error_bounds: tuple[float, float] = (0.005, 0.45)
    swapped_bound: float = 0.95
    #: Weights of the smoothers: their prior sum, and the standard deviation of their logarithms.
    total_weight: float = 1.8
    log_weight_sd: float = 0.6
    #: Added to predicted memberships, divided by the number of groups.
    floor: float = 0.3
    #: Weights in the energy of the predicted memberships and of the entropy of the sizes of groups;
    #: the latter falls with more than `typical_rows` rows.
    row_weight: float = 0.2
    size_weight: float = 0.085
    typical_rows: int = 250
    #: Weights without answers of the coherence of groups, which falls to a third with as many
    #: answers as rows, and of the entropy of their sizes, which becomes `size_weight` likewise.
    #: Without these, a hundred answers with ten wrong ones halve the ARI of 500 digits.
    coherence_weight: float = 0.4
    coherent_size_weight: float = 0.19
    answers_for_coherence: float = 2.0
    #: Cost of a group of n rows, ``group_cost * log(1 + n / few_rows)`` nats, as of parameters that
    #: its rows determine; if most rows are in parts far apart, `part_cost` for each doubling of the
    #: parts in a group instead, and for a fragment of one: a few wrong answers do not join parts
    #: that are far apart, nor cut them.
    group_cost: float = 2.0
    few_rows: float = 10.0
    part_cost: float = 6.0
    #: Cost of each nat that says which pieces, which are no neighbors, groups consist of, if all
    #: answers "same" are about rows that are not near; see `Pieces`.
    piece_cost: float = 1.0
    n_sweeps: int = 3
    damping: float = 0.3
    tol: float = 0.01
    #: At most this many rows determine the weights of the smoothers.
    n_weighed: int = 600
    #: Larger tables of answers by groups are of single precision.
    max_doubles: int = 2_000_000

    def size_factor(self, n_rows: int) -> float:
        """Weight of the entropy of the sizes of groups."""
        return self.size_weight * min(1.0, self.typical_rows / n_rows)

    def costs_of_groups(self, size: NDArray[np.number], n_parts: Floats, share: float) -> Floats:
        """Costs of groups, in nats, by their numbers of rows and of parts far apart in them."""
        cost = (1 - share) * self.group_cost * np.log1p(size / self.few_rows)
        doublings = np.where(n_parts == 0, 1.0, np.log2(np.maximum(n_parts, 1)))
        return np.asarray(cost + share * self.part_cost * doublings)

    def weight_of_pieces(self, pieces: Pieces) -> float:
        """Cost of each nat that says which pieces groups consist of."""
        return self.piece_cost * pieces.far

    def coherent(self, answers: AnswerModel) -> tuple[float, float]:
        """Weights of the coherence of groups, and of the entropy of their sizes beside it."""
        n = answers.n_samples
        share = 1 / (1 + self.answers_for_coherence * answers.n_pairs / n)
        sizes = share * self.coherent_size_weight + (1 - share) * self.size_factor(n)
        return share * self.coherence_weight, sizes


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class Partition:
    """A refined partition."""

    memberships: Floats
    """Probability of each group, (n_samples, n_groups)."""
    labels: Labels
    predicted: Floats
    """Memberships that features predict, (n_samples, n_clusters)."""
    coherence: Floats | None
    """Memberships that features predict by smoothers which nothing was fitted to, likewise."""
    error: Floats
    """Error rate of each annotator."""
    habits: Habits
    outcomes: list[Floats]
    """See `AnswerModel.outcomes`."""
    wrong: Floats
    """Probability that each answer is wrong, (n_answers,)."""
    parts: PartsApart | None
    pieces: Pieces | None
    energy: float

    @property
    def n_clusters(self) -> int:
        return int(self.predicted.shape[1])


def renumbered(labels: NDArray[np.integer]) -> Labels:
    """Renumber groups from 0 without gaps."""
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.int64)


def refined(
    labels: Labels,
    answers: AnswerModel,
    smoothers: Sequence[Smoother],
    error: Floats | None,
    n_rounds: int,
    settings: Settings = SETTINGS,
    unfitted: Sequence[Sequence[Smoother]] = (),
    parts: PartsApart | None = None,
    pieces: Pieces | None = None,
) -> Partition:
    """Alternate between smoothers, which follow features, and belief propagation over answers.

    Each round the smoothers predict the memberships of each row from those of the others. Their
    weights are fitted to the messages of the answers, and error rates by EM. The energy is Bethe's
    approximation of the log-probability of the answers, with the smoothers' predictions as the
    prior of each row; plus the log-probability of each row's group by its neighbors, and the
    entropy of the groups' sizes, by their weights; less a cost of each group, or, where most rows
    are in parts far apart, of joining or cutting these, and a cost of groups that fall into pieces;
    and the evidence of which questions about three rows were asked, with the prior of `Habits`.
    Where there are `unfitted` smoothers, the same is added by their mean prediction, of those that
    predict best: discriminants and weights are fitted to the groups, and predict also those which
    a few wrong answers made.
    (The log-probability of each answer given the others is no substitute: groups that ignore
    features explain twice as many answers as rows, wrong ones included.)
    Time O((n·s + m)·K) a round for m answers and smoothers of s entries a row.
    """
    n, n_groups = len(labels), int(labels.max()) + 1
    q = np.full((n, n_groups), 0.1 / n_groups)
    q[np.arange(n), labels] += 0.9
    rates = np.full(answers.n_annotators, settings.first_error) if error is None else error
    weights = first = np.full(len(smoothers), settings.total_weight / len(smoothers))
    is_many = len(answers.row_of_end) * n_groups > settings.max_doubles
    members: NDArray[np.floating] = q.astype(np.float32) if is_many else q
    cavity = members[answers.row_of_end]
    likelihoods = answers.first_likelihoods(rates, cavity, q)
    factors = answers.factors(likelihoods)
    messages = np.zeros_like(cavity)
    update_all_messages(factors, cavity, messages)
    for at in range(n_rounds):
        before = q.copy()
        logs = np.stack([log_prediction(of.smooth(q), settings.floor) for of in smoothers])
        if at:
            sums = _sums_by_row(messages, factors.start)
            weights = (weights + _fitted_weights(logs, sums, weights, first, settings)) / 2
        field = np.tensordot(weights, logs, 1)
        propagate_beliefs(
            field, factors, settings.damping, settings.n_sweeps, settings.tol, cavity, messages, q
        )
        outcomes = answers.outcomes(cavity)
        rates = answers.error_rates(answers.wrong(outcomes, likelihoods)[1], settings)
        habits = answers.habits(outcomes, likelihoods, q, rates)
        likelihoods = answers.likelihoods(rates, habits)
        factors = answers.factors(likelihoods)
        if np.abs(q - before).max() < settings.tol:
            break
    given, wrong = answers.wrong(outcomes, likelihoods)
    predicted = softmax(field, axis=1)
    label = q.argmax(axis=1)
    share = np.bincount(label) / n
    prior = field - logsumexp(field, axis=1, keepdims=True)
    n_others = np.concatenate([np.full(len(t), t.rows.shape[1] - 1.0) for t in answers.tables])
    coherence, coherent, size_factor = None, 0.0, settings.size_factor(n)
    if unfitted:
        factor, size_factor = settings.coherent(answers)
        every = [mean_prediction(of, label, n_groups, settings.floor) for of in unfitted]
        of_ways = [factor * np.log((q * one).sum(axis=1)).sum() for one in every]
        coherence, coherent = every[int(np.argmax(of_ways))], max(of_ways)
    energy = (
        logsumexp(prior + _sums_by_row(messages, factors.start), axis=1).sum()
        - (n_others * answers.weights) @ np.log(given)
        + settings.row_weight * np.log((q * predicted).sum(axis=1)).sum()
        + coherent
        - size_factor * n * xlogy(share, share).sum()
        + answers.log_choice(habits, q)
        + answers.log_prior(rates, habits)
    )
    kept, label = np.unique(label), renumbered(label)
    if parts is not None:
        size = np.bincount(label)
        energy -= settings.costs_of_groups(size, parts.counts(label), parts.share).sum()
    if pieces is not None:
        energy -= settings.weight_of_pieces(pieces) * pieces.nats_of(label)
    return Partition(
        q, label, predicted[:, kept], None if coherence is None else coherence[:, kept],
        rates, habits, outcomes, wrong, parts, pieces, float(energy),
    )  # fmt: skip


def merged(
    one: Partition, answers: AnswerModel, n_clusters: int | None, settings: Settings = SETTINGS
) -> Labels:
    """Merge groups while that raises the energy; if `n_clusters` is given, down to that number.

    Merges against the evidence join each group, the smallest first, to its most probable other one.
    """
    label, n = one.labels.copy(), len(one.labels)
    costs = _Costs(one, settings)
    evidence = answers.evidence(label, one.error, one.habits)
    weight, predictions = settings.size_factor(n), [(settings.row_weight, one.predicted)]
    if one.coherence is not None:
        factor, weight = settings.coherent(answers)
        predictions.append((factor, one.coherence))
    near = np.zeros_like(evidence)
    np.add.at(near, label, _gains_of_joining(predictions, label))
    while (n_groups := len(costs.size)) > 2:
        size, both = costs.size, costs.size[:, None] + costs.size
        gain = evidence + near + near.T + costs.saved_by_joining()
        gain -= weight * (xlogy(both, both) - xlogy(size, size)[:, None] - xlogy(size, size))
        np.fill_diagonal(gain, -np.inf)
        a, b = divmod(int(gain.argmax()), n_groups)
        if gain[a, b] <= 0:
            if n_clusters is None or n_groups <= n_clusters:
                break
            b = int(size.argmin())
            a = int((gain[b] / np.sqrt(size)).argmax())
        evidence[a] += evidence[b]
        evidence[:, a] += evidence[:, b]
        predictions = [(factor, with_joined(of, a, b)) for factor, of in predictions]
        evidence, near = without_group(evidence, b), without_group(near, b)
        label = joined(label, a, b)
        costs.join(a, b)
        a -= a > b
        near[:, a] = np.bincount(label, _gains_of_joining(predictions, label, [a])[:, 0])
        own = label == a
        of_own = [(factor, predicted[own]) for factor, predicted in predictions]
        near[a] = _gains_of_joining(of_own, label[own]).sum(axis=0)
    return label


class _Costs:
    """Costs of groups by their sizes, parts and pieces, while they are merged."""

    def __init__(self, one: Partition, settings: Settings) -> None:
        label = one.labels
        self.size = np.bincount(label).astype(np.float64)
        self._settings, self._parts, self._pieces = settings, one.parts, one.pieces
        if one.parts is not None:
            self._n_parts = one.parts.counts(label)
        if one.pieces is not None:
            self._in_pieces = GroupsOfPieces(one.pieces, label)

    def saved_by_joining(self) -> Floats:
        """Costs of two groups, less those of one in place of them, (n_groups, n_groups)."""
        size, saved = self.size, np.zeros((len(self.size), len(self.size)))
        if self._parts is not None:
            of, share, n = self._settings.costs_of_groups, self._parts.share, self._n_parts
            cost = of(size, n, share)
            saved += cost[:, None] + cost - of(size[:, None] + size, n[:, None] + n, share)
        if self._pieces is not None:
            weight = self._settings.weight_of_pieces(self._pieces)
            saved += weight * self._in_pieces.saved_by_joining(size)
        return saved

    def join(self, a: int, b: int) -> None:
        """Let group `a` have the rows of `b` too."""
        if self._pieces is not None:
            self._in_pieces.join(a, b, self.size)
        if self._parts is not None:
            self._n_parts = with_joined(self._n_parts, a, b)
        self.size = with_joined(self.size, a, b)


def _gains_of_joining(
    predictions: Sequence[tuple[float, Floats]], label: Labels, others: Any = slice(None)
) -> Floats:
    """Gain of the log-probability of each row if other groups joined its own, (n, n_others)."""
    total = np.zeros_like(predictions[0][1][:, others])
    for weight, predicted in predictions:
        own = np.maximum(predicted[np.arange(len(label)), label], 1e-9)
        total += weight * np.log1p(predicted[:, others] / own[:, None])
    return total


def mean_prediction(
    smoothers: Sequence[Smoother], label: Labels, n_groups: int, floor: float
) -> Floats:
    """Mean of the memberships that smoothers predict from groups, (n_samples, n_groups)."""
    groups = np.zeros((len(label), n_groups))
    groups[np.arange(len(label)), label] = 1.0
    each = [np.exp(log_prediction(of.smooth(groups), floor)) for of in smoothers]
    return np.asarray(np.mean(each, axis=0))


def log_prediction(memberships: Floats, floor: float) -> Floats:
    """Normalize predicted memberships, with a floor that does not shrink with more groups."""
    found = np.maximum(memberships, 0.0)
    found = found / np.maximum(found.sum(axis=1, keepdims=True), 1e-9) + floor / found.shape[1]
    return np.asarray(np.log(found / found.sum(axis=1, keepdims=True)))


def _sums_by_row(messages: NDArray[np.floating], start: Labels) -> Floats:
    """Sum the messages to each row, (n_samples, n_groups)."""
    total = np.zeros((len(start) - 1, messages.shape[1]))
    has_answers = np.diff(start) > 0
    if has_answers.any():
        total[has_answers] = np.add.reduceat(messages, start[:-1][has_answers], axis=0)
    return total


def _fitted_weights(
    logs: Floats, messages: Floats, weights: Floats, prior: Floats, settings: Settings
) -> Floats:
    """Weights of the smoothers that make the answers' messages most likely, (n_smoothers,)."""
    chosen = np.flatnonzero(np.ptp(messages, axis=1) > 0.2)
    if len(chosen) < 5:
        return weights
    chosen = chosen[:: -(-len(chosen) // settings.n_weighed)]
    of_rows, received = logs[:, chosen], messages[chosen]
    likelihood = np.exp(received - received.max(axis=1, keepdims=True))
    flat = of_rows.reshape(len(of_rows), -1)  # np.tensordot would prepare it each time

    def loss(log_weights: Floats) -> tuple[float, Floats]:
        weight = np.exp(np.minimum(log_weights, 5.0))
        field = (weight[None] @ flat).reshape(likelihood.shape)
        before = np.exp(field - field.max(axis=1, keepdims=True))
        after = before * likelihood
        totals = (
            before.sum(axis=1, keepdims=True),
            np.maximum(after.sum(axis=1, keepdims=True), 1e-300),
        )
        change = after / totals[1] - before / totals[0]
        far = (log_weights - np.log(prior)) / settings.log_weight_sd
        gradient = -(flat @ change.reshape(-1, 1))[:, 0] * weight + far / settings.log_weight_sd
        return float(np.log(totals[0] / totals[1]).sum() + far @ far / 2), gradient

    found = minimize(loss, np.log(weights), jac=True, method="L-BFGS-B", options={"maxiter": 10})
    return np.asarray(np.exp(np.minimum(found.x, 5.0)))
