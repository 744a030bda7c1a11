"""Answers of all kinds as factors between rows, and the habits of those who gave them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from clew.answers import CODES, DONT_KNOW, SAME
from clew.constraints import AnswerTable, Constraints
from clew.kernels.belief_propagation import AnswerFactors
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
from clew.trust.annotators import forced_choice_kinds, is_unused_label, label_weights, prior_matrix

if TYPE_CHECKING:
    from clew.cluster.guided._partitions import Settings

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Beta prior of the share of don't-knows among answers about three rows of which one stands out.
WAVERING_PRIOR = 0.5, 20.0
#: Answers by which the share of open questions is shrunk to that of others, the least openness, and
#: the weight of the evidence of the choice.
OPEN_PRIOR, LEAST_OPENNESS, WEIGHT_OF_CHOICE = 10.0, 0.02, 0.9
#: Number of errors by which biases are shrunk to 1, and bounds of error rates with them.
BIAS_PRIOR, BIASED_BOUNDS = 2.0, (0.003, 0.9)
#: Nats that rates of the two outcomes must gain over those of the annotators, and further ones with
#: which half of a bias is used.
LEAST_GAIN, HALF_GAIN = 3.0, 6.0
#: Pseudo-count of right answers that penalizes an outcome's rate above the common one: else a few
#: large groups, in which most pairs are missed, explain all answers.
RIGHT_PRIOR = 60.0


class Habits(NamedTuple):
    """How people answer and choose questions; by kind, (n_kinds,), but for the bias.

    Where nobody says don't-know, questions may have been chosen so that there is an answer: most
    triplets of data sets with labels are two rows of one group and one of another. If any answer
    fitted open questions, few large groups would explain such answers, wrong ones included.
    """

    wavering: Floats
    """Share of don't-knows though one row stands out; 0 for pairs."""
    openness: Floats
    """How probable open questions are beside the rest, relative to questions about random rows that
    are as near; 1 for pairs, and where people say don't-know."""
    bias: Floats
    """Response bias: factors of all error rates for pairs of one group, and of two, (2,).

    Whoever says "different" in doubt misses many of the few pairs of one group, and is wrong about
    few pairs in all. With one rate, each miss would be strong evidence and split a group.
    """


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

    def __init__(
        self, answers: Constraints, draw: Callable[[Labels], Labels] | None = None
    ) -> None:
        self._draw = draw  # questions like those asked, see `other_questions`
        self.tables = informative_tables(answers, with_dont_know_pairs=False)
        self.n_samples, self.n_annotators = answers.n_samples, max(len(answers.annotators), 1)
        empty = [np.zeros((len(table), 5)) for table in self.tables]
        self._factors, self.row_of_end, self.ends = ties(self.tables, empty, self.n_samples)
        self.weights = np.concatenate([table.weights for table in self.tables])
        self.annotators = np.concatenate([table.annotators for table in self.tables])
        self.is_definite = np.concatenate([table.answers != DONT_KNOW for table in self.tables])
        forced = forced_choice_kinds(answers)
        self._label_weights = {table.kind: label_weights(table) for table in self.tables}
        self._is_unused = [is_unused_label(of, w) for of, w in self._label_weights.items()]
        self._is_open = [
            is_unused[TRUE_LABEL[kind]] & (kind in forced)
            for kind, is_unused in zip(self._label_weights, self._is_unused, strict=True)
        ]
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

    @property
    def are_forced(self) -> bool:
        """Whether all answers are about three rows, and nobody said don't-know."""
        return all(len(table) == 0 or at in self._others for at, table in enumerate(self.tables))

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

    def likelihoods(self, error: Floats, habits: Habits | None = None) -> list[Floats]:
        """Probability of each answer given each outcome, by kind."""
        wavering, openness, bias = habits or self.first_habits
        found = [self._of_pairs(error, bias)]
        for at, table in enumerate(self.tables[1:], 1):
            matrices = np.stack([self._matrix(at, float(e), float(wavering[at])) for e in error])
            of_answers = matrices[table.annotators, :, table.answer_index]
            of_answers *= np.where(self._is_open[at], openness[at], 1.0)
            found.append(of_answers)
        return found

    def first_likelihoods(
        self, error: Floats, cavity: NDArray[np.floating], memberships: Floats
    ) -> list[Floats]:
        """Likelihoods with habits as in given groups, which no answer has changed yet."""
        habits = self.habits(self.outcomes(cavity), self.likelihoods(error), memberships)
        return self.likelihoods(error, habits)

    def dont_know(self, outcomes: Sequence[Floats], error: float) -> list[Floats]:
        """Probability that each answer is don't-know, by kind; 0 for pairs, (m,)."""
        found = []
        likelihoods = self.likelihoods(np.full(self.n_annotators, error))
        wavering = self._wavering(outcomes, likelihoods)
        for at, (table, of) in enumerate(zip(self.tables, outcomes, strict=True)):
            if table.kind == "pair":
                found.append(np.zeros(len(table)))
                continue
            matrix = self._matrix(at, error, float(wavering[at]))
            found.append(of @ matrix[:, CODES[table.kind].index(DONT_KNOW)])
        return found

    def _matrix(self, at: int, error: float, wavering: float) -> Floats:
        """Probability of each label given each outcome, (n_outcomes, n_labels)."""
        kind = self.tables[at].kind
        matrix = prior_matrix(kind, error, self._label_weights[kind])
        is_unused = self._is_unused[at]
        for outcome in np.flatnonzero(~self._is_open[at]).tolist() if is_unused[-1] else ():
            label = TRUE_LABEL[kind][outcome]
            is_wrong, used = ~is_unused, 1 - matrix[outcome, is_unused].sum()
            is_wrong[label] = False  # labels that nobody uses take no share of the error
            matrix[outcome, is_wrong] = used * error / is_wrong.sum()
            matrix[outcome, label] = used * (1 - error)
        unknown = CODES[kind].index(DONT_KNOW)
        for outcome in np.flatnonzero(IS_DETERMINED[kind]).tolist():
            share = matrix[outcome, unknown]
            if wavering > share:
                matrix[outcome] *= (1 - wavering) / (1 - share)
                matrix[outcome, unknown] = wavering
        return matrix

    @property
    def first_habits(self) -> Habits:
        """A sixth of the share of don't-knows, and all questions as if their rows were random."""
        of_kinds = ((self._label_weights[of.kind][-1], of.weights.sum()) for of in self.tables[1:])
        wavering = [0.0, *(said / max(total, 1e-12) / 6 for said, total in of_kinds)]
        return Habits(np.array(wavering), np.ones(len(self.tables)), np.ones(2))

    def habits(
        self,
        outcomes: Sequence[Floats],
        likelihoods: Sequence[Floats],
        memberships: Floats | None = None,
        error: Floats | None = None,
    ) -> Habits:
        """Estimate habits.

        Openness needs the memberships of all rows, and bias the error rates; else they are 1.
        """
        openness, bias = np.ones(len(self.tables)), np.ones(2)
        if memberships is not None:
            openness = self._openness(outcomes, likelihoods, memberships)
        if error is not None:
            bias = self._bias(outcomes, likelihoods, error)
        return Habits(self._wavering(outcomes, likelihoods), openness, bias)

    def _wavering(self, outcomes: Sequence[Floats], likelihoods: Sequence[Floats]) -> Floats:
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

    def _bias(
        self, outcomes: Sequence[Floats], likelihoods: Sequence[Floats], error: Floats
    ) -> Floats:
        table, joint = self.tables[0], outcomes[0] * likelihoods[0]
        if len(np.unique(table.answers)) < 2:
            return np.ones(2)
        joint *= (table.weights / np.maximum(joint.sum(axis=1), 1e-12))[:, None]
        rate, is_wrong = self._errors_of_pairs(error)
        n_wrong = (joint * is_wrong).sum(axis=0)
        expected, total = rate @ joint, joint.sum(axis=0)
        found = (BIAS_PRIOR + n_wrong) / (BIAS_PRIOR + expected)
        each = xlogy(n_wrong, n_wrong) - xlogy(n_wrong, expected)
        each += xlogy(total - n_wrong, total - n_wrong) - xlogy(total - n_wrong, total - expected)
        gain = max(float(each.sum()) - LEAST_GAIN, 0.0)
        return np.asarray(found ** (gain / (gain + HALF_GAIN)))

    def _openness(
        self, outcomes: Sequence[Floats], likelihoods: Sequence[Floats], memberships: Floats
    ) -> Floats:
        found = np.ones(len(self.tables))
        for at in self._others:
            table, is_open = self.tables[at], self._is_open[at]
            other = self._share_of_open(at, memberships)
            if 0 < other < 1:
                joint = outcomes[at] * likelihoods[at]
                own = joint[:, is_open].sum(axis=1) / np.maximum(joint.sum(axis=1), 1e-12)
                n_open = OPEN_PRIOR * other + table.weights @ own
                rest = OPEN_PRIOR + table.weights.sum() - n_open
                found[at] = np.clip(n_open / rest * (1 - other) / other, LEAST_OPENNESS, 1.0)
        return found

    def log_choice(self, habits: Habits, memberships: Floats) -> float:
        """Log-probability that questions with such shares of open ones were chosen, in nats."""
        total = 0.0
        for at, openness in enumerate(habits.openness.tolist()):
            if openness < 1:
                of_open = (1 - openness) * self._share_of_open(at, memberships)
                total -= WEIGHT_OF_CHOICE * self.tables[at].weights.sum() * np.log1p(-of_open)
        return float(total)

    def log_prior(self, error: Floats, habits: Habits) -> float:
        """Log prior of the bias, beside that of one rate for pairs of one group and of two."""
        rate = float(np.minimum(error, 1 - error).mean())
        of_kinds = np.clip(rate * habits.bias, *BIASED_BOUNDS)
        return RIGHT_PRIOR * float(np.minimum(np.log1p(-of_kinds) - np.log1p(-rate), 0).sum())

    def _share_of_open(self, at: int, memberships: Floats) -> float:
        """Share of open questions among others that are as near, given the groups of all rows."""
        outcomes = outcomes_of_rows(self.tables[at].kind, memberships, self._others[at])
        return float(outcomes[:, self._is_open[at]].sum(axis=1).mean())

    @cached_property
    def _others(self) -> dict[int, Labels]:
        """Questions like those of each kind that may have been chosen."""
        if self._draw is None:
            return {}
        each = zip(self.tables, self._is_open, strict=True)
        chosen = [at for at, (table, is_open) in enumerate(each) if len(table) and is_open.any()]
        return {at: self._draw(self.tables[at].rows) for at in chosen}

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

    def of_chosen(self, outcomes: Sequence[Floats], openness: Floats) -> list[Floats]:
        """Probability of each outcome of questions that were chosen with such an openness."""
        found = []
        for of, is_open, factor in zip(outcomes, self._is_open, openness, strict=True):
            chosen = of * np.where(is_open, factor, 1.0)
            found.append(chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1e-12))
        return found

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

    def evidence(self, labels: Labels, error: Floats, habits: Habits) -> Floats:
        """Log-odds of the answers about pairs that two groups are one, (n_groups, n_groups)."""
        n_groups, table = int(labels.max()) + 1, self.tables[0]
        total = np.zeros((n_groups, n_groups))
        same, apart = self._of_pairs(error, habits.bias).T
        np.add.at(total, tuple(labels[table.rows].T), np.log(same / apart) * table.weights)
        return total + total.T

    def _of_pairs(self, error: Floats, bias: Floats) -> Floats:
        """Probability of each answer about a pair by outcome: of two answers, not three labels."""
        rate, is_wrong = self._errors_of_pairs(error)
        rate = np.clip(rate[:, None] * bias, *BIASED_BOUNDS)
        return np.where(is_wrong, rate, 1 - rate)

    def _errors_of_pairs(self, error: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Error rate of each answer about a pair, (m,), and whether it is wrong by outcome, (m, 2).

        Annotators with rates above .5 swap answers; theirs are inverted.
        """
        table = self.tables[0]
        own = error[table.annotators]
        says_same = (table.answers == SAME) ^ (own > 0.5)
        return np.minimum(own, 1 - own), np.column_stack([~says_same, says_same])


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
