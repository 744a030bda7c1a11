"""E2CP: answers diffuse over the neighbour graph, from both rows of every pair."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._composition import FittedSimilarity, believed_by, graph_of, has_sparse_affinity
from clew._limits import DENSE_PROPAGATION_ROWS
from clew._parallel import Progress
from clew._random import RandomState
from clew._validation import Allowed
from clew.constraints import Constraints, Support
from clew.exceptions import InvalidParameterError
from clew.graphs import check_dense_size, nearest_graph, resolved_n_neighbors
from clew.similarity.graphs._base import BuiltOnSimilarity
from clew.similarity.graphs._propagation import Propagation

__all__ = ["E2CP"]


class E2CP(BuiltOnSimilarity):
    """Exhaustive and efficient constraint propagation: answers spread to the pairs around them.

    What people said of a pair holds, less strongly, for each two rows near its ends. Must-links and
    cannot-links start as 1 and -1 and diffuse over the neighbour graph; affinities of the graph are
    then drawn up and down by what has reached them.

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        Where affinities come from: a similarity; "precomputed" if `fit` gets them; None is
        `AdaptiveKNN()`. ``E2CP(ClustRF())`` is the paper's "RF+E2CP". A similarity that honours
        answers gets them too.
    alpha : float, default=0.8
        How far answers spread, in (0, 1).
    n_neighbors : int, "auto", "paper" or None, default="auto"
        How many of the largest affinities of each row make the graph; "paper" is a tenth of the
        rows, "auto" the same but 5 at least and 20 at most; of n rows n - 1 at most. None takes
        all affinities, or a sparse affinity as it is.
    form : {"auto", "dense", "sparse"}, default="auto"
        "dense" spreads answers to every two rows, as published. "sparse" spreads them to the
        edges of the graph, to the pairs asked about, and for each must-link to the pairs of rows
        near its ends. "auto" is dense up to 2,000 rows.
    n_jobs : int or None, default=None
        Threads of the sparse form. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the similarity where it has no seed of its own.

    Attributes
    ----------
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples), float64
        Affinities in [0, 1], nothing on the diagonal.
    constraint_weight_ : ndarray of shape (n_pairs,)
        How far each answer was believed: its weight, or what the similarity beneath made of it.
    similarity_ : estimator
        The fitted similarity beneath.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or all affinities of rows are wanted sparsely.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    TooLargeError
        Past 20,000 rows in the dense form.

    See Also
    --------
    COPRF : Spreads answers through the features that tell rows apart.
    LinkedAffinity : Spreads nothing.

    Notes
    -----
    Honours pairs, softly; answers about one pair add up, so that contradictions cancel. With the
    normalised graph S and the answers Z, ``F = (I - αS)⁻¹ Z (I - αS)⁻¹``, scaled to a largest
    entry of 1; then an affinity w becomes ``1 - (1 - f)(1 - w)`` where f ≥ 0, and ``(1 + f)·w``
    elsewhere. Dense: O(n³) time, O(n²) memory. Sparse, for r rows asked about and e edges:
    O(r·e / (1 - α)^½) time and O(n·r) memory, at most 512 MiB, by conjugate gradients to a
    residual of 0.001. Cut it with ``SpectralClustering(n_neighbors=None)``, as
    `SimilarityClustering` does by itself.

    References
    ----------
    Z. Lu and H. H. S. Ip, "Constrained spectral clustering via exhaustive and efficient constraint
    propagation", ECCV 2010. The sparse form is clew's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import SimilarityClustering, SpectralClustering
    >>> from clew.similarity import E2CP
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=60, random_state=0)
    >>> model = SimilarityClustering(E2CP(), SpectralClustering(3), random_state=0)
    >>> model.fit(X, constraints=c).labels_.shape
    (150,)
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "alpha": Allowed(kind=float, low=0, high=1, low_open=True, high_open=True),
        "n_neighbors": Allowed(names=("auto", "paper"), kind=int, low=1, none=True),
        "form": Allowed(names=("auto", "dense", "sparse")),
        "n_jobs": (Allowed(kind=int, low=1, none=True), Allowed(kind=int, high=-1)),
    }
    supports = Support(pairs=True, dont_know=True)

    constraint_weight_: NDArray[np.float64]

    def __init__(
        self,
        similarity: Any = None,
        *,
        alpha: float = 0.8,
        n_neighbors: int | Literal["auto", "paper"] | None = "auto",
        form: Literal["auto", "dense", "sparse"] = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.similarity = similarity
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.form = form
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _solve(
        self, beneath: FittedSimilarity, known: Constraints, callback: Progress | None
    ) -> None:
        believed, n = believed_by(beneath, known), known.n_samples
        is_sparse = has_sparse_affinity(beneath)
        self._check_size(n, is_sparse=is_sparse)
        propagation = Propagation(self._graph(beneath, n), self.alpha)
        if self._is_dense(n, is_sparse=is_sparse):
            self.affinity_matrix_ = propagation.dense_affinity(believed)
        else:
            self.affinity_matrix_ = propagation.sparse_affinity(
                believed, n_jobs=self.n_jobs, callback=callback
            )
        self.constraint_weight_ = believed.pair_weights

    def _check_size(self, n_samples: int, *, is_sparse: bool) -> None:
        if self.form == "sparse" and self.n_neighbors is None and not is_sparse:
            raise InvalidParameterError(
                f"{type(self).__name__}(form='sparse', n_neighbors=None): all affinities of rows "
                "are dense; give n_neighbors, or form='dense'"
            )
        if self._is_dense(n_samples, is_sparse=is_sparse):
            check_dense_size(n_samples)

    def _is_dense(self, n_samples: int, *, is_sparse: bool) -> bool:
        """Choose the form; `is_sparse` tells whether the affinity beneath is sparse."""
        has_all = self.n_neighbors is None and not is_sparse
        is_small = n_samples <= DENSE_PROPAGATION_ROWS or has_all
        return self.form == "dense" or (self.form == "auto" and is_small)

    def _graph(self, beneath: FittedSimilarity, n_samples: int) -> csr_array:
        if self.n_neighbors is not None:
            k = resolved_n_neighbors(self.n_neighbors, n_samples)
            return graph_of(beneath, n_samples, k)
        return nearest_graph(beneath.affinity_matrix_, n_samples - 1)
