"""Which answers count, which of them are wrong, and how often each annotator errs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from clew.answers import DONT_KNOW
from clew.cluster.guided._answer_model import AnswerModel
from clew.cluster.guided._partitions import SETTINGS, Floats
from clew.constraints import AnswerTable, Constraints
from clew.constraints._support import of_some_weight
from clew.constraints._tables import PARAMETER
from clew.trust import AnswerPosterior, ConfusionMatrices
from clew.trust._outcomes import answer_likelihoods, outcome_probabilities
from clew.trust.annotators import forced_choice_kinds, matrices_around
from clew.trust.doubts import judged

#: Maximum number of answers of an annotator to one question that a fit uses.
MAX_REPEATS = 100
#: So many repeats of answers without a name, and such a share of them, are copies if none of them
#: contradicts another.
LEAST_COPIES, LEAST_COPIED = 10, 1 / 3
#: With fewer answers that are wrong rather than right, by the sum of their probabilities, the
#: interval of the error rate starts at 0.
LEAST_WRONG = 4.0
#: Share of the information about the error rate that counts: groups follow wrong answers, too.
#: Intervals at level .95 then hold 95 % of the rates of ten sets, with 0 to 30 % wrong.
INFORMATION = 0.5
LEVEL = 0.95
#: Rounds of EM of the error rates, given the probabilities of groups.
N_ROUNDS = 10


class AnswerErrors(NamedTuple):
    """Error rate of all answers, error rates of the annotators, and doubts about each answer."""

    rate: float
    interval: tuple[float, float]
    confusion: ConfusionMatrices
    doubts: AnswerPosterior


def informative_answers(answers: Constraints) -> Constraints:
    """Leave out answers of weight 0, and annotators all of whose answers have weight 0."""
    informative = of_some_weight(answers)
    codes = np.unique(np.concatenate([table.annotators for table in informative.tables]))
    tables = tuple(
        replace(table, annotators=np.searchsorted(codes, table.annotators))
        for table in informative.tables
    )
    return answers.with_tables(tables, tuple(answers.annotators[code] for code in codes))


def without_copies(answers: Constraints) -> Constraints:
    """Keep one of an annotator's answers to a question, if all of these are equal.

    Nobody answers independently of what they answered before. Answers without a name may be those
    of several people: they are copies, as of a file that was read twice, if a third of them, and
    ten or more, are repeats and none of these contradicts another.
    """
    is_unnamed = np.array([name == "" for name in answers.annotators], np.bool_)
    chosen = {PARAMETER[of.kind]: _is_no_copy(of, is_unnamed) for of in answers.tables}
    return answers if all(map(np.all, chosen.values())) else answers.select(**chosen)


def _rows_and_annotators(table: AnswerTable) -> NDArray[np.int64]:
    """Rows of each question, those of a pair in order, and who answered it, (n_answers, size)."""
    rows = np.sort(table.rows, axis=1) if table.kind == "pair" else table.rows
    return np.column_stack([rows, table.annotators])


def _is_no_copy(table: AnswerTable, is_unnamed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    question = np.unique(_rows_and_annotators(table), axis=0, return_inverse=True)[1]
    said, first = np.unique(np.column_stack([question, table.answers]), axis=0, return_index=True)
    is_contradicted = (np.bincount(said[:, 0]) > 1)[question]
    is_first = np.zeros(len(table), np.bool_)
    is_first[first] = True
    unnamed = is_unnamed[table.annotators]
    least = max(LEAST_COPIES, LEAST_COPIED * unnamed.sum())
    if is_contradicted[unnamed].any() or (~is_first & unnamed).sum() < least:
        is_first |= unnamed
    return is_first | is_contradicted


def without_many_repeats(answers: Constraints) -> Constraints:
    """Keep at most 100 answers of an annotator to a question, in nearly the same proportions.

    More of them would take time, and are hardly more evidence about the rows.
    """
    if max(map(len, answers.tables)) <= MAX_REPEATS:
        return answers
    return answers.select(**{PARAMETER[of.kind]: _is_in_proportion(of) for of in answers.tables})


def _is_in_proportion(table: AnswerTable) -> NDArray[np.bool_]:
    asked = _rows_and_annotators(table)
    order = np.lexsort((table.answers, *asked.T[::-1]))
    of_question = asked[order]
    is_first = np.ones(len(table), np.bool_)
    is_first[1:] = (of_question[1:] != of_question[:-1]).any(axis=1)
    start = np.flatnonzero(is_first)
    size = np.diff(np.append(start, len(table)))
    n_before = np.arange(len(table)) - np.repeat(start, size)
    # Of n > 100 answers, those at which k·100/n passes a whole number.
    n = np.maximum(np.repeat(size, size), MAX_REPEATS)
    is_chosen = np.empty(len(table), np.bool_)
    is_chosen[order] = n_before * MAX_REPEATS // n != (n_before - 1) * MAX_REPEATS // n
    return is_chosen


def errors_given_groups(
    answers: Constraints, cavity: Floats | None, outcomes: Sequence[Floats] = ()
) -> AnswerErrors:
    """Errors by EM, given groups that were found without each answer.

    From `cavity`, the groups of the row at each end, (n_ends, n_groups), or `outcomes` of each
    kind.
    """
    model = AnswerModel(answers)
    if cavity is not None:
        outcomes = model.outcomes(cavity)
    likelihoods = model.likelihoods(np.full(model.n_annotators, SETTINGS.first_error))
    for _ in range(N_ROUNDS):
        wrong = model.wrong(outcomes, likelihoods)[1]
        error = model.error_rates(wrong, SETTINGS)
        likelihoods = model.likelihoods(error, model.habits(outcomes, likelihoods))
    joints = [of * likelihood for of, likelihood in zip(outcomes, likelihoods, strict=True)]
    return judged_answers(answers, model, wrong, outcomes, joints)


def judged_answers(
    answers: Constraints,
    model: AnswerModel,
    wrong: Floats,
    outcomes: Sequence[Floats],
    joints: Sequence[Floats],
    rate_variance: float = 0.0,
    least_error: float = 1.0,
) -> AnswerErrors:
    """Error rates and doubts, given the probability that each answer is wrong, (n_answers,).

    `outcomes` and `joints` are probabilities of the outcomes without and with the answer itself.
    The interval holds `least_error`, and 0 if that is a few answers.
    """
    weights = model.weights * model.is_definite
    a, b = SETTINGS.error_prior
    total = weights.sum()
    rate = float((a + weights @ wrong) / (a + b + total))
    # An answer that is as probably wrong as any other tells nothing about the rate.
    n_telling = float(weights @ (wrong - rate) ** 2) / (rate * (1 - rate))
    variance = rate * (1 - rate) / (a + b + 1 + INFORMATION * min(n_telling, total))
    variance += rate_variance
    count = max(rate * (1 - rate) / variance - 1, 2.0)
    tails = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = np.asarray(beta.ppf(tails, count * rate, count * (1 - rate)))
    if 0 < least_error < rate and total > 0:
        few = least_error * total
        low = min(low, float(beta.ppf(tails[0], few, total - few)))
    n_wrong = min(float(weights @ (wrong * (wrong > 0.5))), least_error * float(total))
    interval = float(min(low, rate)) if n_wrong >= LEAST_WRONG else 0.0, float(max(high, rate))
    used = answers.with_tables(tuple(model.tables), answers.annotators)
    by_kind = {table.kind: of for table, of in zip(model.tables, outcomes, strict=True)}
    confusion = matrices_around(rate, interval, used, by_kind)
    if len(confusion.annotators_) > 1:
        rate, interval = _of_several(confusion, rate, interval)
    return AnswerErrors(rate, interval, confusion, _doubts(answers, model, joints))


def _of_several(
    confusion: ConfusionMatrices, rate: float, interval: tuple[float, float]
) -> tuple[float, tuple[float, float]]:
    """Mean rate of the annotators; its interval is no narrower than if all answers were of one."""
    n_answers = np.maximum(confusion.n_answers_, 1e-9)
    share = n_answers / n_answers.sum()
    mean = float(share @ confusion.error_rates_)
    of_each = np.abs(confusion.error_intervals_.T - confusion.error_rates_) * share
    below, above = np.sqrt((of_each**2).sum(axis=1))
    low = 0.0 if interval[0] == 0 else max(mean - max(rate - interval[0], below), 0.0)
    return mean, (float(low), float(min(mean + max(interval[1] - rate, above), 1.0)))


def _doubts(answers: Constraints, model: AnswerModel, joints: Sequence[Floats]) -> AnswerPosterior:
    """Probability that each answer is wrong, NaN for those that `model` leaves out."""
    forced = forced_choice_kinds(answers)
    p_wrong = [np.full(len(table), np.nan) for table in answers.tables]
    other = [table.answers.astype(np.int64).copy() for table in answers.tables]
    for at, (table, own) in enumerate(zip(answers.tables, model.tables, strict=True)):
        found = judged(own, joints[at], own.kind in forced)
        is_used = table.weights > 0
        if own.kind == "pair":
            is_used &= ~answers.is_dont_know
        p_wrong[at][is_used], other[at][is_used] = found.p_wrong, found.alternative
    pairs, triplets, odd = p_wrong
    return AnswerPosterior(pairs, triplets, odd, answers, (other[0], other[1], other[2]))


def errors_given_labels(
    answers: Constraints, labels: NDArray[np.int64], errors: Sequence[Floats]
) -> AnswerErrors:
    """Errors given a partition, which is wrong about each question with a given probability."""
    confusion = ConfusionMatrices().fit(answers, labels)
    rate, interval = np.nan, (np.nan, np.nan)
    if len(answers):
        weights = np.maximum(confusion.n_answers_, 1e-12)
        rate = float(np.average(confusion.error_rates_, weights=weights))
        low, high = np.average(confusion.error_intervals_, axis=0, weights=weights)
        interval = float(low), float(high)
    forced, wrong, alternatives = forced_choice_kinds(answers), [], []
    for table, error in zip(answers.tables, errors, strict=True):
        of_groups = outcome_probabilities(table.kind, [labels[rows] for rows in table.rows.T])
        prior = (1 - error)[:, None] * of_groups + error[:, None] / of_groups.shape[1]
        joint = prior * answer_likelihoods(confusion, table, answers)
        found = judged(table, joint, table.kind in forced)
        wrong.append(found.p_wrong)
        alternatives.append(found.alternative)
    (pairs, triplets, odd), (of_pairs, of_triplets, of_odd) = wrong, alternatives
    doubts = AnswerPosterior(pairs, triplets, odd, answers, (of_pairs, of_triplets, of_odd))
    return AnswerErrors(rate, interval, confusion, doubts)


def doubts_of_all(answers: Constraints, doubts: AnswerPosterior) -> AnswerPosterior:
    """Insert NaN for the answers of weight 0."""
    every = [np.full(len(table), np.nan) for table in answers.tables]
    alternatives = [np.full(len(table), DONT_KNOW, dtype=np.int64) for table in answers.tables]
    for at, table in enumerate(answers.tables):
        is_informative = table.weights > 0
        every[at][is_informative] = [*doubts][at]
        alternatives[at][is_informative] = doubts.alternatives[at]
    (pairs, triplets, odd), (of_pairs, of_triplets, of_odd) = every, alternatives
    return AnswerPosterior(pairs, triplets, odd, answers, (of_pairs, of_triplets, of_odd))
