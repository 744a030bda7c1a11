"""A Gaussian mixture that changes no global state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from sklearn.utils import check_random_state

from clew._estimators import Clusterer
from clew._random import RandomState
from clew._validation import check_features
from clew.cluster._groups import best_start
from clew.cluster._kmeans import kmeans

__all__ = ["GaussianMixture"]

#: Added to the diagonal of each covariance.
RIDGE = 1e-3
MAX_ITER, TOLERANCE = 100, 1e-3


class _Components(NamedTuple):
    log_weight: NDArray[np.float64]
    """(n_components,)."""
    mean: NDArray[np.float64]
    """(n_components, n_features)."""
    factor: NDArray[np.float64]
    """Lower Cholesky factors of the covariances, (n_components, n_features, n_features)."""


class GaussianMixture(Clusterer):
    """Fit Gaussians with full covariances by expectation maximization, started from k-means.

    scikit-learn's class of this name starts from its own `KMeans`, which sets the number of BLAS
    threads of the whole process, and warns if it has not converged; the likelihood is the same.

    Parameters
    ----------
    n_clusters : int
        Number of Gaussians.
    n_init : int, default=2
        Number of starts; the one of the highest likelihood is kept.
    random_state : int, RandomState or None, default=None
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        The most probable Gaussian of each row.
    """

    def __init__(
        self, n_clusters: int, *, n_init: int = 2, random_state: RandomState = None
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> GaussianMixture:
        """Fit the Gaussians.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        rows, random = check_features(self, X), check_random_state(self.random_state)

        def run_from(_: int) -> tuple[float, NDArray[np.float64]]:
            start = kmeans(rows, self.n_clusters, n_init=1, random_state=random).labels
            return _fitted(rows, np.eye(self.n_clusters)[start])

        best = best_start(run_from, range(self.n_init), lambda run: -run[0])
        assert best is not None  # n_init is at least 1
        self.labels_ = best[1].argmax(axis=1)
        return self


def _fitted(
    X: NDArray[np.float64], memberships: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Estimate Gaussians and memberships in turn; return log-likelihood and log joint densities."""
    before = -np.inf
    for _ in range(MAX_ITER):
        joint = _log_joint(X, _components(X, memberships))
        log_density = logsumexp(joint, axis=1)
        likelihood = float(log_density.mean())
        memberships = np.exp(joint - log_density[:, None])
        if abs(likelihood - before) < TOLERANCE:
            break
        before = likelihood
    return likelihood, joint


def _components(X: NDArray[np.float64], memberships: NDArray[np.float64]) -> _Components:
    size = memberships.sum(axis=0) + 10 * np.finfo(np.float64).eps
    mean = memberships.T @ X / size[:, None]
    factor = np.empty((len(size), X.shape[1], X.shape[1]))
    for k, center in enumerate(mean):
        centered = X - center
        covariance = (memberships[:, k] * centered.T) @ centered / size[k]
        covariance[np.diag_indices_from(covariance)] += RIDGE
        factor[k] = np.linalg.cholesky(covariance)
    return _Components(np.log(size / size.sum()), mean, factor)


def _log_joint(X: NDArray[np.float64], components: _Components) -> NDArray[np.float64]:
    """Return the logarithm of weight times density, (n_samples, n_components)."""
    joint = np.empty((len(X), len(components.log_weight)))
    for k, (center, factor) in enumerate(zip(components.mean, components.factor, strict=True)):
        white = solve_triangular(factor, (X - center).T, lower=True, check_finite=False)
        joint[:, k] = -0.5 * np.einsum("ij,ij->j", white, white)
        joint[:, k] -= np.log(factor.diagonal()).sum()
    return np.asarray(joint + components.log_weight - 0.5 * X.shape[1] * np.log(2 * np.pi))
