"""Who errs how: a confusion matrix for each annotator and each kind of answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew._estimators import Estimator
from clew._validation import Allowed, check_parameters
from clew.answers import KINDS, Kind
from clew.constraints import AnswerTable, Constraints, Support
from clew.exceptions import InvalidParameterError
from clew.trust.groups._heard import EVERY_KIND, answered_rows_of, likelihoods
from clew.trust.groups._outcomes import case_chances, telling_in
from clew.trust.groups._shrinkage import (
    Matrices,
    Prior,
    Shrunk,
    counted,
    error_rates_of,
    expected_matrix,
    frequency_of_labels,
    intervals_of,
    shrunk,
    told_by_answers,
    uniform_matrix,
)

__all__ = ["ConfusionMatrices"]

LEVEL = 0.95
#: Where an expectation weighs more, intervals are too narrow to be computed.
MAX_STRENGTH = 1e9


class ConfusionMatrices(Estimator):
    """Estimate who errs how, from what people said and from groups.

    Parameters
    ----------
    prior_error : float, default=0.15
        Share of answers other than the true one that is expected before anybody answers.
    prior_strength : float, default=20.0
        How many answers of all annotators together weigh as much as that expectation, in each
        case; 10⁹ at most.
    pooling_strength : float, default=20.0
        How many answers of one annotator weigh as much as what is known of all, in each case;
        10⁹ at most.

    Attributes
    ----------
    annotators_ : tuple of str
        Names, in the order of the matrices.
    n_answers_ : ndarray of shape (n_annotators,), int64
        Answers of each that weigh something.
    matrices_ : dict of str to ndarray of shape (n_annotators, n_cases, n_labels)
        For "pair", "triplet" and "odd_one_out" the chance of each label (column) in each case
        (row). Cases of pairs: same, different. Of triplets (a, b, c): a with b and not c, a with c
        and not b, neither. Of odd-one-out: the first, the second, the third alone, all the same,
        all different. Labels: same, different, don't-know; first, second, don't-know; first,
        second, third, none, don't-know.
    pooled_ : dict of str to ndarray of shape (n_cases, n_labels)
        What the matrices of annotators of few answers are drawn to.
    intervals_ : dict of str to ndarray of shape (n_annotators, n_cases, n_labels, 2)
        Bounds between which each chance lies with probability 0.95.
    error_rates_ : ndarray of shape (n_annotators,)
        Of an annotator's answers to questions that the groups settle, don't-knows aside, the
        share that is wrong; all kinds together.
    error_intervals_ : ndarray of shape (n_annotators, 2)
        Bounds between which each lies with probability 0.95.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.

    Notes
    -----
    Groups settle a pair always; a triplet where a is with just one of b and c; an odd-one-out
    question unless all three groups differ. Where they do not, don't-know is the true answer. No
    pair is truly don't-know.

    Few answers of an annotator leave their matrix near that of all annotators; few answers in all
    leave that near the prior. Odd-one-out answers are counted alike in whatever order their rows
    stand. An answer of weight w counts as w answers.

    Groups that were found from the answers agree with them more than the truth would, so error
    rates come out too low where rows have few answers. `DCRC` estimates both together.

    Time and memory O(A·K) for A answers and K groups of the rows that they name.

    References
    ----------
    A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the
    EM algorithm", Applied Statistics 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from clew import Constraints
    >>> from clew.trust import ConfusionMatrices
    >>> y = np.repeat([0, 1], 50)
    >>> right = Constraints.from_labels(y, 200, random_state=0)
    >>> wrong = Constraints.from_labels(y, 200, error=0.4, random_state=1)
    >>> both = Constraints(
    ...     100,
    ...     pairs=[(*p, a) for c in (right, wrong) for p, a in zip(c.pairs, c.pair_answers)],
    ...     pair_annotators=["ann"] * 200 + ["ben"] * 200,
    ... )
    >>> ConfusionMatrices().fit(both, y).error_rates_.round(2)
    array([0.02, 0.38])
    """

    supports: ClassVar[Support] = EVERY_KIND
    _allowed: ClassVar[dict[str, Any]] = {
        "prior_error": Allowed(kind=float, low=0, high=1, low_open=True, high_open=True),
        "prior_strength": Allowed(kind=float, low=0, high=MAX_STRENGTH, low_open=True),
        "pooling_strength": Allowed(kind=float, low=0, high=MAX_STRENGTH, low_open=True),
    }

    annotators_: tuple[str, ...]
    n_answers_: NDArray[np.int64]
    matrices_: dict[Kind, NDArray[np.float64]]
    pooled_: dict[Kind, NDArray[np.float64]]
    intervals_: dict[Kind, NDArray[np.float64]]
    error_rates_: NDArray[np.float64]
    error_intervals_: NDArray[np.float64]

    def __init__(
        self,
        *,
        prior_error: float = 0.15,
        prior_strength: float = 20.0,
        pooling_strength: float = 20.0,
    ) -> None:
        self.prior_error = prior_error
        self.prior_strength = prior_strength
        self.pooling_strength = pooling_strength

    @classmethod
    def uniform(
        cls,
        epsilon: float,
        annotators: Sequence[str] = ("",),
        *,
        constraints: Constraints | None = None,
    ) -> Self:
        """Give all annotators one error rate, which is known.

        Parameters
        ----------
        epsilon : float
            Chance of any other answer than the true one, in [0, 1]; the others share it evenly.
        annotators : sequence of str, default=("",)
            Their names.
        constraints : Constraints, default=None
            Answers that show whether the choice was forced: of questions about three rows,
            don't-know and "none differs" are taken as not offered where fewer than 1 % of the
            answers are that, and a question that the groups leave open then has each of the other
            answers with the same probability. None: all answers were offered.

        Returns
        -------
        ConfusionMatrices
            Fitted. No answers were counted, intervals are of no width, and `error_rates_` are
            `epsilon`, don't-knows where another answer is true included.

        Raises
        ------
        InvalidParameterError
            If `epsilon` is outside its range, or names are not different words.

        Examples
        --------
        >>> from clew.trust import ConfusionMatrices
        >>> ConfusionMatrices.uniform(0.1).matrices_["pair"]
        array([[[0.9 , 0.05, 0.05],
                [0.05, 0.9 , 0.05]]])
        """
        if not Allowed(kind=float, low=0, high=1).holds(epsilon):
            raise InvalidParameterError(f"epsilon must be a number in [0, 1], got {epsilon!r}")
        if isinstance(annotators, str) or len(set(annotators)) < len(annotators):
            raise InvalidParameterError(
                f"annotators must be a sequence of different names, got {annotators!r}"
            )
        new, n = cls(), len(annotators)
        new.annotators_, new.n_answers_ = tuple(annotators), np.zeros(n, np.int64)
        new.pooled_ = {kind: uniform_matrix(kind, epsilon) for kind in KINDS}
        if constraints is not None:
            new.pooled_ = {
                said.kind: expected_matrix(said.kind, epsilon, frequency_of_labels(said))
                for said in constraints.tables
            }
        new.matrices_ = {
            kind: np.repeat(matrix[None], n, axis=0) for kind, matrix in new.pooled_.items()
        }
        new.intervals_ = {
            kind: np.repeat(matrices[..., None], 2, axis=-1)
            for kind, matrices in new.matrices_.items()
        }
        new.error_rates_ = np.full(n, float(epsilon))
        new.error_intervals_ = np.full((n, 2), float(epsilon))
        return new

    def fit(self, constraints: Constraints, memberships: ArrayLike) -> Self:
        """Estimate the matrices.

        Parameters
        ----------
        constraints : Constraints
            What people said.
        memberships : array-like of shape (n_samples,) or (n_samples, n_groups)
            The groups: labels, -1 for a row that is in none, or chances that add up to 1.

        Returns
        -------
        self

        Raises
        ------
        InvalidDataError
            If `memberships` are not of that form.
        """
        check_parameters(self, self._allowed)
        known, q = answered_rows_of(self, constraints, memberships)
        of_kind = telling_in(known, with_doubtful_pairs=True)
        counts = {
            said.kind: counted(said, _chances(said, q), len(known.annotators)) for said in of_kind
        }
        found = {kind: shrunk(kind, table, self._prior) for kind, table in counts.items()}
        self._set(known.annotators, of_kind, counts, found)
        return self

    def fit_chances(
        self, constraints: Constraints, chances: Mapping[Kind, NDArray[np.float64]]
    ) -> Self:
        """Estimate the matrices where groups are known by chance only, and not from these answers.

        Parameters
        ----------
        constraints : Constraints
            What people said.
        chances : dict of str to ndarray of shape (n_answers, n_cases)
            For each kind the chances of the cases of each answer, as found without it.

        Returns
        -------
        self

        Notes
        -----
        By EM: answers tell which case is likely, and matrices follow from that.
        """
        check_parameters(self, self._allowed)
        counts, found = told_by_answers(
            constraints.tables, chances, self._prior, len(constraints.annotators)
        )
        of_kind = telling_in(constraints, with_doubtful_pairs=True)
        self._set(constraints.annotators, of_kind, counts, found)
        return self

    def of(self, annotator: str) -> dict[Kind, NDArray[np.float64]]:
        """Look up the matrices of one annotator.

        Parameters
        ----------
        annotator : str
            A name.

        Returns
        -------
        dict of str to ndarray of shape (n_cases, n_labels)

        Raises
        ------
        InvalidParameterError
            If nobody of that name gave an answer.
        """
        check_is_fitted(self, "matrices_")
        heard = self.annotators_
        if self.n_answers_.any():
            heard = tuple(name for name, n in zip(heard, self.n_answers_, strict=True) if n)
        if annotator not in heard:
            raise InvalidParameterError(
                f"nobody called {annotator!r} gave an answer; there are "
                f"{', '.join(map(repr, heard))}"
            )
        at = self.annotators_.index(annotator)
        return {kind: matrices[at] for kind, matrices in self.matrices_.items()}

    def log_likelihood(self, constraints: Constraints, memberships: ArrayLike) -> float:
        """Sum the logarithms of the chances of answers, given the groups.

        Parameters
        ----------
        constraints : Constraints
            What people said, here or elsewhere.
        memberships : array-like of shape (n_samples,) or (n_samples, n_groups)
            The groups, as `fit` takes them.

        Returns
        -------
        float
            In nats. The weight of an answer multiplies its term.

        Raises
        ------
        InvalidConstraintsError
            If somebody answered of whom there is no matrix.
        """
        check_is_fitted(self, "matrices_")
        (known, q), total = answered_rows_of(self, constraints, memberships), 0.0
        for said in known.tables:
            by_label = likelihoods(self, said, known)
            chance = (_chances(said, q) * by_label).sum(axis=1)
            weighs = said.weights > 0
            with np.errstate(divide="ignore"):
                total += float((said.weights[weighs] * np.log(chance[weighs])).sum())
        return total

    @property
    def _prior(self) -> Prior:
        return Prior(self.prior_error, self.prior_strength, self.pooling_strength)

    def _set(
        self,
        annotators: tuple[str, ...],
        of_kind: list[AnswerTable],
        counts: Matrices,
        found: Mapping[Kind, Shrunk],
    ) -> None:
        """Set the fitted attributes."""
        n = len(annotators)
        intervals = {k: intervals_of(k, of.pseudo, LEVEL) for k, of in found.items()}
        rates, bounds = error_rates_of(counts, self._prior, LEVEL)
        self.annotators_ = annotators
        self.n_answers_ = sum(
            (np.bincount(said.annotators, minlength=n) for said in of_kind), np.zeros(n, np.int64)
        )
        self.matrices_ = {kind: of.matrices for kind, of in found.items()}
        self.pooled_ = {kind: of.pooled for kind, of in found.items()}
        self.intervals_ = intervals
        self.error_rates_, self.error_intervals_ = rates, bounds


def _chances(said: AnswerTable, q: NDArray[np.float64]) -> NDArray[np.float64]:
    return case_chances(said.kind, [q[rows] for rows in said.rows.T])
