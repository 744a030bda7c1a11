"""COP-RF: affinities from a clustering forest that is constrained by answers."""

from __future__ import annotations

from copy import copy
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedTransformer, guarded_fit
from clew._parallel import Progress, blocks
from clew._units import Units
from clew._validation import Allowed, AllowedValues, RandomState, derived_seeds
from clew.answers import DIFFERENT, SAME
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for, refuse_contradictions
from clew.forest import Proximity, links_of
from clew.graphs import (
    LocalScales,
    check_n_neighbors,
    coincide,
    local_gaussian,
    local_scales,
    scaled_squares,
)
from clew.kernels.forest.layout import Links
from clew.metrics._scores import weighted_auc
from clew.similarity.clustrf import ForestSimilarity
from clew.trust import answer_evidence, constraint_inconsistency, pair_posterior

__all__ = ["COPRF"]

SOFT_SHARE, SOFT_REWARD = 0.7, 4.0
SOFT_COMPONENTS, SOFT_EUCLIDEAN = 20, 0.5
#: Gains are at most 1, so a reward of 2 ranks one more separated cannot-link above any gain.
HARD_SHARE, HARD_REWARD = 0.5, 2.0
#: Share of the answers that the paper's filter keeps (β).
KEPT_SHARE = 0.5
#: Estimated error rate from which trust="auto" weights answers by their posteriors.
NOISE_FLOOR = 0.05
MAX_ENTAILED = 50_000
#: Area under the ROC curve from which distances count as informative. On 18 data sets it was .4 to
#: .7 where mixing distances into a forest sometimes did harm, and above .8 where it always helped.
INFORMATIVE_AUC = 0.7
MAX_ANSWERS = 1_000
#: Neighbors taken from the forest for each one kept, if distances are mixed in.
CANDIDATES_PER_NEIGHBOR = 3
ROWS_PER_BLOCK, ENTRIES_PER_BLOCK = 128, 1 << 16
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Trust = Literal["auto", "posterior", "inconsistency"]


class COPRF(ConstrainedTransformer, ForestSimilarity):
    """Constraint propagation forest: a clustering forest constrained by answers about pairs.

    The trees are those of `ClustRF`, but splits are also scored by the answers: a split should
    separate cannot-linked rows, and keep must-linked rows together. It does so by a feature, and
    thereby propagates the answers to all rows that are similar in this feature.

    Parameters
    ----------
    n_trees : int, default=1000
        Number of trees.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features tried at each node; a float is a share of all features, None is all.
    min_samples_leaf : int, default=1
        Least number of bootstrap draws in each child of a node.
    proximity : {"leaf", "adaptive", "uniform"}, default="leaf"
        Affinity of two rows in a tree, see `ClustRF`.
    max_samples : int, float or None, default=None
        Number of bootstrap draws for each tree, see `ClustRF`.
    mode : {"soft", "hard"}, default="soft"
        "soft" adds ``4·(κ - v) / (1 + c)`` to the relative gain of a split, where κ, v and c are
        the total weights of separated cannot-links, of separated must-links, and of all answers in
        the node. "hard" is the paper's method: no split may separate a must-link; among the other
        splits, the one that separates most cannot-links is chosen, and the gain decides ties only.
        Entailed pairs count as well.
    share : float or "auto", default="auto"
        Probability that a tree uses an answer; "auto" is 0.7 if soft and 0.5 if hard.
    components : int, "auto" or None, default="auto"
        Number of principal components of the standardized features that trees may split on besides
        the features. "auto" is 20 if soft and 0 if hard; None is 0.
    euclidean : float or "auto", default="auto"
        Share of Gaussian affinities with local scales, of features mapped to [-1, 1], that is mixed
        into the affinities of the forest. "auto" is 0.5 if soft and 0 if hard; see `alternatives`.
    trust : {"auto", "posterior", "inconsistency"} or None, default="auto"
        How answers are weighted. "posterior" multiplies the weight of each by the probability that
        it is right (`clew.trust.pair_posterior`); if hard, answers that are more likely wrong are
        dropped. "inconsistency" is the paper's filter, which drops half of the answers. None keeps
        the given weights. "auto" is "posterior" if the estimated error rate is 0.05 or more, and
        None otherwise.
    random_state : int, RandomState or None, default=None
        Seed of the pseudo rows, the trees and all samples.
    n_jobs : int or None, default=None
        Number of threads, as joblib counts them. The result does not depend on it.
    verbose : int, default=0
        1 logs progress to the logger "clew", 2 logs more.

    Attributes
    ----------
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Affinities of all pairs of rows, in [0, 1]; computed at the first access.
    constraint_weight_ : ndarray of shape (n_pairs,)
        Weight of each answer in the fit, in [0, 1]; 0 for a don't-know.
    doubt_ : ndarray of shape (n_pairs,)
        Probability that each answer is wrong; NaN if it was not estimated.
    error_rate_ : float or None
        Estimated share of wrong answers; None if it was not estimated.
    n_violated_ : ndarray of shape (n_trees,)
        Number of the answers used by each tree, if hard with the entailed pairs, that it violates.
    euclidean_ : float
        Share of the Gaussian affinities.
    forest_ : Forest
        The trees.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InconsistentConstraintsError
        If `mode` is "hard", `trust` is not "inconsistency", and the answers that are likely right
        contradict each other.

    See Also
    --------
    ClustRF : The same forest without answers.
    E2CP : Propagates answers over a neighbor graph.

    Notes
    -----
    Honors pairs; don't-knows are ignored. Weights of answers count if soft; if hard, any positive
    weight counts as 1. Time O(T·(n + c)·√d·log n) for n rows, c answers, d features and T trees;
    memory O(T·n + c). The paper's model is ``COPRF(mode="hard", trust="inconsistency")``. Where
    the paper is ambiguous, a node becomes a leaf only if no split is valid; separated cannot-links
    are counted again at each node; and if answers still contradict each other after filtering, the
    must-links hold.

    References
    ----------
    X. Zhu, C. C. Loy and S. Gong, "Constrained clustering with imperfect oracles", IEEE TNNLS
    2015. The soft score is clew's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import COPRF
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=60, random_state=0)
    >>> forest = COPRF(n_trees=100, random_state=0).fit(X, constraints=c)
    >>> forest.affinity_matrix_.shape
    (150, 150)
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, AllowedValues]] = ForestSimilarity._allowed | {
        "components": Allowed(names=("auto",), kind=int, low=1, none=True),
        "euclidean": Allowed(names=("auto",), kind=float, low=0, high=1),
        "mode": Allowed(names=("soft", "hard")),
        "share": Allowed(names=("auto",), kind=float, low=0, high=1, low_open=True),
        "trust": Allowed(names=("auto", "posterior", "inconsistency"), none=True),
    }

    constraint_weight_: Floats
    doubt_: Floats
    error_rate_: float | None
    n_violated_: NDArray[np.int64]
    euclidean_: float
    _space: Space
    _rows: Floats
    _are_distances_informative: bool

    def __init__(
        self,
        n_trees: int = 1000,
        *,
        max_features: str | float | None = "sqrt",
        min_samples_leaf: int = 1,
        proximity: Proximity = "leaf",
        max_samples: float | None = None,
        mode: Literal["soft", "hard"] = "soft",
        share: float | Literal["auto"] = "auto",
        components: int | Literal["auto"] | None = "auto",
        euclidean: float | Literal["auto"] = "auto",
        trust: Trust | None = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.proximity = proximity
        self.max_samples = max_samples
        self.mode = mode
        self.share = share
        self.components = components
        self.euclidean = euclidean
        self.trust = trust
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @guarded_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Weight the answers, and grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. Their units do not matter.
        y : ignored
            Present for compatibility with scikit-learn.
        constraints : Constraints, default=None
            Pair answers; None for no answers.
        callback : callable, default=None
            Called as ``callback(n_done, n_blocks)`` while blocks of trees are grown.

        Returns
        -------
        self
        """
        features = self._check(X)
        answers = answers_for(self, constraints, len(features))
        seed, *seeds_of_forest = derived_seeds(self.random_state, 3)
        weights = _weigh_answers(features, answers, self.trust, seed, self.n_jobs)
        if self.mode == "hard" and self.trust != "inconsistency":
            refuse_contradictions(_likely_right(answers, weights))
        is_soft = self.mode == "soft"
        space = Space.fit(features, SOFT_COMPONENTS if is_soft else 0, self.components, seed)
        self._grow(
            space.widened(features),
            seeds_of_forest,
            links=_soft_links(answers, weights) if is_soft else hard_links(answers, weights, seed),
            share=_resolved(self.share, SOFT_SHARE if is_soft else HARD_SHARE),
            reward=SOFT_REWARD if is_soft else HARD_REWARD,
            is_relative=is_soft,
            callback=callback,
        )
        self._space, self._rows = space, space.units.scale(features)
        self.euclidean_ = _resolved(self.euclidean, SOFT_EUCLIDEAN if is_soft else 0.0)
        self.constraint_weight_, self.doubt_, self.error_rate_ = weights
        self.n_violated_ = self.forest_.n_violated
        is_mixed_by_default = self.euclidean == "auto" and self.euclidean_ > 0
        self._are_distances_informative = not is_mixed_by_default or distances_are_informative(
            self._rows, answers, weights.weight, seed
        )
        return self

    def alternatives(self) -> list[Self]:
        """Return other affinities of the same trees, which may fit the answers better.

        Returns
        -------
        list of COPRF
            Fitted estimators. One without Gaussian affinities, if ``euclidean="auto"`` mixed them
            in although distances do not separate must-links from cannot-links (area under the
            ROC curve below 0.7); otherwise none.
        """
        check_is_fitted(self, "forest_")
        if self._are_distances_informative:
            return []
        return [self.remixed(0.0)]

    def remixed(self, euclidean: float) -> Self:
        """Return the same trees with another share of Gaussian affinities.

        Parameters
        ----------
        euclidean : float
            The share, in [0, 1].

        Returns
        -------
        COPRF
            A fitted estimator, which shares the forest with this one.
        """
        check_is_fitted(self, "forest_")
        other = copy(self)
        vars(other).pop("affinity_matrix_", None)
        other.euclidean_ = euclidean
        return other

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Find the most similar rows of each fitted row, without a dense matrix.

        Parameters
        ----------
        n_neighbors : int, default=20
            Number of rows to find for each row.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float32
            Row i holds the affinities to the `n_neighbors` rows most similar to it, without itself;
            fewer if it was compared with fewer rows.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.

        Notes
        -----
        Three times as many rows are taken from the forest, see `ClustRF`. Among these the mixed
        affinity decides; the scales of its Gaussian part come from these rows only.
        """
        check_is_fitted(self, "forest_")
        if self.euclidean_ == 0:
            return super().kneighbors_graph(n_neighbors)
        check_n_neighbors(n_neighbors, len(self._rows))
        n_candidates = min(CANDIDATES_PER_NEIGHBOR * n_neighbors, len(self._rows) - 1)
        proposed = super().kneighbors_graph(n_candidates)
        return remixed_graph(proposed, self._rows, self.euclidean_, n_neighbors)

    def _cut_features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._space.widened(X)

    def _affinity_of_fitted(self) -> Singles:
        return self._mixed(super()._affinity_of_fitted(), self._rows)

    def _affinity_to_fitted(self, X: Floats) -> Singles:
        return self._mixed(super()._affinity_to_fitted(X), self._space.units.scale(X))

    def _mixed(self, affinity: Singles, rows: Floats) -> Singles:
        """Mix the Gaussian affinities of scaled rows into those of the forest, in place."""
        if self.euclidean_ == 0:
            return affinity
        affinity *= np.float32(1 - self.euclidean_)
        affinity += np.float32(self.euclidean_) * LocalGaussian(self._rows).affinity(rows)
        return affinity


def _resolved(value: float | Literal["auto"], auto: float) -> float:
    return auto if value == "auto" else value


class AnswerWeights(NamedTuple):
    """Weights of the pair answers, and the estimates that they come from."""

    weight: Floats  # in [0, 1], 0 for a don't-know; (n_pairs,)
    p_wrong: Floats  # probability that each answer is wrong, NaN if not estimated; (n_pairs,)
    error_rate: float | None  # share of wrong answers, None if not estimated


def _weigh_answers(
    X: Floats, answers: Constraints, trust: Trust | None, seed: int, n_jobs: int | None
) -> AnswerWeights:
    """Weight answers by the probability that they are right, as `trust` says, see `COPRF`."""
    weight = np.where(answers.is_dont_know, 0.0, answers.pair_weights)
    unknown = np.full(len(weight), np.nan)
    answered = np.flatnonzero(weight > 0)
    if trust is None or len(answered) == 0:
        return AnswerWeights(weight, unknown, None)
    if trust == "inconsistency":
        score = constraint_inconsistency(X, answers, random_state=seed, n_jobs=n_jobs)
        by_score = answered[np.argsort(score[answered], kind="stable")]
        weight[by_score[max(1, round(KEPT_SHARE * len(answered))) :]] = 0.0
        return AnswerWeights(weight, unknown, None)
    evidence = answer_evidence(X, answers, random_state=seed, n_jobs=n_jobs)
    estimate = pair_posterior(evidence, answers)
    if trust == "posterior" or estimate.error_rate >= NOISE_FLOOR:
        weight = weight * estimate.weight
    return AnswerWeights(weight, estimate.p_wrong, estimate.error_rate)


def _likely_right(answers: Constraints, weights: AnswerWeights) -> Constraints:
    """Select the answers that kept more than half of their own weight."""
    return answers.select(pairs=weights.weight > 0.5 * answers.pair_weights)


def _soft_links(answers: Constraints, weights: AnswerWeights) -> Links:
    # Links of weight 0 would change which links a tree draws.
    counts = weights.weight > 0
    must, cannot = answers.is_must_link & counts, answers.is_cannot_link & counts
    weight = np.concatenate([weights.weight[must], weights.weight[cannot]])
    return links_of(answers.pairs[must], answers.pairs[cannot], weight)


def hard_links(answers: Constraints, weights: AnswerWeights, seed: int) -> Links:
    """Hard links of answers likely right and of what they entail; a sample beyond 50,000."""
    right = _likely_right(answers, weights)
    closure = right.closure()
    rows, codes = closure.entailed_pairs(max_pairs=MAX_ENTAILED, random_state=seed)
    must, cannot = rows[codes == SAME], rows[codes == DIFFERENT]
    if sum(closure.n_entailed()) > MAX_ENTAILED:
        must, cannot = (
            np.unique(np.sort(np.concatenate(both), axis=1), axis=0)
            for both in ((right.must_link, must), (right.cannot_link, cannot))
        )
    return links_of(must, cannot, is_hard=True)


class Space(NamedTuple):
    """Principal components as additional features, learned from the fitted rows."""

    units: Units  # map the range of each feature to [-1, 1]
    mean: Floats  # of the features in these units, (n_features,)
    deviation: Floats  # their standard deviations, (n_features,)
    axes: Floats  # principal axes of the standardized features, (n_features, n_components)

    @classmethod
    def fit(cls, X: Floats, auto: int, components: int | Literal["auto"] | None, seed: int) -> Self:
        """Learn as many components as wanted, at most rows and features; "auto" is `auto`."""
        units = Units.to_unit_range(X)
        scaled = units.scale(X)
        mean, deviation = scaled.mean(axis=0), scaled.std(axis=0)
        wanted = (auto if components == "auto" else components) or 0
        wanted = 0 if X.shape[1] < 2 else min(wanted, *X.shape)
        axes = np.empty((X.shape[1], 0))
        if wanted and deviation.any():
            pca = PCA(wanted, random_state=seed).fit(_divided(scaled - mean, deviation))
            axes = pca.components_.T
        return cls(units, mean, deviation, axes)

    def widened(self, X: Floats) -> Floats:
        """Append the principal components to the features."""
        if self.axes.shape[1] == 0:
            return X
        standardized = _divided(self.units.scale(X) - self.mean, self.deviation)
        return np.hstack([X, standardized @ self.axes])


def _divided(X: Floats, deviation: Floats) -> Floats:
    """Divide features by their standard deviations; constant features become 0."""
    return np.divide(X, deviation, out=np.zeros_like(X), where=deviation > 0)


def distances_are_informative(
    rows: Floats, answers: Constraints, weight: Floats, seed: int
) -> bool:
    """Whether must-links are mostly nearer, on local scales; True without both kinds."""
    chosen = np.flatnonzero(weight > 0)
    if len(chosen) > MAX_ANSWERS:
        chosen = np.random.RandomState(seed).choice(chosen, MAX_ANSWERS, replace=False)
    is_same = answers.is_must_link[chosen]
    if is_same.all() or not is_same.any():
        return True
    asked, place = np.unique(answers.pairs[chosen], return_inverse=True)
    scaled = Units.around_median(rows).scale(rows)
    scale = LocalScales(scaled).of(scaled[asked])
    i, j = place.reshape(-1, 2).T
    distance = np.linalg.norm(scaled[asked[i]] - scaled[asked[j]], axis=1)
    nearness = -scaled_squares(distance, scale[i], scale[j])
    return weighted_auc(is_same, nearness, weight[chosen]) >= INFORMATIVE_AUC


def remixed_graph(proposed: csr_array, rows: Floats, mix: float, n_neighbors: int) -> csr_array:
    """Candidates of `proposed` plus a share of Gaussian affinity; each row's largest are kept."""
    if proposed.nnz == 0:
        return proposed
    row = np.repeat(np.arange(len(rows)), np.diff(proposed.indptr))
    centered = rows - np.median(rows, axis=0)
    distance = np.concatenate([
        np.linalg.norm(centered[row[start:stop]] - centered[proposed.indices[start:stop]], axis=1)
        for start, stop in blocks(proposed.nnz, ENTRIES_PER_BLOCK)
    ])  # fmt: skip
    place = np.arange(proposed.nnz) - proposed.indptr[row]
    length = (centered**2).sum(axis=1)
    is_copy = coincide(distance**2, length[row], length[proposed.indices])
    nearest = np.full((len(rows), int(np.diff(proposed.indptr).max())), np.inf)
    nearest[row[~is_copy], place[~is_copy]] = distance[~is_copy]
    nearest.sort(axis=1)
    scale = local_scales(nearest, np.isfinite(nearest))
    gaussian = local_gaussian(distance, scale[row], scale[proposed.indices])
    value = ((1 - mix) * proposed.data + mix * gaussian).astype(np.float32)
    by_row_and_value = np.lexsort((proposed.indices, -value, row))
    best = np.sort(by_row_and_value[place < n_neighbors])
    return csr_array((value[best], (row[best], proposed.indices[best])), shape=proposed.shape)


class LocalGaussian:
    """Gaussian affinities to fitted rows; a row's scale is the distance to its 7th neighbor."""

    def __init__(self, fitted: Floats) -> None:
        self._units = Units.around_median(fitted)
        self._fitted = self._units.scale(fitted)
        self._scales = LocalScales(self._fitted)
        self._scale = self._scales.of(self._fitted)

    def affinity(self, rows: Floats) -> Singles:
        """Compute the affinities of rows to all fitted rows, (n_rows, n_fitted)."""
        rows = self._units.scale(rows)
        scale = self._scales.of(rows)
        affinity = np.empty((len(rows), len(self._fitted)), np.float32)
        for start, stop in blocks(len(rows), ROWS_PER_BLOCK):
            distance = euclidean_distances(rows[start:stop], self._fitted)
            affinity[start:stop] = local_gaussian(distance, scale[start:stop, None], self._scale)
        return affinity
