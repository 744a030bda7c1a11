"""What a fit of guided clustering found: one object, which later fits do not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import xlogy

from clew._warnings import warn
from clew.answers import ORIGINS
from clew.cluster.guided._errors import AnswerErrors, doubts_of_all, informative_answers
from clew.cluster.guided._partitions import Labels
from clew.constraints import Constraints
from clew.exceptions import ReversedAnswersWarning
from clew.metrics import n_violated
from clew.trust import AnswerPosterior, ConfusionMatrices

RegimeName = Literal["features", "answers", "both", "identities"]
#: Log-likelihood ratio from which "same" counts as rarer within groups than between them.
LEAST_RATIO = 10.0
#: A row whose most probable group has a lower probability is unsure.
UNSURE = 0.5
#: Probability of the range of the number of groups; the number is undecided if the high end is more
#: than `MOST_APART` times the low one.
IN_RANGE, MOST_APART = 0.9, 1.25


class Regime(str):
    """What decided the groups, and why.

    A string: "features", "answers", "both" or "identities".

    Parameters
    ----------
    name : str
        One of these.
    reason : str
        Why, as a sentence without a period.

    Examples
    --------
    >>> from clew.cluster.guided import Regime
    >>> regime = Regime("features", "there are no answers")
    >>> regime == "features", regime.reason
    (True, 'there are no answers')
    """

    reason: str

    def __new__(cls, name: RegimeName, reason: str) -> Self:
        """Make a string with a reason."""
        regime = super().__new__(cls, name)
        regime.reason = reason
        return regime

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return the arguments that make an equal one, for pickling."""
        return str(self), self.reason


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another grouping that the answers support.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    labels : ndarray of shape (n_samples,), int64
        Group of each row.
    n_violated : int
        Number of answers that the groups violate.
    score : float
        Log of the probability of this number of groups, against that of the groups of the fit.
    """

    n_clusters: int
    labels: Labels
    n_violated: int
    score: float


@dataclass(frozen=True, eq=False, kw_only=True)
class GuidedResult:
    """The fitted attributes of `GuidedClustering`, without the underscore.

    All fields come from one fit: `GuidedClustering.partial_fit` makes another object, and does
    not change this one. Its arrays are read-only.

    Parameters
    ----------
    labels : ndarray
        Group of each row, (n_samples,).
    probabilities : ndarray, csr_array or Dask array
        Probability of each group for each row, (n_samples, n_clusters).
    n_clusters_probabilities : mapping of int to float
        Probability of each number of groups.
    alternatives : tuple of Alternative
        Other groupings that the answers support.
    regime : Regime
        What decided the groups.
    error_rate : float
        Estimated share of wrong answers.
    error_interval : tuple of float
        Interval that holds the true share with probability 0.95.
    confusion : ConfusionMatrices
        Error rates and confusion matrices of the annotators.
    answer_posterior : AnswerPosterior
        Probability that each answer is wrong.
    scores, weights : dict of str to float
        Energy of each partition that was averaged, and its weight.
    n_violated : int
        Number of answers of positive weight that `labels` violate.
    constraints : Constraints
        All answers so far.
    is_settled : bool
        Whether this is the result of `fit`; False after a `partial_fit` that moved groups on.
    """

    labels: Labels
    probabilities: Any
    n_clusters: int = field(init=False)
    n_clusters_probabilities: Mapping[int, float] = field(default_factory=dict)
    alternatives: tuple[Alternative, ...] = ()
    regime: Regime
    error_rate: float
    error_interval: tuple[float, float]
    confusion: ConfusionMatrices
    answer_posterior: AnswerPosterior
    scores: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    n_violated: int
    constraints: Constraints
    is_settled: bool = True

    def __repr__(self) -> str:
        return (
            f"GuidedResult({len(self.labels)} rows in {self.n_clusters} groups, "
            f"{sum(map(len, self.constraints.tables))} answers, {self.n_violated} violated)"
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_clusters", int(self.probabilities.shape[1]))
        doubts = self.answer_posterior
        for array in (self.labels, self.probabilities, *doubts, *doubts.alternatives):
            dense = array.data if isinstance(array, csr_array) else array
            if isinstance(dense, np.ndarray):  # a Dask array cannot be written to
                dense.flags.writeable = False

    @classmethod
    def of(
        cls,
        labels: Labels,
        probabilities: Any,
        answers: Constraints,
        errors: AnswerErrors | None,
        regime: Regime,
        **others: Any,
    ) -> Self:
        """Collect groups, and the errors of the answers.

        Parameters
        ----------
        labels : ndarray of shape (n_samples,), int64
            Group of each row.
        probabilities : ndarray or csr_array of shape (n_samples, n_clusters)
            Probability of each group for each row.
        answers : Constraints
            All answers.
        errors : AnswerErrors or None
            Error rates and doubts; None if no answer is informative.
        regime : Regime
            What decided the groups.
        **others : object
            Further fields.

        Returns
        -------
        GuidedResult
        """
        informative = informative_answers(answers)
        if errors is None:
            pairs, triplets, odd = (np.full(len(table), np.nan) for table in answers.tables)
            first, second, third = (table.answers.astype(np.int64) for table in answers.tables)
            doubts = AnswerPosterior(pairs, triplets, odd, answers, (first, second, third))
            confusion = ConfusionMatrices.uniform(0.1, answers.annotators, constraints=answers)
            confusion.error_rates_ = np.full(len(answers.annotators), np.nan)
            confusion.error_intervals_ = np.tile((0.0, 1.0), (len(answers.annotators), 1))
            errors = AnswerErrors(float("nan"), (0.0, 1.0), confusion, doubts)
        else:
            errors = errors._replace(doubts=doubts_of_all(answers, errors.doubts))
        return cls(
            labels=labels,
            probabilities=probabilities,
            regime=regime,
            error_rate=errors.rate,
            error_interval=errors.interval,
            confusion=errors.confusion,
            answer_posterior=errors.doubts,
            n_violated=n_violated(labels, informative),
            constraints=answers,
            **others,
        )


def range_of_numbers(probabilities: Mapping[int, float]) -> tuple[int, int]:
    """Return the ends of a range that holds the number of groups with a probability of 0.9."""
    numbers = sorted(probabilities)
    below = np.cumsum([probabilities[number] for number in numbers])
    ends = np.searchsorted(below, [(1 - IN_RANGE) / 2, (1 + IN_RANGE) / 2])
    low, high = (numbers[min(at, len(numbers) - 1)] for at in ends.tolist())
    return low, high


def say_range(probabilities: Mapping[int, float]) -> str:
    """Say in which range the number of groups is; empty if it is narrow, or there is none."""
    if not probabilities:
        return ""
    low, high = range_of_numbers(probabilities)
    return "" if high <= MOST_APART * low else f"{low:,} to {high:,} (probability {IN_RANGE})"


def alternatives_of(
    probabilities: Mapping[int, float],
    n_clusters: int,
    groupings: Sequence[Labels],
    answers: Constraints,
) -> tuple[Alternative, ...]:
    """Up to two groupings of other numbers of groups, in the given order, the best first."""
    own = max(probabilities.get(n_clusters, 0.0), 1e-12)
    seen = {n_clusters}
    found: list[Alternative] = []
    for labels in groupings:
        number = int(labels.max()) + 1
        if number not in seen and len(found) < 2:
            seen.add(number)
            score = float(np.log(max(probabilities.get(number, 0.0), 1e-12) / own))
            found.append(Alternative(number, labels, n_violated(labels, answers), score))
    return tuple(found)


def largest_probabilities(probabilities: Any) -> NDArray[np.float64]:
    """Probability of each row's most probable group, (n_rows,)."""
    if not isinstance(probabilities, csr_array):
        return np.asarray(probabilities.max(axis=1))
    return np.asarray(np.maximum.reduceat(probabilities.data, probabilities.indptr[:-1]))


def most_probable_groups(probabilities: Any) -> NDArray[np.int64]:
    """Most probable group of each row, in a tie the first, (n_rows,)."""
    if not isinstance(probabilities, csr_array):
        return np.asarray(probabilities.argmax(axis=1), dtype=np.int64)
    start = probabilities.indptr
    # Not `argmax` of SciPy, which takes a microsecond for each row.
    largest = np.repeat(largest_probabilities(probabilities), np.diff(start))
    is_largest = probabilities.data == largest
    groups = np.where(is_largest, probabilities.indices, probabilities.shape[1])
    return np.asarray(np.minimum.reduceat(groups, start[:-1]), dtype=np.int64)


def probability_together(probabilities: Any, i: int, j: int) -> float:
    """Probability that two rows are in one group."""
    return float(of_row(probabilities, i) @ of_row(probabilities, j))


def of_row(probabilities: Any, row: int) -> NDArray[np.float64]:
    """Probabilities of the groups of one row, (n_groups,)."""
    is_sparse = isinstance(probabilities, csr_array)
    return np.asarray(probabilities[[row]].toarray()[0] if is_sparse else probabilities[row])


def warn_of_reversed_answers(labels: NDArray[np.int64], known: Constraints) -> bool:
    """Warn if rows that features alone put together are called the same clearly less often.

    Return whether they are. Answers that a strategy asked for are ignored: it asks about similar
    rows that may differ.
    """
    asked = ORIGINS.index("asked")
    random = known.with_tables(table.take(table.origins != asked) for table in known.tables)
    pairs = random.as_pairs()
    is_together = labels[pairs.pairs[:, 0]] == labels[pairs.pairs[:, 1]]
    weight = np.where(pairs.is_dont_know, 0.0, pairs.pair_weights)
    counts = np.zeros((2, 2))
    np.add.at(counts, (is_together.astype(int), pairs.is_must_link.astype(int)), weight)
    totals = counts.sum(axis=1)
    if not totals.all():
        return False
    apart, together = counts[:, 1] / totals
    are_reversed = together < apart and _log_likelihood_ratio(counts) >= LEAST_RATIO
    if are_reversed:
        warn(
            f'rows that are alike by their features were called "same" in {together:.0%} of the '
            f'answers, others in {apart:.0%}. Are "same" and "different" swapped? The groups '
            "follow the answers as far as these predict each other",
            ReversedAnswersWarning,
        )
    return bool(are_reversed)


def _log_likelihood_ratio(counts: NDArray[np.float64]) -> float:
    """Compare answers that depend on the groups with answers that do not."""
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    log_sizes = xlogy(rows, rows).sum() + xlogy(columns, columns).sum()
    return float(xlogy(counts, counts).sum() + xlogy(counts.sum(), counts.sum()) - log_sizes)
