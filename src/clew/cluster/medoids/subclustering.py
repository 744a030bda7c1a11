"""Subclustering: a few pure examples of each of many groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._estimators import Clusterer, OfDistances, guarded_fit
from clew._limits import MAX_DENSE_ROWS
from clew._validation import Allowed, RandomState, check_parameters, derived_seeds, is_dask
from clew._warnings import warn
from clew.cluster._kmeans import best_start
from clew.cluster.medoids._distances import Metric, RowDistances, check_metric, checked_distances
from clew.cluster.medoids._subclusters import (
    PAIR_SCALE,
    Candidates,
    Costs,
    Setting,
    SwapRun,
    Tables,
    Tried,
    checked_init,
    compact_exemplars,
    confidences,
    draw_candidates,
    first_centers,
    nearest_exemplars,
    normalized_cut,
    preferred,
    separation,
    settings,
    shared_costs,
    swapped,
    thesis_costs,
    with_wider_gaps,
)
from clew.exceptions import FewerGroupsWarning, InvalidParameterError, TooLargeError
from clew.kernels.subclusters import swap_best, swap_eagerly

__all__ = ["Subclustering"]

Index = NDArray[np.int64]
#: Least and largest number of candidates that "auto" draws for each subcluster, and the total that
#: it draws within these limits.
LEAST_PER_CLUSTER, MOST_PER_CLUSTER, WANTED_CANDIDATES = 10, 25, 4_000


class Subclustering(OfDistances, Clusterer):
    r"""Find a few pure examples of each of many groups, and leave all other rows out.

    Where groups overlap, no clustering of all rows is pure. Subclustering groups the clearest rows
    only: K rows as centers, each with a few of its nearest rows, such that rows of a subcluster
    are near each other and no two subclusters show the same group.

    Parameters
    ----------
    n_clusters : int
        Number of subclusters (K).
    size : int, default=10
        Number of rows of each subcluster, its center among them; at most the number of rows of the
        smallest group that is to be found.
    n_candidates : int or "auto", default="auto"
        Number of rows, drawn at random, that may become centers. "auto" draws 10 to 25 for each
        subcluster: 4,000 in all where these limits allow it.
    overlap : {"auto", "shared", "penalty", "both", "silhouette", "rule"}, default="auto"
        What keeps two subclusters from showing the same group. "shared": a cost for the rows that
        the wider neighborhoods of two centers share. "penalty": the cost of the thesis, which is
        high for near centers, and a penalty for two subclusters with a common row. "both": the sum
        of these. "silhouette": the result of "both" with smaller neighborhoods, after further swaps
        that raise the centers' silhouettes. "rule": the cost of the thesis and its rule: no swap
        may raise the number of subclusters that share rows with that of a center. "auto" tries the
        first four, and takes "shared" unless another one has a clearly higher score (see Notes).
    scale : float or "auto", default="auto"
        λ in ``P = exp(-distance / λ)``, the probability that two rows are in the same group, as a
        multiple of the median distance of a candidate from the farthest row of its subcluster.
        "auto" is 1 with "shared", "both" and "silhouette", and 0.3 with "penalty" and "rule".
    swaps : {"eager", "best"}, default="eager"
        "eager" replaces each center in turn by the candidate that lowers the cost most. "best", as
        in the thesis, compares the replacements of all centers for each swap.
    members : {"compact", "nearest"}, default="compact"
        Rows of a subcluster. "nearest": the rows nearest to the center, as in the thesis; two
        subclusters may share rows. "compact": of the rows nearer to this center than to any other,
        those with the lowest mean distance to each other; none is in two subclusters.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``; a function of two rows; or
        "precomputed" if `X` holds the distances.
    metric_params : dict, default=None
        Further arguments of the metric.
    init : {"random"} or array-like of shape (n_clusters,), default="random"
        First centers: random candidates, or these row numbers, which then are candidates.
    n_init : int, default=4
        Number of random starts; the one with the lowest cost is kept.
    random_state : int, RandomState or None, default=None
        Seed of candidates and starts.
    n_jobs : int or None, default=None
        Number of threads that search for nearest rows; the result does not depend on it.

    Attributes
    ----------
    exemplars_ : ndarray of shape (n_clusters, size), int64
        Row numbers of each subcluster, the center first, the others by their distance to it.
        Subclusters are numbered in the order of their centers.
    centers_ : ndarray of shape (n_clusters,), int64
        Row numbers of the centers.
    labels_ : ndarray of shape (n_samples,), int64
        Subcluster of each row; -1 for all rows outside.
    confidence_ : ndarray of shape (n_clusters, size)
        Probability that an exemplar is in its center's group: ``1 / (1 + exp(1.2 - 9 m))`` for the
        margin ``m = 1 - d / d2``, where d is its distance from its own center and d2 that from the
        nearest other center. The numbers were fitted on data with known classes; see the page
        of the study for a table of reliability.
    cost_ : float
        The cost of the best start, under `overlap_` and `scale_`; see Notes.
    separation_ : float
        Mean silhouette of the exemplars; see Notes for the choice of "auto".
    overlap_ : str
        The choice for `overlap`.
    scale_ : float
        λ, in units of the distances.
    n_swaps_ : int
        Number of swaps of the best start.
    candidates_ : ndarray of shape (n_candidates,), int64
        Row numbers of the candidates.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there are fewer candidates than subclusters, more
        candidates than rows, or fewer rows than ``n_clusters * size``.
    InvalidDataError
        If precomputed distances are not square and symmetric with zeros on the diagonal, or some
        are negative.
    TooLargeError
        If there are more than 20,000 candidates.

    Warns
    -----
    FewerGroupsWarning
        If two centers are equal rows: there are fewer different rows than subclusters.

    See Also
    --------
    purest_examples : The same for groups that are known.
    KMedoids : Groups all rows.

    Notes
    -----
    With "penalty" and "rule" the cost is that of the thesis (eq. 4.2), over centers c and the rows
    I of their subclusters, with λ = `scale_`:

    .. math:: -\sum_k \sum_{j \ge 2} \log P(c_k = I_k^j)
              - \sum_{k \ne l} \log(1 - P(c_k = c_l)),
              \quad P(i = j) = e^{-d(i, j) / \lambda},

    plus 20 for each two subclusters with common rows with "penalty". With "shared" it is

    .. math:: \sum_k \Big( \frac{1}{n - 1} \sum_{j \ge 2} \frac{d(c_k, I_k^j)}{\lambda}
              + \tfrac12 D(c_k) \Big) - 2 \sum_{k < l} \log(1 - s(c_k, c_l)),

    where s is the share of rows that the neighborhoods of two centers have in common. A
    neighborhood is half as large as a mean group, and counted in a sample of 200 rows a group.
    D is the dispersion of a center: the mean of -log(Jaccard's coefficient) of the center and its
    nearest rows, which are alike if the same candidates have them in their neighborhoods.
    Neighborhoods adapt to density; distances do not, so that eq. 4.2 fills a dense group with
    several centers. With "both", the weight of shared neighborhoods is 1, and the pair costs of
    "penalty" at 0.3 λ, times 0.3 / n, are added. With "silhouette" a neighborhood is an eighth as
    large as a mean group, because that of a row of a small group would reach into other groups.

    The silhouette of a center is ``(b - a) / max(a, b)`` for its mean distance a from the rows of
    its subcluster and its distance b from the nearest other center. "auto" takes "shared", unless
    "penalty" or "both" has a score that is higher by more than 0.02, or "silhouette" one above that
    of "shared" by more than 0.04. The score is `separation_` minus the normalized cut of the groups
    of candidates with the same nearest center, in the graph of shared neighborhoods. That cut is
    high where two centers divide a group.

    A subcluster has `size` rows. A group with fewer is not shown, or its subcluster has rows of
    other groups, with a low `confidence_`. Equal rows count as different rows at distance 0.

    With R candidates, N rows and d features: time O(R·N·d) to find nearest rows, O(R²) for tables,
    and O(R) for each center that a start looks at. Memory O(R² + N·d); no table of R × N.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, chapter 4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from clew.cluster import Subclustering
    >>> from clew.metrics import subclustering_jaccard
    >>> X, y = load_digits(return_X_y=True)
    >>> model = Subclustering(10, random_state=0).fit(X)
    >>> model.exemplars_.shape
    (10, 10)
    >>> subclustering_jaccard(y, model.exemplars_) > 0.7
    True
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "size": Allowed(kind=int, low=1),
        "n_candidates": Allowed(names=("auto",), kind=int, low=1, high=MAX_DENSE_ROWS),
        "overlap": Allowed(names=("auto", "shared", "penalty", "both", "silhouette", "rule")),
        "scale": Allowed(names=("auto",), kind=float, low=0, low_open=True),
        "swaps": Allowed(names=("eager", "best")),
        "members": Allowed(names=("compact", "nearest")),
        "n_init": Allowed(kind=int, low=1),
    }

    exemplars_: Index
    centers_: Index
    confidence_: NDArray[np.float64]
    cost_: float
    separation_: float
    overlap_: str
    scale_: float
    n_swaps_: int
    candidates_: Index

    def __init__(
        self,
        n_clusters: int,
        *,
        size: int = 10,
        n_candidates: int | Literal["auto"] = "auto",
        overlap: Literal["auto", "shared", "penalty", "both", "silhouette", "rule"] = "auto",
        scale: float | Literal["auto"] = "auto",
        swaps: Literal["eager", "best"] = "eager",
        members: Literal["compact", "nearest"] = "compact",
        metric: Metric = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        init: ArrayLike = "random",
        n_init: int = 4,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.size = size
        self.n_candidates = n_candidates
        self.overlap = overlap
        self.scale = scale
        self.swaps = swaps
        self.members = members
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    @guarded_fit
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the subclusters.

        Parameters
        ----------
        X : array-like or Dask array of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or distances between rows. A Dask array or data frame holds features; its
            blocks are read where Dask has them, some ten times.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        distances = self._checked_distances(X)
        n_candidates = self._checked_candidates(distances.n_samples)
        first = checked_init(self, distances.n_samples)
        draw, sample, *seeds = derived_seeds(self.random_state, self.n_init + 2)
        found = draw_candidates(
            distances, n_candidates, self.size, np.random.RandomState(draw), first, self.n_jobs
        )
        starts = first_centers(found, self.n_clusters, seeds, first)
        tables = Tables(distances, found, self.n_clusters, sample, self.n_jobs)
        chosen = settings(self.overlap, self.scale)
        tried: list[Tried] = []
        for setting in chosen:
            run = self._run(tables, setting, starts)
            tried.append(self._tried(tables, setting, run, is_compared=len(chosen) > 1))
        self._store(distances, found, preferred(tried))
        return self

    def _checked_distances(self, X: Any) -> RowDistances:
        if not is_dask(X):
            return checked_distances(self, X, self.metric, self.metric_params)
        from clew.cluster.medoids._block_distances import BlockDistances  # dask is optional

        check_metric(self.metric)
        distances = BlockDistances.of_array(X, self.metric, self.metric_params)
        self.n_features_in_ = distances.n_features
        return distances

    def _checked_candidates(self, n: int) -> int:
        """Return the number of candidates; check numbers against each other."""
        k, name = self.n_clusters, type(self).__name__
        if k * self.size > n:
            raise InvalidParameterError(
                f"{name}(n_clusters={k}, size={self.size}) needs {k * self.size} rows, but "
                f"there are only {n}; lower n_clusters or size"
            )
        if isinstance(self.n_candidates, str):
            for_each = min(max(WANTED_CANDIDATES / k, LEAST_PER_CLUSTER), MOST_PER_CLUSTER)
            wanted = min(round(for_each * k), n)
            if wanted > MAX_DENSE_ROWS:
                raise TooLargeError(
                    f"{name}(n_clusters={k}) would compare {wanted:,} candidates with each other; "
                    f"set n_candidates to at most {MAX_DENSE_ROWS:,}"
                )
            return wanted
        if not k <= self.n_candidates <= n:
            raise InvalidParameterError(
                f"{name}(n_clusters={k}, n_candidates={self.n_candidates}): n_candidates must be "
                f"at least n_clusters and at most the number of rows, {n}"
            )
        return int(self.n_candidates)

    def _run(self, tables: Tables, setting: Setting, starts: list[Index]) -> SwapRun:
        """Find centers under one setting."""
        costs = self._costs(tables, setting)
        swap = swap_eagerly if self.swaps == "eager" else swap_best
        best = best_start(lambda first: swapped(costs, first, swap), starts, lambda run: run.cost)
        assert best is not None  # there is a start, and none fails
        if setting.overlap == "silhouette":
            within = tables.candidates.within / tables.distances.unit
            best = with_wider_gaps(costs, tables.apart, within, best)
        # Sorted, so that equal results have equal labels.
        return best._replace(centers=np.sort(best.centers))

    def _tried(self, tables: Tables, setting: Setting, run: SwapRun, *, is_compared: bool) -> Tried:
        """Find the rows of subclusters, and what settings are compared by."""
        choose = compact_exemplars if self.members == "compact" else nearest_exemplars
        centers = tables.candidates.rows[run.centers]
        exemplars = choose(tables.distances, centers, self.size, self.n_jobs)
        cut = normalized_cut(tables, run.centers) if is_compared else 0.0
        return Tried(exemplars, run, setting, separation(tables.distances, exemplars), cut)

    def _costs(self, tables: Tables, setting: Setting) -> Costs:
        """Return the costs of candidates under one setting."""
        scale = setting.scale * tables.candidates.typical
        if setting.overlap == "shared":
            return shared_costs(tables.candidates, tables.near, scale)
        is_sum = setting.overlap in ("both", "silhouette")
        inner = scale * PAIR_SCALE if is_sum else scale
        apart = tables.apart * np.float32(tables.distances.unit / inner)
        is_rule = setting.overlap == "rule"
        costs = thesis_costs(tables.candidates, apart, tables.overlap, inner, is_rule=is_rule)
        if not is_sum:
            return costs
        near = tables.nearer if setting.overlap == "silhouette" else tables.near
        return shared_costs(tables.candidates, near, scale, costs.pair)

    def _store(self, distances: RowDistances, candidates: Candidates, best: Tried) -> None:
        """Set the fitted attributes."""
        self.exemplars_, self.centers_ = best.exemplars, best.exemplars[:, 0].copy()
        self.cost_, self.n_swaps_ = best.run.cost, best.run.n_swaps
        self.separation_, self.overlap_ = best.separation, best.setting.overlap
        self.scale_ = best.setting.scale * candidates.typical
        self.candidates_ = candidates.rows
        self.confidence_ = confidences(distances, self.exemplars_)
        self.labels_ = np.full(distances.n_samples, -1, np.int64)
        # A row of two subclusters gets the label of the one where its confidence is higher.
        order = np.argsort(self.confidence_.ravel(), kind="stable")
        owner = np.repeat(np.arange(self.n_clusters), self.size)
        self.labels_[self.exemplars_.ravel()[order]] = owner[order]
        apart = distances.between(self.centers_, self.centers_)
        np.fill_diagonal(apart, np.inf)
        if not apart.min(initial=np.inf) > 0:
            warn(
                f"Subclustering(n_clusters={self.n_clusters}): some centers are equal rows; there "
                "may be fewer different rows than subclusters",
                FewerGroupsWarning,
            )
