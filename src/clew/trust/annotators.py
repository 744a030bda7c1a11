"""Error rates of annotators: a confusion matrix for each of them and each kind of answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr
from scipy.stats import beta
from sklearn.utils.validation import check_is_fitted

from clew._estimators import Estimator
from clew._validation import Allowed, check_parameters
from clew.answers import CODES, Kind
from clew.constraints import AnswerTable, Constraints, Support, check_constraints
from clew.exceptions import InvalidParameterError
from clew.metrics.likelihood import N_POSITIONS, symmetrized_counts
from clew.trust._outcomes import (
    ALL_KINDS,
    IS_DETERMINED,
    OUTCOMES,
    TRUE_LABEL,
    Memberships,
    answer_likelihoods,
    answered_rows,
    as_outcome_probabilities,
    informative_tables,
    outcomes_of_rows,
    some_names,
)

__all__ = ["ConfusionMatrices"]

Floats = NDArray[np.float64]
#: An array for each kind of answers, such as one of shape (n_annotators, n_outcomes, n_labels).
Matrices = Mapping[Kind, Floats]

LEVEL = 0.95
#: Beta prior of one share of wrong answers, with mean 1/6; beyond the largest share, near ½,
#: answers are not informative.
ERROR_PRIOR, MAX_ERROR_RATE = (2.0, 10.0), 0.45
#: Range of a rate from which a prior is made.
LEAST_ERROR, MOST_ERROR = 0.02, 0.4
#: With stronger priors intervals are too narrow to be computed.
MAX_STRENGTH = 1e9
#: Rounds of EM, and the least probability that is divided by.
MAX_ROUNDS, TINY = 30, 1e-300
#: Don't-know, or "none differs", is taken as not offered (forced choice) if its share is lower.
RARE = 0.01


class Prior(NamedTuple):
    """The prior of confusion matrices, the same for all methods that estimate them."""

    error: float = 0.15
    """Probability of any other answer than the correct one."""
    strength: float = 20.0
    """Weight of the prior in the pooled matrix, as a number of answers for each outcome."""
    pooling: float = 20.0
    """Weight of the pooled matrix in an annotator's, as a number of answers for each outcome."""


PRIOR = Prior()


class ConfusionMatrices(Estimator):
    """Confusion matrices of annotators, from their answers and the groups of rows.

    Parameters
    ----------
    prior_error : float, default=0.15
        Prior probability of any other answer than the correct one.
    prior_strength : float, default=20.0
        Number of answers that the prior counts for, for each outcome; 10⁹ at most.
    pooling_strength : float, default=20.0
        Number of answers that the pooled matrix of all annotators counts for in the matrix of each,
        for each outcome; 10⁹ at most.

    Attributes
    ----------
    annotators_ : tuple of str
        Names, in the order of the matrices.
    n_answers_ : ndarray of shape (n_annotators,), int64
        Number of answers of positive weight.
    matrices_ : dict of str to ndarray of shape (n_annotators, n_outcomes, n_labels)
        For "pair", "triplet" and "odd_one_out" the probability of each label (column) given each
        outcome (row). Outcomes of pairs: same, different. Outcomes of triplets (a, b, c): a with b
        and not c, a with c and not b, open. Outcomes of odd-one-out questions: only the first, the
        second or the third differs, all the same, all different. Labels: same, different,
        don't-know; first, second, don't-know; first, second, third, none, don't-know.
    pooled_ : dict of str to ndarray of shape (n_outcomes, n_labels)
        The matrices that those of annotators with few answers are shrunk to.
    intervals_ : dict of str to ndarray of shape (n_annotators, n_outcomes, n_labels, 2)
        95 % credible intervals of the probabilities.
    error_rates_ : ndarray of shape (n_annotators,)
        Share of wrong answers among those to questions that the groups determine, without
        don't-knows; all kinds together.
    error_intervals_ : ndarray of shape (n_annotators, 2)
        Their 95 % credible intervals.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.

    Notes
    -----
    Groups always determine the answer about a pair; that to a triplet if a shares a group with
    exactly one of b and c; and that to an odd-one-out question unless all three groups differ.
    Otherwise the question is open, and don't-know is the correct answer. If fewer than 1 % of the
    answers are don't-know (forced choice), all answers to an open question have the same prior
    probability instead.

    Counts are averaged over the orders in which a question could name its rows. An answer of
    weight w counts as w answers.

    Groups that were found from the answers agree with them better than the true groups do, so error
    rates are too low if rows have few answers. `DCRC` estimates both together.

    Time and memory O(A·K) for A answers and K groups, O(A) for labels.

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

    supports: ClassVar[Support] = ALL_KINDS
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
        prior_error: float = PRIOR.error,
        prior_strength: float = PRIOR.strength,
        pooling_strength: float = PRIOR.pooling,
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
        """Make matrices of one known error rate for all annotators.

        Parameters
        ----------
        epsilon : float
            Probability of any other answer than the correct one, in [0, 1], shared evenly.
        annotators : sequence of str, default=("",)
            Their names.
        constraints : Constraints, default=None
            Answers that show which labels are offered, see the notes of the class. None: all.

        Returns
        -------
        ConfusionMatrices
            Fitted. `n_answers_` are 0, intervals have no width, and `error_rates_` are `epsilon`.

        Raises
        ------
        InvalidParameterError
            If `epsilon` is outside its range, or names are not different strings.

        Examples
        --------
        >>> from clew.trust import ConfusionMatrices
        >>> ConfusionMatrices.uniform(0.1).matrices_["pair"]
        array([[[0.9 , 0.05, 0.05],
                [0.05, 0.9 , 0.05]]])
        """
        if not Allowed(kind=float, low=0, high=1).holds(epsilon):
            raise InvalidParameterError(f"epsilon must be a number in [0, 1], got {epsilon!r}")
        names = () if isinstance(annotators, str) else tuple(annotators)
        are_names = all(isinstance(name, str) for name in names)
        if isinstance(annotators, str) or not are_names or len(set(names)) < len(names):
            raise InvalidParameterError(
                f"annotators must be a sequence of different strings, got {annotators!r}"
            )
        new, n = cls(), len(names)
        new.annotators_, new.n_answers_ = names, np.zeros(n, np.int64)
        tables = Constraints(1).tables if constraints is None else constraints.tables
        new.pooled_ = {t.kind: prior_matrix(t.kind, epsilon, label_weights(t)) for t in tables}
        new.matrices_ = {kind: np.repeat(of[None], n, axis=0) for kind, of in new.pooled_.items()}
        new.intervals_ = {kind: np.stack([of, of], axis=-1) for kind, of in new.matrices_.items()}
        new.error_rates_ = np.full(n, float(epsilon))
        new.error_intervals_ = np.full((n, 2), float(epsilon))
        return new

    def fit(self, constraints: Constraints, memberships: ArrayLike) -> Self:
        """Estimate the matrices.

        Parameters
        ----------
        constraints : Constraints
            The answers.
        memberships : array-like of shape (n_samples,) or (n_samples, n_groups)
            Groups, -1 for a row in none; or probabilities of groups that add up to 1.

        Returns
        -------
        self

        Raises
        ------
        InvalidDataError
            If `memberships` are not of that form.
        """
        check_parameters(self, self._allowed)
        known, q = answered_rows(self, constraints, memberships)
        counts = {
            table.kind: expected_counts(table, _outcomes(table, q), len(known.annotators))
            for table in known.tables
        }
        return self.fit_counts(known, counts)

    def fit_probabilities(
        self, constraints: Constraints, probabilities: Mapping[Kind, NDArray[np.float64]]
    ) -> Self:
        """Estimate the matrices by EM, from uncertain outcomes.

        Parameters
        ----------
        constraints : Constraints
            The answers.
        probabilities : dict of str to ndarray of shape (n_answers, n_outcomes)
            For each kind the prior probabilities of the outcomes, found without these answers.

        Returns
        -------
        self

        Raises
        ------
        InvalidDataError
            If `probabilities` lack a kind, or have another shape.
        """
        check_parameters(self, self._allowed)
        check_constraints(self, constraints, constraints.n_samples, ALL_KINDS)
        priors = {
            table.kind: as_outcome_probabilities(table, probabilities)
            for table in constraints.tables
        }
        counts, found = fit_by_em(
            constraints.tables, priors, self._prior, len(constraints.annotators)
        )
        self._set(constraints, counts, found)
        return self

    def fit_counts(
        self, constraints: Constraints, counts: Matrices, *, pooled: Matrices | None = None
    ) -> Self:
        """Estimate the matrices from counts of answers by outcome.

        Parameters
        ----------
        constraints : Constraints
            The answers that were counted.
        counts : dict of str to ndarray of shape (n_annotators, n_outcomes, n_labels)
            For each kind, how often each annotator gave each label to questions of each outcome;
            sums of weights or of probabilities.
        pooled : dict of str to ndarray of shape (n_outcomes, n_labels), default=None
            For each kind the matrix that those of annotators are shrunk to. None: estimated from
            the counts.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        found = {
            kind: shrink(kind, table, self._prior, None if pooled is None else pooled[kind])
            for kind, table in counts.items()
        }
        self._set(constraints, counts, found)
        return self

    def of(self, annotator: str) -> dict[Kind, NDArray[np.float64]]:
        """Look up the matrices of one annotator.

        Parameters
        ----------
        annotator : str
            A name.

        Returns
        -------
        dict of str to ndarray of shape (n_outcomes, n_labels)

        Raises
        ------
        InvalidParameterError
            If nobody of that name gave an answer.
        """
        check_is_fitted(self, "matrices_")
        has_matrix = (self.n_answers_ > 0) | ~self.n_answers_.any()
        place = {self.annotators_[at]: at for at in np.flatnonzero(has_matrix)}
        if not isinstance(annotator, str) or annotator not in place:
            raise InvalidParameterError(
                f"nobody called {annotator!r} gave an answer; there are {some_names(place)}"
            )
        return {kind: matrices[place[annotator]] for kind, matrices in self.matrices_.items()}

    def log_likelihood(self, constraints: Constraints, memberships: ArrayLike) -> float:
        """Log-likelihood of answers, given the groups.

        Parameters
        ----------
        constraints : Constraints
            Answers, those fitted or others.
        memberships : array-like of shape (n_samples,) or (n_samples, n_groups)
            Groups, as in `fit`.

        Returns
        -------
        float
            In nats. The weight of an answer multiplies its term.

        Raises
        ------
        InvalidConstraintsError
            If an annotator has no matrix.
        """
        check_is_fitted(self, "matrices_")
        known, q = answered_rows(self, constraints, memberships)
        total = 0.0
        for table in informative_tables(known, with_dont_know_pairs=True):
            given = _outcomes(table, q) * answer_likelihoods(self, table, known)
            with np.errstate(divide="ignore"):
                total += float(table.weights @ np.log(given.sum(axis=1)))
        return total

    @property
    def _prior(self) -> Prior:
        return Prior(self.prior_error, self.prior_strength, self.pooling_strength)

    def _set(
        self, known: Constraints, counts: Matrices, found: Mapping[Kind, ShrunkMatrices]
    ) -> None:
        """Set the fitted attributes."""
        counted = [table.annotators[table.weights > 0] for table in known.tables]
        intervals = {k: intervals_of(k, of.pseudo_counts, LEVEL) for k, of in found.items()}
        rates, bounds = error_rates_of(counts, self._prior, LEVEL)
        self.annotators_ = known.annotators
        self.n_answers_ = np.bincount(np.concatenate(counted), minlength=len(known.annotators))
        self.matrices_ = {kind: of.matrices for kind, of in found.items()}
        self.pooled_ = {kind: of.pooled for kind, of in found.items()}
        self.intervals_ = intervals
        self.error_rates_, self.error_intervals_ = rates, bounds


def _outcomes(table: AnswerTable, q: Memberships) -> NDArray[np.float64]:
    return outcomes_of_rows(table.kind, q, table.rows)


def matrices_around(
    rate: float,
    interval: tuple[float, float],
    constraints: Constraints,
    probabilities: Mapping[Kind, Floats],
) -> ConfusionMatrices:
    """Matrices around a rate; several annotators are told apart by `probabilities`."""
    error = min(max(rate, LEAST_ERROR), MOST_ERROR)
    prior_error = 2 * error / (1 + error)  # of three labels, one of which is don't-know
    n = len(constraints.annotators)
    if n > 1:
        return ConfusionMatrices(prior_error=prior_error).fit_probabilities(
            constraints, probabilities
        )
    matrices = ConfusionMatrices.uniform(
        prior_error, constraints.annotators, constraints=constraints
    )
    matrices.error_rates_ = np.full(n, rate)
    matrices.error_intervals_ = np.tile(interval, (n, 1))
    return matrices


class ShrunkMatrices(NamedTuple):
    """Confusion matrices of one kind of answers."""

    matrices: Floats
    """Probability of each label given each outcome, (n_annotators, n_outcomes, n_labels)."""
    pooled: Floats
    """The matrix that they are shrunk to, (n_outcomes, n_labels)."""
    penalty: float
    """Log prior up to a constant; 0 where all matrices equal the pooled one."""
    pseudo_counts: Floats
    """Parameters of the Dirichlet distributions whose means are the matrices."""


def uniform_matrix(kind: Kind, error: float) -> Floats:
    """Return a matrix with ``1 - error`` for the correct label, the rest shared evenly."""
    n_outcomes, n_labels = len(OUTCOMES[kind]), len(CODES[kind])
    matrix = np.full((n_outcomes, n_labels), error / (n_labels - 1))
    matrix[np.arange(n_outcomes), TRUE_LABEL[kind]] = 1.0 - error
    return matrix


def prior_matrix(kind: Kind, error: float, weights: Floats) -> Floats:
    """Prior mean, (n_outcomes, n_labels): uniform, without labels hardly ever used."""
    matrix, is_unused = uniform_matrix(kind, error), is_unused_label(kind, weights)
    if kind == "pair" or not is_unused.any():
        return matrix
    used = matrix + TINY  # with error 0, dropping the correct label leaves a row of zeros
    used[:, is_unused] = 0.0
    used *= (1 - RARE) / used.sum(axis=1, keepdims=True)
    used[:, is_unused] = RARE / is_unused.sum()
    return used


def is_unused_label(kind: Kind, weights: Floats) -> NDArray[np.bool_]:
    """Find the labels "none differs" and don't-know that are (nearly) never given."""
    is_unused = weights < RARE * weights.sum()
    is_unused[: N_POSITIONS[kind]] = False
    return np.asarray(is_unused)


def forced_choice_kinds(known: Constraints) -> set[Kind]:
    """Return the kinds of questions about three rows that (nearly) never get a don't-know."""
    return {
        table.kind
        for table in known.tables
        if table.kind != "pair" and is_unused_label(table.kind, label_weights(table))[-1]
    }


def label_weights(table: AnswerTable) -> Floats:
    """Sum the weights of the answers by label, (n_labels,)."""
    return np.bincount(table.answer_index, table.weights, len(CODES[table.kind])).astype(float)


def expected_counts(table: AnswerTable, probabilities: Floats, n_annotators: int) -> Floats:
    """Weights by annotator, outcome (m, n_outcomes) and label, averaged over the orders of rows."""
    n_labels = len(CODES[table.kind])
    cell = table.annotators * n_labels + table.answer_index
    counts = [
        np.bincount(cell, table.weights * of_outcome, n_annotators * n_labels)
        for of_outcome in probabilities.T
    ]
    stacked = np.stack(counts).reshape(len(counts), n_annotators, n_labels)
    return symmetrized_counts(table.kind, np.ascontiguousarray(stacked.transpose(1, 0, 2)))


def shrink(
    kind: Kind, counts: Floats, prior: Prior, pooled: Floats | None = None
) -> ShrunkMatrices:
    """Shrink matrices of annotators toward a pooled one, and that one toward the prior."""
    if pooled is None:
        total = counts.sum(axis=-1, keepdims=True)
        capped = (counts * prior.pooling / (total + prior.pooling)).sum(axis=0)
        expected = prior_matrix(kind, prior.error, counts.sum(axis=(0, 1)))
        pooled = _normalized(capped + prior.strength * expected)
    pseudo_counts = counts + prior.pooling * pooled
    matrices = _normalized(pseudo_counts)
    penalty = -prior.pooling * float(rel_entr(pooled, matrices).sum())
    return ShrunkMatrices(matrices, pooled, penalty, pseudo_counts)


def fit_by_em(
    tables: Iterable[AnswerTable], probabilities: Matrices, prior: Prior, n_annotators: int
) -> tuple[dict[Kind, Floats], dict[Kind, ShrunkMatrices]]:
    """Estimate counts and matrices by kind; `probabilities` (m, n_outcomes) know no answers."""
    every_count, found = {}, {}
    for table in tables:
        of_outcomes = probabilities[table.kind]
        first = prior_matrix(table.kind, prior.error, label_weights(table))
        matrices = np.repeat(first[None], n_annotators, axis=0)
        for _ in range(MAX_ROUNDS):
            joint = of_outcomes * matrices[table.annotators, :, table.answer_index]
            joint /= np.maximum(joint.sum(axis=1, keepdims=True), TINY)
            counts = expected_counts(table, joint, n_annotators)
            matrices = shrink(table.kind, counts, prior).matrices
        every_count[table.kind], found[table.kind] = counts, shrink(table.kind, counts, prior)
    return every_count, found


def _normalized(pseudo_counts: Floats) -> Floats:
    return np.asarray(pseudo_counts / pseudo_counts.sum(axis=-1, keepdims=True))


def intervals_of(kind: Kind, pseudo_counts: Floats, level: float) -> Floats:
    """Equal-tailed credible intervals, (..., 2); orders of the same rows share one parameter."""
    shape = pseudo_counts.shape
    size, times = np.ones(shape[1:]), np.ones((shape[1], 1))
    if (n := N_POSITIONS[kind]) > 0:
        size[:n, :n], size[n:, :n], times[:n] = n - 1, n, n
        size[np.arange(n), np.arange(n)] = 1.0
    # Annotators without answers of this kind have equal parameters.
    rows, of = np.unique(
        pseudo_counts.reshape(shape[0], shape[1] * shape[2]), axis=0, return_inverse=True
    )
    distinct = rows.reshape(-1, *shape[1:])
    mass = times * size * distinct
    rest = np.maximum(times * distinct.sum(axis=-1, keepdims=True) - mass, 1e-12)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    bounds = beta.ppf(tails, mass[..., None], rest[..., None]) / size[..., None]
    return np.asarray(bounds[of.reshape(-1)])


def error_rates_of(counts: Matrices, prior: Prior, level: float) -> tuple[Floats, Floats]:
    """Return the share of wrong answers of each annotator over all kinds, and its bounds."""
    n = len(next(iter(counts.values())))
    wrong, right = np.zeros(n), np.zeros(n)
    for kind, table in counts.items():
        determined = np.flatnonzero(IS_DETERMINED[kind])
        decided = table[:, determined, : len(CODES[kind]) - 1].sum(axis=(1, 2))
        correct = table[:, determined, TRUE_LABEL[kind][determined]].sum(axis=1)
        wrong, right = wrong + decided - correct, right + correct
    share = prior.pooling / (prior.pooling + wrong + right)
    pooled = prior.strength * prior.error + wrong @ share
    pooled /= prior.strength + (wrong + right) @ share
    a = wrong + prior.pooling * pooled
    b = right + prior.pooling * (1 - pooled)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    return a / (a + b), np.asarray(beta.ppf(tails, a[:, None], b[:, None]))
