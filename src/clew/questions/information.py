"""How much an answer tells about the groups of its rows, before anything is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from clew.exceptions import InvalidParameterError

__all__ = ["odd_one_out_information", "pair_information", "triplet_information"]


def pair_information(n_clusters: ArrayLike) -> NDArray[np.float64]:
    """Measure what the true answer about a pair tells about the groups of its two rows.

    Parameters
    ----------
    n_clusters : int or array-like of int
        Number of groups, of which each row is in any with equal chance.

    Returns
    -------
    ndarray of the shape of `n_clusters`
        Mutual information in nats.

    Raises
    ------
    InvalidParameterError
        If a number is none, or below 1.

    Notes
    -----
    Equation 4: ``log K - P(different)·log(K - 1)``. As the groups settle the answer, this is the
    entropy of the answer.

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
    """Measure what the true answer about a triplet tells about the groups of its three rows.

    Parameters
    ----------
    n_clusters : int or array-like of int
        Number of groups, of which each row is in any with equal chance.
    dont_know : bool, default=True
        Whether don't-know, which is the true answer where neither or both of b and c are with a,
        is listened to.

    Returns
    -------
    ndarray of the shape of `n_clusters`
        Mutual information in nats.

    Raises
    ------
    InvalidParameterError
        If a number is none, or below 1.

    Notes
    -----
    Equations 3 and 5. As the groups settle the answer, what is told is the entropy of the answer;
    without don't-know, of its terms those of the two other answers.

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
    settled = 2 * entr(first)
    return np.asarray(settled + entr(1 - 2 * first) if dont_know else settled)


def odd_one_out_information(
    n_clusters: ArrayLike, *, dont_know: bool = True
) -> NDArray[np.float64]:
    """Measure what the true odd-one-out answer tells about the groups of its three rows.

    Parameters
    ----------
    n_clusters : int or array-like of int
        Number of groups, of which each row is in any with equal chance.
    dont_know : bool, default=True
        Whether don't-know, which is the true answer where all three differ, is listened to.

    Returns
    -------
    ndarray of the shape of `n_clusters`
        Mutual information in nats.

    Raises
    ------
    InvalidParameterError
        If a number is none, or below 1.

    Notes
    -----
    Not in the paper; derived like equations 3 and 5. Each row is the odd one with chance
    ``(K - 1)/K²``, none is with chance ``1/K²``.

    Examples
    --------
    >>> from clew.questions import odd_one_out_information
    >>> odd_one_out_information([2, 8]).round(3)
    array([1.386, 1.068])
    """
    k = _as_numbers(n_clusters)
    odd, none = (k - 1) / k**2, 1 / k**2
    settled = 3 * entr(odd) + entr(none)
    # (K - 1)(K - 2)/K², and never a hair below nil.
    different = (k - 1) * (k - 2) / k**2
    return np.asarray(settled + entr(different) if dont_know else settled)


def _as_numbers(n_clusters: ArrayLike) -> NDArray[np.float64]:
    numbers = np.asarray(n_clusters)
    if numbers.dtype.kind not in "iu" or (numbers < 1).any():
        raise InvalidParameterError(
            f"n_clusters must hold whole numbers of at least 1, got {n_clusters!r}"
        )
    return numbers.astype(np.float64)
