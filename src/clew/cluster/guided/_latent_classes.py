"""Latent classes: how many groups rows of few values have, such as answers to a questionnaire.

The silhouette of equal rows is 1 in a group of their own, so it finds as many groups as there are
combinations of values. Here a group is a distribution of the values of each column, and columns are
independent given the group (Lazarsfeld and Henry, "Latent structure analysis", 1968). The values of
a column have an order if groups differ along it: the log-odds of two values then change by the
group's slope times their difference, which is uniform association (Goodman, "Simple models for the
analysis of association in cross-classifications having ordered categories", JASA 1979).

Measures beside them, which have many values, are normal given the group, with one covariance in all
groups or with variances of their own (Everitt, "A finite mixture model for the clustering of
mixed-mode data", Statistics and Probability Letters 1988), whichever has the larger evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp, ndtri, softmax, xlogy
from scipy.stats import rankdata, skew

from clew.cluster.guided._cuts import Cuts, ward_of
from clew.cluster.guided._partitions import renumbered

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Values of a column, and numbers of columns, with which rows are read as combinations of values.
MAX_VALUES, N_COLUMNS = 10, (3, 100)
#: Number of measures, and share of all columns that are categories or flags: with more measures,
#: or fewer flags, neighbors tell groups apart.
MAX_MEASURES, LEAST_FLAGS = 20, 0.15
#: Measures whose skewness is larger are replaced by the normal scores of their ranks.
MOST_SKEWED = 1.0
#: Variances have the weight of `PRIOR_VARIANCE` of so many rows; the unit is the variance of all.
PRIOR_OF_VARIANCE, PRIOR_VARIANCE, LEAST_VARIANCE = 2.0, 0.3, 1e-3
#: If a smaller share of the rows are different, to so many digits, rows repeat.
LEAST_DIFFERENT, ROUNDED_TO = 0.9, 9
#: Fewer rows tell too little of classes.
LEAST_ROWS = 20
N_ROUNDS, TOL = 50, 0.01
#: Columns of which classes explain a smaller share are multiplied by a factor, this at least.
EXPLAINED, LEAST_FACTOR = 0.15, 0.25
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
    """Columns of few values, of which at least one varies, and measures beside them."""

    indicators: Floats
    """1 where a row has a value, (n_samples, n_values) with the values of all columns."""
    first: NDArray[np.intp]
    """Place of the first value of each column."""
    values: tuple[Floats | None, ...]
    """Values of each column in their order; None if they have none."""
    columns: tuple[tuple[int, ...], ...]
    """Number of each column, or of those that are joined."""
    measures: Floats
    """(n_samples, n_measures), of mean 0 and variance 1"""

    @classmethod
    def of(cls, X: Floats) -> Self | None:
        """Read columns as categories; None if most are measures, or rows or columns are few."""
        if len(X) < LEAST_ROWS or X.shape[1] > MAX_VALUES * N_COLUMNS[1]:
            return None
        few, measures = dict[int, tuple[Floats, Labels]](), list[int]()
        for at, column in enumerate(X.T):
            values, code = np.unique(column, return_inverse=True)
            if len(values) > MAX_VALUES:
                measures.append(at)
                if len(measures) > MAX_MEASURES:
                    return None
            elif len(values) > 1:
                few[at] = values, code
        columns = _joined(few)
        n_columns = len(columns) + len(measures)
        n_flags = sum(order is None for _, _, order in columns)
        if measures and n_flags < LEAST_FLAGS * n_columns:
            return None
        if not (columns and N_COLUMNS[0] <= n_columns <= N_COLUMNS[1]):
            return None
        indicators = [np.eye(int(code.max()) + 1)[code] for _, code, _ in columns]
        sizes = np.array([one.shape[1] for one in indicators])
        return cls(
            np.concatenate(indicators, axis=1),
            np.cumsum(sizes) - sizes,
            tuple(order for _, _, order in columns),
            tuple(numbers for numbers, _, _ in columns),
            _normal_scores_of_skewed(X[:, measures]),
        )

    @property
    def are_scales(self) -> bool:
        """Whether the values of most columns have an order, and there are no measures."""
        n_ordered = sum(values is not None for values in self.values)
        return not self.measures.size and 2 * n_ordered > len(self.values)

    @property
    def _slices(self) -> list[slice]:
        stops = [*self.first[1:], self.indicators.shape[1]]
        return [slice(start, stop) for start, stop in zip(self.first, stops, strict=True)]

    def _n_free(self, number: int, *, is_one_covariance: bool) -> int:
        """Return the number of free parameters of as many groups."""
        sizes = np.diff(np.append(self.first, self.indicators.shape[1])) - 1
        has_order = np.array([values is not None for values in self.values])
        of_values = np.where(has_order, sizes + number - 1, number * sizes).sum()
        return int(number - 1 + of_values) + self._n_free_of_measures(number, is_one_covariance)

    def _n_free_of_measures(self, number: int, is_one_covariance: bool) -> int:
        p = int(self.measures.shape[1])
        return number * p + (p * (p + 1) // 2 if is_one_covariance else number * p)

    def classes(self, labels: NDArray[np.signedinteger]) -> tuple[Floats, float]:
        """Find classes by EM from `labels`: (n_samples, n_classes), and log-evidence by BIC."""
        forms = (True, False) if self.measures.size else (True,)
        every = (self._classes(labels, is_one_covariance=form) for form in forms)
        return max(every, key=lambda found: found[1])

    def best_classes(self, starts: Iterable[NDArray[np.signedinteger]]) -> tuple[Floats, float]:
        """Classes of the largest evidence from any of the starts; see `classes`."""
        return max(map(self.classes, starts), key=lambda found: found[1])

    def _classes(
        self, labels: NDArray[np.signedinteger], *, is_one_covariance: bool
    ) -> tuple[Floats, float]:
        indicators, n = self.indicators, len(labels)
        number = int(labels.max()) + 1
        prior = PRIOR_ROWS * indicators.mean(axis=0)
        values = _Values(self, number)
        member = np.eye(number)[labels] * 0.9 + 0.1 / number
        log_likelihood = -np.inf
        for _ in range(N_ROUNDS):
            share = member.sum(axis=0) / n
            of_values = values.fitted(member.T @ indicators + prior)
            joint = indicators @ of_values.T + np.log(np.maximum(share, 1e-12))
            if self.measures.size:
                joint += _log_densities(self.measures, member, is_one_covariance=is_one_covariance)
            of_row = logsumexp(joint, axis=1, keepdims=True)
            member = np.exp(joint - of_row)
            last, log_likelihood = log_likelihood, float(of_row.sum())
            if log_likelihood - last < TOL:
                break
        n_free = self._n_free(number, is_one_covariance=is_one_covariance)
        return member, log_likelihood - n_free * np.log(n) / 2

    def by_flags(self) -> list[Labels]:
        """Rows of one value as a group, for each column of few values beside measures."""
        if not self.measures.size:
            return []
        return [renumbered(self.indicators[:, at].argmax(axis=1)) for at in self._slices]

    def log_evidence(self, labels: Labels) -> float:
        """Log-probability of all values given groups, whose shares of values have a prior.

        A Dirichlet prior with the weight of one row; the order of values is not used. That of
        measures is by BIC.
        """
        size = np.bincount(labels)
        counts = np.eye(len(size))[labels].T @ self.indicators
        prior = self.indicators.mean(axis=0)
        of_values = (gammaln(counts + prior) - gammaln(prior)).sum()
        of_columns = len(self.first) * gammaln(size + 1.0).sum()
        of_sizes = xlogy(size, size / len(labels)).sum()
        return float(of_values - of_columns + of_sizes) + self._log_evidence_of_measures(labels)

    def _log_evidence_of_measures(self, labels: Labels) -> float:
        if not self.measures.size:
            return 0.0
        member = np.eye(int(labels.max()) + 1)[labels]
        of_free = float(np.log(len(labels))) / 2
        return max(
            float((member * _log_densities(self.measures, member, is_one_covariance=form)).sum())
            - self._n_free_of_measures(member.shape[1], form) * of_free
            for form in (True, False)
        )

    def partitions(self, cuts: Cuts, n_clusters: int | None) -> list[Labels]:
        """Partitions into classes: into the number given, or into about as many as are probable."""
        numbers = [n_clusters or 0]
        if n_clusters is None:
            best = _most_probable_number(self, cuts)
            numbers = sorted({max(best + more, 2) for more in (-1, 0, 1, 2)})
        each = (self.best_classes(cuts(k))[0] for k in numbers)
        return [renumbered(member.argmax(axis=1)) for member in each]


class _Values:
    """The distributions of the values of all columns in each group."""

    def __init__(self, categories: Categories, number: int) -> None:
        self.first = categories.first
        self.sizes = np.diff(np.append(self.first, categories.indicators.shape[1]))
        ordered = [at for at, values in enumerate(categories.values) if values is not None]
        widest = np.arange(self.sizes[ordered].max(initial=0))
        #: Columns with an order are padded to equally many values.
        self.is_value = widest < self.sizes[ordered, None]
        self.place = np.where(self.is_value, self.first[ordered, None] + widest, 0)
        self.values = np.zeros(self.place.shape)
        for at, column in enumerate(ordered):
            values = np.asarray(categories.values[column])
            self.values[at, : len(values)] = (values - values.mean()) / values.std()
        self.level = np.zeros(0)
        self.slope = np.zeros((number, len(ordered), 1))

    def fitted(self, counts: Floats, n_steps: int = STEPS) -> Floats:
        """Move toward counts of values, (n_groups, n_values): log-probabilities."""
        total = np.add.reduceat(counts, self.first, axis=1)
        found = np.log(counts / np.repeat(total, self.sizes, axis=1))
        if self.place.size:
            of_values = np.where(self.is_value, counts[:, self.place], 0.0)
            of_ordered = self._along_order(of_values, n_steps)
            found[:, self.place[self.is_value]] = of_ordered[:, self.is_value]
        return np.asarray(found)

    def _along_order(self, counts: Floats, n_steps: int) -> Floats:
        """Log-probabilities of the values of columns with an order, (n_groups, n_columns, n)."""
        of_all, total = counts.sum(axis=0), counts.sum(axis=2, keepdims=True)
        if not self.level.size:
            share = np.where(self.is_value, of_all / of_all.sum(axis=1, keepdims=True), 1.0)
            self.level = np.where(self.is_value, np.log(share), -np.inf)
        for _ in range(n_steps):
            expected = (total * self._share()).sum(axis=0)
            ratio = np.divide(of_all, expected, out=np.ones_like(of_all), where=self.is_value)
            self.level = self.level + np.log(ratio)
            share = self._share()
            mean = (share * self.values).sum(axis=2, keepdims=True)
            variance = (share * self.values**2).sum(axis=2, keepdims=True) - mean**2
            gradient = (counts * self.values).sum(axis=2, keepdims=True) - total * mean
            curvature = total * variance + PRECISION
            step = (gradient - PRECISION * self.slope) / curvature
            self.slope = self.slope + np.clip(step, -1.0, 1.0)
        joint = self.level + self.slope * self.values
        return np.asarray(joint - logsumexp(joint, axis=2, keepdims=True))

    def _share(self) -> Floats:
        return np.asarray(softmax(self.level + self.slope * self.values, axis=2))


def different_rows(X: Floats) -> Floats:
    """Return the different rows, in units of the largest value, (n_different, n_columns)."""
    unit = np.abs(X).max() or 1.0
    return np.asarray(np.unique(np.round(X / unit, ROUNDED_TO), axis=0))


def _normal_scores_of_skewed(measures: Floats) -> Floats:
    if not measures.size:
        return measures
    is_skewed = np.abs(skew(measures)) > MOST_SKEWED
    scores = ndtri((rankdata(measures, axis=0) - 0.5) / len(measures))
    found = np.where(is_skewed, scores, measures)
    return np.asarray((found - found.mean(axis=0)) / found.std(axis=0))


def _log_densities(X: Floats, member: Floats, *, is_one_covariance: bool) -> Floats:
    """Log-density of rows in each group, (n_samples, n_groups), given memberships of that shape."""
    size = member.sum(axis=0)[:, None]
    mean = member.T @ X / np.maximum(size, 1e-9)
    if is_one_covariance:
        within = (X.T @ X - (size * mean).T @ mean) / len(X)
        factor = np.linalg.cholesky(within + LEAST_VARIANCE * np.eye(X.shape[1]))
        X, mean = (solve_triangular(factor, of.T, lower=True).T for of in (X, mean))
        variance, of_unit = np.ones_like(mean), np.log(np.diag(factor)).sum()
    else:
        squares = np.maximum(member.T @ X**2 - size * mean**2, 0.0)
        variance = (squares + PRIOR_OF_VARIANCE * PRIOR_VARIANCE) / (size + PRIOR_OF_VARIANCE)
        of_unit = 0.0
    far = X**2 @ (1 / variance).T - 2 * X @ (mean / variance).T + (mean**2 / variance).sum(axis=1)
    of_volume = (np.log(2 * np.pi) * X.shape[1] + np.log(variance).sum(axis=1)) / 2 + of_unit
    return np.asarray(-far / 2 - of_volume)


def columns_without_order(X: Floats, seed: int) -> list[int]:
    """Find columns in the values of which groups differ, but not along their order; by BIC.

    There are none if a column has many values, or if there are no groups.
    """
    rows = _asked(X, seed)
    categories = Categories.of(rows)
    if categories is None or categories.measures.size:
        return []
    if all(values is None for values in categories.values):
        return []
    nominal = categories._replace(values=(None,) * len(categories.values))
    member = _most_probable_classes(nominal, rows, seed)
    number = member.shape[1]
    if number == 1:
        return []
    counts = member.T @ categories.indicators + 1e-9
    free, ordered = (
        np.add.reduceat(counts * _Values(of, number).fitted(counts, STEPS_ALONE), of.first, axis=1)
        for of in (nominal, categories)
    )
    lead = (free - ordered).sum(axis=0)
    found = []
    for (column, *_), values, of_column in zip(
        categories.columns, categories.values, lead, strict=True
    ):
        if values is None:
            continue
        n_more = (number - 1) * (len(values) - 2)
        if of_column > n_more * np.log(len(rows)) / 2:
            found.append(column)
    # Rows that were not asked may have many other values.
    return [at for at in found if len(np.unique(X[:, at])) <= MAX_VALUES]


def factors_of_flags(X: Floats, seed: int) -> Floats | None:
    """Factors of columns, (n_columns,); None if there are no categories beside measures.

    Less than 1 for categories in which latent classes hardly differ: rows that differ in them would
    be far from each other, whatever groups are.
    """
    rows = _asked(X, seed)
    categories = Categories.of(rows)
    if categories is None or not categories.measures.size:
        return None
    factors = np.ones(X.shape[1])
    member = _most_probable_classes(categories, rows, seed)
    size, overall = member.sum(axis=0), categories.indicators.mean(axis=0)
    share = member.T @ categories.indicators / np.maximum(size, 1e-9)[:, None]
    between = size @ (share - overall) ** 2 / len(rows)
    for columns, at in zip(categories.columns, categories._slices, strict=True):
        explained = between[at].sum() / (overall * (1 - overall))[at].sum()
        factors[list(columns)] = np.clip(explained / EXPLAINED, LEAST_FACTOR, 1.0)
    return factors


def _asked(X: Floats, seed: int) -> Floats:
    if len(X) <= N_ASKED:
        return X
    return X[np.random.RandomState(seed).choice(len(X), N_ASKED, replace=False)]


def _most_probable_classes(categories: Categories, rows: Floats, seed: int) -> Floats:
    """Memberships of as many classes as are most probable, (n_samples, n_classes)."""
    cuts = Cuts(rows, ward_of(rows), seed)
    return categories.best_classes(cuts(_most_probable_number(categories, cuts)))[0]


def _most_probable_number(categories: Categories, cuts: Cuts) -> int:
    numbers = [k for k in NUMBERS if k < len(cuts.X)]
    evidence = evidence_of_numbers(categories, numbers, cuts)
    return max(evidence, key=lambda k: evidence[k])


def _joined(
    columns: dict[int, tuple[Floats, Labels]],
) -> list[tuple[tuple[int, ...], Labels, Floats | None]]:
    """Join consecutive columns of 0 and 1 of which each row has exactly one 1.

    Numbers of columns, the codes of rows, and the values that have an order if there are three.
    """
    found: list[tuple[tuple[int, ...], Labels, Floats | None]] = []
    at, numbers = 0, [*columns]
    while at < len(columns):
        values, code = columns[numbers[at]]
        end, joined, total = at + 1, code.copy(), code.copy()
        while end < len(columns) and total.max() == 1 and not total.all():
            total = total + columns[numbers[end]][1]
            joined = np.where(columns[numbers[end]][1] == 1, end - at + 1, joined)
            end += 1
        if end > at + 1 and (total == 1).all():
            found.append((tuple(numbers[at:end]), joined - 1, None))
            at = end
        else:
            found.append(((numbers[at],), code, values if len(values) > 2 else None))
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
        found[number] = categories.best_classes(cuts(number))[1]
        worst_two = [*found.values()][-2:]
        if max(worst_two) < max(found.values()) - CLEARLY_WORSE:
            break
    return found
