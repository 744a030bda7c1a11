"""COP-RF: a clustering forest that follows what people said."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedTransformer, guarded_fit
from clew._parallel import Progress
from clew._random import RandomState, derived_seeds
from clew._validation import Allowed
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for, refuse_contradictions
from clew.forest import AffinityKind
from clew.graphs import check_n_neighbors
from clew.similarity.forests._affinity import LocalGaussian, remixed_graph
from clew.similarity.forests._answer_links import believe, believed_answers, hard_links, soft_links
from clew.similarity.forests._base import ForestSimilarity
from clew.similarity.forests._informative_distances import distances_tell
from clew.similarity.forests._pca_features import Space

__all__ = ["COPRF"]

SOFT_SHARE, SOFT_REWARD = 0.7, 4.0
SOFT_COMPONENTS, SOFT_EUCLIDEAN = 20, 0.5
#: Neighbours that the forest proposes for each that is kept, where distances have a say too.
CANDIDATES_PER_NEIGHBOR = 3
#: Gain is at most 1, so a reward of 2 puts one cannot-link before any gain.
HARD_SHARE, HARD_REWARD = 0.5, 2.0


class COPRF(ConstrainedTransformer, ForestSimilarity):
    """Constraint propagation forest: a clustering forest steered by must-links and cannot-links.

    The trees are those of `ClustRF`, but a cut is also judged by the answers that it honours: it
    should part the rows of cannot-links and keep those of must-links together. Answers thereby
    reach rows that nobody was asked about, through the features that tell them apart.

    Parameters
    ----------
    n_trees : int, default=1000
        Number of trees.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features tried at a node: a number, a share of all, or None for all.
    min_samples_leaf : int, default=1
        Bootstrap draws that each child of a node must hold at least.
    affinity : {"leaf", "adaptive", "uniform"}, default="leaf"
        How affinities are read off the trees, see `ClustRF`.
    max_samples : int, float or None, default=None
        Draws for each tree, see `ClustRF`.
    mode : {"soft", "hard"}, default="soft"
        "soft" adds ``4·(κ - v) / (1 + c)`` to the gain of a cut, where κ, v and c are the weights
        of cannot-links parted, of must-links parted, and of all answers in the node. "hard" is the
        paper's: no cut may part a must-link, and of the others the one that parts most cannot-links
        is taken, whatever its gain; entailed answers count too.
    share : float or "auto", default="auto"
        Probability that a tree draws an answer; "auto" is 0.7 when soft, 0.5 when hard.
    components : int, "auto" or None, default="auto"
        Number of principal components, of standardised features, that trees may cut besides the
        features: cuts aslant. "auto" is 20 when soft, none when hard.
    euclidean : float or "auto", default="auto"
        Share of Gaussian affinities on local scales, between features mapped to [-1, 1], that is
        mixed into those of the forest. "auto" is 0.5 when soft, 0 when hard; see `alternatives`.
    trust : {"auto", "posterior", "inconsistency"} or None, default="auto"
        Which answers to believe. "posterior" weighs each by how likely it is right given the
        others (`clew.trust.posterior`); hard trees leave out those more likely wrong.
        "inconsistency" is the paper's filter: half of the answers is left out. None believes all.
        "auto" is "posterior" where the estimated error rate is 0.05 or more, and believes all
        otherwise.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.
    verbose : int, default=0
        1 logs progress to the logger "clew", 2 logs more.

    Attributes
    ----------
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Affinity of every two rows, in [0, 1]; computed when first asked for.
    constraint_weight_ : ndarray of shape (n_pairs,)
        How far each answer was believed, in [0, 1]; 0 for a don't-know.
    doubt_ : ndarray of shape (n_pairs,)
        How likely each answer is wrong; NaN where that was not estimated.
    error_rate_ : float or None
        Estimated share of wrong answers; None where that was not estimated.
    n_violated_ : ndarray of shape (n_trees,)
        Answers drawn by each tree, and entailed ones when hard, that it does not honour.
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
        If believed answers contradict each other when hard, unless the paper's filter is asked for.

    See Also
    --------
    ClustRF : The same forest without answers.

    Notes
    -----
    Honours pairs; a don't-know neither joins nor parts its rows. Weights of answers count when
    soft; hard trees bind any answer of positive weight. Time O(T·(n + c)·√d·log n) for n
    rows, c answers, d features and T trees. The paper's model is ``COPRF(mode="hard",
    trust="inconsistency")``, with these readings: a node becomes a leaf only when no cut is
    valid; the count of parted cannot-links starts anew at each node; a contradiction that is left
    after filtering is decided for the must-links.

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
    _allowed: ClassVar[dict[str, Any]] = ForestSimilarity._allowed | {
        "components": Allowed(names=("auto",), kind=int, low=1, none=True),
        "euclidean": Allowed(names=("auto",), kind=float, low=0, high=1),
        "mode": Allowed(names=("soft", "hard")),
        "share": Allowed(names=("auto",), kind=float, low=0, high=1, low_open=True),
        "trust": Allowed(names=("auto", "posterior", "inconsistency"), none=True),
    }

    constraint_weight_: NDArray[np.float64]
    doubt_: NDArray[np.float64]
    error_rate_: float | None
    n_violated_: NDArray[np.int64]
    euclidean_: float
    _space: Space
    _rows: NDArray[np.float64]
    _distances_tell: bool

    def __init__(
        self,
        n_trees: int = 1000,
        *,
        max_features: str | float | None = "sqrt",
        min_samples_leaf: int = 1,
        affinity: AffinityKind = "leaf",
        max_samples: float | None = None,
        mode: Literal["soft", "hard"] = "soft",
        share: float | Literal["auto"] = "auto",
        components: int | Literal["auto"] | None = "auto",
        euclidean: float | Literal["auto"] = "auto",
        trust: Literal["auto", "posterior", "inconsistency"] | None = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.affinity = affinity
        self.max_samples = max_samples
        self.mode = mode
        self.share = share
        self.components = components
        self.euclidean = euclidean
        self.trust = trust
        self.n_jobs = n_jobs
        self.random_state = random_state
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
        """Weigh the answers, and grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. Their units do not matter.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            What people said; None is nothing.
        callback : callable, default=None
            Called now and then with the number of finished blocks of trees and of all.

        Returns
        -------
        self
        """
        features = self._check(X)
        known = answers_for(self, constraints, len(features))
        seed, *seeds_of_forest = derived_seeds(self.random_state, 3)
        belief = believe(features, known, self.trust, seed, self.n_jobs)
        if self.mode == "hard" and self.trust != "inconsistency":
            refuse_contradictions(believed_answers(known, belief))
        is_soft = self.mode == "soft"
        space = Space.fit(features, SOFT_COMPONENTS if is_soft else 0, self.components, seed)
        self._grow(
            space.widened(features),
            seeds_of_forest,
            links=soft_links(known, belief) if is_soft else hard_links(known, belief, seed),
            share=_resolved(self.share, SOFT_SHARE if is_soft else HARD_SHARE),
            reward=SOFT_REWARD if is_soft else HARD_REWARD,
            is_relative=is_soft,
            callback=callback,
        )
        self._space, self._rows = space, space.scaled(features)
        self.euclidean_ = _resolved(self.euclidean, SOFT_EUCLIDEAN if is_soft else 0.0)
        self.constraint_weight_, self.doubt_, self.error_rate_ = belief
        self.n_violated_ = self.forest_.n_violated
        is_open = self.euclidean == "auto" and self.euclidean_ > 0
        self._distances_tell = not is_open or distances_tell(self._rows, known, belief.weight, seed)
        return self

    def alternatives(self) -> list[Self]:
        """Give the same trees, read in other ways that answers may prefer.

        Returns
        -------
        list of COPRF
            Fitted. Where `euclidean` is "auto" and mixes, but distances hardly tell must-links from
            cannot-links, one that trusts the trees alone.
        """
        check_is_fitted(self, "forest_")
        if self._distances_tell:
            return []
        return [self.remixed(0.0)]

    def remixed(self, euclidean: float) -> Self:
        """Give the same trees, with another share of Gaussian affinities.

        Parameters
        ----------
        euclidean : float
            The share, in [0, 1].

        Returns
        -------
        COPRF
            Fitted.
        """
        check_is_fitted(self, "forest_")
        other = copy(self)
        vars(other).pop("affinity_matrix_", None)
        other.euclidean_ = euclidean
        return other

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Link every fitted row to its most similar rows, without a dense matrix.

        Parameters
        ----------
        n_neighbors : int, default=20
            How many.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float32
            Row i holds the affinities to the `n_neighbors` rows most similar to it, itself
            excluded; fewer where it met fewer.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.

        Notes
        -----
        The forest proposes three times as many rows, see `ClustRF`, and the Gaussian affinities,
        with scales taken from those rows, have their say among these.
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

    def _affinity_of_fitted(self) -> NDArray[np.float32]:
        return self._mixed(super()._affinity_of_fitted(), self._rows)

    def _affinity_to_fitted(self, X: NDArray[np.float64]) -> NDArray[np.float32]:
        return self._mixed(super()._affinity_to_fitted(X), self._space.scaled(X))

    def _mixed(
        self, affinity: NDArray[np.float32], rows: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Mix Gaussian affinities of scaled rows into those of the forest."""
        if self.euclidean_ == 0:
            return affinity
        affinity *= np.float32(1 - self.euclidean_)
        affinity += np.float32(self.euclidean_) * LocalGaussian(self._rows).affinity(rows)
        return affinity


def _resolved(value: float | Literal["auto"], auto: float) -> float:
    return auto if value == "auto" else value
