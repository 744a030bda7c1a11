"""How far distances break the triangle inequality."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["TriangleCheck", "check_triangles"]

#: Number of rows whose triangles are checked, and the relative rounding error that is allowed.
TRIANGLE_ROWS, TRIANGLE_TOLERANCE = 120, 1e-6


class TriangleCheck(NamedTuple):
    """How many sampled distances are longer than the path over a third row."""

    n_violated: int
    n_checked: int

    @property
    def share(self) -> float:
        """Share of the checked inequalities that do not hold, in [0, 1]."""
        return self.n_violated / self.n_checked if self.n_checked else 0.0

    def __str__(self) -> str:
        if self.n_violated == 0:
            return "the triangle inequality holds"
        share = f"{self.share:.1%}" if self.share >= 0.001 else "less than 0.1%"
        return (
            f"{share} of {self.n_checked:,} checked triples break the triangle inequality, which "
            "is allowed"
        )


def check_triangles(D: NDArray[np.floating], seed: int = 0) -> TriangleCheck:
    """Count violations of the triangle inequality among some rows.

    Parameters
    ----------
    D : ndarray of shape (n, n)
        Distances, as `check_distances` returns them.
    seed : int, default=0
        Seed of the choice of 120 rows.

    Returns
    -------
    TriangleCheck

    Notes
    -----
    For each pair i, j of the rows and each third row k, ``d(i, j) <= d(i, k) + d(k, j)`` is
    checked, up to rounding: all inequalities for 120 rows or fewer, 842,520 otherwise.
    """
    n = len(D)
    rows = np.arange(n)
    if n > TRIANGLE_ROWS:
        rows = np.sort(np.random.RandomState(seed).choice(n, TRIANGLE_ROWS, replace=False))
    near = np.asarray(D[rows][:, rows], dtype=np.float64)
    m = len(near)
    slack = TRIANGLE_TOLERANCE * float(near.max(initial=0.0))
    n_violated = sum(
        int((near > near[:, third, None] + near[third] + slack).sum()) for third in range(m)
    )
    return TriangleCheck(n_violated // 2, m * (m - 1) * max(m - 2, 0) // 2)
