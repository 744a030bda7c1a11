"""ConstrainedLinkage: agglomerative clustering under hard must-links and cannot-links."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from clew._estimators import ConstrainedClusterer, OfDistances
from clew._parallel import Progress
from clew._validation import Allowed, check_n_clusters
from clew._warnings import warn
from clew.cluster._kmeans import check_n_components
from clew.constraints import Closure, Constraints, Support
from clew.constraints._support import binding_answers
from clew.exceptions import DeadEndWarning, InvalidParameterError, TooLargeError
from clew.kernels.graphs import component_labels
from clew.kernels.linkage import LINKAGES, merge_along_chains, merge_components, number_nodes
from clew.metrics import n_violated

__all__ = ["ConstrainedLinkage"]

#: The distances between this many rows take 3.6 GB.
MAX_ROWS = 30_000
#: Rows of a distance matrix that are copied at once.
ROWS_PER_BLOCK = 256


class Merges(NamedTuple):
    """Merges of groups in the order of their heights; merges within components come first."""

    rows: NDArray[np.int64]
    """A row of each of the two groups, (n_merges, 2)."""
    heights: NDArray[np.float64]
    """Distance of the two groups, (n_merges,); 0 within must-link components."""


class ConstrainedLinkage(OfDistances, ConstrainedClusterer):
    """Agglomerative clustering that keeps every must-link and every cannot-link.

    Rows joined by must-links form one group from the start. The two nearest groups are merged
    repeatedly; two groups with a cannot-link between their rows are never merged.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. Must be None if and only if `distance_threshold` is given.
    linkage : {"average", "single", "complete", "ward"}, default="average"
        Distance between two groups: the mean, the smallest or the largest distance between their
        rows. For "ward" it is the square root of twice the increase, by the merge, of the sum of
        squared distances of rows from the means of their groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What `X` is: features, or a matrix of distances between rows.
    distance_threshold : float or None, default=None
        Groups at this distance or farther are not merged, unless must-links join them.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row; groups are numbered in the order of their first rows.
    n_clusters_ : int
        Number of groups; more than `n_clusters` after a `DeadEndWarning`.
    children_ : ndarray of shape (n_merges, 2), int64
        The two nodes of each merge that the answers allow, as in scikit-learn's
        ``AgglomerativeClustering``: nodes below `n_samples` are rows, and merge i makes node
        ``n_samples + i``. Without cannot-links there are ``n_samples - 1`` merges.
    distances_ : ndarray of shape (n_merges,)
        Height of each merge, ascending; 0 for merges within must-link components.
    n_violated_ : int
        Number of violated answers of positive weight: always 0.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there are more groups than rows, or not exactly one
        of `n_clusters` and `distance_threshold` is None.
    InconsistentConstraintsError
        If answers contradict each other; the message contains a shortest contradictory chain.
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
    COPKMeans : Hard answers in k-means; backtracks from dead ends.

    Notes
    -----
    Answers are hard constraints: every must-link and cannot-link of positive weight is kept.
    Answers of weight 0 and don't-knows are ignored.

    Merges follow chains of nearest neighbors. The result is that of merging the nearest two
    allowed groups in each step: a cannot-link is an infinite distance, which every union inherits,
    so a merge never brings groups nearer to each other. Without answers the tree is that of SciPy's
    ``linkage``.

    Time O(n²) and memory 4·n² bytes, for any number of answers: pairs that follow from must-links
    are not listed.

    With precomputed distances, "ward" applies the update formula of Lance and Williams, which is
    Ward's criterion only if the distances are Euclidean.

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
        n_clusters: int | None = None,
        *,
        linkage: Literal["average", "single", "complete", "ward"] = "average",
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        distance_threshold: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.distance_threshold = distance_threshold

    def _solve(self, X: NDArray[np.float64], known: Constraints, callback: Progress | None) -> None:
        n, hard = len(X), binding_answers(known)
        closure = hard.closure()
        self._check_numbers(n, closure.n_components)
        is_given = self.metric == "precomputed"
        distances = given_distances(X) if is_given else measured_distances(X)
        merges = _all_merges(distances, closure, LINKAGES[self.linkage])
        n_merged = self._n_merged(merges, closure)
        self.labels_ = component_labels(n, merges.rows[:n_merged])
        self.n_clusters_ = n - n_merged
        self.children_, self.distances_ = number_nodes(n, merges.rows), merges.heights
        self.n_violated_ = n_violated(self.labels_, hard)
        if callback is not None:
            callback(1, 1)

    def _check_numbers(self, n: int, n_components: int) -> None:
        """Check the numbers of groups and rows."""
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise InvalidParameterError(
                f"ConstrainedLinkage(n_clusters={self.n_clusters}, "
                f"distance_threshold={self.distance_threshold}): exactly one of them must be None"
            )
        if n > MAX_ROWS:
            raise TooLargeError(
                f"ConstrainedLinkage computes all distances between rows, which would take "
                f"{4e-9 * n * n:.0f} GB for {n:,} rows; it accepts at most {MAX_ROWS:,} rows. Fit "
                "a sample of the rows, or use COPKMeans, which computes no distances between rows"
            )
        if self.n_clusters is None:
            return
        check_n_clusters(self, n)
        check_n_components(self, n_components)

    def _n_merged(self, merges: Merges, closure: Closure) -> int:
        """Return the number of merges up to the wanted groups; warn if there are too few."""
        n = len(closure.component)
        if self.n_clusters is None:
            n_below = int((merges.heights < (self.distance_threshold or 0.0)).sum())
            return max(n_below, n - closure.n_components)
        if len(merges.rows) < n - self.n_clusters:
            warn(
                f"ConstrainedLinkage(n_clusters={self.n_clusters}) ends with "
                f"{n - len(merges.rows)} groups: cannot-links forbid every further merge. "
                "COPKMeans searches for an assignment to n_clusters groups",
                DeadEndWarning,
            )
        return min(len(merges.rows), n - self.n_clusters)


def _all_merges(distances: Distances, closure: Closure, linkage: int) -> Merges:
    """Merge within must-link components, then all that cannot-links allow; changes `distances`."""
    n = len(closure.component)
    condensed, size, active = distances.condensed, np.ones(n), np.arange(n)
    first, within = _links_to_first(closure)
    n_active = merge_components(condensed, linkage, within, size, active)
    i, j = np.sort(first[closure.cannot_link_components], axis=1).T
    condensed[i * (2 * n - i - 3) // 2 + j - 1] = np.inf
    rows, heights = np.empty((n_active - 1, 2), np.int64), np.empty(n_active - 1)
    n_merges = merge_along_chains(condensed, linkage, size, active, n_active, rows, heights)
    # Stable, so that a merge stays behind the merges within its two groups.
    order = np.argsort(heights[:n_merges], kind="stable")
    return Merges(
        np.concatenate([within, rows[order]]),
        np.concatenate([np.zeros(len(within)), heights[order] * distances.scale]),
    )


def _links_to_first(closure: Closure) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each component, and pairs of it with the component's other rows."""
    _, first = np.unique(closure.component, return_index=True)
    head = first[closure.component]
    others = np.flatnonzero(head != np.arange(len(head)))
    return first, np.column_stack([head[others], others])


class Distances(NamedTuple):
    """Distances between n rows, condensed (n * (n - 1) / 2,) as by SciPy's ``pdist``."""

    condensed: NDArray[np.float64]
    scale: float


def measured_distances(X: NDArray[np.float64]) -> Distances:
    """Compute Euclidean distances."""
    scale = _scale(float(np.abs(X).max(initial=0.0)))
    return Distances(pdist(X / scale), scale)


def given_distances(D: NDArray[np.float64]) -> Distances:
    """Copy distances from a matrix. D (n_samples, n_samples)."""
    n = len(D)
    scale = _scale(float(D.max(initial=0.0)))
    condensed = np.empty(n * (n - 1) // 2)
    stop = 0
    for start in range(0, n, ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        mean = D[rows, start:] / (2 * scale) + D[start:, rows].T / (2 * scale)
        for row, values in enumerate(mean):
            begin, stop = stop, stop + n - start - row - 1
            condensed[begin:stop] = values[row + 1 :]
    return Distances(condensed, scale)


def _scale(largest: float) -> float:
    """Return the power of two above a number, limited so that its inverse does not overflow."""
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    return float(np.ldexp(1.0, min(max(exponent, -1000), 1000)))
