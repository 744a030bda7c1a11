"""The probability that each answer is wrong, given groups or features, and all other answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from clew.answers import ANSWER_WORDS, CODES, DONT_KNOW, KINDS, Kind
from clew.constraints import AnswerTable, Constraints, check_constraints
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.trust._outcomes import (
    IS_DETERMINED,
    OTHERS,
    OUTCOMES,
    TRUE_LABEL,
    Memberships,
    answer_likelihoods,
    answered_rows,
    blocks_of_questions,
    outcome_probabilities,
)
from clew.trust.annotators import ERROR_PRIOR, MAX_ERROR_RATE, ConfusionMatrices
from clew.trust.inconsistency import PairAnswers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AnswerPosterior", "PairPosterior", "answer_posterior", "pair_posterior"]

Inference = Literal["mean_field", "belief_propagation"]
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

WORDS: Final[Mapping[Kind, Mapping[int, str]]] = {
    kind: {code: word for word, code in words.items()} for kind, words in ANSWER_WORDS.items()
}
#: An answer whose probability of being wrong is at least this is doubtful.
DOUBT: Final = 0.5
#: Answers are taken as forced choices if the probability of don't-know for open questions is lower.
MAX_DONT_KNOW: Final = 0.05
#: Smaller probabilities are replaced by this in logarithms and divisors.
TINY = 1e-300
#: Cavities are updated until no entry changes by more than `TOL`, at most `MAX_ROUNDS` times.
TOL, MAX_ROUNDS = 1e-9, 2_000


@dataclass(frozen=True, eq=False)
class AnswerPosterior:
    """Probability that each answer is wrong, see `answer_posterior`.

    Iterating yields `pairs`, `triplets` and `odd_one_out`, in the order of `Constraints.tables`.
    """

    pairs: Floats
    """Probability for each pair, (n_pairs,); NaN for a don't-know."""
    triplets: Floats
    """Probability for each triplet, (n_triplets,); NaN for a don't-know."""
    odd_one_out: Floats
    """Probability for each odd-one-out answer, (n_odd_one_out,); NaN for a don't-know."""
    constraints: Constraints
    """The answers."""
    alternatives: tuple[Codes, Codes, Codes]
    """For each kind the most probable of the other answers to each question, as codes
    (`clew.answers.CODES`)."""

    def __iter__(self) -> Iterator[Floats]:
        """Iterate over the probabilities by kind."""
        return iter((self.pairs, self.triplets, self.odd_one_out))

    def __len__(self) -> int:
        """Return the number of kinds, 3."""
        return 3

    def to_frame(self) -> pd.DataFrame:
        """Make a pandas data frame of one row an answer, the most doubtful first.

        Returns
        -------
        pandas.DataFrame
            The columns of `Constraints.to_frame`: kind, rows or ids, answer, annotator, weight;
            ``p_wrong``, the probability that the answer is wrong, missing for don't-knows and
            weight 0; and ``reason``, for answers that are probably wrong (0.5 or more) the
            answer that the groups imply instead. The index is the position of an answer in
            `Constraints.to_frame`.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.

        Examples
        --------
        >>> from clew import Constraints
        >>> from clew.trust import answer_posterior
        >>> c = Constraints.from_pairs(
        ...     must_link=[("a", "b"), ("b", "c"), ("b", "d")], ids=["a", "b", "c", "d"]
        ... )
        >>> frame = answer_posterior(c, [0, 0, 0, 1]).to_frame()
        >>> frame.loc[2, ["id_i", "id_j", "answer", "reason"]].tolist()
        ['b', 'd', 'same', "the groups imply 'different'"]
        """
        frame = self.constraints.to_frame()
        frame["p_wrong"] = np.concatenate([*self])
        others = [
            WORDS[kind][code]
            for kind, codes in zip(KINDS, self.alternatives, strict=True)
            for code in codes.tolist()
        ]
        frame["reason"] = [
            f"the groups imply {answer!r}" if p_wrong >= DOUBT else ""
            for answer, p_wrong in zip(others, frame["p_wrong"], strict=True)
        ]
        return frame.sort_values("p_wrong", ascending=False, kind="stable")


def answer_posterior(
    constraints: Constraints,
    memberships: ArrayLike,
    confusion: ConfusionMatrices | None = None,
    *,
    inference: Inference | None = "mean_field",
) -> AnswerPosterior:
    """Compute the probability that each answer is wrong, given probabilities of groups.

    An answer is right if it is the one that the groups imply. If the groups leave a question open,
    don't-know is right; but under forced choice (don't-know has a probability below 0.05 in the
    pooled matrix of `confusion`), no answer to such a question is wrong.
    The influence of the answer itself on the memberships of its rows is removed first.

    Parameters
    ----------
    constraints : Constraints
        Answers of any kind.
    memberships : array-like of shape (n_samples,) or (n_samples, n_groups)
        Probabilities of groups that add up to 1, such as `DCRC.memberships_`; or groups, -1 for a
        row in none. Groups are taken as certain: each probability is then 0 or 1.
    confusion : ConfusionMatrices, default=None
        Confusion matrices, such as `DCRC.confusion_`. None: estimated from the same answers and
        memberships.
    inference : {"mean_field", "belief_propagation"} or None, default="mean_field"
        How the memberships were inferred from these answers: as by `DCRC`, or as in the refinement
        of `GuidedClustering`. None: without these answers, so that there is nothing to remove.

    Returns
    -------
    AnswerPosterior

    Raises
    ------
    InvalidDataError
        If `memberships` are not of that form.
    InvalidConstraintsError
        If `confusion` has no matrix of an annotator.
    InvalidParameterError
        If `inference` is not one of these.
    NotFittedError
        If `confusion` is not fitted.

    See Also
    --------
    posterior : The same for pairs, from features and a forest, without groups.

    Notes
    -----
    Memberships are products of messages, one from each answer. Dividing out the message of an
    answer gives the cavity distributions of its rows. In mean field the message follows from the
    memberships of the other rows; in belief propagation from their cavity distributions, which are
    found by iterative proportional fitting. Both give the exact cavities if inference has
    converged. If `DCRC` takes answers as hard (`epsilon` 0), memberships are not such products, and
    an answer may still support itself.

    Time O(A·K) for A answers and K groups, O(A) for labels; "belief_propagation" takes some tens of
    iterations of that time. Memory O(A) besides the memberships: answers are judged in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from clew import Constraints
    >>> from clew.trust import ConfusionMatrices, answer_posterior
    >>> c = Constraints.from_triplets([(0, 1, 2), (0, 2, 1)], [0, 0], n_samples=3)
    >>> q = np.array([[0.99, 0.01], [0.99, 0.01], [0.01, 0.99]])
    >>> answer_posterior(c, q, ConfusionMatrices.uniform(0.1), inference=None).triplets.round(2)
    array([0.  , 0.85])
    """
    if inference is not None and inference not in get_args(Inference):
        raise InvalidParameterError(
            f"inference must be one of {', '.join(map(repr, get_args(Inference)))} or None, "
            f"got {inference!r}"
        )
    if confusion is not None:
        if not isinstance(confusion, ConfusionMatrices):
            raise TypeError(
                f"confusion must be ConfusionMatrices, got {type(confusion).__name__}; fit one "
                "with ConfusionMatrices().fit(constraints, memberships)"
            )
        check_is_fitted(confusion, "matrices_")
    known, q = answered_rows(answer_posterior, constraints, memberships)
    matrices = ConfusionMatrices().fit(constraints, memberships) if confusion is None else confusion
    pairs, triplets, odd = (
        _judged(
            table,
            q,
            answer_likelihoods(matrices, table, known),
            inference,
            is_forced=is_forced_choice(matrices, table.kind),
        )
        for table in known.tables
    )
    return AnswerPosterior(
        pairs.p_wrong,
        triplets.p_wrong,
        odd.p_wrong,
        constraints,
        (pairs.alternative, triplets.alternative, odd.alternative),
    )


class Judged(NamedTuple):
    """Answers of one kind."""

    p_wrong: Floats
    """Probability of being wrong, (m,)."""
    alternative: Codes
    """Code of the most probable other answer, (m,)."""


def is_forced_choice(confusion: ConfusionMatrices, kind: Kind) -> bool:
    """Whether don't-know is (nearly) never the answer to an open question."""
    return kind != "pair" and bool(confusion.pooled_[kind][-1, -1] < MAX_DONT_KNOW)


def _judged(
    table: AnswerTable,
    q: Memberships,
    likelihoods: Floats,
    inference: Inference | None,
    *,
    is_forced: bool,
) -> Judged:
    """Apply Bayes' rule to the outcomes for which each answer is wrong, in blocks of answers."""
    parts = [
        _judged_block(table.take(block), q, likelihoods[block], inference, is_forced=is_forced)
        for start, end in blocks_of_questions(len(table), q)
        for block in [np.arange(start, end)]
    ]
    if not parts:
        return Judged(np.empty(0), np.empty(0, np.int64))
    return Judged(*map(np.concatenate, zip(*parts, strict=True)))


def _judged_block(
    table: AnswerTable,
    q: Memberships,
    likelihoods: Floats,
    inference: Inference | None,
    *,
    is_forced: bool,
) -> Judged:
    of_rows = [q[rows] for rows in table.rows.T]
    if inference is not None and q.ndim == 2:
        probabilities = [of.astype(np.float64, copy=False) for of in of_rows]
        of_rows = [*CAVITIES[inference](table, probabilities, likelihoods)]
    return judged(table, outcome_probabilities(table.kind, of_rows) * likelihoods, is_forced)


def judged(table: AnswerTable, joint: Floats, is_forced: bool) -> Judged:
    """Probability that answers are wrong; `joint` (n_answers, n_outcomes), prior × likelihood."""
    is_wrong = TRUE_LABEL[table.kind] != table.answer_index[:, None]
    if is_forced:
        is_wrong &= IS_DETERMINED[table.kind]
    whole = joint.sum(axis=1)
    others = np.where(is_wrong, joint, 0.0)
    wrong = np.divide(others.sum(axis=1), whole, out=np.ones(len(whole)), where=whole > 0)
    wrong[table.answers == DONT_KNOW] = np.nan
    label = TRUE_LABEL[table.kind][np.where(is_wrong, joint, -1.0).argmax(axis=1)]
    return Judged(np.asarray(wrong), np.array(CODES[table.kind])[label])


def _message(factors: Floats, of_rows: Sequence[Floats], at: int) -> Floats:
    """Combine the others' memberships for each group of the row `at`, up to a constant."""
    one, other, by_one, by_other = OTHERS[at]
    if len(of_rows) == 2:
        return factors[:, [by_one]] * of_rows[one]
    p, r = of_rows[one], of_rows[other]
    return factors[:, [by_one]] * p + factors[:, [by_other]] * r + factors[:, [4]] * p * r


def _mean_field_cavities(
    table: AnswerTable, of_rows: Sequence[Floats], likelihoods: Floats
) -> list[Floats]:
    """Divide the mean-field message of each answer out of the memberships of its rows."""
    logarithm = np.log(np.maximum(likelihoods, TINY)) @ OUTCOMES[table.kind]
    factors = table.weights[:, None] * logarithm
    return [_normalized(own, -_message(factors, of_rows, at)) for at, own in enumerate(of_rows)]


def _belief_propagation_cavities(
    table: AnswerTable, of_rows: Sequence[Floats], likelihoods: Floats
) -> list[Floats]:
    """Find the cavities which, joined by each answer, have the given memberships as marginals."""
    factors = likelihoods @ OUTCOMES[table.kind]
    found = [own.copy() for own in of_rows]
    active = np.arange(len(likelihoods))
    for _ in range(MAX_ROUNDS):
        cavities, change = [of[active] for of in found], np.zeros(len(active))
        for at, own in enumerate(of_rows):
            message = _message(factors[active], cavities, at) + _rest(factors[active], cavities, at)
            logarithm = table.weights[active, None] * np.log(np.maximum(message, TINY))
            new = _normalized(own[active], -logarithm)
            change = np.maximum(change, np.abs(new - cavities[at]).max(axis=1, initial=0.0))
            cavities[at] = new
        for of, new in zip(found, cavities, strict=True):
            of[active] = new
        active = active[change > TOL]
        if not active.size:
            break
    return found


def _rest(factors: Floats, of_rows: Sequence[Floats], at: int) -> Floats:
    """Return the part of a message that is the same for all groups of the row, (m, 1)."""
    if len(of_rows) == 2:
        return factors[:, :1]
    one, other, by_one, by_other = OTHERS[at]
    by_rest = 6 - by_one - by_other  # the column of the other two rows
    shared = np.einsum("mk,mk->m", of_rows[one], of_rows[other])
    return np.asarray(factors[:, :1] + (factors[:, by_rest] * shared)[:, None])


def _normalized(own: Floats, log_factor: Floats) -> Floats:
    """Multiply memberships by a factor; a row in no group stays in none."""
    with np.errstate(divide="ignore"):
        logarithm = np.log(own) + log_factor
    highest = logarithm.max(axis=1, keepdims=True, initial=-np.inf)
    kept = np.exp(logarithm - np.where(np.isfinite(highest), highest, 0.0))
    return np.asarray(kept / np.maximum(kept.sum(axis=1, keepdims=True), TINY))


Cavities = Callable[[AnswerTable, Sequence[Floats], Floats], list[Floats]]
CAVITIES: Final[dict[Inference, Cavities]] = {
    "mean_field": _mean_field_cavities,
    "belief_propagation": _belief_propagation_cavities,
}


#: Variance of the prior of the intercept; the slopes are expected at 1, with variance 1.
INTERCEPT_VARIANCE = 20.0
STARTS = tuple((intercept, error) for intercept in (0.0, -2.0) for error in (-1.5, 0.0))


class PairPosterior(NamedTuple):
    """What `pair_posterior` finds."""

    p_wrong: NDArray[np.float64]
    """Probability that each pair's answer is wrong, (n_pairs,); NaN for a don't-know or
    weight 0."""
    weight: NDArray[np.float64]
    """Weight of each answer, ``1 - p_wrong``, (n_pairs,); 0 for a don't-know or weight 0."""
    error_rate: float
    """Estimated share of wrong answers; NaN if there are no answers."""


def pair_posterior(evidence: ArrayLike, constraints: Constraints) -> PairPosterior:
    """Compute the probability that each answer is wrong, given evidence from features.

    The model: the rows of a pair share a group with probability ``σ(b + Σ w·evidence)``, and an
    answer is wrong with probability e. Slopes w, intercept b and e are maximum a posteriori
    estimates; the probability of each answer being wrong follows by Bayes' rule.

    Parameters
    ----------
    evidence : array-like of shape (n_pairs,) or (n_pairs, n_columns)
        Evidence for "same" at each pair, without its own answer; see `answer_evidence`. Rows of
        don't-knows and of weight 0 are ignored.
    constraints : Constraints
        The answers. Their weights multiply their log-likelihoods.

    Returns
    -------
    PairPosterior

    Raises
    ------
    InvalidDataError
        If there is not one finite row of evidence for each answer.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.

    See Also
    --------
    answer_posterior : The same for answers of all kinds, from groups in place of features.

    Notes
    -----
    Time O(n·c) a step for n answers and c columns, some fifty steps. With few answers, or only
    one kind of answer, the error rate stays near 0.1, the mode of the prior.

    References
    ----------
    A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the
    EM algorithm", Applied Statistics 1979, with one annotator and a prior that depends on the pair.

    Examples
    --------
    >>> import numpy as np
    >>> from clew import Constraints
    >>> from clew.trust import pair_posterior
    >>> c = Constraints.from_pairs(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)], n_samples=4)
    >>> pair_posterior([3.0, -3.0, -3.0], c).p_wrong.argmax()
    np.int64(1)
    """
    check_constraints(pair_posterior, constraints, constraints.n_samples)
    try:
        columns = np.asarray(evidence, dtype=np.float64)
    except ValueError as error:
        raise InvalidDataError(f"evidence must be an array of numbers: {error}") from error
    columns = columns[:, None] if columns.ndim == 1 else columns
    answers = PairAnswers.of(constraints)
    answered = answers.position
    is_table = columns.ndim == 2 and len(columns) == len(constraints.pairs)
    if not is_table or not np.isfinite(columns[answered]).all():
        raise InvalidDataError(
            f"evidence must hold one finite row for each of the {len(constraints.pairs)} pairs, "
            f"got shape {columns.shape}"
        )
    p_wrong = np.full(len(columns), np.nan)
    if len(answered) == 0:
        return PairPosterior(p_wrong, np.zeros(len(columns)), float("nan"))
    said_same = answers.is_same == 1
    p_same, error_rate = _fit(columns[answered], said_same, answers.weight)
    p_contrary = np.where(said_same, 1 - p_same, p_same)
    wrong, right = p_contrary * error_rate, (1 - p_contrary) * (1 - error_rate)
    p_wrong[answered] = wrong / (wrong + right)
    weight = np.nan_to_num(1.0 - p_wrong, nan=0.0)
    return PairPosterior(p_wrong, weight, error_rate)


def _fit(
    columns: NDArray[np.float64], said_same: NDArray[np.bool_], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return the probability of "same" for each pair, and the error rate, both MAP."""
    slopes = np.ones(columns.shape[1])
    fits = [
        minimize(
            _loss, [*slopes, *start], (columns, said_same, weight), jac=True, method="L-BFGS-B"
        )
        for start in STARTS
    ]
    best = min(fits, key=lambda fit: float(fit.fun)).x
    return expit(columns @ best[:-2] + best[-2]), MAX_ERROR_RATE * float(expit(best[-1]))


def _loss(
    parameters: NDArray[np.float64],
    columns: NDArray[np.float64],
    said_same: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Return the negative log posterior of slopes, intercept and raw rate, and its gradient."""
    slopes, intercept, raw = parameters[:-2], parameters[-2], parameters[-1]
    e = np.clip(MAX_ERROR_RATE * expit(raw), 1e-9, MAX_ERROR_RATE - 1e-9)
    p = expit(columns @ slopes + intercept)
    p_said_same = np.clip(e + (1 - 2 * e) * p, 1e-12, 1 - 1e-12)
    likelihood = np.where(said_same, p_said_same, 1 - p_said_same)
    a, b = ERROR_PRIOR
    log_posterior = (
        weight @ np.log(likelihood)
        + (a - 1) * np.log(e) + (b - 1) * np.log1p(-e)
        - ((slopes - 1) ** 2).sum() / 2 - intercept**2 / (2 * INTERCEPT_VARIANCE)
    )  # fmt: skip
    by_p = weight * np.where(said_same, 1.0, -1.0) / likelihood
    by_margin = by_p * (1 - 2 * e) * p * (1 - p)
    by_e = (by_p * (1 - 2 * p)).sum() + (a - 1) / e - (b - 1) / (1 - e)
    gradient = np.array([
        *(columns.T @ by_margin - (slopes - 1)),
        by_margin.sum() - intercept / INTERCEPT_VARIANCE,
        by_e * e * (1 - e / MAX_ERROR_RATE),
    ])  # fmt: skip
    return -float(log_posterior), -gradient
