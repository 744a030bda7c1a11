"""KMedoids: k-medoids by FasterPAM, on all rows or on samples of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import RandomState as Generator
from numpy.typing import NDArray

from clew._files import needs
from clew._limits import MAX_DENSE_ROWS
from clew._validation import Allowed, RandomState
from clew.cluster.medoids._base import MedoidRun, MedoidsClusterer, best_run
from clew.cluster.medoids._distances import Metric, RowDistances
from clew.exceptions import InvalidParameterError, TooLargeError

__all__ = ["KMedoids"]

#: Number of rows in a sample, for few groups and for each group.
SAMPLE_SIZE, SAMPLE_SIZE_PER_GROUP = 2_000, 40


class KMedoids(MedoidsClusterer):
    """K-medoids: rows as centers, with the lowest sum of distances from rows to their centers.

    It works with any distances and is robust to outliers. It needs the package `kmedoids` (``pip
    install clew[medoids]``).

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, such as "cosine" or "manhattan"; a
        function of two rows; or "precomputed" if `X` holds the distances.
    metric_params : dict, default=None
        Further arguments of the metric, such as ``{"p": 3}`` for "minkowski".
    init : {"random", "build"}, default="random"
        First medoids of a start: random rows, or those of PAM's BUILD step, which is slower and the
        same for all seeds.
    sample_size : int, "auto" or None, default="auto"
        Number of rows in the sample that each start searches. None searches all rows. "auto"
        searches all rows up to 20,000; above, a sample of 2,000 rows or of 40 for each group,
        whichever is more.
    n_init : int, default=5
        Number of starts, each from a sample of its own; the one with the lowest sum of distances
        from all rows is kept.
    max_iter : int, default=100
        Maximum number of passes over the rows of each start.
    random_state : int, RandomState or None, default=None
        Seed of samples and starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row; groups are numbered in the order of their first rows.
    medoid_indices_ : ndarray of shape (n_groups,), int64
        Row number of each center.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        The centers. Not with precomputed distances.
    inertia_ : float
        Sum of distances from rows to their centers.
    n_iter_ : int
        Number of passes of the best start.
    n_swaps_ : int
        Number of swaps of the best start.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there is no such metric, there are more groups than
        rows, or more than rows in a sample.
    InvalidDataError
        If precomputed distances are not square and symmetric with zeros on the diagonal, or some
        are negative.
    MissingDependencyError
        If the package `kmedoids` is not installed.
    TooLargeError
        If ``sample_size=None`` and there are more than 20,000 rows of features.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because there are fewer different rows.

    See Also
    --------
    FastPAM : Sums over all rows, with medoids from a sample; needs no extra package.
    CLARANS : Random swaps; holds no table of distances.
    Subclustering : Groups only the clearest rows.

    Notes
    -----
    FasterPAM swaps a medoid for another row as soon as that lowers the sum of distances, and finds
    the best medoid to remove for a row in one pass over all rows. The result is a local minimum:
    no single swap lowers the sum.

    Time O(n²) for a pass over n rows, of which it takes 3 to 10, and memory 4·n² bytes for the
    distances in single precision; for samples of s rows, O(s²) and 4·s² bytes, and O(N·K) to
    assign all N rows. Samples follow CLARA, with FasterPAM in place of PAM.

    References
    ----------
    E. Schubert and P. J. Rousseeuw, "Fast and eager k-medoids clustering: O(k) runtime improvement
    of the PAM, CLARA, and CLARANS algorithms", Information Systems 101, 2021. L. Kaufman and
    P. J. Rousseeuw, "Finding Groups in Data", Wiley, 1990 (PAM and CLARA).

    Examples
    --------
    >>> from clew.cluster import KMedoids
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> model = KMedoids(2, random_state=0).fit(X)
    >>> model.labels_, model.medoid_indices_
    (array([0, 0, 0, 1, 1, 1]), array([1, 4]))
    """

    _allowed: ClassVar[dict[str, Any]] = {
        **MedoidsClusterer._allowed,
        "init": Allowed(names=("random", "build")),
        "sample_size": Allowed(names=("auto",), kind=int, low=2, none=True),
        "max_iter": Allowed(kind=int, low=1),
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        metric: Metric = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        init: Literal["random", "build"] = "random",
        sample_size: int | Literal["auto"] | None = "auto",
        n_init: int = 5,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.sample_size = sample_size
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_sizes(self, n_samples: int) -> None:
        """Check that samples have more rows than groups, and all rows fit in memory."""
        size = self._resolved_size(n_samples)
        if self.n_clusters > size:
            raise InvalidParameterError(
                f"KMedoids(n_clusters={self.n_clusters}, sample_size={size}): a sample must have "
                "at least one row for each group"
            )
        if size > MAX_DENSE_ROWS and self.metric != "precomputed":
            raise TooLargeError(
                f"the distances between {size:,} rows would take {4e-9 * size**2:.0f} GB; beyond "
                f'{MAX_DENSE_ROWS:,} rows use sample_size="auto", or FastPAM'
            )

    def _resolved_size(self, n_samples: int) -> int:
        """Return the number of rows in a sample."""
        if self.sample_size is None:
            return n_samples
        if self.sample_size == "auto":
            wanted = max(SAMPLE_SIZE, SAMPLE_SIZE_PER_GROUP * self.n_clusters)
            return n_samples if n_samples <= MAX_DENSE_ROWS else min(wanted, MAX_DENSE_ROWS)
        return min(self.sample_size, n_samples)

    def _solve(self, distances: RowDistances, seeds: list[int], random: Generator) -> MedoidRun:
        """Search all rows, whose distances are computed once, or samples."""
        n = distances.n_samples
        size = self._resolved_size(n)
        if size == n:
            is_given = distances.is_given
            table = distances.rows if is_given else distances.between(np.arange(n))
            return best_run(lambda seed: self._run(table, np.random.RandomState(seed)), seeds)

        def search_sample(seed: int) -> MedoidRun:
            random = np.random.RandomState(seed)
            sample = np.sort(random.choice(n, size, replace=False))
            run = self._run(distances.between(sample, sample), random)
            medoids = sample[run.medoids]
            cost = float(distances.to_nearest(medoids)[1].sum())
            return run._replace(medoids=medoids, cost=cost)

        return best_run(search_sample, seeds)

    def _run(self, table: NDArray[np.floating], random: Generator) -> MedoidRun:
        """Run FasterPAM once on a square table of distances."""
        first = random.choice(len(table), self.n_clusters, replace=False)
        with needs(
            "KMedoids needs the package kmedoids: pip install clew[medoids]; FastPAM needs none"
        ):
            import kmedoids
        if self.init == "build":
            first = kmedoids.pam_build(table, self.n_clusters).medoids
        # Without a seed it visits rows in their order; with one thread the result does not depend
        # on the machine.
        found = kmedoids.fasterpam(table, first.astype(np.uintp), self.max_iter, n_cpu=1)
        medoids = found.medoids.astype(np.int64)
        return MedoidRun(medoids, float(found.loss), int(found.n_iter), int(found.n_swap))
