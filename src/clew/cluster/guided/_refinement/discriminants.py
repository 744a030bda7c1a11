"""Neighbors by linear discriminants: directions in which groups differ count more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew._composition import graph_of
from clew.cluster.guided._refinement.smoothers import NeighborSmoother
from clew.similarity import AdaptiveKNN

__all__ = ["discriminant_neighbors", "discriminants"]

Floats = NDArray[np.float64]

#: Number of neighbors of each row. The covariance within groups is shrunk toward a mean of the
#: whole covariance and a spherical one, in which the spherical one has the weight `SPHERICAL`.
N_NEIGHBORS, SPHERICAL = 10, 0.5
LEAST = 1e-12
#: Discriminants are those of at most one principal component for each so many rows, and of at least
#: so many components: with more, they would separate any groups, also wrong ones.
ROWS_A_COMPONENT, FEWEST_COMPONENTS = 10, 10


def discriminant_neighbors(X: Floats, labels: NDArray[np.int64]) -> NeighborSmoother:
    """Return the smoother over the nearest rows by the discriminants of some groups.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    labels : ndarray of shape (n_samples,), int64
        Groups, found without held-out answers.

    Returns
    -------
    NeighborSmoother
    """
    similarity = AdaptiveKNN().fit(discriminants(X, labels))
    return NeighborSmoother(graph_of(similarity, len(X), min(N_NEIGHBORS, len(X) - 1)))


def discriminants(X: Floats, labels: NDArray[np.int64]) -> Floats:
    """Compute linear discriminants, each scaled by how far groups differ along it.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    labels : ndarray of shape (n_samples,), int64
        Groups.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Features, or their first principal components if they are many, whitened by the covariance
        within groups and rotated to the axes of the means of groups. An axis along which means
        have variance b is scaled by ``√(b / (1 + b))``.

    Notes
    -----
    For n rows of d features, the covariance within groups is shrunk by the share ``d / (n + d)`` to
    the mean of the whole covariance and a spherical one of the same trace.
    """
    most = max(FEWEST_COMPONENTS, len(X) // ROWS_A_COMPONENT)
    if X.shape[1] > most:
        rows = X - X.mean(axis=0)
        X = rows @ np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :most]
    n, d = X.shape
    _, group, size = np.unique(labels, return_inverse=True, return_counts=True)
    means = np.zeros((len(size), d))
    np.add.at(means, group, X)
    means /= size[:, None]
    centered, residuals = X - X.mean(axis=0), X - means[group]
    whole = centered.T @ centered / n
    prior = (1 - SPHERICAL) * whole + SPHERICAL * np.eye(d) * np.trace(whole) / d
    value, axes = np.linalg.eigh((residuals.T @ residuals + d * prior) / (n + d))
    whiten = axes / np.sqrt(np.maximum(value, LEAST))
    between = (means - X.mean(axis=0)) @ whiten
    variance, axes = np.linalg.eigh((between * size[:, None]).T @ between / n)
    variance = np.maximum(variance, 0.0)
    return np.asarray(X @ whiten @ axes * np.sqrt(variance / (1 + variance)))
