"""Agreement with a reference: of pairs, subclusters and scores; and answers that are violated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.cluster import pair_confusion_matrix

from clew._validation import check_rectangular
from clew.answers import ALL_ALIKE, DONT_KNOW
from clew.constraints import Constraints
from clew.constraints._meanings import TRUTH
from clew.constraints._support import refuse_another_order
from clew.exceptions import InvalidConstraintsError, InvalidDataError


def jaccard_score_pairs(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Jaccard's coefficient (JCC) of the pairs that are together in two groupings.

    It is the number of pairs that are together in both groupings, divided by the number of pairs
    that are together in at least one.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        The reference.
    labels_pred : array-like of shape (n_samples,)
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
    both, one = _pairs_together(labels_true, labels_pred)
    return both / (both + one) if both + one else 1.0


def pairwise_f_score(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """F score of the pairs that are together: harmonic mean of their precision and recall.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        The reference.
    labels_pred : array-like of shape (n_samples,)
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
    both, one = _pairs_together(labels_true, labels_pred)
    return 2 * both / (2 * both + one) if both + one else 1.0


def _pairs_together(labels_true: ArrayLike, labels_pred: ArrayLike) -> tuple[int, int]:
    """Count the pairs that both groupings put together, and those that just one does."""
    reference, groups = (
        check_rectangular(labels_true, "labels_true"),
        check_rectangular(labels_pred, "labels_pred"),
    )
    if reference.ndim != 1 or reference.shape != groups.shape:
        raise InvalidDataError(
            "labels_true and labels_pred must be one-dimensional and of equal length, got shapes "
            f"{reference.shape} and {groups.shape}"
        )
    if reference.size == 0:
        return 0, 0
    # Every pair is counted twice there, once in either order.
    counts = pair_confusion_matrix(reference, groups) // 2
    return int(counts[1, 1]), int(counts[0, 1]) + int(counts[1, 0])


def subclustering_jaccard(labels_true: ArrayLike, exemplars: ArrayLike) -> float:
    """Subclustering Jaccard's coefficient (SJC): the share of classes shown, weighted by purity.

    Each class is matched with the subcluster that holds most of its rows. If these are more than
    half of the subcluster's rows, the class scores the share of the subcluster's pairs of rows in
    which both are of this class; otherwise 0. The coefficient is the mean over classes.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
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
    shows it. The mean is over all classes in `labels_true`, as in the thesis, whose numbers of
    classes and of subclusters are equal.

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
    labels = check_rectangular(labels_true, "labels_true")
    rows = check_rectangular(exemplars, "exemplars")
    if labels.ndim != 1 or rows.ndim != 2 or 0 in rows.shape or labels.size == 0:
        raise InvalidDataError(
            "labels_true must have shape (n_samples,) and exemplars (n_clusters, size), got "
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
        present, count = np.unique(subcluster, return_counts=True)
        np.maximum.at(shown, present, count)
    is_shown = 2 * shown > size
    share = shown * (shown - 1) / (size * (size - 1)) if size > 1 else shown
    return float(np.where(is_shown, share, 0).mean())


def area_under_curve(values: ArrayLike) -> float:
    """Area under a curve of scores by the trapezoid rule, for points one unit apart.

    Parameters
    ----------
    values : array-like of shape (n_points,)
        The score at each step, such as the adjusted Rand index at each number of answers.

    Returns
    -------
    float
        At most n_points - 1 where scores are at most 1.

    Raises
    ------
    InvalidDataError
        If there are fewer than two points, or some are not finite.

    References
    ----------
    .. [1] X. Zhu, C. C. Loy and S. Gong, "Constrained clustering with imperfect oracles", IEEE
       Transactions on Neural Networks and Learning Systems, 2016, tables II to IV.

    Examples
    --------
    >>> from clew.metrics import area_under_curve
    >>> area_under_curve([0.5, 0.7, 0.9])
    1.4
    """
    points = check_rectangular(values, "a curve")
    if points.ndim != 1 or points.size < 2:
        raise InvalidDataError(
            f"a curve is a one-dimensional array of at least two points, got shape {points.shape}"
        )
    if points.dtype.kind not in "biuf":
        raise InvalidDataError(f"a curve must hold numbers, got dtype {points.dtype}")
    if not np.isfinite(points).all():
        raise InvalidDataError(f"point {int(np.argmin(np.isfinite(points)))} is not finite")
    return float(np.trapezoid(points))


def n_violated(labels: ArrayLike, constraints: Constraints) -> int:
    """Count the answers that a partition violates, whatever their weights.

    Parameters
    ----------
    labels : array-like of shape (n_samples,), int
        Group of each row; a row of noise (-1) shares its group with no other.
    constraints : Constraints
        Answers of all kinds.

    Returns
    -------
    int
        These answers are violated: a must-link between groups; a cannot-link within a group; "a is
        more like b" if a shares a group with c and not with b; an odd-one-out answer if another
        row, or none, is in a different group; "all alike" if two of the rows are in different
        groups. An answer to a question that the groups do not decide, such as a triplet within one
        group, is not violated, and don't-know never is.

    Raises
    ------
    InvalidConstraintsError
        If the constraints are about another number of rows.
    InvalidDataError
        If `labels` is not a one-dimensional array of integers.

    Notes
    -----
    Linear in rows and answers.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.metrics import n_violated
    >>> c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], dont_know=[(0, 3)], n_samples=4)
    >>> n_violated([0, 0, 1, 1], c)
    1
    """
    refuse_another_order(labels, constraints)
    groups = check_rectangular(labels, "labels")
    if groups.ndim != 1 or (groups.dtype.kind not in "iu" and groups.size):
        raise InvalidDataError(
            "labels must be a one-dimensional array of integers, got "
            f"shape {groups.shape} and dtype {groups.dtype}"
        )
    if groups.size != constraints.n_samples:
        raise InvalidConstraintsError(
            f"the constraints are about {constraints.n_samples} rows, but there are "
            f"{groups.size} labels"
        )
    groups = groups.astype(np.int64)
    # Each row of noise is a group of its own.
    noise = np.flatnonzero(groups == -1)
    groups[noise] = min(int(groups.min(initial=0)), -1) - 1 - np.arange(noise.size)
    return sum(int(which.sum()) for which in violations(groups, constraints))


def violations(
    groups: NDArray[np.int64], constraints: Constraints
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the violated pairs, triplets and odd-one-out answers, see `n_violated`."""
    pairs = TRUTH["pair"](groups, constraints.pairs)
    triplets = TRUTH["triplet"](groups, constraints.triplets)
    odd = TRUTH["odd_one_out"](groups, constraints.odd_one_out)
    # Rows of three groups do not decide which is odd, but violate "all alike".
    some_differ = (odd == DONT_KNOW) & (constraints.odd_one_out_answers == ALL_ALIKE)
    return (
        _differ(pairs, constraints.pair_answers),
        _differ(triplets, constraints.triplet_answers),
        _differ(odd, constraints.odd_one_out_answers) | some_differ,
    )


def _differ(true: NDArray[np.int64], given: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray((true != given) & (true != DONT_KNOW) & (given != DONT_KNOW))


def weighted_auc(
    is_positive: NDArray[np.bool_], score: NDArray[np.float64], weight: NDArray[np.float64]
) -> float:
    """Area under the ROC curve; scikit-learn's replaces the whole process's warning filters."""
    _, place = np.unique(score, return_inverse=True)
    positive = np.bincount(place, weight * is_positive)
    negative = np.bincount(place, weight * ~is_positive)
    below = np.cumsum(negative) - negative
    total = positive.sum() * negative.sum()
    return float(positive @ (below + negative / 2) / total) if total else float("nan")
