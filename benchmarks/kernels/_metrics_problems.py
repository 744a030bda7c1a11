"""Problems that metrics are learned on, what each method minimises, and clew's own runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.kernels._forest_problems import gaussian_mixture
from clew import Constraints, datasets
from clew.constraints._truth import TRUTH
from clew.similarity import ITML, LSML, MMC
from clew.similarity._comparisons import inequalities_of

__all__ = ["METHODS", "PROBLEMS", "QUICK", "Inputs", "Method", "Problem", "save"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class Inputs(NamedTuple):
    """What a method gets: standardised features, and answers."""

    X: Floats
    pairs: Constraints
    triplets: Constraints
    bounds: tuple[float, float]
    """For ITML: the 5th and 95th percentile of the squared distances of the rows."""

    def squared(self, metric: Floats, rows: Rows) -> Floats:
        """Give squared distances of pairs of rows under a metric."""
        apart = self.X[rows[:, 0]] - self.X[rows[:, 1]]
        return np.einsum("ij,ij->i", apart @ metric, apart)


@dataclass(frozen=True)
class Problem:
    """Rows of a data set, or of a mixture of Gaussians, and answers about random rows."""

    data: str
    n_answers: int
    error: float = 0.0
    """Share of the pairs that are answered wrongly."""

    @property
    def name(self) -> str:
        """Data and answers."""
        wrong = f", {self.error:.0%} wrong" if self.error else ""
        return f"{self.data}, {self.n_answers:,} answers{wrong}"

    def inputs(self) -> Inputs:
        """Make or load the data."""
        return _inputs(self)


PROBLEMS = (
    Problem("iris", 200),
    Problem("wine", 200),
    Problem("wine", 200, 0.1),
    Problem("digits", 2000),
    Problem("mixture", 1000),
)
QUICK = (Problem("iris", 100), Problem("wine", 100, 0.1))


@lru_cache(maxsize=2)
def _inputs(problem: Problem) -> Inputs:
    if problem.data == "mixture":
        X, y = gaussian_mixture(2000, 30, n_clusters=5, seed=0)
    else:
        found = datasets.load(problem.data)
        X, y = np.asarray(found.X, dtype=np.float64), np.asarray(found.y)
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.unique(y, return_inverse=True)[1]
    random = np.random.RandomState(0)
    n, m = len(X), problem.n_answers
    pairs = Constraints.from_labels(y, m, error=problem.error, random_state=0)
    rows = np.array([random.choice(n, 3, replace=False) for _ in range(m)])
    answers = TRUTH["triplet"](y, rows)
    is_wrong = (random.uniform(size=m) < problem.error) & (answers >= 0)
    answers = np.where(is_wrong, 1 - answers, answers)
    triplets = Constraints.from_triplets(rows[answers >= 0], answers[answers >= 0], n_samples=n)
    apart = X[random.randint(n, size=20_000)] - X[random.randint(n, size=20_000)]
    low, high = np.percentile((apart**2).sum(axis=1), (5, 95))
    return Inputs(X, pairs, triplets, (float(low), float(high)))


def save(inputs: Inputs, path: Path) -> None:
    """Write what a peer in another environment needs."""
    relations = inequalities_of(inputs.triplets)
    np.savez(
        path, X=inputs.X, must_link=inputs.pairs.must_link, cannot_link=inputs.pairs.cannot_link,
        near=relations.near, far=relations.far, bounds=np.array(inputs.bounds),
    )  # fmt: skip


def _divergence(metric: Floats) -> float:
    """Measure the log-det divergence from the Euclidean metric."""
    sign, log_det = np.linalg.slogdet(metric)
    return float(np.trace(metric) - log_det - len(metric)) if sign > 0 else float("inf")


def _itml_value(metric: Floats, inputs: Inputs) -> float:
    """Divergence from Euclid, and of bounds that give way as far as they must (gamma=1)."""
    upper, lower = inputs.bounds
    must = np.maximum(inputs.squared(metric, inputs.pairs.must_link) / upper, 1.0)
    cannot = np.minimum(inputs.squared(metric, inputs.pairs.cannot_link) / lower, 1.0)
    moved = np.concatenate([must, cannot])
    return _divergence(metric) + float((moved - np.log(moved) - 1.0).sum())


def _lsml_value(metric: Floats, inputs: Inputs) -> float:
    """Mean squared residual, and the divergence from Euclid."""
    relations = inequalities_of(inputs.triplets)
    near = np.sqrt(inputs.squared(metric, relations.near))
    far = np.sqrt(inputs.squared(metric, relations.far))
    return _divergence(metric) + float((np.maximum(near - far, 0.0) ** 2).mean())


def _mmc_value(metric: Floats, inputs: Inputs) -> float:
    """Root mean square of must-links over the mean of cannot-links: no scale changes it."""
    must = inputs.squared(metric, inputs.pairs.must_link)
    cannot = inputs.squared(metric, inputs.pairs.cannot_link)
    return float(np.sqrt(must.mean()) / np.sqrt(np.maximum(cannot, 0.0)).mean())


@dataclass(frozen=True)
class Method:
    """A method, how clew runs it, and what it minimises."""

    name: str
    model: Callable[[Inputs], Any]
    value: Callable[[Floats, Inputs], float]
    takes_pairs: bool = True
    has_scale: bool = True
    """Whether metrics that differ by a factor differ."""
    needs_spread: Literal["", "features", "directions"] = ""
    """In which of these must-links have to differ: else there is no least value."""

    def has_minimum(self, inputs: Inputs) -> bool:
        """Tell whether the problem has a solution without a ridge."""
        rows = inputs.pairs.must_link
        apart = inputs.X[rows[:, 0]] - inputs.X[rows[:, 1]]
        if self.needs_spread == "features":
            return bool(apart.any(axis=0).all())
        if self.needs_spread == "directions":
            return bool(np.linalg.matrix_rank(apart) == apart.shape[1])
        return True

    def fitted(self, inputs: Inputs) -> Floats:
        """Give clew's metric."""
        known = inputs.pairs if self.takes_pairs else inputs.triplets
        metric: Floats = self.model(inputs).fit(inputs.X, constraints=known).metric_
        return metric

    def difference(self, ours: Floats, theirs: Floats) -> float:
        """Give the largest difference of two metrics, relative to the largest entry."""
        if not self.has_scale:
            ours, theirs = ours / np.trace(ours), theirs / np.trace(theirs)
        return float(np.abs(ours - theirs).max() / np.abs(ours).max())


#: A ridge that is next to none, as the package has none.
NO_RIDGE = 1e-9
METHODS = {
    method.name: method
    for method in (
        Method(
            "ITML",
            lambda inputs: ITML(bounds=inputs.bounds, tol=1e-6, max_iter=20_000, random_state=0),
            _itml_value,
        ),
        Method("LSML", lambda _: LSML(weight=1.0), _lsml_value, takes_pairs=False),
        Method(
            "MMC full",
            lambda _: MMC(ridge=NO_RIDGE),
            _mmc_value,
            has_scale=False,
            needs_spread="directions",
        ),
        Method(
            "MMC diagonal",
            lambda _: MMC(diagonal=True, ridge=NO_RIDGE),
            _mmc_value,
            has_scale=False,
            needs_spread="features",
        ),
    )
}
