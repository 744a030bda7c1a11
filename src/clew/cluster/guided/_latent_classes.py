"""Latent classes: how many groups rows of few values have, such as answers to a questionnaire.

The silhouette of equal rows is 1 in a group of their own, so it finds as many groups as there are
combinations of values. Here a group is a distribution of the values of each column, and columns are
independent given the group (Lazarsfeld and Henry, "Latent structure analysis", 1968). The values of
a column have an order if groups differ along it: the log-odds of two values then change by the
group's slope times their difference, which is uniform association (Goodman, "Simple models for the
analysis of association in cross-classifications having ordered categories", JASA 1979).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, softmax, xlogy

from clew.cluster.guided._cuts import Cuts, ward_of
from clew.cluster.guided._partitions import renumbered

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Values of a column, and numbers of columns, with which rows are read as combinations of values.
MAX_VALUES, N_COLUMNS = 10, (3, 100)
#: Fewer rows tell too little of classes.
LEAST_ROWS = 20
N_ROUNDS, TOL = 50, 0.01
#: Each group has this weight of further rows with the values of all rows.
PRIOR_ROWS = 0.5
#: Larger numbers of groups are not tried once two of them are worse by so many nats.
CLEARLY_WORSE = 50.0
#: Whether values have an order is asked of so many rows. Numbers of groups that are tried for it,
#: and for classes to start from.
N_ASKED, NUMBERS = 1_000, (1, 2, 3, 4, 6, 8, 11)
#: Steps of the fit of a column's slopes: in each round of EM, and for itself. Slopes have a prior
#: of this precision.
STEPS, STEPS_ALONE, PRECISION = 3, 100, 0.1


class Categories(NamedTuple):
    """Columns of few values."""

    indicators: Floats
    """1 where a row has a value, (n_samples, n_values) with the values of all columns."""
    first: NDArray[np.intp]
    """Place of the first value of each column."""
    values: tuple[Floats | None, ...]
    """Values of each column in their order; None if they have none."""
    columns: tuple[int, ...]
    """Number of the column, or of the first of those that are joined."""

    @classmethod
    def of(cls, X: Floats) -> Self | None:
        """Read columns as categories; None if one has many values, or rows or columns are few."""
        if len(X) < LEAST_ROWS:
            return None
        values = [
            np.unique(column, return_inverse=True) for column in X.T[: MAX_VALUES * N_COLUMNS[1]]
        ]
        if X.shape[1] > len(values) or max(len(value) for value, _ in values) > MAX_VALUES:
            return None
        varying = {at: each for at, each in enumerate(values) if len(each[0]) > 1}
        columns = _joined(varying)
        if not N_COLUMNS[0] <= len(columns) <= N_COLUMNS[1]:
            return None
        indicators = [np.eye(int(code.max()) + 1)[code] for _, code, _ in columns]
        sizes = np.array([one.shape[1] for one in indicators])
        return cls(
            np.concatenate(indicators, axis=1),
            np.cumsum(sizes) - sizes,
            tuple(order for _, _, order in columns),
            tuple(number for number, _, _ in columns),
        )

    @property
    def are_mostly_ordered(self) -> bool:
        """Whether the values of most columns have an order."""
        return 2 * sum(values is not None for values in self.values) > len(self.values)

    @property
    def _slices(self) -> list[slice]:
        stops = [*self.first[1:], self.indicators.shape[1]]
        return [slice(start, stop) for start, stop in zip(self.first, stops, strict=True)]

    def n_free(self, number: int) -> int:
        """Return the number of free parameters of as many groups."""
        sizes = np.diff(np.append(self.first, self.indicators.shape[1])) - 1
        has_order = np.array([values is not None for values in self.values])
        return int(number - 1 + np.where(has_order, sizes + number - 1, number * sizes).sum())

    def classes(self, labels: NDArray[np.signedinteger]) -> tuple[Floats, float]:
        """Find as many classes by EM from `labels`: (n_samples, n_classes), and log-likelihood."""
        indicators, n = self.indicators, len(labels)
        number = int(labels.max()) + 1
        prior = PRIOR_ROWS * indicators.mean(axis=0)
        models = [_Column(values, number) for values in self.values]
        member = np.eye(number)[labels] * 0.9 + 0.1 / number
        log_likelihood = -np.inf
        for _ in range(N_ROUNDS):
            share = member.sum(axis=0) / n
            counts = member.T @ indicators + prior
            each = [
                column.fitted(counts[:, at])
                for column, at in zip(models, self._slices, strict=True)
            ]
            joint = indicators @ np.concatenate(each, axis=1).T + np.log(np.maximum(share, 1e-12))
            of_row = logsumexp(joint, axis=1, keepdims=True)
            member = np.exp(joint - of_row)
            last, log_likelihood = log_likelihood, float(of_row.sum())
            if log_likelihood - last < TOL:
                break
        return member, log_likelihood

    def log_evidence(self, labels: Labels) -> float:
        """Log-probability of all values given groups, whose shares of values have a prior.

        A Dirichlet prior with the weight of one row; the order of values is not used.
        """
        size = np.bincount(labels)
        counts = np.eye(len(size))[labels].T @ self.indicators
        prior = self.indicators.mean(axis=0)
        of_values = (gammaln(counts + prior) - gammaln(prior)).sum()
        of_columns = len(self.first) * gammaln(size + 1.0).sum()
        return float(of_values - of_columns + xlogy(size, size / len(labels)).sum())

    def partitions(self, cuts: Cuts, n_clusters: int | None) -> list[Labels]:
        """Partitions into classes: into the number given, or into about as many as are probable."""
        numbers = [n_clusters or 0]
        if n_clusters is None:
            evidence = evidence_of_numbers(self, [k for k in NUMBERS if k < len(cuts.X)], cuts)
            best = max(evidence, key=lambda k: evidence[k])
            numbers = sorted({max(best + more, 2) for more in (-1, 0, 1, 2)})
        each = (max(map(self.classes, cuts(k)), key=lambda found: found[1]) for k in numbers)
        return [renumbered(member.argmax(axis=1)) for member, _ in each]


class _Column:
    """The distribution of a column's values in each group."""

    def __init__(self, values: Floats | None, number: int) -> None:
        self.values = None if values is None else (values - values.mean()) / values.std()
        self.level: Floats | None = None
        self.slope = np.zeros((number, 1))

    def fitted(self, counts: Floats, n_steps: int = STEPS) -> Floats:
        """Move toward counts of values, (n_groups, n_values): log-probabilities."""
        total = counts.sum(axis=1, keepdims=True)
        if self.values is None:
            return np.asarray(np.log(counts / total))
        if self.level is None:
            self.level = np.log(counts.sum(axis=0) / counts.sum())
        for _ in range(n_steps):
            share = softmax(self.level + self.slope * self.values, axis=1)
            self.level = self.level + np.log(counts.sum(axis=0) / (total * share).sum(axis=0))
            share = softmax(self.level + self.slope * self.values, axis=1)
            mean = share @ self.values
            variance = share @ self.values**2 - mean**2
            gradient = (counts @ self.values - total[:, 0] * mean)[:, None]
            curvature = (total[:, 0] * variance)[:, None] + PRECISION
            step = (gradient - PRECISION * self.slope) / curvature
            self.slope = self.slope + np.clip(step, -1.0, 1.0)
        joint = self.level + self.slope * self.values
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))


def columns_without_order(X: Floats, seed: int) -> list[int]:
    """Find columns in the values of which groups differ, but not along their order; by BIC.

    There are none if a column has many values, or if there are no groups.
    """
    every = X
    if len(X) > N_ASKED:
        X = X[np.random.RandomState(seed).choice(len(X), N_ASKED, replace=False)]
    categories = Categories.of(X)
    if categories is None or all(values is None for values in categories.values):
        return []
    nominal = categories._replace(values=(None,) * len(categories.values))
    cuts = Cuts(X, ward_of(X), seed)
    evidence = evidence_of_numbers(nominal, [k for k in NUMBERS if k < len(X)], cuts)
    number = max(evidence, key=lambda k: evidence[k])
    if number == 1:
        return []
    member = max(map(nominal.classes, cuts(number)), key=lambda found: found[1])[0]
    found = []
    of_columns = zip(categories.columns, categories.values, categories._slices, strict=True)
    for column, values, at in of_columns:
        if values is None:
            continue
        counts = member.T @ categories.indicators[:, at] + 1e-9
        free, ordered = (
            float((counts * _Column(own, number).fitted(counts, STEPS_ALONE)).sum())
            for own in (None, values)
        )
        n_more = (number - 1) * (len(values) - 2)
        if free - ordered > n_more * np.log(len(X)) / 2:
            found.append(column)
    # Rows that were not asked may have many other values.
    return [at for at in found if len(np.unique(every[:, at])) <= MAX_VALUES]


def _joined(columns: dict[int, tuple[Floats, Labels]]) -> list[tuple[int, Labels, Floats | None]]:
    """Join consecutive columns of 0 and 1 of which each row has exactly one 1.

    Numbers of columns, the codes of rows, and the values that have an order if there are three.
    """
    found: list[tuple[int, Labels, Floats | None]] = []
    at, numbers = 0, [*columns]
    while at < len(columns):
        values, code = columns[numbers[at]]
        end, joined, total = at + 1, code.copy(), code.copy()
        while end < len(columns) and total.max() == 1 and not total.all():
            total = total + columns[numbers[end]][1]
            joined = np.where(columns[numbers[end]][1] == 1, end - at + 1, joined)
            end += 1
        if end > at + 1 and (total == 1).all():
            found.append((numbers[at], joined - 1, None))
            at = end
        else:
            found.append((numbers[at], code, values if len(values) > 2 else None))
            at += 1
    return found


def evidence_of_numbers(
    categories: Categories,
    numbers: Iterable[int],
    cuts: Callable[[int], Iterable[NDArray[np.signedinteger]]],
) -> dict[int, float]:
    """Log-evidence of increasing numbers of groups, by BIC; from `cuts` into as many groups.

    Time O(n·v·K) a round for v values and K groups.
    """
    found: dict[int, float] = {}
    for number in numbers:
        most = max(categories.classes(of)[1] for of in cuts(number))
        found[number] = most - categories.n_free(number) * np.log(len(categories.indicators)) / 2
        worst_two = [*found.values()][-2:]
        if max(worst_two) < max(found.values()) - CLEARLY_WORSE:
            break
    return found
