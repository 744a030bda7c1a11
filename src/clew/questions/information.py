"""Mutual information of an answer and the groups of its rows, with a uniform prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from clew._validation import check_rectangular
from clew.exceptions import InvalidParameterError

__all__ = ["odd_one_out_information", "pair_information", "triplet_information"]


def pair_information(n_clusters: ArrayLike) -> NDArray[np.float64]:
    """Return the mutual information of the true answer about a pair and the groups of its rows.

    Parameters
    ----------
    n_clusters : int or array-like of int
        Number of groups. Each row is in each group with the same probability.

    Returns
    -------
    ndarray of the shape of `n_clusters`
        In nats.

    Raises
    ------
    InvalidParameterError
        If a number is not an integer, or below 1.

    Notes
    -----
    Equation 4: ``log K - P(different)·log(K - 1)``. The groups determine the answer, so this is
    the entropy of the answer.

    References
    ----------
    Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative clustering with relative
    constraints", 2014, section II-A.

    Examples
    --------
    >>> from clew.questions import pair_information
    >>> pair_information([2, 8]).round(3)
    array([0.693, 0.377])
    """
    k = _as_numbers(n_clusters)
    same = 1 / k
    return np.asarray(entr(same) + entr(1 - same))


def triplet_information(n_clusters: ArrayLike, *, dont_know: bool = True) -> NDArray[np.float64]:
    """Return the mutual information of the true answer to a triplet and the groups of its rows.

    Parameters
    ----------
    n_clusters : int or array-like of int
        Number of groups. Each row is in each group with the same probability.
    dont_know : bool, default=True
        Whether don't-know is used as an answer. It is the true one if neither or both of b and c
        are in the group of a.

    Returns
    -------
    ndarray of the shape of `n_clusters`
        In nats.

    Raises
    ------
    InvalidParameterError
        If a number is not an integer, or below 1.

    Notes
    -----
    Equations 3 and 5. The groups determine the answer, so this is the entropy of the answer;
    without don't-know, the sum of the terms of the two other answers.

    References
    ----------
    Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative clustering with relative
    constraints", 2014, section II-A and appendix.

    Examples
    --------
    >>> from clew.questions import triplet_information
    >>> triplet_information([2, 8]).round(3)
    array([1.04 , 0.677])
    >>> triplet_information([2, 8], dont_know=False).round(3)
    array([0.693, 0.484])
    """
    k = _as_numbers(n_clusters)
    first = (k - 1) / k**2
    known = 2 * entr(first)
    return np.asarray(known + entr(1 - 2 * first) if dont_know else known)


def odd_one_out_information(
    n_clusters: ArrayLike, *, dont_know: bool = True
) -> NDArray[np.float64]:
    """Return the mutual information of the true odd-one-out answer and the groups of its rows.

    Parameters
    ----------
    n_clusters : int or array-like of int
        Number of groups. Each row is in each group with the same probability.
    dont_know : bool, default=True
        Whether don't-know is used as an answer. It is the true one if all three rows differ.

    Returns
    -------
    ndarray of the shape of `n_clusters`
        In nats.

    Raises
    ------
    InvalidParameterError
        If a number is not an integer, or below 1.

    Notes
    -----
    Not in the paper; derived like equations 3 and 5. The probability that a given row is the odd
    one is ``(K - 1)/K²``, that of "all alike" is ``1/K²``.

    Examples
    --------
    >>> from clew.questions import odd_one_out_information
    >>> odd_one_out_information([2, 8]).round(3)
    array([1.386, 1.068])
    """
    k = _as_numbers(n_clusters)
    odd, none = (k - 1) / k**2, 1 / k**2
    known = 3 * entr(odd) + entr(none)
    # In this form it is never negative by rounding.
    different = (k - 1) * (k - 2) / k**2
    return np.asarray(known + entr(different) if dont_know else known)


def _as_numbers(n_clusters: ArrayLike) -> NDArray[np.float64]:
    numbers = check_rectangular(n_clusters, "n_clusters")
    if numbers.dtype.kind not in "iu" or (numbers < 1).any():
        raise InvalidParameterError(
            f"n_clusters must hold whole numbers of at least 1, got {n_clusters!r}"
        )
    return numbers.astype(np.float64)
