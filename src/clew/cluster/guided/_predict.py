"""Groups of new rows, predicted from the groups of the fitted rows."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.metrics import euclidean_distances

from clew._parallel import blocks
from clew.cluster.guided._smoothers import RidgeSmoother
from clew.graphs import NeighborSearch

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Neighbors that vote, and rows whose left-out predictions choose how to predict.
N_NEIGHBORS, N_JUDGED = 10, 2_000
#: Folds of rows for Gaussians: their covariance knows the groups of the rows it was fitted to.
N_FOLDS = 5
#: A row equals a fitted one if no column differs by more than this share of the mean distance of
#: neighbors.
EQUAL = 1e-6
#: Rows that are predicted at once.
PREDICTED_ROWS = 1_024
#: Added to votes and to the predictions of the smoother, divided by the number of groups.
FLOOR = 0.05
#: Factors of the logarithms that are tried: columns are not independent, so most are below 1.
TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
#: Least log-probability of a group, so that no left-out row decides alone.
LEAST_LOG = -10.0
#: Least log-likelihood of a group, relative to that of the most probable one.
LEAST_LIKELIHOOD = -1e4
LEAST_VARIANCE = 1e-12
#: Sums of logarithms that are tried; the second number is a factor.
WAYS: dict[str, dict[str, float]] = {
    "centers": {"centers": 1.0},
    "discriminants": {"discriminants": 1.0},
    "neighbors": {"neighbors": 4.0},
    "neighbors and discriminants": {"neighbors": 4.0, "discriminants": 1.0},
    "smoother": {"smoother": 4.0},
    "smoother and discriminants": {"smoother": 4.0, "discriminants": 1.0},
}


class Gaussians(NamedTuple):
    """Groups as Gaussians of one covariance: means in coordinates in which it is spherical."""

    axes: Floats
    """Maps columns to these coordinates, (n_columns, n_axes)."""
    means: Floats
    sizes: Floats
    variance: float

    @classmethod
    def fit(cls, X: Floats, labels: Labels, n_groups: int, *, is_spherical: bool) -> Self:
        """Estimate means and the covariance within groups, shrunk to a spherical one."""
        n, d = X.shape
        sizes = np.bincount(labels, minlength=n_groups).astype(np.float64)
        means = np.zeros((n_groups, d))
        np.add.at(means, labels, X)
        means /= np.maximum(sizes, 1)[:, None]
        residuals = X - means[labels]
        degrees = max(n - np.count_nonzero(sizes), 1)
        mean_variance = max(float((residuals**2).sum()) / degrees / d, LEAST_VARIANCE)
        axes = np.eye(d)
        if not is_spherical:
            shrink = d / (degrees + d)
            whole = residuals.T @ residuals / degrees
            value, axes = np.linalg.eigh((1 - shrink) * whole + shrink * mean_variance * np.eye(d))
            axes = axes / np.sqrt(value)
            mean_variance = 1.0
        return cls(axes, means @ axes, sizes, mean_variance)

    def log_likelihoods(self, X: Floats) -> Floats:
        """Return log-likelihoods, (n_rows, n_groups), relative to the largest of each row."""
        squared = euclidean_distances(X @ self.axes, self.means, squared=True)
        found = -squared / (2 * self.variance)
        found[:, self.sizes == 0] = -np.inf
        found -= found.max(axis=1, keepdims=True)
        return np.asarray(np.maximum(found, LEAST_LIKELIHOOD))


class RowPredictor:
    """Probabilities of groups for any rows; a fitted row keeps its own.

    New rows are predicted by the votes of their neighbors, by Gaussian groups around their centers,
    by discriminants, by a smoother, or by products of these: by whichever predicts the groups of
    left-out rows best.
    """

    def __init__(
        self, X: Floats, probabilities: Floats | csr_array, labels: Labels, ridge: RidgeSmoother
    ) -> None:
        """Take the columns of the fitted rows, their probabilities and groups, and a smoother."""
        self._X, self._ridge = X, ridge
        self._dense = csr_array(probabilities).toarray()
        self._nearest, self._n_nearest = NeighborSearch(X), min(N_NEIGHBORS + 1, len(X))
        self._gaussians = self._fit_gaussians(X, labels)
        judged = np.sort(np.random.RandomState(0).permutation(len(X))[:N_JUDGED])
        logs = self._left_out(judged, labels)
        self.way = max(WAYS, key=lambda way: self._agreement(logs, way, labels[judged]))
        total = _summed(logs, self.way)
        wanted = self._dense[judged]
        self.temperature = max(
            TEMPERATURES,
            key=lambda t: float((wanted * np.maximum(_log_softmax(t * total), LEAST_LOG)).sum()),
        )

    def predict_proba(self, X: Floats) -> Floats:
        """Predict the probabilities of groups of rows, (n_rows, n_clusters)."""
        found = np.empty((len(X), self._dense.shape[1]))
        for start, end in blocks(len(X), PREDICTED_ROWS):
            rows = X[start:end]
            _, nearest = self._nearest.nearest(rows, self._n_nearest)
            logs = {
                "neighbors": self._votes(nearest[:, :N_NEIGHBORS]),
                "smoother": _log_of(self._ridge.predict(self._dense, rows)),
                **{name: part.log_likelihoods(rows) for name, part in self._gaussians.items()},
            }
            here = np.exp(_log_softmax(self.temperature * _summed(logs, self.way)))
            first = nearest[:, 0]
            is_fitted = np.abs(rows - self._X[first]).max(axis=1) <= EQUAL * self._scale
            here[is_fitted] = self._dense[first[is_fitted]]
            found[start:end] = here
        return found

    def _fit_gaussians(self, X: Floats, labels: Labels) -> dict[str, Gaussians]:
        n_groups = self._dense.shape[1]
        return {
            "centers": Gaussians.fit(X, labels, n_groups, is_spherical=True),
            "discriminants": Gaussians.fit(X, labels, n_groups, is_spherical=False),
        }

    def _left_out(self, judged: NDArray[np.int64], labels: Labels) -> dict[str, Floats]:
        """Predict fitted rows from others; sets the scale of distances."""
        distance, nearest = self._nearest.nearest(self._X[judged], self._n_nearest)
        is_self = nearest == judged[:, None]
        is_self[~is_self.any(axis=1), -1] = True  # one of many equal rows
        others = nearest[~is_self].reshape(len(judged), -1)
        self._scale = float(distance[~is_self].mean()) if others.size else 1.0
        logs = {
            "neighbors": self._votes(others),
            "smoother": _log_of(self._ridge.smooth(self._dense)[judged]),
            **{name: np.zeros((len(judged), self._dense.shape[1])) for name in self._gaussians},
        }
        fold = np.random.RandomState(1).permutation(len(labels)) % N_FOLDS
        for number in range(N_FOLDS):
            kept, held = fold != number, np.flatnonzero(fold[judged] == number)
            if not kept.any() or not len(held):
                continue
            for name, part in self._fit_gaussians(self._X[kept], labels[kept]).items():
                logs[name][held] = part.log_likelihoods(self._X[judged[held]])
        return logs

    def _agreement(self, logs: dict[str, Floats], way: str, wanted: Labels) -> float:
        return float((_summed(logs, way).argmax(axis=1) == wanted).mean())

    def _votes(self, nearest: NDArray[np.int64]) -> Floats:
        votes = np.zeros((len(nearest), self._dense.shape[1]))
        for column in nearest.T:
            votes += self._dense[column]
        return _log_of(votes / max(nearest.shape[1], 1))


def _log_of(shares: Floats) -> Floats:
    """Return logarithms of shares, none of which is 0 then."""
    return np.asarray(np.log(np.maximum(shares, 0.0) + FLOOR / shares.shape[1]))


def _summed(logs: dict[str, Floats], way: str) -> Floats:
    return np.asarray(sum(weight * logs[name] for name, weight in WAYS[way].items()))


def _log_softmax(values: Floats) -> Floats:
    return np.asarray(values - logsumexp(values, axis=1, keepdims=True))
