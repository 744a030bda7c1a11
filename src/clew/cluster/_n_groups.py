"""Fewer groups than `n_clusters`: an error if must-links force it, otherwise a warning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew._warnings import warn
from clew.exceptions import FewerGroupsWarning, InvalidConstraintsError

__all__ = ["check_n_components", "warn_of_fewer_groups"]


def check_n_components(estimator: Any, n_components: int) -> None:
    """Raise if must-links leave fewer components than `n_clusters`.

    Parameters
    ----------
    estimator : estimator
        With the parameter `n_clusters`, an int.
    n_components : int
        Number of must-link components.

    Raises
    ------
    InvalidConstraintsError
        The message names the class, `n_clusters` and the number of components.
    """
    if estimator.n_clusters > n_components:
        raise InvalidConstraintsError(
            f"{type(estimator).__name__}(n_clusters={estimator.n_clusters}): must-links join the "
            f"rows into only {n_components} group{'s' if n_components > 1 else ''}; lower "
            "n_clusters, or remove must-links"
        )


def warn_of_fewer_groups(
    estimator: Any, labels: NDArray[np.int64], X: NDArray[np.floating]
) -> None:
    """Warn if a fit found fewer groups than `n_clusters`.

    Parameters
    ----------
    estimator : estimator
        With the parameter `n_clusters`, an int.
    labels : ndarray of shape (n_samples,), int64
        Groups, numbered from 0 without gaps.
    X : ndarray of shape (n_samples, n_features)
        Features, distances or inner products, in which distinct rows are counted.

    Warns
    -----
    FewerGroupsWarning
        The message names the class, `n_clusters`, the number of groups and the reason.
    """
    n_found, wanted = int(labels.max()) + 1, estimator.n_clusters
    if n_found == wanted:
        return
    n_different = len(np.unique(X, axis=0))
    few = f"there are only {n_different} different rows"
    warn(
        f"{type(estimator).__name__}(n_clusters={wanted}) ends with {n_found} "
        f"group{'s' if n_found > 1 else ''}: "
        f"{few if n_different < wanted else 'no row was assigned to the other groups'}",
        FewerGroupsWarning,
    )
