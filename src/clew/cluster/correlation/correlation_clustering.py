"""Correlation clustering: groups from pair answers, and their number."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array
from scipy.special import betaln, expit, logit, xlogy
from sklearn.metrics.pairwise import euclidean_distances

from clew._estimators import ConstrainedClusterer, guarded_fit
from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import Progress, blocks
from clew._units import Units
from clew._validation import (
    Allowed,
    RandomState,
    check_features,
    check_n_clusters,
    check_parameters,
    derived_seeds,
)
from clew._warnings import warn
from clew.cluster._kmeans import kmeans
from clew.cluster.correlation._search import Evidence, greedy_merges, search
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.exceptions import DeadEndWarning, InvalidConstraintsError
from clew.graphs import LocalScales
from clew.metrics import n_violated
from clew.trust import DawidSkene

__all__ = ["CorrelationClustering"]

#: How often the prior from features is fitted, each time to the pairs' new probabilities.
ROUNDS = 2
#: People may misjudge a pair alike, so repeated answers count up to this log-odds for or against.
CERTAIN = 2.0
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


class CorrelationClustering(ConstrainedClusterer):
    """Groups from pair answers, with or without features; their number need not be given.

    For data with many small groups, such as records of the same restaurant or photos of the same
    person. The probability that the rows of an asked pair are in one group comes from all answers
    to it; an annotator who errs often counts less (`DawidSkene`). Groups are merged while the
    evidence between them favors a merge. Then single rows are moved and groups are split where
    that improves the result.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. None: merges end when the evidence favors none.
    distance_threshold : float, default=0.0
        Two groups are merged while their distance is below this threshold. The distance is minus
        the log-odds that the two are one group, so that higher thresholds give fewer groups. Rows
        move and groups are split by the same threshold. Ignored if `n_clusters` is given.
    prior_error : float, default=0.1
        Prior probability of a wrong answer, see `DawidSkene`.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row, from 0. Without `n_clusters`, a row that no answer names is a group of
        its own.
    n_clusters_ : int
        Number of groups.
    dawid_skene_ : DawidSkene
        The error rates of annotators, and for each asked pair the probability that its rows are
        in one group, from the answers to that pair alone.
    evidence_ : csr_array of shape (n_samples, n_samples)
        For each asked pair the log-likelihood ratio of its answers, same against different. It is
        limited to ``2 + abs(log-odds of a match)``: people may misjudge a pair alike.
    prior_ : csr_array of shape (n_samples, n_samples)
        For each asked pair the log-odds that its rows are in one group, before its answers.
    feature_weights_ : ndarray of shape (3,) or None
        Coefficients of that prior: the intercept, and the weights of the log distance and of its
        log rank among the distances from the same row. None without features or answers.
    unasked_log_odds_ : float
        Added to the log-odds that two groups are one, for each pair of rows between them that was
        not asked. Below 0 where questions were chosen because rows look alike, else 0; also 0
        without features if most answers have the origin "asked".
    merges_ : ndarray of shape (n_merges, 2), int64
        Greedy merges, in order, from single rows to as few groups as asked pairs connect. Each
        group is named by one of its rows; the second group is merged into the first. `labels_`
        need not be a cut of this tree, because rows are moved and groups split afterwards.
    distances_ : ndarray of shape (n_merges,)
        Distance of the two groups of each merge.
    n_violated_ : int
        Number of answers that contradict `labels_`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or `n_clusters` exceeds the number of rows.
    InvalidConstraintsError
        If neither answers nor features are given, or the answers are about another number of rows.

    Warns
    -----
    DeadEndWarning
        If there are more groups than `n_clusters`, because no asked pair connects them and no
        features are given.

    See Also
    --------
    GuidedClustering : Groups from features and answers of all kinds.
    clew.trust.DawidSkene : Error rates of annotators, from repeated answers.

    Notes
    -----
    The log-odds that two groups A and B are one are
    ``sum(E) + 0.25 * mean(W) + 0.75 * max(W) + u * n_unasked + (1 + u / 3) * log(B(|A|, |B|))``,
    where u is at least -3. Sum, mean and
    maximum are over the asked pairs between A and B; E is `evidence_` and W is `prior_`.
    Without features, W is the same for all pairs: the log-odds of the estimated share of matches
    among asked pairs. With features, W is a logistic function of the distance on local scales,
    fitted to the answers. u is `unasked_log_odds_`, and n_unasked the number of pairs between A and
    B that were not asked. Where questions were chosen because rows look alike, a pair that was not
    asked is less likely to match. If all questions are about rows of different sides, such as
    records of two shops, this is seen from the ends of paths of three matches, which were asked,
    although the ends of two never are. The last term is that of a Chinese restaurant process,
    ``B(a, b) = (a + b - 1)! / ((a - 1)! (b - 1)!)``: large groups attract. Its weight is
    ``1 + u / 3``: large groups of chosen questions show by their answers. It is left out without
    features if most answers have the origin "asked", where u is 0: earlier answers chose the
    questions, so a pair that was not asked is no evidence. It is also left out if
    `unasked_log_odds_` is 0 and annealing finds no partition twice: very many partitions into few
    groups then satisfy the answers, and each of them is arbitrary.

    The search starts from single rows and, up to 20,000 rows with 3 asked pairs each on the
    average, also from simulated annealing with 2 to 25 groups; the better result is returned.

    `n_clusters` groups are reached by merges against the evidence, if need be. If they have fewer
    than 5 rows on the average, large groups do not attract, and annealing is left out. Groups that
    no asked pair connects are then joined by Ward linkage of their mean features (k-means beyond
    5,000 groups). If fewer than 3 rows for each of the `n_clusters` groups are named by answers,
    the answers alone decide how many groups these rows form.

    Time O(m log m) for m asked pairs. Features add O((500 + min(n, 10,000)) n d) for n rows and d
    features: up to 10,000 rows for local scales and 500 for ranks of distances.

    References
    ----------
    N. Bansal, A. Blum and S. Chawla, "Correlation clustering", Machine Learning 2004.
    M. Keuper et al., "Efficient decomposition of image and mesh graphs by lifted multicuts",
    ICCV 2015 (greedy merges and moves).

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.cluster import CorrelationClustering
    >>> answers = Constraints.from_pairs(
    ...     must_link=[(0, 1), (1, 2), (3, 4)], cannot_link=[(0, 3), (2, 4), (0, 5)], n_samples=6
    ... )
    >>> CorrelationClustering().fit(constraints=answers).labels_
    array([0, 0, 0, 1, 1, 2])
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "distance_threshold": Allowed(kind=float),
        "prior_error": Allowed(kind=float, low=0, high=1, low_open=True, high_open=True),
    }

    n_clusters_: int
    dawid_skene_: DawidSkene
    evidence_: csr_array
    prior_: csr_array
    feature_weights_: NDArray[np.float64] | None
    unasked_log_odds_: float
    merges_: NDArray[np.int64]
    distances_: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        distance_threshold: float = 0.0,
        prior_error: float = 0.1,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.prior_error = prior_error
        self.random_state = random_state

    @guarded_fit
    def fit(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Features. None: answers alone.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            Pair answers.
        callback : callable, default=None
            Called between stages with the number done and the number in all; it may raise to stop.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        if X is None and constraints is None:
            raise InvalidConstraintsError(
                "CorrelationClustering needs answers, or features, or both: "
                "fit(constraints=answers)"
            )
        features = None if X is None else check_features(self, X)
        n = constraints.n_samples if isinstance(constraints, Constraints) else 0
        n = n if features is None else len(features)
        known = answers_for(self, constraints, n)
        if self.n_clusters is not None:
            check_n_clusters(self, n)
        seed_of_prior, seed_of_search = derived_seeds(self.random_state, 2)
        self.dawid_skene_ = DawidSkene(prior_error=self.prior_error).fit(known)
        _report(callback, 1)
        is_chosen = features is None and 2 * (known.pair_origins == "asked").sum() > len(known)
        evidence = self._evidence(features, n, seed_of_prior, is_chosen)
        _report(callback, 2)
        labels = search(evidence, -self.distance_threshold, self.n_clusters, seed_of_search)
        if self.n_clusters is not None and int(labels.max()) + 1 > self.n_clusters:
            labels = self._joined_by_features(features, labels, seed_of_search)
        _report(callback, 3)
        self.labels_ = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        self.n_clusters_ = int(self.labels_.max()) + 1
        # From single rows to as few groups as asked pairs connect.
        _, merges = greedy_merges(evidence, np.arange(evidence.n_rows), 1)
        self.merges_, self.distances_ = merges.groups, -merges.scores
        self.n_violated_ = n_violated(self.labels_, known)
        return self

    def _evidence(
        self, features: NDArray[np.float64] | None, n: int, seed: int, is_chosen: bool
    ) -> Evidence:
        """Collect evidence and prior of the asked pairs, and set the attributes made of them."""
        pairs = self.dawid_skene_.questions_["pair"]
        likelihood = self.dawid_skene_.log_likelihoods_["pair"]
        probability = self.dawid_skene_.probabilities_["pair"][:, 0]
        no_prior = float(logit(self.dawid_skene_.outcome_rates_["pair"][0]))
        most = CERTAIN + abs(no_prior)
        evidence = np.clip(likelihood[:, 0] - likelihood[:, 1], -most, most)
        prior, self.feature_weights_ = np.full(len(pairs), no_prior), None
        if features is not None and len(pairs):
            near = pair_features(features, pairs, seed)
            for _ in range(ROUNDS):
                fitted = FeaturePrior.fit(near, probability)
                prior = fitted.log_odds(near)
                probability = expit(evidence + prior)
            self.feature_weights_ = fitted.weights
        self.unasked_log_odds_ = 0.0 if is_chosen else unasked_log_odds(n, pairs, probability)
        attraction = 0.0 if is_chosen else 1 - self.unasked_log_odds_ / LEAST_UNASKED
        result = Evidence(n, pairs, evidence, prior, self.unasked_log_odds_, no_prior, attraction)
        self.evidence_, self.prior_ = result.symmetric(evidence), result.symmetric(prior)
        return result

    def _joined_by_features(
        self, features: NDArray[np.float64] | None, labels: NDArray[np.int64], seed: int
    ) -> NDArray[np.int64]:
        """Join groups that no asked pair connects, by the means of their features."""
        wanted, n_groups = self.n_clusters, int(labels.max()) + 1
        if features is None or wanted is None:
            warn(
                f"CorrelationClustering(n_clusters={wanted}) ends with {n_groups} groups: no "
                "answer compares rows of different groups; ask about such rows, or give features",
                DeadEndWarning,
            )
            return labels
        size = np.bincount(labels)
        rows = Units.around_median(features).scale(features)
        means = np.stack([np.bincount(labels, of, n_groups) / size for of in rows.T], axis=1)
        if n_groups <= ALL_PAIRS_ROWS:
            joined = np.asarray(fcluster(linkage(means, "ward"), wanted, "maxclust"), np.int64)
        else:
            joined = kmeans(means, wanted, n_init=1, random_state=seed).labels
        return np.asarray(joined[labels])


def _report(callback: Progress | None, done: int) -> None:
    if callback is not None:
        callback(done, 3)


class FeaturePrior(NamedTuple):
    """Log-odds that two rows are in one group as a linear function of `pair_features`."""

    center: Floats
    """Mean `pair_features` of the pairs that it was fitted to."""
    weights: Floats
    """Intercept, and the weight of each feature."""

    @classmethod
    def fit(cls, features: Floats, probability: Floats) -> FeaturePrior:
        """Fit MAP logistic regression: features (n_pairs, 2), probability (n_pairs,)."""
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
    """Return two distances of each pair, (n_pairs, 2): log distance on local scales, mean log rank.

    The rank is the number of rows nearer to one row than the other is, its log averaged over both.
    `seed` is for samples: beyond 10,000 rows for scales, and beyond 500 for ranks.
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
    """Estimate the log-likelihood ratio, from -3 to 0, of the fact that a pair was not asked.

    Questions are often chosen because two rows look alike. If pairs were asked at random, many
    paths i, j, k of two matches have ends that were not asked; compared with "more often within
    groups". Across two sides only, such as records of two shops, the ends of three matches decide:
    those of two are on one side.
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
    """Log-likelihood ratio of the number of paths, for and against random questions."""
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
