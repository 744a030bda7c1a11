"""The quadratic program of DistLQP, built from given distances and answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels.dist_lqp import Bounds
from clew.similarity.distances._dual import Problem, projected
from clew.similarity.distances._given import GivenDistances
from clew.similarity.distances._links import Links
from clew.similarity.distances._triangles import Sampled, sampled_triangles, symmetric_neighbors

__all__ = ["Settings", "build", "extended"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Weight of an unknown distance, whose target is the largest distance; small, so that known
#: distances determine it.
UNKNOWN_WEIGHT = 0.1
#: Relative changes are divided by the distance, or by this share of the largest one if that is
#: larger.
LEAST_DISTANCE = 0.02
ROWS_PER_BLOCK = 256


class Settings(NamedTuple):
    """Parameters of the program; distances are in units of the largest one."""

    n_neighbors: int
    upper: float
    lower: float
    lambda_must: float
    lambda_cannot: float
    is_relative: bool
    link_weight: float


def build(given: GivenDistances, links: Links, settings: Settings) -> tuple[Problem, Sampled]:
    """Sample triangles, and set up the program.

    Answered pairs whose bound holds are used only if they are sides of a sampled triangle.
    """
    n = given.n_samples
    distance, _ = given.of_pairs(*np.divmod(links.keys, n))
    is_changed = (links.must > 0) & (distance > settings.upper)
    is_changed |= (links.cannot > 0) & (distance < settings.lower)
    neighbors = symmetric_neighbors(given.nearest(settings.n_neighbors), n)
    sampled = sampled_triangles(links.keys[is_changed], links.keys, neighbors)
    target, is_known = given.of_pairs(*np.divmod(sampled.keys, n))
    weight = np.where(is_known, 1.0, UNKNOWN_WEIGHT)
    if settings.is_relative and len(target):
        weight *= (np.median(target) / np.maximum(target, LEAST_DISTANCE)) ** 2
    weight[: sampled.n_links] *= settings.link_weight
    at = np.searchsorted(links.keys, sampled.keys[: sampled.n_links])
    bounds = Bounds(
        settings.lambda_must * links.must[at],
        settings.lambda_cannot * links.cannot[at],
        settings.upper,
        settings.lower,
    )
    return Problem(sampled.sides, target, weight, bounds), sampled


def extended(
    distances: Floats, links: Ints, learned: Floats, n_neighbors: int, tol: float, max_iter: int
) -> Floats:
    """Change the distances of new rows to fitted rows, as the learned distances require.

    For each new row the sum of squared changes is minimized under the triangle inequalities of the
    row and each answered pair of which either row is among its nearest.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n_samples)
        Distances of the new rows to all fitted rows; overwritten.
    links : ndarray of shape (n_links, 2), int64
        Answered pairs whose distances were learned.
    learned : ndarray of shape (n_links,)
        Their learned distances.
    n_neighbors : int
        Number of nearest rows of each new row.
    tol : float
        Stop if no multiplier changes by more.
    max_iter : int
        Largest number of sweeps.

    Returns
    -------
    ndarray of shape (n_rows, n_samples)
    """
    n = distances.shape[1]
    for start in range(0, len(distances), ROWS_PER_BLOCK):
        block = distances[start : start + ROWS_PER_BLOCK]
        nearest = np.argpartition(block, n_neighbors - 1, axis=1)[:, :n_neighbors]
        is_near = np.zeros(block.shape, np.bool_)
        np.put_along_axis(is_near, nearest, True, axis=1)
        row, link = np.nonzero(is_near[:, links[:, 0]] | is_near[:, links[:, 1]])
        ends = row[:, None] * n + links[link]
        keys, at = np.unique(ends, return_inverse=True)
        sides = np.column_stack([link, len(links) + at.reshape(-1, 2)]).astype(np.int32)
        target = np.concatenate([learned, block.ravel()[keys]])
        step = np.concatenate([np.zeros(len(links)), np.full(len(keys), 0.5)])
        found = projected(sides, target, step, tol, max_iter)
        block.reshape(-1)[keys] = np.maximum(found[len(links) :], 0.0)
    return distances
