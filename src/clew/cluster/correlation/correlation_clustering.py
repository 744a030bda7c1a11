"""Correlation clustering: groups from pair answers, and their number."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_array
from scipy.special import expit, logit

from clew._estimators import ConstrainedClusterer, guarded_fit
from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import Progress
from clew._random import RandomState, derived_seeds
from clew._units import Units
from clew._validation import Allowed, check_features, check_n_clusters, check_parameters
from clew._warnings import warn
from clew.cluster._kmeans import kmeans
from clew.cluster.correlation._prior import (
    LEAST_UNASKED,
    FeaturePrior,
    pair_features,
    unasked_log_odds,
)
from clew.cluster.correlation._search import Evidence, greedy_merges, search
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.exceptions import DeadEndWarning, InvalidConstraintsError
from clew.metrics import n_violated
from clew.trust import DawidSkene

__all__ = ["CorrelationClustering"]

#: How often the prior from features is fitted, each time to the pairs' new probabilities.
ROUNDS = 2
#: People may misjudge a pair alike, so repeated answers count up to this log-odds for or against.
CERTAIN = 2.0


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
        not asked. Below 0 where questions were chosen because rows look alike, else 0.
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
    ``1 + u / 3``: large groups of chosen questions show by their answers. It is left out if
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
        evidence = self._evidence(features, n, seed_of_prior)
        _report(callback, 2)
        labels = search(evidence, -self.distance_threshold, self.n_clusters, seed_of_search)
        if self.n_clusters is not None and int(labels.max()) + 1 > self.n_clusters:
            labels = self._joined_by_features(features, labels, seed_of_search)
        _report(callback, 3)
        self.labels_ = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self._set_merges(evidence)
        self.n_violated_ = n_violated(self.labels_, known)
        return self

    def _evidence(self, features: NDArray[np.float64] | None, n: int, seed: int) -> Evidence:
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
        self.unasked_log_odds_ = unasked_log_odds(n, pairs, probability)
        attraction = 1 - self.unasked_log_odds_ / LEAST_UNASKED
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

    def _set_merges(self, evidence: Evidence) -> None:
        """Set the greedy merges from single rows to as few groups as asked pairs connect."""
        _, merges = greedy_merges(evidence, np.arange(evidence.n_rows), 1)
        self.merges_, self.distances_ = merges.groups, -merges.scores


def _report(callback: Progress | None, done: int) -> None:
    if callback is not None:
        callback(done, 3)
