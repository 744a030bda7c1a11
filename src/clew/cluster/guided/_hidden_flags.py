"""Flags and categories that a rotation hides, such as principal components of a table's columns.

A variable has two values if and only if its kurtosis is its squared skewness plus 1; otherwise the
kurtosis is larger (K. Pearson, "Mathematical contributions to the theory of evolution. XIX",
Philosophical Transactions A 1916). So flags are directions in which this difference is 0, whatever
they depend on; the measures are orthogonal to them.

Few tight groups are flags, too: some of them differ from the others in one direction. But then
rows of one side are far from all of the other in further directions, while rows of a table that
differ in one flag may agree in all other columns.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr
from scipy.spatial.distance import cdist

from clew.cluster.guided._latent_classes import LEAST_DIFFERENT, Categories, different_rows

Floats = NDArray[np.float64]

#: Numbers of columns, and rows for each of them: with fewer, any rows seem to have flags.
N_COLUMNS: Final = (2, 60)
ROWS_A_COLUMN: Final = 10
#: Flags are looked for in so many rows.
N_ASKED: Final = 1_000
#: Columns with fewer different values are no rotated ones.
MIN_VALUES: Final = 10
#: Random starts of a round, and rounds, each from starts that earlier flags do not explain.
N_STARTS, N_ROUNDS = 100, 4
#: Steps of the descent, steps after which it is given up, and the excess from which on it is.
N_STEPS, FIRST_STEPS, TOO_FAR = 60, 15, 0.4
#: Largest excess of the kurtosis of a flag, some of whose variance may be left out.
MOST_EXCESS: Final = 0.15
#: Smallest share, and number, of rows on one side of a flag.
LEAST_SHARE, LEAST_ROWS = 0.02, 5
#: Smallest part of a direction, whose length is 1, that other flags do not explain.
LEAST_OWN: Final = 0.2
#: A table has so many questions: fewer are groups of rows as well.
MIN_QUESTIONS: Final = 2
#: In a table of flags, this share of the rows is, in the other directions, at most this factor
#: times as far from a row of another value as from the n-th nearest one of its own value.
LEAST_NEAR, NEAR, NTH_NEAREST = 0.05, 1.5, 5
#: Rows are groups if combinations are at most so many for each flag and 1, and have less than this
#: share of the variance within them.
MOST_PLACES, LEAST_WITHIN = 4, 0.05
#: Flags exclude each other if no row has both of which so many are expected to.
LEAST_EXPECTED: Final = 5.0
#: Directions of a smaller share of the largest variance are rounding errors.
LEAST_VARIANCE: Final = 1e-9


class HiddenFlags(NamedTuple):
    """Map rotated columns to flags and measures, found by `of`, applied by `transform`."""

    axes: Floats
    """Projections onto them are above `middle` where a flag is 1, (n_columns, n_flags)."""
    middle: Floats
    questions: tuple[tuple[int, ...], ...]
    """Flags that exclude each other, and where none of them is 1, one more if they are several."""
    center: Floats
    """Mean of each column of values."""
    unit: Floats
    """Divisor of each column of values."""
    measures: Floats
    """Orthonormal axes of the measures, (n_columns, n_measures)"""

    @classmethod
    def of(cls, X: Floats, seed: int) -> Self | None:
        """Find the flags of centered rows, (n_samples, n_columns); None if there are none."""
        n, d = X.shape
        if not N_COLUMNS[0] <= d <= N_COLUMNS[1] or n < ROWS_A_COLUMN * d:
            return None
        random = np.random.RandomState(seed)
        rows = X if n <= N_ASKED else X[random.choice(n, N_ASKED, replace=False)]
        if any(len(np.unique(column)) < MIN_VALUES for column in rows.T):
            return None
        if len(different_rows(rows)) < LEAST_DIFFERENT * len(rows):
            return None  # there are no measures
        variance, vectors = eigh(rows.T @ rows / len(rows))
        kept = variance > LEAST_VARIANCE * variance[-1]
        white = vectors[:, kept] / np.sqrt(variance[kept])
        Z = rows @ white
        directions = _independent(Z, _two_valued(Z, random))
        if len(directions) < MIN_QUESTIONS:
            return None
        scores = Z @ directions.T
        middle = (scores.max(axis=0) + scores.min(axis=0)) / 2
        flags, axes = scores > middle, white @ directions.T
        questions = [
            of
            for of in _questions(flags)
            if _are_mixed(_combinations(flags[:, of]), rows @ _orthogonal(rows, axes[:, of]))
        ]
        chosen = [at for of in questions for at in of]
        if len(questions) < MIN_QUESTIONS or _are_blobs(rows, flags[:, chosen]):
            return None
        axes, middle = axes[:, chosen], middle[chosen]
        numbers = iter(range(len(chosen)))
        # The standard deviation along a direction of length 1.
        size = float(np.sqrt((1 / (axes**2).sum(axis=0)).mean()))
        found = cls(
            axes,
            middle,
            tuple(tuple(next(numbers) for _ in of) for of in questions),
            np.zeros(1),
            np.ones(1),
            _orthogonal(rows, axes),
        )
        values = found._values(rows)
        found = found._replace(center=values.mean(axis=0), unit=values.std(axis=0) / size)
        return None if Categories.of(found.transform(rows)) is None else found

    def transform(self, X: Floats) -> Floats:
        """Map rows to columns of values and measures, (n_rows, n_values + n_measures)."""
        return np.column_stack([(self._values(X) - self.center) / self.unit, X @ self.measures])

    def scaled(self, factors: Floats) -> Self:
        """Multiply the columns of values by factors, (n_values + n_measures,)."""
        return self._replace(unit=self.unit / factors[: len(self.unit)])

    def _values(self, X: Floats) -> Floats:
        flags = X @ self.axes > self.middle
        columns: list[NDArray[np.bool_]] = []
        for numbers in self.questions:
            of_question = flags[:, list(numbers)]
            columns.append(of_question)
            if len(numbers) > 1:
                columns.append(np.asarray(~of_question.any(axis=1, keepdims=True)))
        return np.column_stack(columns).astype(np.float64)


def _two_valued(Z: Floats, random: np.random.RandomState) -> Floats:
    """Directions of white rows in which these have two values, (n_found, n_columns)."""
    found = np.zeros((0, Z.shape[1]))
    for _ in range(N_ROUNDS):
        i, j = random.randint(len(Z), size=(2, N_STARTS))
        start = Z[i] - Z[j]
        explained = np.linalg.svd(found, full_matrices=False)
        axes = explained[2][explained[1] > LEAST_OWN]
        start -= start @ axes.T @ axes
        length = np.linalg.norm(start, axis=1, keepdims=True)
        ends, excess = _descended(Z, start[length[:, 0] > 0] / length[length[:, 0] > 0])
        new = ends[excess < MOST_EXCESS]
        if not len(new):
            break
        found = np.concatenate([found, new])
    return found


def _descended(Z: Floats, directions: Floats) -> tuple[Floats, Floats]:
    """Move directions to less excess of the kurtosis, as long as that of some is small."""
    scores = Z @ directions.T
    excess, step = _excess(scores), np.full(len(directions), 0.3)
    for number in range(N_STEPS):
        if number == FIRST_STEPS and excess.min(initial=np.inf) > TOO_FAR:
            break
        squares = scores**2
        skewness = (squares * scores).mean(axis=0)
        slope = (4 * squares * scores - 6 * skewness * squares).T @ Z
        slope -= (slope * directions).sum(axis=1, keepdims=True) * directions
        slope *= (step / np.maximum(np.linalg.norm(slope, axis=1), 1e-12))[:, None]
        moved = directions - slope
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        of_moved = Z @ moved.T
        new = _excess(of_moved)
        is_less = new < excess
        directions = np.where(is_less[:, None], moved, directions)
        scores, excess = np.where(is_less, of_moved, scores), np.where(is_less, new, excess)
        step *= np.where(is_less, 1.3, 0.5)
    return directions, excess


def _excess(scores: Floats) -> Floats:
    squares = scores**2
    return np.asarray((squares**2).mean(axis=0) - (squares * scores).mean(axis=0) ** 2 - 1)


def _independent(Z: Floats, directions: Floats) -> Floats:
    """Choose the rarest flags that others do not explain, 1 in the smaller part of the rows."""
    scores = Z @ directions.T
    flags = scores > (scores.max(axis=0, initial=-np.inf) + scores.min(axis=0, initial=np.inf)) / 2
    share = flags.mean(axis=0)
    sign = np.where(share > 0.5, -1.0, 1.0)
    share = np.minimum(share, 1 - share)
    found = np.zeros((0, Z.shape[1]))
    chosen = []
    for at in np.lexsort((_excess(scores), np.round(share, 3))):
        own = directions[at] - directions[at] @ found.T @ found
        length = np.linalg.norm(own)
        if share[at] >= max(LEAST_SHARE, LEAST_ROWS / len(Z)) and length > LEAST_OWN:
            chosen.append(sign[at] * directions[at])
            found = np.concatenate([found, own[None] / length])
    return np.array(chosen)


def _questions(flags: NDArray[np.bool_]) -> list[list[int]]:
    """Put flags together that exclude each other."""
    found: list[list[int]] = []
    n = len(flags)
    for at, flag in enumerate(flags.T):
        for question in found:
            others = flags[:, question]
            expected = flag.sum() * others.sum(axis=0) / n
            if not (others & flag[:, None]).any() and expected.min() > LEAST_EXPECTED:
                question.append(at)
                break
        else:
            found.append([at])
    return found


def _combinations(flags: NDArray[np.bool_]) -> NDArray[np.intp]:
    return np.asarray(np.unique(flags, axis=0, return_inverse=True)[1].ravel())


def _orthogonal(rows: Floats, axes: Floats) -> Floats:
    """Orthonormal axes along which rows vary, orthogonal to others, (n_columns, n_found)."""
    others = qr(axes)[0][:, axes.shape[1] :]
    variance, vectors = eigh(np.atleast_2d(np.cov(rows @ others, rowvar=False)))
    return np.asarray(others @ vectors[:, variance > LEAST_VARIANCE * rows.var(axis=0).sum()])


def _are_mixed(value: NDArray[np.intp], rest: Floats) -> bool:
    """Whether rows with one value are near some with others in all other directions."""
    distances = cdist(rest, rest)
    is_own = value[:, None] == value
    of_own = np.where(is_own, distances, np.inf)
    own = np.sort(of_own, axis=1)[:, min(NTH_NEAREST, len(rest) - 1)]
    other = np.where(is_own, np.inf, distances).min(axis=1)
    is_near = other <= NEAR * own + LEAST_VARIANCE
    return bool(is_near.mean() >= LEAST_NEAR)


def _are_blobs(rows: Floats, flags: NDArray[np.bool_]) -> bool:
    """Whether rows are few tight groups, one for each of few combinations."""
    places = _combinations(flags)
    if places.max() + 1 > MOST_PLACES * (flags.shape[1] + 1):
        return False
    member = np.eye(int(places.max()) + 1)[places]
    mean = member.T @ rows / member.sum(axis=0)[:, None]
    within = ((rows - mean[places]) ** 2).sum()
    return bool(within < LEAST_WITHIN * (rows**2).sum())
