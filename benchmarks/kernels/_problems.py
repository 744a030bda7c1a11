"""Data and answers that methods are timed on."""

from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.preprocessing import scale

from benchmarks.study.problems import Floats, Ints
from clew import Constraints, datasets
from clew.constraints._meanings import inequalities_of
from clew.exceptions import DatasetNotFoundError
from clew.similarity import AdaptiveKNN

#: Standard deviation of the noise on rows that are drawn with replacement from a data set.
NOISE = 3.0
#: Most rows and answers of a quick run, and of the run that compiles the kernels.
FEW_ROWS, FEW_ANSWERS = 300, 60


@dataclass(frozen=True)
class Problem:
    """Rows of a data set or a Gaussian mixture, and answers, computed when first used."""

    data: str = "mixture"
    n_samples: int = 600
    n_features: int = 50
    n_clusters: int = 20
    kind: str = "pairs"
    n_answers: int = 0
    error: float = 0.0  # Share of wrong answers
    is_scaled: bool = False  # Whether features are standardized
    drops_constant: bool = False  # Whether features with a single value are left out
    seed: int = 0  # Of drawn rows and of answers

    def __getstate__(self) -> dict[str, Any]:
        """Pickle only the fields: another process computes the data again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def few(self) -> Self:
        n_answers = min(self.n_answers, FEW_ANSWERS)
        return replace(self, n_samples=min(self.n_samples, FEW_ROWS), n_answers=n_answers)

    def about(self) -> dict[str, Any]:
        wrong = f", {self.error:.0%} wrong" if self.error else ""
        asked = f"{self.n_answers:,} {self.kind.replace('_', '-')}{wrong}"
        size = f"{self.n_samples:,}×{self.n_features}"
        is_here = self.data in GENERATED or self.found is not None
        return asdict(self) | {
            "data": self.data if is_here else f"mixture ({self.data} not found)",
            "size": size,
            "answers": asked if self.n_answers else "–",
        }

    def prepared(self) -> Self:
        """Compute rows and answers, before anything is timed."""
        assert len(self.rows[0]) == self.answers.n_samples
        return self

    @cached_property
    def found(self) -> datasets.Dataset | None:
        try:
            return None if self.data in GENERATED else datasets.load(self.data)
        except DatasetNotFoundError:
            return None

    @cached_property
    def rows(self) -> tuple[Floats, Ints]:
        X, y = self._drawn()
        X = X[:, X.std(axis=0) > 0] if self.drops_constant else X
        return np.ascontiguousarray(scale(X) if self.is_scaled else X), y

    def _drawn(self) -> tuple[Floats, Ints]:
        n = self.n_samples
        if self.found is None:
            draw: Any = GENERATED.get(self.data, gaussian_mixture)
            X, y = draw(n, self.n_features, n_clusters=self.n_clusters, seed=self.seed)
            return X, y
        X, y = np.asarray(self.found.X, float), np.unique(self.found.y, return_inverse=True)[1]
        if n <= len(y):
            return X[:n], y[:n]
        random = np.random.RandomState(self.seed)
        drawn = random.randint(0, len(y), n)
        return X[drawn] + random.normal(0, NOISE, (n, X.shape[1])), y[drawn]

    @property
    def X(self) -> Floats:  # noqa: N802
        return self.rows[0]

    @cached_property
    def answers(self) -> Constraints:
        number: dict[str, Any] = {f"n_{self.kind}": self.n_answers, "error": self.error}
        return Constraints.from_labels(self.rows[1], **number, random_state=self.seed)

    @cached_property
    def lists(self) -> csr_array:
        """Affinities of the 20 most similar rows of each row."""
        return AdaptiveKNN().fit(self.X).kneighbors_graph(20)

    @cached_property
    def graph(self) -> csr_array:
        """`lists` made symmetric: the larger of the affinities (i, j) and (j, i)."""
        return csr_array(self.lists.maximum(self.lists.T))

    @property
    def dense_graph(self) -> Floats:
        return self.graph.toarray()

    @cached_property
    def two_classes(self) -> tuple[Floats, Ints]:
        """The rows followed by as many pseudo rows, whose features are drawn independently."""
        n, random = len(self.X), np.random.RandomState(0)
        twin = np.stack([column[random.randint(n, size=n)] for column in self.X.T], axis=1)
        return np.vstack([self.X, twin]), np.repeat([0, 1], n)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The 5th and 95th percentile of the squared distances of random rows."""
        random, n = np.random.RandomState(0), len(self.X)
        apart = self.X[random.randint(n, size=20_000)] - self.X[random.randint(n, size=20_000)]
        low, high = np.percentile((apart**2).sum(axis=1), (5, 95))
        return float(low), float(high)

    @cached_property
    def comparisons(self) -> tuple[Ints, Ints]:
        """The nearer and the farther pair of rows of each triplet, by its answer."""
        found = inequalities_of(self.answers)
        return found.near, found.far

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that a run in another environment gets."""
        known, (near, far) = self.answers, self.comparisons
        return {
            "X": self.X, "must_link": known.must_link, "cannot_link": known.cannot_link,
            "near": near, "far": far, "bounds": np.array(self.bounds),
            "n_clusters": self.n_clusters,
        }  # fmt: skip


def gaussian_mixture(
    n: int, d: int, *, n_clusters: int, seed: int, is_uneven: bool = False
) -> tuple[Floats, Ints]:
    """Draw clusters that overlap a little, each with its own covariance.

    Uneven ones have log-normal weights and overlap more.
    """
    random = np.random.RandomState(seed)
    if is_uneven:
        weight = np.exp(random.standard_normal(n_clusters))
        y = random.choice(n_clusters, n, p=weight / weight.sum())
    else:
        y = random.randint(n_clusters, size=n)
    distance = 1.0 if is_uneven else 1.5
    X = random.standard_normal((n, d))
    order = np.argsort(y, kind="stable")
    for rows in np.split(order, np.searchsorted(y[order], np.arange(1, n_clusters))):
        mix = np.eye(d) + random.standard_normal((d, d)) / np.sqrt(d)
        X[rows] = X[rows] @ mix + distance * random.standard_normal(d)
    return X, y.astype(np.int64)


def face_like(n: int, d: int, *, n_clusters: int, seed: int) -> tuple[Floats, Ints]:
    """Draw classes of uneven size and difficulty, of 56 to 1,434 items if their mean is 257."""
    part = n * 200 / (51_418 * n_clusters)
    sizes = max(1, round(56 * part)), max(2, round(1434 * part))
    made = datasets.make_face_like(
        n, n_classes=n_clusters, n_features=d, class_sizes=sizes, random_state=seed
    )
    return made.X, made.y


#: Data that are drawn from a distribution.
UNEVEN = partial(gaussian_mixture, is_uneven=True)
GENERATED = {"mixture": gaussian_mixture, "uneven": UNEVEN, "face_like": face_like}
