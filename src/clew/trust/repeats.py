"""Annotators' confusion matrices and true answers, estimated from repeated answers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from clew._estimators import Estimator, guarded_fit
from clew._validation import Allowed, check_parameters
from clew.answers import CODES, DONT_KNOW, KINDS, Kind
from clew.constraints import AnswerTable, Constraints, Support
from clew.constraints._support import answers_for
from clew.metrics.likelihood import N_POSITIONS
from clew.trust._outcomes import ALL_KINDS, IS_DETERMINED, OUTCOMES, TRUE_LABEL
from clew.trust.annotators import (
    MAX_STRENGTH,
    PRIOR,
    ConfusionMatrices,
    Prior,
    expected_counts,
    forced_choice_kinds,
    label_weights,
    prior_matrix,
    shrink,
)

__all__ = ["DawidSkene"]

Floats = NDArray[np.float64]
#: Number of questions that the prior of the outcome rates counts for.
OUTCOME_STRENGTH = 2.0


class DawidSkene(Estimator):
    """Annotators' confusion matrices and the true answers, from repeated answers alone.

    Needs neither groups nor features: annotators who answered the same questions are compared with
    each other. EM alternates between two steps. Given the matrices, it estimates the probability of
    each outcome of each question; given these probabilities, it estimates the matrices.

    Parameters
    ----------
    prior_error : float, default=0.15
        Prior probability of any other answer than the correct one.
    prior_strength : float, default=20.0
        Number of answers that the prior counts for, for each outcome.
    pooling_strength : float, default=20.0
        Number of answers that the pooled matrix of all annotators counts for in the matrix of each,
        for each outcome.
    max_iter : int, default=100
        Largest number of EM steps.
    tol : float, default=1e-4
        EM stops when no probability of an outcome changes by more.

    Attributes
    ----------
    confusion_ : ConfusionMatrices
        For each annotator how often each answer is given in each case, with intervals.
    questions_ : dict of str to ndarray of shape (n_questions, n_rows), int64
        For "pair", "triplet" and "odd_one_out" the rows of each distinct question, in ascending
        order. In a triplet (a, b, c), only b and c are sorted.
    probabilities_ : dict of str to ndarray of shape (n_questions, n_outcomes)
        Probability of each outcome of each question, in the order of
        `ConfusionMatrices.matrices_`; of a pair: same, different.
    log_likelihoods_ : dict of str to ndarray of shape (n_questions, n_outcomes)
        Log-likelihood of the answers to each question, given each outcome, in nats.
    outcome_rates_ : dict of str to ndarray of shape (n_outcomes,)
        Estimated share of questions with each outcome; for pairs, the mean of this estimate and of
        the share of the answers.
    answer_posterior_ : dict of str to ndarray of shape (n_answers,)
        For each answer the probability that it is wrong, given all answers. NaN for don't-knows
        and answers of weight 0.
    n_iter_ : dict of str to int
        Number of EM steps for each kind.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.

    See Also
    --------
    ConfusionMatrices : The same matrices, where groups are known.
    clew.cluster.CorrelationClustering : Groups from pair answers, weighted by these matrices.

    Notes
    -----
    For pairs this is the two-coin model: each annotator has one probability of a correct answer
    if the rows are the same thing, and another if they differ. For three rows, the probability of
    an answer does not depend on the order in which the question names them. Don't-know is one of
    the possible answers.

    An answer counts in its annotator's matrix as far as others answered the same question, with
    weight ``1 - 1 / n`` for n answers. If no question was asked twice, there is nothing to compare:
    the matrices stay near the prior, and the intervals are wide. The estimated share of matching
    pairs is averaged with the share of "same" among the answers: without repeats, EM would end with
    no matches, and explain every "same" as an error. Questions asked once and those asked again
    have rates of their own, as questions are asked again where rows look alike.

    Each step takes time and memory O(number of answers).

    References
    ----------
    A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the
    EM algorithm", Applied Statistics 1979.
    V. C. Raykar et al., "Learning from crowds", JMLR 2010, section 2 (two coins).

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.trust import DawidSkene
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> pairs = [(i, j) for i in range(6) for j in range(i)]
    >>> truth = {p: "same" if y[p[0]] == y[p[1]] else "different" for p in pairs}
    >>> flip = {"same": "different", "different": "same"}
    >>> rows, said, who = [], [], []
    >>> for at, pair in enumerate(pairs):
    ...     for name in ("ann", "ben", "eve"):
    ...         is_wrong = name == "eve" and at % 3 == 0
    ...         rows.append(pair)
    ...         said.append(flip[truth[pair]] if is_wrong else truth[pair])
    ...         who.append(name)
    >>> answers = Constraints(6, pairs=[(*p, a) for p, a in zip(rows, said)], pair_annotators=who)
    >>> model = DawidSkene().fit(answers)
    >>> model.confusion_.annotators_, model.confusion_.error_rates_.round(2)
    (('ann', 'ben', 'eve'), array([0.09, 0.09, 0.2 ]))
    """

    supports: ClassVar[Support] = ALL_KINDS
    _allowed: ClassVar[dict[str, Any]] = {
        "prior_error": Allowed(kind=float, low=0, high=1, low_open=True, high_open=True),
        "prior_strength": Allowed(kind=float, low=0, high=MAX_STRENGTH, low_open=True),
        "pooling_strength": Allowed(kind=float, low=0, high=MAX_STRENGTH, low_open=True),
        "max_iter": Allowed(kind=int, low=1),
        "tol": Allowed(kind=float, low=0),
    }

    confusion_: ConfusionMatrices
    questions_: dict[Kind, NDArray[np.int64]]
    probabilities_: dict[Kind, Floats]
    log_likelihoods_: dict[Kind, Floats]
    outcome_rates_: dict[Kind, Floats]
    answer_posterior_: dict[Kind, Floats]
    n_iter_: dict[Kind, int]

    def __init__(
        self,
        *,
        prior_error: float = PRIOR.error,
        prior_strength: float = PRIOR.strength,
        pooling_strength: float = PRIOR.pooling,
        max_iter: int = 100,
        tol: float = 1e-4,
    ) -> None:
        self.prior_error = prior_error
        self.prior_strength = prior_strength
        self.pooling_strength = pooling_strength
        self.max_iter = max_iter
        self.tol = tol

    @guarded_fit
    def fit(self, constraints: Constraints) -> Self:
        """Estimate matrices and outcomes.

        Parameters
        ----------
        constraints : Constraints
            The answers.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        n = constraints.n_samples if isinstance(constraints, Constraints) else 0
        known = answers_for(self, constraints, n)
        prior = Prior(self.prior_error, self.prior_strength, self.pooling_strength)
        forced = forced_choice_kinds(known)
        self.questions_, self.probabilities_, self.log_likelihoods_ = {}, {}, {}
        self.outcome_rates_, self.answer_posterior_, self.n_iter_ = {}, {}, {}
        counts: dict[Kind, Floats] = {}
        pooled: dict[Kind, Floats] = {}
        for kind, given in zip(KINDS, known.tables, strict=True):
            asked = answered_questions(given)
            em = self._em(asked, prior, len(known.annotators))
            counts[kind], pooled[kind] = em.counts, em.pooled
            self.questions_[kind] = asked.rows
            self.probabilities_[kind], self.log_likelihoods_[kind] = em.outcomes, em.likelihoods
            self.outcome_rates_[kind], self.n_iter_[kind] = em.rates, em.n_iter
            self.answer_posterior_[kind] = _wrong(asked, em.outcomes, len(given), kind in forced)
        self.confusion_ = ConfusionMatrices(
            prior_error=self.prior_error,
            prior_strength=self.prior_strength,
            pooling_strength=self.pooling_strength,
        ).fit_counts(known, counts, pooled=pooled)
        return self

    def _em(self, asked: AnsweredQuestions, prior: Prior, n_annotators: int) -> _Estimate:
        """Alternate between the outcomes of questions and the matrices of annotators."""
        kind, table = asked.kind, asked.table
        n_outcomes, n_labels = len(OUTCOMES[kind]), len(CODES[kind])
        cell = table.annotators * n_labels + table.answer_index
        matrix = prior_matrix(kind, prior.error, label_weights(table))
        matrices = np.repeat(matrix[None], n_annotators, axis=0)
        rates = np.full((len(asked.rows), n_outcomes), 1.0 / n_outcomes)
        outcomes = rates
        # Questions asked again may match more often than others, for instance if they look alike.
        is_again = np.bincount(asked.question, minlength=len(asked.rows)) > 1
        compared = table.with_weights(table.weights * _share_of_others(asked))
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007
            of_cell = np.log(matrices).transpose(1, 0, 2).reshape(n_outcomes, -1)
            likelihoods = asked.sums([table.weights * of[cell] for of in of_cell])
            before, outcomes = outcomes, softmax(likelihoods + np.log(rates), axis=1)
            rates = np.empty_like(outcomes)
            for part in (is_again, ~is_again):
                rates[part] = _rates(kind, outcomes[part], table.take(part[asked.question]))
            of_answers = outcomes[asked.question]
            pooled = shrink(kind, expected_counts(table, of_answers, n_annotators), prior).pooled
            counts = expected_counts(compared, of_answers, n_annotators)
            matrices = shrink(kind, counts, prior, pooled).matrices
            if np.abs(outcomes - before).max(initial=0.0) <= self.tol:
                break
        return _Estimate(
            outcomes, likelihoods, _rates(kind, outcomes, table), counts, pooled, n_iter
        )


class _Estimate(NamedTuple):
    """Result of EM for the questions of one kind."""

    outcomes: Floats
    likelihoods: Floats
    rates: Floats
    counts: Floats
    pooled: Floats
    n_iter: int


def _share_of_others(asked: AnsweredQuestions) -> Floats:
    """Share of others among a question's definite answers: no answer judges itself."""
    weights = np.where(asked.table.answers == DONT_KNOW, 0.0, asked.table.weights)
    total = asked.sums([weights])[asked.question, 0]
    return np.asarray(1 - weights / np.maximum(total, np.finfo(np.float64).tiny))


def _rates(kind: Kind, outcomes: Floats, table: AnswerTable) -> Floats:
    """Outcome rates, alike for all positions, with shares: EM alone makes "same" errors."""
    counts = outcomes.sum(axis=0) + OUTCOME_STRENGTH / outcomes.shape[1]
    n = N_POSITIONS[kind]
    counts[:n] = counts[:n].sum() / max(n, 1)
    rates = counts / counts.sum()
    if kind == "pair":
        answers = label_weights(table)[:2] + OUTCOME_STRENGTH / 2
        rates = (rates + answers / answers.sum()) / 2
    return np.asarray(rates)


def _wrong(asked: AnsweredQuestions, outcomes: Floats, n_answers: int, is_forced: bool) -> Floats:
    """Probability that each answer is wrong, (n_answers,); NaN for don't-knows and weight 0."""
    kind, table = asked.kind, asked.table
    contradicts = TRUE_LABEL[kind] != table.answer_index[:, None]
    if is_forced:
        contradicts &= IS_DETERMINED[kind]
    result = np.full(n_answers, np.nan)
    wrong = (contradicts * outcomes[asked.question]).sum(axis=1)
    result[asked.position] = np.where(table.answers == DONT_KNOW, np.nan, wrong)
    return result


class AnsweredQuestions(NamedTuple):
    """Answers of one kind, sorted by question; the rows of each question in ascending order."""

    kind: Kind
    rows: NDArray[np.int64]
    """Rows of each question, (n_questions, n_rows)."""
    table: AnswerTable
    """The answers; those to one question are adjacent."""
    question: NDArray[np.int64]
    """Question of each answer of `table`, (n_answers,)."""
    position: NDArray[np.int64]
    """Position of each answer of `table` in the table that was given, (n_answers,)."""

    def sums(self, columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Sum columns with a value for each answer, by question; (n_questions, n_columns)."""
        n = len(self.rows)
        return np.stack([np.bincount(self.question, of, n) for of in columns], axis=1)


def answered_questions(table: AnswerTable) -> AnsweredQuestions:
    """Group answers of positive weight by question, in whatever order its rows are named."""
    is_used = np.flatnonzero(table.weights > 0)
    ordered = table.take(is_used).in_row_order()
    order = np.lexsort(ordered.rows.T[::-1])
    ordered = ordered.take(order)
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = (ordered.rows[1:] != ordered.rows[:-1]).any(axis=1)
    return AnsweredQuestions(
        table.kind, ordered.rows[is_new], ordered, np.cumsum(is_new) - 1, is_used[order]
    )
