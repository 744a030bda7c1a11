"""Whether data have groups at all: their silhouette against those of data without groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

from clew.cluster.guided._features.views import Views
from clew.cluster.guided._numbers.unconstrained import UnconstrainedNumbers

__all__ = ["CERTAINTY", "certainty_of_groups"]

Floats = NDArray[np.float64]

#: n rows have groups if their silhouette exceeds that of data without groups by .03, or by .7/√n if
#: that is more. If the gap is above `CLEAR_GAP`, no further data without groups are drawn.
LEAST_GAP, GAP_OF_ONE_ROW, CLEAR_GAP = 0.03, 0.7, 0.2
#: Number of draws of data without groups: for up to `FEW_ROWS` rows, and for more.
N_DRAWS, N_DRAWS_OF_MANY, FEW_ROWS = 10, 3, 300
#: With fewer rows there is no test.
LEAST_ROWS = 20
#: Factors that shrink probabilities to ``1 / n_clusters`` for data without groups.
CERTAINTY = (0.05, 0.5)


def certainty_of_groups(unconstrained: UnconstrainedNumbers, n_clusters: int, seed: int) -> float:
    """Compare the silhouette of a number of groups with those of data without groups.

    Parameters
    ----------
    unconstrained : UnconstrainedNumbers
        Clusterings of the data.
    n_clusters : int
        Number of groups.
    seed : int
        Seed of the data without groups.

    Returns
    -------
    float
        1 if the data have groups, else in [0.05, 0.5].
    """
    X = unconstrained.sampled_features
    if len(X) < LEAST_ROWS:
        return 1.0
    # Data without groups are drawn as coordinates, so given distances are not used here.
    is_whole = len(X) == len(unconstrained.views.X) and unconstrained.views.distances is None
    own = unconstrained.silhouette(n_clusters) if is_whole else _silhouette(X, n_clusters, seed)
    centered = X - X.mean(axis=0)
    components, size, _ = svd(centered, full_matrices=False, check_finite=False)
    components *= size
    random, gap = np.random.RandomState(seed), np.inf
    least = max(LEAST_GAP, GAP_OF_ONE_ROW / np.sqrt(len(X)))
    for _ in range(N_DRAWS if len(X) <= FEW_ROWS else N_DRAWS_OF_MANY):
        for drawn in (
            random.uniform(components.min(axis=0), components.max(axis=0), components.shape),
            random.normal(scale=components.std(axis=0), size=components.shape),
        ):
            gap = min(gap, own - _silhouette(drawn, n_clusters, seed))
        if not least <= gap <= CLEAR_GAP:
            break
    if gap >= least:
        return 1.0
    return float(np.interp(gap, (0.0, least), CERTAINTY))


def _silhouette(X: Floats, n_clusters: int, seed: int) -> float:
    return UnconstrainedNumbers(Views(X, seed), n_clusters, seed).silhouette(n_clusters)
