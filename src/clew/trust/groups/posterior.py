"""How likely each answer is wrong, given groups and all other answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew.answers import CODES, DONT_KNOW
from clew.constraints import AnswerTable, Constraints
from clew.trust.groups._heard import answered_rows_of, likelihoods
from clew.trust.groups._outcomes import CASES, TRUE_LABEL, case_chances
from clew.trust.groups.confusion import ConfusionMatrices

__all__ = ["DOUBT", "AnswerDoubts", "answer_posterior"]

#: From this probability of being wrong an answer is doubted.
DOUBT = 0.5
#: The least chance of an answer: its logarithm is a number.
TINY = 1e-300


class AnswerDoubts(NamedTuple):
    """What `answer_posterior` finds: for each answer the probability that it is wrong."""

    pairs: NDArray[np.float64]
    """Of pairs, (n_pairs,); NaN for a don't-know."""
    triplets: NDArray[np.float64]
    """Of triplets, (n_triplets,); NaN for a don't-know."""
    odd_one_out: NDArray[np.float64]
    """Of odd-one-out answers, (n_odd_one_out,); NaN for a don't-know."""


def answer_posterior(
    constraints: Constraints,
    memberships: ArrayLike,
    confusion: ConfusionMatrices | None = None,
    *,
    saw_answers: bool = True,
) -> AnswerDoubts:
    """Tell how likely each answer is wrong, given how likely rows are in which groups.

    An answer is right if it is the one that the groups would give. What the answer itself did to
    the memberships of its rows is taken back before they judge it.

    Parameters
    ----------
    constraints : Constraints
        What people said, of any kind.
    memberships : array-like of shape (n_samples,) or (n_samples, n_groups)
        Chances of groups that add up to 1, such as `DCRC.memberships_`; or groups, -1 for a row
        that is in none. Groups are taken as certain, so that a doubt is then 0 or 1.
    confusion : ConfusionMatrices, default=None
        Who errs how, such as `DCRC.confusion_`. None: estimated from the same answers and
        memberships.
    saw_answers : bool, default=True
        Whether the memberships were found with the help of these answers. If not, they judge as
        they are.

    Returns
    -------
    AnswerDoubts

    Raises
    ------
    InvalidDataError
        If `memberships` are not of that form.
    InvalidConstraintsError
        If somebody answered of whom `confusion` has no matrix.
    NotFittedError
        If `confusion` is not fitted.

    See Also
    --------
    posterior : The same for pairs, from features and a forest, without any groups.

    Notes
    -----
    Memberships that mean field found are products of messages, one of each answer. Dividing one
    out leaves the cavity distribution of the row, exactly so if memberships have converged. What
    other answers made of the rows around is not taken back. Where `DCRC` takes answers as hard
    (`epsilon` 0), memberships are no such products, and an answer may still vouch for itself.

    Time and memory O(A·K) for A answers and K groups of the rows that they name.

    Examples
    --------
    >>> import numpy as np
    >>> from clew import Constraints
    >>> from clew.trust import ConfusionMatrices, answer_posterior
    >>> c = Constraints.from_triplets([(0, 1, 2), (0, 2, 1)], [0, 0], n_samples=3)
    >>> q = np.array([[0.99, 0.01], [0.99, 0.01], [0.01, 0.99]])
    >>> answer_posterior(c, q, ConfusionMatrices.uniform(0.1), saw_answers=False).triplets.round(2)
    array([0.  , 0.85])
    """
    if confusion is not None:
        _check_fitted(confusion)
    known, q = answered_rows_of(answer_posterior, constraints, memberships)
    matrices = ConfusionMatrices().fit(constraints, memberships) if confusion is None else confusion
    pairs, triplets, odd = (
        _doubts(said, q, likelihoods(matrices, said, known), saw_answers=saw_answers)
        for said in known.tables
    )
    return AnswerDoubts(pairs, triplets, odd)


def _check_fitted(confusion: object) -> None:
    if not isinstance(confusion, ConfusionMatrices):
        raise TypeError(
            f"answer_posterior wants confusion as ConfusionMatrices, got {type(confusion).__name__}"
        )
    check_is_fitted(confusion, "matrices_")


def _doubts(
    said: AnswerTable, q: NDArray[np.float64], by_case: NDArray[np.float64], *, saw_answers: bool
) -> NDArray[np.float64]:
    """Weigh the cases in which each answer is right against the others."""
    of_rows = [q[rows] for rows in said.rows.T]
    if saw_answers:
        of_rows = _without_own(said, of_rows, np.log(np.maximum(by_case, TINY)))
    joint = case_chances(said.kind, of_rows) * by_case
    is_right = TRUE_LABEL[said.kind] == said.answer_index[:, None]
    whole = joint.sum(axis=1)
    wrong = np.divide(
        np.where(is_right, 0.0, joint).sum(axis=1), whole, out=np.ones(len(whole)), where=whole > 0
    )
    wrong[said.answer_index == CODES[said.kind].index(DONT_KNOW)] = np.nan
    return np.asarray(wrong)


def _without_own(
    said: AnswerTable, of_rows: list[NDArray[np.float64]], log_by_case: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Take from the memberships of each answer's rows what the answer itself said to them."""
    gain = said.weights[:, None] * (log_by_case @ CASES[said.kind])
    result = []
    for at, own in enumerate(of_rows):
        field = np.zeros_like(own)
        for other, theirs in enumerate(of_rows):
            if other != at:
                field += gain[:, [_together(at, other)]] * theirs
        if len(of_rows) > 2:
            a, b = (theirs for other, theirs in enumerate(of_rows) if other != at)
            field += gain[:, [4]] * a * b
        with np.errstate(divide="ignore"):
            logarithm = np.log(own) - field
        highest = logarithm.max(axis=1, keepdims=True, initial=-np.inf)
        # A row in no group stays in none.
        kept = np.exp(logarithm - np.where(np.isfinite(highest), highest, 0.0))
        result.append(kept / np.maximum(kept.sum(axis=1, keepdims=True), TINY))
    return result


def _together(at: int, other: int) -> int:
    """Give the column of `togetherness` for two positions: 1 and 2, 1 and 3, 2 and 3."""
    return at + other
