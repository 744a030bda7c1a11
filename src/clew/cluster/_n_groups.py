"""Fewer groups than were asked for: refused where answers force it, warned of where data does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew._warnings import warn
from clew.exceptions import FewerGroupsWarning, InvalidConstraintsError

__all__ = ["check_n_components", "warn_of_fewer_groups"]


def check_n_components(estimator: Any, n_components: int) -> None:
    """Refuse more groups than must-links leave.

    Parameters
    ----------
    estimator : estimator
        It has `n_clusters`.
    n_components : int
        Number of must-link components.

    Raises
    ------
    InvalidConstraintsError
        Naming the class, `n_clusters` and the number of components.
    """
    if estimator.n_clusters > n_components:
        raise InvalidConstraintsError(
            f"{type(estimator).__name__}(n_clusters={estimator.n_clusters}): must-links leave only "
            f"{n_components} group{'s' if n_components > 1 else ''}; ask for fewer groups, or "
            "take must-links back"
        )


def warn_of_fewer_groups(estimator: Any, labels: NDArray[np.int64], X: NDArray[np.float64]) -> None:
    """Warn if there are fewer groups than were asked for.

    Parameters
    ----------
    estimator : estimator
        It has `n_clusters`.
    labels : ndarray of shape (n_samples,), int64
        Groups from 0 on, none of them empty.
    X : ndarray of shape (n_samples, n_features)
        Features, or distances: rows at distance 0 of each other have equal distances.
    """
    n_found, wanted = int(labels.max()) + 1, estimator.n_clusters
    if n_found == wanted:
        return
    n_different = len(np.unique(X, axis=0))
    few = f"there are only {n_different} different rows"
    warn(
        f"{type(estimator).__name__}(n_clusters={wanted}) ends with {n_found} "
        f"group{'s' if n_found > 1 else ''}: "
        f"{few if n_different < wanted else 'the others were left without rows'}",
        FewerGroupsWarning,
    )
