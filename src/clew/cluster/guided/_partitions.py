"""Partitions of rows given features and answers: refined, compared by energy, and merged.

A partition's state is the probability of each group for each row, the error rate of each annotator,
and the weights of the smoothers. It follows answers through their likelihood alone, so it does not
matter how questions were chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax, xlogy

from clew.answers import CODES, DONT_KNOW, SAME, Kind
from clew.cluster.guided._gaps import (
    GroupsOfPieces,
    PartsApart,
    Pieces,
    joined,
    with_joined,
    without_group,
)
from clew.cluster.guided._smoothers import Smoother
from clew.constraints import AnswerTable, Constraints
from clew.kernels.belief_propagation import AnswerFactors, propagate_beliefs, update_all_messages
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import (
    IS_DETERMINED,
    OTHERS,
    OUTCOMES,
    TRUE_LABEL,
    answer_likelihoods,
    informative_tables,
    outcomes_of_rows,
)
from clew.trust.annotators import forced_choice_kinds, prior_matrix

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Beta prior of the share of don't-knows among answers about three rows of which one stands out.
WAVERING_PRIOR = 0.5, 20.0


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
    #: parts in a group instead: a few wrong answers "same" do not join parts that are far apart.
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
        return np.asarray(cost + share * self.part_cost * np.log2(np.maximum(n_parts, 1)))

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


class TiedRows:
    """Answers as ties between rows, with their likelihoods given the annotators' error rates."""

    def __init__(self, answers: Constraints, confusion: ConfusionMatrices) -> None:
        self.tables = informative_tables(answers, with_dont_know_pairs=False)
        factors = [
            answer_likelihoods(confusion, table, answers) @ OUTCOMES[table.kind]
            for table in self.tables
        ]
        self.n_samples = answers.n_samples
        self.ties, self.row_of_end, self.ends = ties(self.tables, factors, answers.n_samples)


class AnswerModel:
    """Answers of all kinds as factors between rows, given the error rate of each annotator."""

    def __init__(self, answers: Constraints) -> None:
        self.tables = informative_tables(answers, with_dont_know_pairs=False)
        self.n_samples, self.n_annotators = answers.n_samples, max(len(answers.annotators), 1)
        empty = [np.zeros((len(table), 5)) for table in self.tables]
        self._factors, self.row_of_end, self.ends = ties(self.tables, empty, self.n_samples)
        self.weights = np.concatenate([table.weights for table in self.tables])
        self.annotators = np.concatenate([table.annotators for table in self.tables])
        self.is_definite = np.concatenate([table.answers != DONT_KNOW for table in self.tables])
        forced = forced_choice_kinds(answers)
        self._label_weights = {
            table.kind: np.bincount(
                table.answer_index, table.weights, len(CODES[table.kind])
            ).astype(np.float64)
            for table in self.tables
        }
        self._is_wrong = [TRUE_LABEL[t.kind] != t.answer_index[:, None] for t in self.tables]
        for at, table in enumerate(self.tables):
            if table.kind in forced:  # no answer to an open question is wrong
                self._is_wrong[at] &= IS_DETERMINED[table.kind]

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def n_pairs(self) -> float:
        """Number of answers about pairs; others count by their rows."""
        return len(self.row_of_end) / 2

    def called_same(self) -> tuple[Labels, Floats]:
        """Pairs of rows called the same, (m, 2), and the weights of these answers, (m,)."""
        chosen = [
            (table.rows[is_same], table.weights[is_same])
            for table in self.tables
            if table.kind == "pair" and (is_same := table.answers == SAME).any()
        ]
        if not chosen:
            return np.empty((0, 2), np.int64), np.empty(0)
        rows, weights = zip(*chosen, strict=True)
        return np.concatenate(rows), np.concatenate(weights)

    def likelihoods(self, error: Floats, wavering: Floats | None = None) -> list[Floats]:
        """Probability of each answer given each outcome, by kind; see also `wavering`."""
        found: list[Floats] = []
        wavering = self.first_wavering if wavering is None else wavering
        for at, table in enumerate(self.tables):
            kind = table.kind
            if kind == "pair":  # of two answers, not three labels
                right, wrong = 1 - error[table.annotators], error[table.annotators]
                is_same = (table.answers == SAME)[:, None]
                one, other = np.column_stack([right, wrong]), np.column_stack([wrong, right])
                found.append(np.where(is_same, one, other))
                continue
            matrices = np.stack([self._matrix(kind, float(e), float(wavering[at])) for e in error])
            found.append(matrices[table.annotators, :, table.answer_index])
        return found

    def dont_know(self, outcomes: Sequence[Floats], error: float) -> list[Floats]:
        """Probability that each answer is don't-know, by kind; 0 for pairs, (m,)."""
        found = []
        wavering = self.wavering(outcomes, self.likelihoods(np.full(self.n_annotators, error)))
        for at, (table, of) in enumerate(zip(self.tables, outcomes, strict=True)):
            if table.kind == "pair":
                found.append(np.zeros(len(table)))
                continue
            matrix = self._matrix(table.kind, error, float(wavering[at]))
            found.append(of @ matrix[:, CODES[table.kind].index(DONT_KNOW)])
        return found

    def _matrix(self, kind: Kind, error: float, wavering: float) -> Floats:
        """Probability of each label given each outcome, (n_outcomes, n_labels)."""
        matrix = prior_matrix(kind, error, self._label_weights[kind])
        at = CODES[kind].index(DONT_KNOW)
        for outcome in np.flatnonzero(IS_DETERMINED[kind]).tolist():
            share = matrix[outcome, at]
            if wavering > share:
                matrix[outcome] *= (1 - wavering) / (1 - share)
                matrix[outcome, at] = wavering
        return matrix

    @property
    def first_wavering(self) -> Floats:
        """A sixth of the share of don't-knows, by kind; 0 for pairs, which come first."""
        of_kinds = ((self._label_weights[of.kind][-1], of.weights.sum()) for of in self.tables[1:])
        return np.array([0.0, *(said / max(total, 1e-12) / 6 for said, total in of_kinds)])

    def wavering(self, outcomes: Sequence[Floats], likelihoods: Sequence[Floats]) -> Floats:
        """How often people say don't-know though one row stands out, by kind, (n_kinds,)."""
        found = np.zeros(len(self.tables))
        a, b = WAVERING_PRIOR
        for at, table in enumerate(self.tables):
            is_unknown = table.answers == DONT_KNOW
            if table.kind != "pair" and is_unknown.any():
                joint = outcomes[at] * likelihoods[at]
                is_known = joint[:, IS_DETERMINED[table.kind]].sum(axis=1)
                known = table.weights * is_known / np.maximum(joint.sum(axis=1), 1e-12)
                found[at] = (a + known[is_unknown].sum()) / (a + b + known.sum())
        return found

    def factors(self, likelihoods: Sequence[Floats]) -> AnswerFactors:
        """Coefficients of the answers' likelihoods at each of their ends."""
        shape = len(self.row_of_end)
        constant, first, second, rest, both = (np.zeros(shape) for _ in range(5))
        for table, ends, likelihood in zip(self.tables, self.ends, likelihoods, strict=True):
            of_shared = likelihood @ OUTCOMES[table.kind]
            for position, place in enumerate(ends):
                _, _, by_first, by_second = OTHERS[position]
                constant[place], both[place] = of_shared[:, 0], of_shared[:, 4]
                first[place], second[place] = of_shared[:, by_first], of_shared[:, by_second]
                rest[place] = of_shared[:, 6 - by_first - by_second]
        return self._factors._replace(
            constant=constant, by_first=first, by_second=second, by_rest=rest, by_both=both
        )

    def outcomes(self, cavity: NDArray[np.floating]) -> list[Floats]:
        """Probability of each outcome given all other answers, by kind, (m, n_outcomes)."""
        return [
            outcomes_of_rows(table.kind, cavity, ends.T)
            for table, ends in zip(self.tables, self.ends, strict=True)
        ]

    def wrong(
        self, outcomes: Sequence[Floats], likelihoods: Sequence[Floats]
    ) -> tuple[Floats, Floats]:
        """Probability of each answer given all others, and that it is wrong given all, (m,)."""
        given, wrong = [], []
        for of, likelihood, is_wrong in zip(outcomes, likelihoods, self._is_wrong, strict=True):
            joint = of * likelihood
            whole = np.maximum(joint.sum(axis=1), 1e-12)
            given.append(whole)
            wrong.append((joint * is_wrong).sum(axis=1) / whole)
        return np.concatenate(given), np.concatenate(wrong)

    def error_rates(self, wrong: Floats, settings: Settings) -> Floats:
        """Error rate of each annotator, shrunk toward that of all, (n_annotators,)."""
        weights = self.weights * self.is_definite
        a, b = settings.error_prior
        mean = (a - 0.5 + weights @ wrong) / (a + b - 1 + weights.sum())
        if self.n_annotators == 1:
            return np.asarray(np.clip(np.array([mean]), *settings.error_bounds))
        n = self.n_annotators
        totals = np.bincount(self.annotators, weights * wrong, n) + settings.pooling * mean
        counts = np.bincount(self.annotators, weights, n) + settings.pooling
        low, high = settings.error_bounds
        if mean < 0.5:  # some may answer the other way round, but not for most of the answers
            high = settings.swapped_bound
        return np.asarray(np.clip(totals / counts, low, high))

    def evidence(self, labels: Labels, error: Floats) -> Floats:
        """Log-odds of the answers about pairs that two groups are one, (n_groups, n_groups)."""
        n_groups = int(labels.max()) + 1
        total = np.zeros((n_groups, n_groups))
        for table in self.tables:
            if table.kind == "pair":
                rate = error[table.annotators]
                odds = np.log((1 - rate) / rate) * table.weights
                odds[table.answers != SAME] *= -1
                first, second = labels[table.rows].T
                np.add.at(total, (first, second), odds)
        return total + total.T


def ties(
    tables: list[AnswerTable], factors: list[Floats], n_rows: int
) -> tuple[AnswerFactors, NDArray[np.int64], list[NDArray[np.int64]]]:
    """List the ends of all answers by row; also the row of each end, and the ends of each table."""
    parts, ends = [], []
    first_end = 0
    for of_kind, factor in zip(tables, factors, strict=True):
        m, size = of_kind.rows.shape
        end = first_end + np.arange(size * m).reshape(size, m)
        ends.append(end)
        first_end += size * m
        for position in range(size):
            one, other, by_one, by_other = OTHERS[position]
            is_pair = size == 2
            rest = 6 - by_one - by_other  # the one of columns 1, 2 and 3 that is not used
            parts.append(
                np.column_stack([
                    of_kind.rows[:, position],
                    end[one],
                    np.full(m, -1) if is_pair else end[other],
                    factor[:, 0],
                    factor[:, by_one],
                    factor[:, by_other],
                    factor[:, rest],
                    factor[:, 4],
                    of_kind.weights,
                ])
            )  # fmt: skip
    table = np.concatenate(parts)
    row = table[:, 0].astype(np.int64)
    order = np.argsort(row, kind="stable")
    place = np.empty(len(order) + 1, np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    first, second = place[table[order, 1:3].astype(np.int64)].T.copy()
    start = np.searchsorted(row[order], np.arange(n_rows + 1)).astype(np.int64)
    factors_by_row = AnswerFactors(start, first, second, *table[order, 3:].T.copy())
    return factors_by_row, row[order], [place[of_table] for of_table in ends]


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
    wavering: Floats
    """See `AnswerModel.wavering`."""
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
    are in parts far apart, of joining such parts, and a cost of groups that fall into pieces.
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
    first = np.full(len(smoothers), settings.total_weight / len(smoothers))
    weights = first
    likelihoods = answers.likelihoods(rates)
    factors = answers.factors(likelihoods)
    is_many = len(answers.row_of_end) * n_groups > settings.max_doubles
    members: NDArray[np.floating] = q.astype(np.float32) if is_many else q
    cavity = members[answers.row_of_end]
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
        wavering = answers.wavering(outcomes, likelihoods)
        likelihoods = answers.likelihoods(rates, wavering)
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
    )
    kept = np.unique(label)
    label = renumbered(label)
    if parts is not None:
        size = np.bincount(label)
        energy -= settings.costs_of_groups(size, parts.counts(label), parts.share).sum()
    if pieces is not None:
        energy -= settings.weight_of_pieces(pieces) * pieces.nats_of(label)
    return Partition(
        q, label, predicted[:, kept], None if coherence is None else coherence[:, kept],
        rates, wavering, outcomes, wrong, parts, pieces, float(energy),
    )  # fmt: skip


def merged(
    one: Partition, answers: AnswerModel, n_clusters: int | None, settings: Settings = SETTINGS
) -> Labels:
    """Merge groups while that raises the energy; if `n_clusters` is given, down to that number.

    Merges against the evidence join each group, the smallest first, to its most probable other one.
    """
    label, n = one.labels.copy(), len(one.labels)
    costs = _Costs(one, settings)
    evidence = answers.evidence(label, one.error)
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
