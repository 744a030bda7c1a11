"""E2CP: propagation of answers over a neighbor graph."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._composition import FittedSimilarity, graph_of, has_sparse_affinity, reweighted
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
    """Exhaustive and efficient constraint propagation: answers propagate to the pairs around them.

    An answer about two rows is taken as weaker evidence about each pair of rows near them.
    Must-links and cannot-links start as 1 and -1 and are propagated over a neighbor graph; each
    affinity is then raised or lowered by the evidence propagated to its pair.

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        The base similarity whose affinities are adjusted; it is fitted with the answers if it
        honors them. "precomputed" if `fit` is given affinities; None is `AdaptiveKNN()`.
        ``E2CP(ClustRF())`` is "RF+E2CP" in the COP-RF paper.
    alpha : float, default=0.8
        Range of the propagation, in (0, 1): the larger, the farther answers reach.
    n_neighbors : int, "auto", "paper" or None, default="auto"
        Number of largest affinities of each row that form the neighbor graph. "paper" is a tenth
        of the rows; "auto" is the same, limited to between 5 and 20. None uses all affinities, or
        a sparse affinity as it is.
    form : {"auto", "dense", "sparse"}, default="auto"
        "dense" adjusts the affinities of all pairs of rows, as published. "sparse" adjusts those of
        three sets of pairs: those in the graph, the answered ones, and those of a row near one end
        of a must-link and a row near its other end. "auto" is "dense" up to 2,000 rows, and always
        if `n_neighbors` is None and the affinity is dense.
    n_jobs : int or None, default=None
        Number of threads of the sparse form. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the base similarity, if that has none of its own.

    Attributes
    ----------
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples), float64
        Affinities in [0, 1]; the diagonal is 0.
    constraint_weight_ : ndarray of shape (n_pairs,)
        Weight of each answer: as given, or as estimated by the base similarity.
    similarity_ : estimator
        The fitted base similarity.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or ``form="sparse"`` is combined with
        ``n_neighbors=None`` and a dense affinity.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    TooLargeError
        If the dense form is used above 20,000 rows.

    Warns
    -----
    ConvergenceWarning
        If `alpha` is so close to 1 that the sparse form would need more than 1,000 steps.

    See Also
    --------
    COPRF : Propagates answers through informative features.
    LinkedAffinity : Changes the affinities of answered pairs only.

    Notes
    -----
    Honors pairs as soft constraints; don't-knows are ignored. Answers to the same pair are added
    up, so contradictory answers cancel. With the normalized graph S and the answers Z,
    ``F = (I - αS)⁻¹ Z (I - αS)⁻¹``, scaled to a largest absolute entry of 1. An affinity w then
    becomes ``1 - (1 - f)(1 - w)`` if f ≥ 0, and ``(1 + f)·w`` otherwise.

    Dense: O(n³) time, O(n²) memory. Sparse, for r rows with answers and e edges:
    O(r·e / (1 - α)^½) time and O(n·r) memory, at most 512 MiB, by Chebyshev's iteration to a
    relative residual of 0.001. To cluster the result, use ``SpectralClustering(n_neighbors=None)``;
    `SimilarityClustering` sets this by itself.

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

    def _solve(self, base: FittedSimilarity, known: Constraints, callback: Progress | None) -> None:
        answers, n = reweighted(known, base), known.n_samples
        is_sparse = has_sparse_affinity(base)
        self._check_size(n, is_sparse=is_sparse)
        propagation = Propagation(self._graph(base, n), self.alpha)
        if self._is_dense(n, is_sparse=is_sparse):
            self.affinity_matrix_ = propagation.dense_affinity(answers)
        else:
            self.affinity_matrix_ = propagation.sparse_affinity(
                answers, n_jobs=self.n_jobs, callback=callback
            )
        self.constraint_weight_ = answers.pair_weights

    def _check_size(self, n_samples: int, *, is_sparse: bool) -> None:
        if self.form == "sparse" and self.n_neighbors is None and not is_sparse:
            raise InvalidParameterError(
                f"{type(self).__name__}(form='sparse', n_neighbors=None) needs a sparse affinity, "
                "but the affinity of the base similarity is dense; set n_neighbors, or form='dense'"
            )
        if self._is_dense(n_samples, is_sparse=is_sparse):
            check_dense_size(n_samples)

    def _is_dense(self, n_samples: int, *, is_sparse: bool) -> bool:
        """Decide on the dense form; `is_sparse` is whether the affinity of the base is sparse."""
        has_all = self.n_neighbors is None and not is_sparse
        is_small = n_samples <= DENSE_PROPAGATION_ROWS or has_all
        return self.form == "dense" or (self.form == "auto" and is_small)

    def _graph(self, base: FittedSimilarity, n_samples: int) -> csr_array:
        if self.n_neighbors is not None:
            k = resolved_n_neighbors(self.n_neighbors, n_samples)
            return graph_of(base, n_samples, k)
        return nearest_graph(base.affinity_matrix_, n_samples - 1)
