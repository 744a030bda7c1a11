"""ClustRF: affinities from an unsupervised clustering forest."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from clew._estimators import guarded_fit
from clew._parallel import Progress
from clew._random import RandomState, derived_seeds
from clew.forest import AffinityKind
from clew.similarity.forests._base import ForestSimilarity

__all__ = ["ClustRF"]


class ClustRF(ForestSimilarity):
    """Clustering random forest: how alike are two rows, judged by the features that tell.

    Each tree learns to tell the rows from pseudo rows whose features are drawn independently, so
    it cuts where features depend on each other, and leaves features that tell nothing alone. Two
    rows are alike when they share much of their way through the trees.

    Parameters
    ----------
    n_trees : int, default=1000
        Number of trees.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features tried at a node: a number, a share of all, or None for all.
    min_samples_leaf : int, default=1
        Bootstrap draws that each child of a node must hold at least.
    affinity : {"adaptive", "uniform", "leaf"}, default="adaptive"
        "leaf" counts the trees in which two rows share the leaf (ClustRF-Bi), "uniform" the nodes
        on their common path (ClustRF-Strct-Unfm), "adaptive" weighs a node by one over its number
        of rows (ClustRF-Strct-Adpt).
    max_samples : int, float or None, default=None
        Draws for each tree from the rows and pseudo rows together: a number, a share of the
        number of rows, or None for as many as rows.
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
    forest_ : Forest
        The trees.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where `X` had names.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    ValueError
        If `X` is not finite, or has fewer than two rows.
    TooLargeError
        From `affinity_matrix_`, past 20,000 rows.

    See Also
    --------
    COPRF : The same forest, steered by answers.

    Notes
    -----
    Time O(T·n·√d·log n) for n rows, d features and T trees; memory O(T·n). `affinity_matrix_`
    takes O(T·n²) time and O(n²) memory, `kneighbors_graph` neither. Features with more than 256
    distinct values are cut at quantiles. Affinities of the adaptive kind depend on which of two
    equally long paths is the longer; the heavier one is taken, which keeps the matrix symmetric.

    References
    ----------
    X. Zhu, C. C. Loy and S. Gong, "Constructing robust affinity graphs for spectral clustering",
    CVPR 2014. The pseudo two-class forest: T. Shi and S. Horvath, "Unsupervised learning with
    random forest predictors", JCGS 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew.similarity import ClustRF
    >>> X, y = load_iris(return_X_y=True)
    >>> A = ClustRF(n_trees=100, random_state=0).fit(X).affinity_matrix_
    >>> A.shape
    (150, 150)
    >>> bool(A[:50, :50].mean() > 3 * A[:50, 50:].mean())
    True
    """

    def __init__(
        self,
        n_trees: int = 1000,
        *,
        max_features: str | float | None = "sqrt",
        min_samples_leaf: int = 1,
        affinity: AffinityKind = "adaptive",
        max_samples: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.affinity = affinity
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @guarded_fit
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, callback: Progress | None = None
    ) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. Their scales do not matter.
        y : ignored
            Present by convention.
        callback : callable, default=None
            Called now and then with the number of finished blocks of trees and of all.

        Returns
        -------
        self
        """
        features = self._check(X)
        return self._grow(features, derived_seeds(self.random_state, 2), callback=callback)
