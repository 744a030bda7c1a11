"""Agglomerative clustering under must-links and cannot-links."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from clew._estimators import ConstrainedClusterer, guarded_fit
from clew._parallel import Progress
from clew._validation import (
    Allowed,
    check_features,
    check_n_clusters,
    check_parameters,
)
from clew._warnings import warn
from clew.cluster._n_groups import check_n_components
from clew.cluster.linkage._distances import Distances, given_distances, measured_distances
from clew.constraints import Closure, Constraints, Support
from clew.constraints._support import answers_for, binding_answers
from clew.exceptions import DeadEndWarning, InvalidParameterError, TooLargeError
from clew.graphs import check_distances
from clew.kernels.disjoint_sets import component_labels
from clew.kernels.linkage import LINKAGES, merge_along_chains, merge_components, number_nodes
from clew.metrics import n_violated

__all__ = ["ConstrainedLinkage"]

#: The distances of so many rows take 3.6 GB.
MAX_ROWS = 30_000


class Merges(NamedTuple):
    """Merges of rows' clusters, by height; those that must-links force come first, at 0."""

    rows: NDArray[np.int64]
    heights: NDArray[np.float64]


class ConstrainedLinkage(ConstrainedClusterer):
    """Merge the nearest groups again and again, and never against an answer.

    Rows that must-links join are one group from the start. Groups between which there is a
    cannot-link are never merged, nor are the groups that they become part of.

    Parameters
    ----------
    n_clusters : int or None, default=2
        Number of groups. None with a `distance_threshold`, and only then.
    linkage : {"average", "single", "complete", "ward"}, default="average"
        Distance of two groups: the mean, the smallest or the largest distance of their rows, or
        Ward's: the root of twice the growth of the sum of squared distances to the groups' means.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What `fit` gets: features, or distances between rows.
    distance_threshold : float or None, default=None
        Groups at this distance or beyond stay apart. Must-links hold whatever it is.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of every row, numbered in the order of their first rows.
    n_clusters_ : int
        Number of groups; more than `n_clusters` at a dead end.
    children_ : ndarray of shape (n_merges, 2), int64
        The two nodes of each merge that the answers allow, as in scikit-learn's
        ``AgglomerativeClustering``: rows are below `n_samples`, and merge i is node
        ``n_samples + i``. Without cannot-links there are ``n_samples - 1`` merges.
    distances_ : ndarray of shape (n_merges,)
        Height of each merge, ascending; 0 for those that must-links force.
    n_violated_ : int
        Binding answers that the groups go against: 0.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there are more groups than rows, or not exactly one
        of `n_clusters` and `distance_threshold` is None.
    InconsistentConstraintsError
        If answers contradict each other, with the shortest chain that shows it.
    InvalidConstraintsError
        If must-links leave fewer groups than `n_clusters`, or the constraints are about another
        number of rows than `X` has.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidDataError
        If precomputed distances are not square and symmetric with zeros on the diagonal, or some
        are negative.
    TooLargeError
        If there are more than 30,000 rows.

    Warns
    -----
    DeadEndWarning
        If cannot-links forbid every further merge before `n_clusters` is reached.

    See Also
    --------
    COPKMeans : Hard answers too; searches for a way out of dead ends.

    Notes
    -----
    Honors must-links and cannot-links as hard constraints. Every answer whose weight is above 0
    binds; one whose weight is 0 does not. A don't-know binds nothing.

    Time O(n²) and 4·n² bytes for the distances, whatever the number of answers: must-links are
    merged component by component, cannot-links are kept between components, and neither is
    written out as pairs of rows. Chains of nearest neighbors give what the greedy order gives
    (merge the nearest two groups that may be merged): an infinite distance that unions inherit
    never brings groups nearer. Without answers the tree is that of SciPy's ``linkage``.

    On precomputed distances Ward's formula of Lance and Williams is applied as it stands, which
    is Ward's criterion only if the distances are Euclidean.

    References
    ----------
    D. Klein, S. Kamvar and C. Manning, "From instance-level constraints to space-level
    constraints", ICML 2002. I. Davidson and S. Ravi, "Agglomerative hierarchical clustering with
    constraints: theoretical and empirical results", PKDD 2005 (dead ends). F. Murtagh, "A survey
    of recent advances in hierarchical clustering algorithms", The Computer Journal 26, 1983
    (chains).

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.cluster import ConstrainedLinkage
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
    >>> c = Constraints.from_pairs(must_link=[(0, 3)], cannot_link=[(0, 1)], n_samples=5)
    >>> ConstrainedLinkage(2).fit(X, constraints=c).labels_
    array([0, 1, 1, 0, 0])
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "linkage": Allowed(names=tuple(LINKAGES)),
        "metric": Allowed(names=("euclidean", "precomputed")),
        "distance_threshold": Allowed(kind=float, low=0, none=True),
    }

    n_clusters_: int
    children_: NDArray[np.int64]
    distances_: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        linkage: Literal["average", "single", "complete", "ward"] = "average",
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        distance_threshold: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.distance_threshold = distance_threshold

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
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
            Features, or distances between rows.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            What people said; None is nothing.
        callback : callable, default=None
            Called with 1 and 1 when all is done.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        checked = check_features(self, X)
        n = len(checked)
        if self.metric == "precomputed":
            check_distances(checked)
        binding = binding_answers(answers_for(self, constraints, n))
        closure = binding.closure()
        self._check_numbers(n, closure.n_components)
        is_given = self.metric == "precomputed"
        distances = given_distances(checked) if is_given else measured_distances(checked)
        merges = _solve(distances, closure, LINKAGES[self.linkage])
        n_merged = self._n_merged(merges, closure)
        self.labels_ = component_labels(n, merges.rows[:n_merged])
        self.n_clusters_ = n - n_merged
        self.children_, self.distances_ = number_nodes(n, merges.rows), merges.heights
        self.n_violated_ = n_violated(self.labels_, binding)
        if callback is not None:
            callback(1, 1)
        return self

    def _check_numbers(self, n: int, n_components: int) -> None:
        """Refuse numbers of groups and of rows that cannot be."""
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise InvalidParameterError(
                f"ConstrainedLinkage(n_clusters={self.n_clusters}, "
                f"distance_threshold={self.distance_threshold}): exactly one of them must be None"
            )
        if n > MAX_ROWS:
            raise TooLargeError(
                f"ConstrainedLinkage keeps the distances of all rows, and those of {n:,} rows "
                f"would take {4e-9 * n * n:.0f} GB; it takes {MAX_ROWS:,} rows at most. Fit a "
                "sample of the rows, or use COPKMeans, which keeps no distances between rows"
            )
        if self.n_clusters is None:
            return
        check_n_clusters(self, n)
        check_n_components(self, n_components)

    def _n_merged(self, merges: Merges, closure: Closure) -> int:
        """Count the merges that are carried out; warn where there are too few."""
        n = len(closure.component)
        if self.n_clusters is None:
            n_below = int((merges.heights < (self.distance_threshold or 0.0)).sum())
            return max(n_below, n - closure.n_components)
        if len(merges.rows) < n - self.n_clusters:
            warn(
                f"ConstrainedLinkage(n_clusters={self.n_clusters}) ends with "
                f"{n - len(merges.rows)} groups: cannot-links forbid every further merge. "
                "COPKMeans looks for an assignment to n_clusters groups",
                DeadEndWarning,
            )
        return min(len(merges.rows), n - self.n_clusters)


def _solve(distances: Distances, closure: Closure, linkage: int) -> Merges:
    """Merge must-link components, then all that cannot-links allow; uses up the distances."""
    n = len(closure.component)
    condensed, size, active = distances.condensed, np.ones(n), np.arange(n)
    first, forced = _links_to_first(closure)
    n_active = merge_components(condensed, linkage, forced, size, active)
    i, j = np.sort(first[closure.cannot_link_components], axis=1).T
    condensed[i * (2 * n - i - 3) // 2 + j - 1] = np.inf
    rows, heights = np.empty((n_active - 1, 2), np.int64), np.empty(n_active - 1)
    n_merges = merge_along_chains(condensed, linkage, size, active, n_active, rows, heights)
    # Stable: merges of equal height stay behind those that they are made of.
    order = np.argsort(heights[:n_merges], kind="stable")
    return Merges(
        np.concatenate([forced, rows[order]]),
        np.concatenate([np.zeros(len(forced)), heights[order] * distances.scale]),
    )


def _links_to_first(closure: Closure) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the first row of each component, and links from there to its other rows."""
    _, first = np.unique(closure.component, return_index=True)
    head = first[closure.component]
    others = np.flatnonzero(head != np.arange(len(head)))
    return first, np.column_stack([head[others], others])
