"""Agreement of subclusters with classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clew._validation import check_rectangular
from clew.exceptions import InvalidDataError

__all__ = ["subclustering_jaccard"]


def subclustering_jaccard(y_true: ArrayLike, exemplars: ArrayLike) -> float:
    """Subclustering Jaccard's coefficient (SJC): the share of classes shown, weighted by purity.

    Each class is matched with the subcluster that holds most of its rows. If these are more than
    half of the subcluster's rows, the class scores the share of the subcluster's pairs of rows in
    which both are of this class; otherwise 0. The coefficient is the mean over classes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The class of each row.
    exemplars : array-like of shape (n_clusters, size), int
        Row numbers of each subcluster.

    Returns
    -------
    float
        Between 0 and 1; 1 if every class has a subcluster with rows of this class only.

    Raises
    ------
    InvalidDataError
        If a row number is out of range, a subcluster holds a row twice, or the arrays have other
        shapes.

    Notes
    -----
    Two subclusters of one class count once. With a size of 1, a class scores 1 if a subcluster
    shows it. The mean is over all classes in `y_true`, as in the thesis, whose numbers of classes
    and of subclusters are equal.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, eq. 4.4.

    Examples
    --------
    Of four rows of the second subcluster, three are of class 1, and so are 3 of its 6 pairs.

    >>> from clew.metrics import subclustering_jaccard
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> subclustering_jaccard(y, [[0, 1, 2, 3]])
    0.5
    >>> subclustering_jaccard(y, [[0, 1, 2, 3], [4, 5, 6, 0]])
    0.75
    """
    labels = check_rectangular(y_true, "y_true")
    rows = check_rectangular(exemplars, "exemplars")
    if labels.ndim != 1 or rows.ndim != 2 or 0 in rows.shape or labels.size == 0:
        raise InvalidDataError(
            "y_true must have shape (n_samples,) and exemplars (n_clusters, size), got "
            f"{labels.shape} and {rows.shape}"
        )
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(labels):
        raise InvalidDataError(
            f"exemplars must hold row numbers from 0 to {len(labels) - 1}, got "
            f"{rows.dtype} from {rows.min()} to {rows.max()}"
        )
    ordered = np.sort(rows, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise InvalidDataError("a subcluster must not hold a row twice")
    names, classes = np.unique(labels, return_inverse=True)
    size, shown = rows.shape[1], np.zeros(len(names), np.int64)
    for subcluster in classes[rows]:
        held, count = np.unique(subcluster, return_counts=True)
        np.maximum.at(shown, held, count)
    is_shown = 2 * shown > size
    share = shown * (shown - 1) / (size * (size - 1)) if size > 1 else shown
    return float(np.where(is_shown, share, 0).mean())
