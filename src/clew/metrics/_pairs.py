"""Scores that count pairs of rows, without writing the pairs out."""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.metrics.cluster import pair_confusion_matrix

from clew._validation import check_rectangular
from clew.exceptions import InvalidDataError

__all__ = ["jaccard_score_pairs", "pairwise_f_score"]


def jaccard_score_pairs(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Jaccard's coefficient (JCC) of the pairs that are together in two groupings.

    It is the number of pairs that are together in both groupings, divided by the number of pairs
    that are together in at least one.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The reference.
    labels : array-like of shape (n_samples,)
        The groups to judge. Noise (-1) counts as one more group, as in scikit-learn's scores.

    Returns
    -------
    float
        Between 0 and 1; 1 for equal groupings, also where neither joins any rows. Symmetric.

    Raises
    ------
    InvalidDataError
        If the two differ in length or are not one-dimensional.

    Notes
    -----
    SS / (SS + SD + DS), where S and D say whether a pair is in the same or in different groups
    of either grouping. Linear in rows and in non-empty cells of the contingency table.

    References
    ----------
    .. [1] A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from
       humans", PhD thesis, University of Maryland, 2014, eq. 2.4.

    Examples
    --------
    >>> from clew.metrics import jaccard_score_pairs
    >>> jaccard_score_pairs([0, 0, 0, 1], [0, 0, 1, 1])
    0.25
    """
    both, one = _pairs_together(y_true, labels)
    return both / (both + one) if both + one else 1.0


def pairwise_f_score(y_true: ArrayLike, labels: ArrayLike) -> float:
    """F score of the pairs that are together: harmonic mean of their precision and recall.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The reference.
    labels : array-like of shape (n_samples,)
        The groups to judge. Noise (-1) counts as one more group, as in scikit-learn's scores.

    Returns
    -------
    float
        Between 0 and 1; 1 for equal groupings, also where neither joins any rows. Symmetric.

    Raises
    ------
    InvalidDataError
        If the two differ in length or are not one-dimensional.

    Notes
    -----
    2 SS / (2 SS + SD + DS), in the words of `jaccard_score_pairs`, and of the same cost.

    Examples
    --------
    >>> from clew.metrics import pairwise_f_score
    >>> pairwise_f_score([0, 0, 0, 1], [0, 0, 1, 1])
    0.4
    """
    both, one = _pairs_together(y_true, labels)
    return 2 * both / (2 * both + one) if both + one else 1.0


def _pairs_together(y_true: ArrayLike, labels: ArrayLike) -> tuple[int, int]:
    """Count the pairs that both groupings put together, and those that just one does."""
    reference, groups = check_rectangular(y_true, "y_true"), check_rectangular(labels, "labels")
    if reference.ndim != 1 or reference.shape != groups.shape:
        raise InvalidDataError(
            "y_true and labels must be one-dimensional and of equal length, got shapes "
            f"{reference.shape} and {groups.shape}"
        )
    if reference.size == 0:
        return 0, 0
    # Every pair is counted twice there, once in either order.
    counts = pair_confusion_matrix(reference, groups) // 2
    return int(counts[1, 1]), int(counts[0, 1]) + int(counts[1, 0])
