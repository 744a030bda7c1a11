"""Guided clustering: groups from features and people's answers, in one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike
from sklearn.utils import Tags

from clew._estimators import guarded_fit
from clew._limits import ANCHOR_ROWS, MAX_DENSE_ROWS
from clew._parallel import Progress, one_library_thread
from clew._validation import Allowed, RandomState, check_parameters, derived_seeds, is_dask
from clew.cluster.guided._checks import (
    check_n_anchors,
    check_pool,
    check_same_rows,
    check_unchanged,
    checked_arguments,
)
from clew.cluster.guided._continued import FittedState, Tree, n_changed
from clew.cluster.guided._errors import informative_answers
from clew.cluster.guided._explain import ids_of_frame
from clew.cluster.guided._features import Metric, Prepared
from clew.cluster.guided._fit import fit_to_rows, parameters_of
from clew.cluster.guided._fitted import FittedGroups
from clew.cluster.guided._many_rows import LinkedRows, fit_on_anchors
from clew.cluster.guided._records import fit_records
from clew.cluster.guided._row_blocks import ArrayRows
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for

__all__ = ["GuidedClustering"]


class GuidedClustering(FittedGroups):
    """Find groups that explain features and people's answers.

    Features are optional: answers alone suffice if there are enough of them. Partitions are refined
    from many starts, such that the answers are probable given the groups and the error rates of the
    annotators, and rows tend to be in the groups of the rows like them. The best partitions are
    averaged, weighted by their probability.

    Use it if no method is known to suit the data. It finds the number of groups, tolerates wrong
    answers, and estimates which answers are wrong and how often each annotator errs.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. None finds it: it is that of the partition with the best expected Jaccard
        index under the average of the best partitions; without answers, the number with the largest
        silhouette. A pool of your own needs a number.
    pool : "default" or list of (str, estimator), default="default"
        A list: names, and clusterers of features from scikit-learn or clew, from whose groups the
        search starts, too. Members that honor answers get them; triplets and odd-one-out answers
        are converted to pairs where a member honors pairs only. Rows labeled -1 count as one group.
        Without answers, the groups are an average of those members that honor none.
    metric : {"euclidean", "cosine", "precomputed"}, default="euclidean"
        Distance between rows. "cosine" compares rows scaled to length 1: use it for texts and
        embeddings. "precomputed": `X` holds distances, square or condensed as SciPy's ``pdist``
        returns them, and `predict` takes the distances of new rows to the fitted ones.
    standardize : bool or "auto", default="auto"
        Whether to divide each feature by its standard deviation. "auto" does so if features
        seem to be in different units, as those of a table: if the largest standard deviation is
        more than five times the median, except for principal components, counts that are mostly 0,
        and rows of one length. Never for sparse features of more than 256 columns, or with
        ``metric="cosine"``. Whatever this is, categories and flags beside numbers count less
        if they do not differ between groups of similar rows.
    scale : {"auto", "exact", "anchors"}, default="auto"
        Whether the model is fitted to all rows ("exact") or to anchors, means of near rows; each
        row then gets the memberships of its nearest anchors. "auto": anchors for over 5,000 rows,
        or with given distances over 20,000.
    n_anchors : int, default=5000
        Number of anchors; not less than `n_clusters`.
    random_state : int, RandomState or None, default=None
        Seed. The same seed gives the same result.
    n_jobs : int or None, default=None
        Number of threads: None is 1, -1 one per core. Partitions are refined in threads. The result
        does not depend on it.
    verbose : int, default=0
        1 logs progress to the logger "clew" every few seconds, 2 logs each step.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row, from 0.
    is_settled_ : bool
        Whether these are the groups of `fit`; False after ``partial_fit(refit=False)``.
    alternatives_ : tuple of Alternative
        Up to two other groupings, of other numbers of groups, that explain features and answers
        nearly as well; the best first. If the number was given: one of more groups, if these
        explain answers and features clearly better.
    probabilities_ : ndarray, csr_array or Dask array of shape (n_samples, n_clusters)
        Probability of each group for each row; sparse for very many groups, and with anchors, which
        keep the eight most probable groups. A Dask array, computed when read, if `X` was one.
    n_clusters_ : int
        Number of groups, given or chosen.
    n_clusters_probabilities_ : dict of int to float
        Probability of each number of groups. `n_clusters_`, the number of the average of the best
        partitions, need not be the likeliest. After a `partial_fit` that moved groups on, those of
        the last fit. Empty if the number was given.
    regime_ : Regime
        What decided the groups, a string: "features", "answers", "both" or "identities", many small
        groups by `CorrelationClustering` or by matches of near rows. ``regime_.reason`` has the
        reason.
    tree_ : ndarray of shape (n_samples - 1, 4)
        Hierarchy of the rows in SciPy's form, computed when first read: cut it with
        `scipy.cluster.hierarchy.fcluster`. The cut into `n_clusters_` groups is `labels_`.
    error_rate_ : float
        Estimated share of wrong answers; of several annotators the mean. NaN without answers.
    error_interval_ : tuple of float
        Interval that holds the true share with probability 0.95.
    confusion_ : ConfusionMatrices
        Error rates and confusion matrices of the annotators.
    answer_posterior_ : AnswerPosterior
        Probability that each answer is wrong, by kind; NaN for a don't-know and for weight 0.
        `to_frame` lists the answers, the most doubtful first.
    scores_ : dict of str to float
        Energy of each partition that is averaged, in nats: larger is better. Without answers, the
        agreement of each base clustering with the groups.
    weights_ : dict of str to float
        Weight of each of them; the largest is 1.
    n_violated_ : int
        Number of answers of positive weight that `labels_` violate.
    result_ : GuidedResult
        The answers and all fitted attributes above except `tree_`, from one fit. The object is
        never changed: `partial_fit` replaces it. Its arrays are read-only.
    n_features_in_ : int
        Number of features.
    table_features_ : TableFeatures, RecordFeatures or None
        How a data frame with text, dates, categories or missing values was turned into numbers, by
        characters if many rows seem to describe the same things; None for other features.
        `predict` and `score` take data frames with the same columns then.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there are more groups than rows, or a member of the
        pool cannot get the answers.
    InvalidConstraintsError
        If the answers are about another number of rows than `X` has.
    InvalidArgumentError
        If neither features nor answers are given, or a pool of your own gets no features.

    Warns
    -----
    NoGroupsWarning
        If `n_clusters` is None, and neither features nor answers show groups, or there are no
        features and fewer than three different questions for every two rows.
    FewerGroupsWarning
        If there are fewer distinct rows than groups wanted.
    ReversedAnswersWarning
        If rows that are alike by their features are called "same" clearly less often than others.

    See Also
    --------
    SimilarityClustering : One similarity and one clusterer.
    DCRC : A logistic model of groups, fitted to answers of all kinds.
    ConstrainedLinkage : Satisfies every answer.

    Notes
    -----
    The result is a function of features, answers, `n_clusters` and the seed; how questions were
    chosen does not matter. If all answers are consistent and decide every pair, the groups are
    exactly what they say. On one core, 200 rows take .7 s, 1,800 rows with 1,000 answers 5 s,
    20,000 rows with as many answers 18 s.

    Starts are cuts of Ward's tree, of a tree of the affinity after E2CP propagated the answers, and
    correlation clusterings. Each start alternates between smoothers, which predict the group of
    each row from those of the rows like it (neighbors, kernel ridge regression, neighbors by linear
    discriminants and, up to 1,000 rows, Gaussian groups), and loopy belief propagation over the
    answers. How far smoothers are followed, and how often each annotator errs, is learned.
    Partitions are compared by an energy: Bethe's approximation of the log-probability of the
    answers, with terms of features and of the sizes of groups. The best ones are merged and
    crossed; eight are averaged.

    Answers are honored softly, each by its weight. Don't-know about three rows is evidence that
    none stands out; about a pair it is ignored. If the answers look random, the groups are those
    without answers.

    If nobody says don't-know about three rows, questions may have been chosen so that there is an
    answer, or people may have had to choose. Which it was is estimated: how much rarer questions
    are of which groups leave the answer open than among others about rows as near.

    Answers about three rows are often graded: the nearer rows are, the more probable is an answer
    that puts them together. If features tell nothing of the groups, or there are none, and an
    `OrdinalEmbedding` predicts held-out answers better than groups do by 4 nats, groups are an
    average of clusterings of such spaces.

    Without features, spaces of the answers take the place of features, with two exceptions if most
    answers are about pairs. If most questions were chosen by earlier answers (origin "asked"), the
    groups are those of `CorrelationClustering`, and rows that no answer joins stay apart. With up
    to 300 rows, and five or more in a group on the average, those of the spaces are returned
    instead if they are no fewer than its large groups and contradict no more answers. With
    `n_clusters`, this holds only if the answers connect the rows into that many groups. Otherwise,
    if `CorrelationClustering` finds groups of fewer than five rows on the average, its groups are
    returned; of up to 300 rows, only if larger groups are not more probable, or predict held-out
    answers worse; with features, only if rows called the same are no nearer than others.

    If a few rows are far nearer to each row than all others, as in tables in which several rows
    describe the same thing, groups are many and small, and `regime_` is "identities": matches of
    near rows are merged by average linkage, with answers or without. A number of groups below a
    fifth of that of the rows, a pool or a `scale` of your own prevents it.

    Without answers, groups are Ward's linkage of the shared groups of five base clusterings.

    With distances, neighbors, Ward's linkage and silhouettes are computed from them. What needs
    vectors reads coordinates, at most 100, by classical multidimensional scaling (Torgerson); above
    2,000 rows, from the distances to 2,000 landmarks (de Silva and Tenenbaum). Anchors are means of
    coordinates. A member of a pool of your own with ``metric="precomputed"`` gets the distances.

    More than 256 features are reduced to their first 100 principal components; sparse ones are
    not made dense. Beyond 5,000 rows memory is linear in the number of rows.

    With anchors, up to 10,000 of the answers, chosen at random, are moved to the anchors of their
    rows. All rows follow the groups of the anchors, or Ward's tree of them, cut at one height or
    where answers prefer it: whichever predicts held-out answers best, refined if that raises the
    score. Time is linear in the numbers of rows and answers.

    References
    ----------
    J. S. Yedidia, W. T. Freeman and Y. Weiss, "Constructing free-energy approximations and
    generalized belief propagation algorithms", IEEE Transactions on Information Theory 2005;
    Z. Lu and H. H. S. Ip, "Constrained spectral clustering via exhaustive and efficient constraint
    propagation", ECCV 2010. The combination is clew's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import GuidedClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> answers = Constraints.from_labels(y, n_pairs=150, error=0.1, random_state=0)
    >>> model = GuidedClustering(3, random_state=0).fit(X, constraints=answers)
    >>> print(model.summary()[:53])
    GuidedClustering: 150 rows in 3 groups (number given)
    """

    supports: ClassVar[Support] = Support(
        pairs=True, triplets=True, odd_one_out=True, dont_know=True
    )
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "metric": Allowed(names=("euclidean", "cosine", "precomputed")),
        "standardize": (Allowed(names=("auto",)), Allowed(kind=bool)),
        "scale": Allowed(names=("auto", "exact", "anchors")),
        "n_anchors": Allowed(kind=int, low=2),
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        pool: Literal["default"] | Sequence[tuple[str, Any]] = "default",
        metric: Metric | Literal["precomputed"] = "euclidean",
        standardize: bool | Literal["auto"] = "auto",
        scale: Literal["auto", "exact", "anchors"] = "auto",
        n_anchors: int = 5000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.pool = pool
        self.metric = metric
        self.standardize = standardize
        self.scale = scale
        self.n_anchors = n_anchors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    @guarded_fit
    def fit(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features), default=None
            Features, or a data frame of mixed columns, see `tables.TableFeatures`. None: the groups
            follow from the answers alone. With
            ``metric="precomputed"``: distances of all pairs of rows, square, of shape (n_samples,
            n_samples), or condensed in the order of SciPy's ``pdist``.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            The answers; None if there are none.
        callback : callable, default=None
            Called after each refinement of a partition, with the number of finished ones and the
            largest possible number.

        Returns
        -------
        self
        """
        features, known = checked_arguments(self, X, constraints)
        self._row_ids = ids_of_frame(X)
        records = None if is_dask(X) else features
        if (found := fit_records(self, records, known, callback)) is not None:
            self._fitted, self.result_ = found
            return self
        if is_dask(X) or (features is not None and self._takes_anchors(known.n_samples)):
            check_n_anchors(self)
            seeds = derived_seeds(self.random_state, 5)
            rows: Any = features if is_dask(X) else ArrayRows(features)
            with one_library_thread():
                linked = LinkedRows.of(self, rows, seeds[:2])
            return self._fit_on_anchors(linked, known, seeds, None, callback)
        seeds = derived_seeds(self.random_state, 4)
        prepared = None
        if features is not None:
            own = seeds[0], seeds[3]
            with one_library_thread():
                prepared = Prepared.of(features, self.metric, self._standardize, own, self.n_jobs)
        return self._fit_to(known, prepared, seeds, None, callback)

    @guarded_fit
    def partial_fit(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        replace: bool = False,
        refit: bool = True,
        callback: Progress | None = None,
    ) -> Self:
        """Follow further answers about the fitted rows.

        The result is that of `fit` with all answers; only what does not depend on answers is kept.
        With ``refit=False`` the best partitions so far are moved on instead, in a small part of the
        time: a live view while answers come in, `is_settled_` is False then.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features), default=None
            The fitted rows, which may be left out. Before the first fit: as `fit` takes it.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            The new answers, which are added to those so far.
        replace : bool, default=False
            Whether `constraints` are all answers, in place of those so far: to take answers back.
        refit : bool, default=True
            Whether to find the groups from scratch. False: from those of the last fit, if it had
            answers.
        callback : callable, default=None
            As `fit` takes it.

        Returns
        -------
        self

        Raises
        ------
        InvalidDataError
            If `X` does not hold the fitted rows.
        InvalidParameterError
            If a parameter was changed after `fit`.

        Notes
        -----
        The fitted attributes are those of `result_`, which is replaced at the end, at once: while
        this method runs in another thread, they are those of the last fit.
        """
        if "result_" not in vars(self):
            return self.fit(X, y, constraints=constraints, callback=callback)
        check_parameters(self, self._allowed)
        before, fitted = self.result_.constraints, self._fitted
        check_unchanged(self, fitted.parameters)
        check_same_rows(self, X)
        given = answers_for(self, constraints, before.n_samples)
        known = given if replace else before + given
        check_pool(self, known, has_features=True)
        if n_changed(before, known) == 0 and (self.result_.is_settled or not refit):
            return self
        if fitted.records is not None:
            table, n_columns, ids = self.table_features_, self.n_features_in_, self._row_ids
            names = getattr(self, "feature_names_in_", None)
            self.fit(fitted.records.features, constraints=known, callback=callback)
            self.table_features_, self.n_features_in_, self._row_ids = table, n_columns, ids
            if names is not None:
                self.feature_names_in_ = names
            return self
        has_partitions = fitted.kept is not None or fitted.anchored is not None
        last = fitted if has_partitions and not refit else None
        if fitted.anchored is not None:
            return self._fit_on_anchors(fitted.anchored.linked, known, fitted.seeds, last, callback)
        return self._fit_to(known, fitted.prepared, fitted.seeds, last, callback)

    def _fit_to(
        self,
        known: Constraints,
        prepared: Prepared | None,
        seeds: list[int],
        last: FittedState | None,
        callback: Progress | None,
    ) -> Self:
        """Find groups; partitions of `last` are moved on."""
        with one_library_thread():
            found = fit_to_rows(self, known, prepared, seeds, last, callback)
        self._fitted, self.result_ = found.state, found.result
        found.end_progress()
        return self

    def _fit_on_anchors(
        self,
        linked: LinkedRows,
        known: Constraints,
        seeds: list[int],
        last: FittedState | None,
        callback: Progress | None,
    ) -> Self:
        """Fit the model to anchors, or take that of `last`, and refine the groups of all rows."""
        before = None if last is None else last.anchored
        with one_library_thread():
            found = fit_on_anchors(self, linked, known, seeds[2:], before, callback)
        fitted_to = informative_answers(known) if last is None else last.answers
        self._fitted = FittedState(
            parameters_of(self), seeds, Tree(found.tree), anchored=found, answers=fitted_to
        )
        self.result_ = found.result(known, is_settled=last is None)
        return self

    @property
    def _standardize(self) -> bool | Literal["auto"]:
        """Whether columns are standardized; those of a mixed table are already."""
        is_done = getattr(self.table_features_, "standardizes_", self.table_features_ is not None)
        return False if is_done else self.standardize

    def _takes_anchors(self, n_samples: int) -> bool:
        most = MAX_DENSE_ROWS if self.metric == "precomputed" else ANCHOR_ROWS
        return self.scale == "anchors" or (self.scale == "auto" and n_samples > most)
