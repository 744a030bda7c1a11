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
    """Clustering random forest: affinities without answers, robust to uninformative features.

    Each tree is a classifier of two classes, the rows and as many pseudo rows whose features are
    drawn independently of each other. It therefore splits on features that depend on each other,
    and seldom on noise. The affinity of two rows is the share of their paths through the trees
    that is common to both.

    Parameters
    ----------
    n_trees : int, default=1000
        Number of trees.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features tried at each node; a float is a share of all features, None is all.
    min_samples_leaf : int, default=1
        Least number of bootstrap draws in each child of a node.
    affinity : {"adaptive", "uniform", "leaf"}, default="adaptive"
        "leaf" is the share of trees in which two rows have the same leaf (ClustRF-Bi in the paper).
        "uniform" is the share of the nodes on their paths that both have (ClustRF-Strct-Unfm).
        "adaptive" is that share with nodes weighted by one over their number of rows
        (ClustRF-Strct-Adpt).
    max_samples : int, float or None, default=None
        Number of bootstrap draws for each tree, from rows and pseudo rows together; a float is a
        share of the number of rows, None is the number of rows.
    n_jobs : int or None, default=None
        Number of threads, as joblib counts them. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the pseudo rows and the trees.
    verbose : int, default=0
        1 logs progress to the logger "clew", 2 logs more.

    Attributes
    ----------
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Affinities of all pairs of rows, in [0, 1]; computed at the first access.
    forest_ : Forest
        The trees.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if `X` had names.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    ValueError
        If `X` is not finite, or has fewer than two rows.
    TooLargeError
        From `affinity_matrix_`, above 20,000 rows.

    See Also
    --------
    COPRF : The same forest, constrained by answers.

    Notes
    -----
    Time O(T·n·√d·log n) for n rows, d features and T trees; memory O(T·n). `affinity_matrix_`
    takes O(T·n²) time and O(n²) memory; `kneighbors_graph` does not. Features with more than 256
    distinct values are split at quantiles only.

    The affinity of two rows in one tree is the weight of their common path over the weight of the
    longer of their two paths. If both paths have the same length, the one of larger weight is
    taken, so that the matrix is symmetric.

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
            Features. Units do not matter: only the order of the values of each feature counts.
        y : ignored
            Present for compatibility with scikit-learn.
        callback : callable, default=None
            Called as ``callback(n_done, n_blocks)`` while blocks of trees are grown.

        Returns
        -------
        self
        """
        features = self._check(X)
        return self._grow(features, derived_seeds(self.random_state, 2), callback=callback)
