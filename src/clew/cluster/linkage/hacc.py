"""HACC: Kruskal's minimum spanning forest under hard must-links and cannot-links."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from clew._estimators import ConstrainedClusterer, guarded_fit
from clew._parallel import Progress
from clew._random import RandomState
from clew._validation import Allowed, check_features, check_n_clusters, check_parameters
from clew._warnings import warn
from clew.cluster.linkage._ordered_edges import (
    Edges,
    consensus,
    cut,
    edges_in_order,
    euclidean,
    given,
)
from clew.cluster.linkage.consensus import consensus_probabilities
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for, binding_answers
from clew.exceptions import DeadEndWarning, FewerGroupsWarning
from clew.graphs import check_dense_size, check_distances
from clew.metrics import n_violated

__all__ = ["HACC"]


class HACC(ConstrainedClusterer):
    """Agglomerative clustering along the shortest edges, under hard answers.

    Must-links are merged first. Then all pairs of rows are visited in the order of their
    distances, and the groups of a pair are merged unless a cannot-link is between them, until
    `n_clusters` groups are left. Without answers this is single linkage.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of groups.
    affinity : {"consensus", "precomputed"}, default="consensus"
        "consensus": `X` has features, and the distance of two rows is ``1 - P`` with P from
        `consensus_probabilities`, plus a thousandth of their relative Euclidean distance.
        "precomputed": `X` has the distances.
    n_runs : int, default=100
        Number of clusterings from which P is computed; used by "consensus".
    n_jobs : int or None, default=None
        Number of threads for these clusterings, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of these clusterings.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row; groups are numbered in the order of their first rows.
    n_clusters_ : int
        Number of groups that was reached.
    is_reached_ : bool
        Whether it is `n_clusters`.
    n_violated_ : int
        Number of violated answers of positive weight: always 0.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InconsistentConstraintsError
        If answers contradict each other; the message contains a shortest contradictory chain.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidDataError
        If precomputed distances are not square and symmetric with zeros on the diagonal, or some
        are negative.
    TooLargeError
        If there are more than 20,000 rows.

    Warns
    -----
    DeadEndWarning
        If cannot-links forbid every further merge before `n_clusters` is reached.
    FewerGroupsWarning
        If must-links leave fewer groups than `n_clusters`.

    See Also
    --------
    ConstrainedLinkage : Average, complete and Ward linkage under hard answers.
    clew.questions.ExpectedChange : Asks about the pair whose answer changes this clustering most.

    Notes
    -----
    Pairs of rows are ordered by distance in single precision, ties by row numbers, so the result
    is a function of this order alone. Answers of weight 0 and don't-knows are ignored.

    Time O(n²·log n), and O(n_runs·n²) for "consensus"; memory 8·n² bytes.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, section 3.2.2. J. B. Kruskal, "On the shortest
    spanning subtree of a graph and the traveling salesman problem", 1956.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.cluster import HACC
    >>> D = [[0, 1, 2, 9], [1, 0, 3, 8], [2, 3, 0, 7], [9, 8, 7, 0]]
    >>> c = Constraints.from_pairs(cannot_link=[(0, 1)], n_samples=4)
    >>> HACC(2, affinity="precomputed").fit(D, constraints=c).labels_
    array([0, 1, 0, 0])
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "affinity": Allowed(names=("consensus", "precomputed")),
        "n_runs": Allowed(kind=int, low=1),
    }

    n_clusters_: int
    is_reached_: bool

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        affinity: Literal["consensus", "precomputed"] = "consensus",
        n_runs: int = 100,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_runs = n_runs
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.positive_only = self.affinity == "precomputed"
        return tags

    @guarded_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or distances between rows; distances may also be condensed, as SciPy's
            ``pdist`` returns them.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            Must-links and cannot-links; None for no answers.
        callback : callable, default=None
            Called once at the end, with 1 and 1.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        is_given = self.affinity == "precomputed"
        checked = check_distances(X, estimator=self) if is_given else check_features(self, X)
        check_n_clusters(self, len(checked))
        check_dense_size(len(checked))
        hard = binding_answers(answers_for(self, constraints, len(checked)))
        closure = hard.closure()
        self.labels_, self.is_reached_ = cut(self._edges(checked), closure, self.n_clusters)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.n_violated_ = n_violated(self.labels_, hard)
        self._warn_of_other_number()
        if callback is not None:
            callback(1, 1)
        return self

    def _edges(self, checked: NDArray[np.float64]) -> Edges:
        """Order the pairs of rows."""
        if self.affinity == "precomputed":
            return edges_in_order(given(checked), len(checked))
        probabilities = consensus_probabilities(
            checked, self.n_clusters,
            n_runs=self.n_runs, n_jobs=self.n_jobs, random_state=self.random_state,
        )  # fmt: skip
        return edges_in_order(consensus(euclidean(checked), probabilities), len(checked))

    def _warn_of_other_number(self) -> None:
        """Warn if the number of groups is not the wanted one."""
        ends = f"HACC(n_clusters={self.n_clusters}) ends with {self.n_clusters_} groups: "
        if self.n_clusters_ > self.n_clusters:
            warn(f"{ends}cannot-links forbid every further merge", DeadEndWarning)
        elif self.n_clusters_ < self.n_clusters:
            warn(f"{ends}must-links leave no more", FewerGroupsWarning)
