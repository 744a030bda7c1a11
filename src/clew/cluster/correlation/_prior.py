"""Prior log-odds that two rows are in one group, from features and from which pairs were asked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array
from scipy.special import betaln, expit, logit, xlogy
from sklearn.metrics.pairwise import euclidean_distances

from clew._parallel import blocks
from clew._units import Units
from clew.graphs import LocalScales

__all__ = ["FeaturePrior", "pair_features", "unasked_log_odds"]

Floats = NDArray[np.float64]
#: Normal prior of the weights of intercept, log distance and log rank: means, standard deviations.
MEAN, DEVIATION = np.array([-2.6, -0.25, -0.25]), np.array([3.0, 0.4, 0.4])
#: Magnitudes to which log distances and log-odds are clipped.
FAR, SURE = 6.0, 5.0
#: Sizes of the samples from which local scales and ranks of distances are estimated.
SCALE_ROWS, RANK_ROWS = 10_000, 500
#: Rows whose distances are computed at a time.
ROWS_PER_BLOCK = 1_024
#: Probability above which a pair counts as a match, and where no pair reaches it, as one answer
#: alone hardly can; largest number of paths of matches.
KNOWN, LIKELY, MAX_PATHS = 0.9, 0.8, 200_000
#: Lower bound of the log-likelihood ratio of not having been asked.
LEAST_UNASKED = -3.0
#: Prior probability that questions were chosen because rows look alike.
CHOSEN = 0.1
#: Prior probability that questions were asked across two sides only, as of records of two shops.
TWO_SIDED = 0.1


class FeaturePrior(NamedTuple):
    """Log-odds that two rows are in one group as a linear function of `pair_features`."""

    center: Floats
    """Mean `pair_features` of the pairs that it was fitted to."""
    weights: Floats
    """Intercept, and the weight of each feature."""

    @classmethod
    def fit(cls, features: Floats, probability: Floats) -> FeaturePrior:
        """Fit logistic regression (maximum a posteriori) to the probabilities of pairs.

        Parameters
        ----------
        features : ndarray of shape (n_pairs, 2)
            See `pair_features`.
        probability : ndarray of shape (n_pairs,)
            Probability that the two rows are in one group.
        """
        center = features.mean(axis=0)
        design = np.column_stack([np.ones(len(features)), features - center])

        def loss(weights: Floats) -> tuple[float, Floats]:
            logits, off = design @ weights, (weights - MEAN) / DEVIATION
            value = np.logaddexp(0, logits).sum() - probability @ logits + off @ off / 2
            return float(value), design.T @ (expit(logits) - probability) + off / DEVIATION

        return cls(center, minimize(loss, MEAN, jac=True, method="L-BFGS-B").x)

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of pairs, within ±5."""
        logits = self.weights[0] + (features - self.center) @ self.weights[1:]
        return np.asarray(np.clip(logits, -SURE, SURE))


def pair_features(X: Floats, pairs: NDArray[np.int64], seed: int) -> Floats:
    """Return two distances of each pair: the log distance on local scales, and the mean log rank.

    The rank is the number of rows nearer to one row of the pair than the other row is; its log is
    averaged over both rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    pairs : ndarray of shape (n_pairs, 2), int64
        Rows.
    seed : int
        Seed of the samples of rows: beyond 10,000 rows local scales, and beyond 500 ranks, are
        estimated from a sample.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
    """
    rows = Units.around_median(X).scale(X)
    random = np.random.RandomState(seed)
    scale = LocalScales(_sampled(rows, SCALE_ROWS, random)).of(rows)
    distance = np.empty(len(pairs))
    for start, stop in blocks(len(pairs), 16 * ROWS_PER_BLOCK):
        first, second = pairs[start:stop].T
        distance[start:stop] = np.linalg.norm(rows[first] - rows[second], axis=1)
    tiny = np.finfo(np.float64).tiny
    near = np.log(np.maximum(distance**2, tiny) / np.maximum(scale[pairs].prod(axis=1), tiny))
    ranks = np.log1p(_ranks(rows, _sampled(rows, RANK_ROWS, random), pairs, distance))
    return np.column_stack([np.clip(near, -FAR, FAR), ranks.mean(axis=1)])


def _sampled(rows: Floats, most: int, random: np.random.RandomState) -> Floats:
    if len(rows) <= most:
        return rows
    return np.asarray(rows[random.choice(len(rows), most, replace=False)])


def _ranks(rows: Floats, sample: Floats, pairs: NDArray[np.int64], distance: Floats) -> Floats:
    """Return how many rows are nearer to each row of a pair than the other row, (n_pairs, 2)."""
    n_pairs, share = len(pairs), len(rows) / len(sample)
    row = pairs.T.ravel()
    order = np.argsort(row, kind="stable")
    length, sorted_rows = np.tile(distance, 2)[order], row[order]
    result = np.empty(2 * n_pairs)
    for start, stop in blocks(len(rows), ROWS_PER_BLOCK):
        low, high = np.searchsorted(sorted_rows, [start, stop])
        if low == high:
            continue
        others = np.sort(euclidean_distances(rows[start:stop], sample), axis=1)
        inside = sorted_rows[low:high] - start
        # One binary search for all rows: the distances of each row are shifted above the previous.
        span = max(float(others.max()), float(length[low:high].max())) + 1.0
        flat = (others + span * np.arange(len(others))[:, None]).ravel()
        found = np.searchsorted(flat, length[low:high] + span * inside)
        result[order[low:high]] = share * (found - inside * others.shape[1])
    return result.reshape(2, n_pairs).T


def unasked_log_odds(n_rows: int, pairs: NDArray[np.int64], probability: Floats) -> float:
    """Estimate the log-likelihood ratio of the fact that a pair was not asked.

    Questions are often chosen because two rows look alike. A pair that was not asked is then less
    likely to match. Two hypotheses are compared: pairs were asked at random, or pairs within groups
    were asked more often. Under the first, there are many paths i, j, k of two matches whose ends
    i, k were not asked, because these pairs were asked as rarely as all others.

    If questions are asked across two sides only, such as records of two shops, the ends of two
    matches are on one side and never asked. The ends of three matches are on both sides and decide.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    pairs : ndarray of shape (n_pairs, 2), int64
        Asked pairs, each once.
    probability : ndarray of shape (n_pairs,)
        Probability that the rows of each pair match.

    Returns
    -------
    float
        Log of the share of unasked pairs within groups, divided by that among all pairs; -3 to 0.
    """
    known = pairs[probability > (KNOWN if (probability > KNOWN).any() else LIKELY)]
    n_all = n_rows * (n_rows - 1) / 2
    if len(known) == 0 or len(pairs) >= n_all:
        return 0.0
    random, to_key = len(pairs) / n_all, np.array([n_rows, 1])
    keys, fewer = np.sort(pairs, axis=1) @ to_key, _missing_paths(pairs, known)

    def count(ends: NDArray[np.int64]) -> tuple[float, float]:
        asked = float(np.isin(ends @ to_key, keys).sum())
        return asked, len(ends) - asked

    even, odd = count(_ends_of_paths(n_rows, known)), count(_ends_of_odd_paths(n_rows, known))
    (asked, unasked), (odd_asked, odd_unasked) = even, odd
    # Two sides: the ends of two matches are on one side, and those of three matches are not.
    is_two_sided = 0.0
    if odd_asked * unasked > asked * odd_unasked:
        both = betaln(asked + odd_asked + 1, unasked + odd_unasked + 1)
        log_ratio = betaln(asked + 1, unasked + 1) + betaln(odd_asked + 1, odd_unasked + 1) - both
        is_two_sided = expit(log_ratio + logit(TWO_SIDED))
    one = _log_odds_of_unasked(even, random, fewer)
    # At most half of all pairs are of rows on different sides.
    two = _log_odds_of_unasked(odd, min(2 * random, 1 - 1 / n_all), fewer)
    return float((1 - is_two_sided) * one + is_two_sided * two)


def _log_odds_of_unasked(counts: tuple[float, float], random: float, evidence: float) -> float:
    """Compare how many ends of paths of matches were asked with the share of random questions."""
    asked, unasked = counts
    log_ratio = betaln(unasked + 1, asked + 1) - (
        asked * np.log(random) + unasked * np.log1p(-random)
    )
    is_chosen = expit(log_ratio + evidence + logit(CHOSEN))
    within = (unasked + 1.0) / (asked + unasked + 2.0)
    return float(is_chosen * np.clip(np.log(within / (1.0 - random)), LEAST_UNASKED, 0.0))


def _missing_paths(pairs: NDArray[np.int64], known: NDArray[np.int64]) -> float:
    """Return the log-likelihood ratio of the number of paths, for and against random questions.

    Under random questions, the number of matches found for a row varies at least as much as a
    Poisson variable. This gives a lower bound for the expected number of paths.
    """
    degree = np.unique(known, return_counts=True)[1]
    n_paths = float((degree * (degree - 1)).sum()) / 2
    expected = 2.0 * len(known) ** 2 / len(np.unique(pairs))
    if n_paths >= expected:
        return 0.0
    return expected - n_paths + float(xlogy(n_paths, n_paths / expected))


def _ends_of_paths(n_rows: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the two ends of all paths of two pairs, each pair of ends once, (n, 2)."""
    if len(pairs) == 0:
        return np.zeros((0, 2), np.int64)
    first, second = np.concatenate([pairs, pairs[:, ::-1]]).T
    links = csr_array(coo_array((np.ones(len(first)), (first, second)), shape=(n_rows, n_rows)))
    degree = np.diff(links.indptr)
    # Rows with few links first: a row with many links is in the middle of very many paths.
    middle = np.argsort(degree, kind="stable")
    n_paths = np.cumsum(degree[middle] * (degree[middle] - 1) // 2)
    middle = middle[: max(1, np.searchsorted(n_paths, MAX_PATHS, side="right"))]
    chosen = links[middle]
    product = coo_array(chosen.T @ chosen)
    is_upper = product.row < product.col
    return np.column_stack([product.row[is_upper], product.col[is_upper]]).astype(np.int64)


def _ends_of_odd_paths(n_rows: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the two ends of all paths of three pairs, each pair of ends once, (n, 2)."""
    first, second = np.concatenate([pairs, pairs[:, ::-1]]).T
    links = csr_array(coo_array((np.ones(len(first)), (first, second)), shape=(n_rows, n_rows)))
    degree = np.diff(links.indptr)
    left, right = pairs.T
    n_paths = degree[left] * degree[right]
    order = np.argsort(n_paths, kind="stable")
    order = order[np.cumsum(n_paths[order]) <= MAX_PATHS]
    middle = np.repeat(order, n_paths[order])
    left, right = left[middle], right[middle]
    at = np.arange(len(middle)) - np.repeat(
        np.cumsum(n_paths[order]) - n_paths[order], n_paths[order]
    )
    begin = links.indices[links.indptr[left] + at // degree[right]]
    end = links.indices[links.indptr[right] + at % degree[right]]
    is_path = (begin != right) & (end != left) & (begin != end)
    ends = np.sort(np.column_stack([begin, end])[is_path], axis=1)
    return np.unique(ends, axis=0).astype(np.int64)
