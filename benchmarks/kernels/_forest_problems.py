"""The problems that forests are timed on, and the peers that grow forests on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from clew import datasets
from clew.exceptions import DatasetNotFoundError
from clew.similarity import ClustRF

__all__ = ["CONTENDERS", "SIZES", "Size", "fit", "gaussian_mixture", "prepared", "warm_up"]

LARGE = 5_000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Size:
    """One problem: rows, features, trees, and the data set if it is a real one."""

    n_samples: int
    n_features: int
    n_trees: int
    dataset: str | None = None

    @property
    def name(self) -> str:
        """Rows × features."""
        return f"{self.n_samples:,}×{self.n_features}"

    @property
    def is_large(self) -> bool:
        """Whether the peers take long here."""
        return self.n_samples > LARGE

    def features(self) -> tuple[Floats, str]:
        """Give the features, and say where they are from."""
        if self.dataset is not None:
            try:
                found = datasets.load(self.dataset)
            except DatasetNotFoundError:
                return self._synthetic(), f"synthetic ({self.dataset} is not here)"
            if found.X is None:
                raise TypeError(f"{self.dataset} has no features")
            return found.X, self.dataset
        return self._synthetic(), "synthetic"

    def _synthetic(self) -> Floats:
        return gaussian_mixture(self.n_samples, self.n_features, n_clusters=10, seed=0)[0]


SIZES = (
    Size(600, 30, 1000),
    Size(2310, 19, 1000, "segment_full"),
    Size(1797, 64, 1000, "digits"),
    Size(10_000, 50, 1000),
    Size(50_000, 50, 200),
)


def gaussian_mixture(
    n_samples: int, n_features: int, *, n_clusters: int, seed: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw clusters that overlap a little, each with correlations of its own.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    """
    random = np.random.RandomState(seed)
    y = random.randint(n_clusters, size=n_samples)
    X = random.standard_normal((n_samples, n_features))
    for cluster in range(n_clusters):
        mix = np.eye(n_features) + random.standard_normal((n_features, n_features)) / np.sqrt(
            n_features
        )
        X[y == cluster] = X[y == cluster] @ mix + 1.5 * random.standard_normal(n_features)
    return X, y.astype(np.int64)


def _two_classes(X: Floats, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Put as many pseudo rows below the rows, each feature drawn from its own marginal."""
    random = np.random.RandomState(seed)
    twin = np.stack([column[random.randint(len(X), size=len(X))] for column in X.T], axis=1)
    return np.vstack([X, twin]), np.repeat([0, 1], len(X))


def prepared(who: str, X: Floats) -> tuple[Floats, NDArray[np.int64] | None]:
    """Give what a contender fits: clew draws its pseudo rows itself, peers get them for nothing."""
    return (X, None) if who == "clew" else _two_classes(X)


CONTENDERS: dict[str, Callable[[int, int], object]] = {
    "clew": lambda n_trees, n: ClustRF(n_trees, n_jobs=1, random_state=0),
    "RandomForest": lambda n_trees, n: RandomForestClassifier(
        n_trees, max_features="sqrt", bootstrap=True, max_samples=n, n_jobs=1, random_state=0
    ),
    "ExtraTrees": lambda n_trees, n: ExtraTreesClassifier(
        n_trees, max_features="sqrt", bootstrap=True, max_samples=n, n_jobs=1, random_state=0
    ),
}


def fit(who: str, data: tuple[Floats, NDArray[np.int64] | None], n_trees: int) -> object:
    """Grow a contender's forest as its users do."""
    X, y = data
    n = len(X) if y is None else len(X) // 2
    model = CONTENDERS[who](n_trees, n)
    return model.fit(X, y)  # type: ignore[attr-defined]


def warm_up() -> None:
    """Compile every kernel that will be timed."""
    X, _ = gaussian_mixture(60, 5, n_clusters=3, seed=0)
    model = ClustRF(20, random_state=0).fit(X)
    for kind in ("leaf", "uniform", "adaptive"):
        model.set_params(affinity=kind).__dict__.pop("affinity_matrix_", None)
        assert model.affinity_matrix_.shape == (60, 60)
        model.kneighbors_graph(3)
