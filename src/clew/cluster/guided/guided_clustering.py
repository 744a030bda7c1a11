"""Guided clustering: groups from features and people's answers, in one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike
from sklearn.utils import Tags

from clew._estimators import guarded_fit
from clew._limits import ANCHOR_ROWS, MAX_DENSE_ROWS
from clew._parallel import Progress, one_library_thread
from clew._random import RandomState, derived_seeds
from clew._validation import Allowed, check_parameters
from clew.cluster.guided._checks import (
    check_n_anchors,
    check_pool,
    check_same_rows,
    check_unchanged,
    checked_arguments,
)
from clew.cluster.guided._continued import FittedState, Tree, n_changed
from clew.cluster.guided._errors import informative_answers
from clew.cluster.guided._features import Metric, Prepared
from clew.cluster.guided._fit import fit_to_rows, parameters_of
from clew.cluster.guided._fitted import FittedGroups
from clew.cluster.guided._many_rows import LinkedRows, fit_on_anchors
from clew.cluster.guided._records import fit_records
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for

__all__ = ["GuidedClustering"]


class GuidedClustering(FittedGroups):
    """Find groups that explain features and people's answers.

    Features are optional: answers alone suffice if there are enough of them. With features and
    answers about pairs, partitions are refined from many starts, such that the answers are probable
    given the groups and the error rates of the annotators, and rows tend to be in the groups of the
    rows like them. The best partitions are averaged, weighted by their probability.

    Use it if no method is known to suit the data. It finds the number of groups, tolerates wrong
    answers, and estimates which answers are wrong and how often each annotator errs.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. None finds it: with features and answers about pairs, it is that of the
        partition with the best expected Jaccard index under the average of the best partitions.
        Without answers, it is the number with the largest silhouette; where held-out answers judge
        (see Notes), another number if that predicts them clearly better. A pool of your own needs a
        number.
    pool : "default" or list of (str, estimator), default="default"
        "default" is recommended. A list: the members of a consensus, which held-out answers score:
        names, and clusterers of features from scikit-learn or clew. Members that honor answers get
        them; triplets and odd-one-out answers are converted to pairs where a member honors pairs
        only. Rows labeled -1 count as one group.
    metric : {"euclidean", "cosine", "precomputed"}, default="euclidean"
        Distance between rows. "cosine" compares rows scaled to length 1: use it for texts and
        embeddings. "precomputed": `X` holds distances, square or condensed as SciPy's ``pdist``
        returns them, and `predict` takes the distances of new rows to the fitted ones.
    standardize : bool or "auto", default="auto"
        Whether to divide each feature by its standard deviation. "auto" does so if features
        seem to be in different units, as those of a table: if the largest standard deviation is
        more than five times the median, except for principal components, counts that are mostly 0,
        and rows of one length. Never for sparse features or ``metric="cosine"``.
    scale : {"auto", "exact", "anchors"}, default="auto"
        Whether members are fitted to all rows ("exact") or to anchors, means of near rows; each
        row then gets the memberships of its nearest anchors. "auto": anchors for over 5,000 rows,
        or with given distances over 20,000.
    n_anchors : int, default=5000
        Number of anchors; not less than `n_clusters`.
    random_state : int, RandomState or None, default=None
        Seed. The same seed gives the same result.
    n_jobs : int or None, default=None
        Number of threads: None is 1, -1 one per core. Members, folds and trees are fitted in
        threads. The result does not depend on it.
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
        nearly as well; the best first. Empty if the number was given.
    probabilities_ : ndarray or csr_array of shape (n_samples, n_clusters)
        Probability of each group for each row; sparse for very many groups, and with anchors, which
        keep the eight most probable groups.
    n_clusters_ : int
        Number of groups, given or chosen.
    n_clusters_probabilities_ : dict of int to float
        Probability of each number of groups: the weights of the partitions that are averaged, or
        where held-out answers judge, of the numbers that were tried. Empty if the number was given.
    regime_ : Regime
        What decided the groups, a string: "features", "answers", "both" or "identities", many small
        groups by `CorrelationClustering` or by matches of near rows. ``regime_.reason`` has the
        reason.
    tree_ : ndarray of shape (n_samples - 1, 4)
        Hierarchy of the rows in SciPy's form, computed when first read: cut it with
        `scipy.cluster.hierarchy.fcluster`. The cut into `n_clusters_` groups is `labels_`.
    error_rate_ : float
        Estimated share of wrong answers: the mean error rate of several annotators, or where most
        answers are forced choices between three rows; otherwise that of the pairs that answers
        imply. NaN without answers.
    error_interval_ : tuple of float
        Interval that holds the true share with probability 0.95.
    confusion_ : ConfusionMatrices
        Error rates and confusion matrices of the annotators.
    answer_posterior_ : AnswerDoubts
        Probability that each answer is wrong, by kind; NaN for a don't-know and for weight 0.
        `to_frame` lists the answers, the most doubtful first.
    scores_ : dict of str to float
        Energy of each partition that is averaged, in nats; where held-out answers judge, the mean
        log-likelihood of held-out answers, in nats an answer, of each member of the consensus.
    weights_ : dict of str to float
        Weight of each partition or member; the largest is 1, pruned members have 0.
    n_violated_ : int
        Number of answers of positive weight that `labels_` violate.
    result_ : GuidedResult
        The answers and all fitted attributes above except `tree_`, from one fit. The object is
        never changed: `partial_fit` replaces it. Its arrays are read-only.
    n_features_in_ : int
        Number of features.

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
        If `n_clusters` is None, and neither features nor answers show groups.
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
    With features, and answers of which most are about pairs, the result is a function of features,
    answers, `n_clusters` and the seed; how questions were chosen does not matter. On one core, 200
    rows take .7 s, 1,800 rows with 1,000 answers 5 s, 20,000 rows with as many answers 18 s. Where
    the answers look random or neighbors tell nothing about the groups, and in all other cases,
    groups are a consensus of base clusterings (members) that held-out answers score; the rest of
    these notes is about that. If all answers are consistent and decide every pair, the groups are
    exactly what they say.

    Answers are honored softly, each by its weight. In the refinement an answer's likelihood follows
    from the groups of its rows and its annotator's confusion matrix. Don't-know about three rows is
    evidence that none stands out; about a pair it is ignored. Members get the answers of annotators
    who err more with less weight.

    Answers about three rows are often graded: the nearer rows are, the more probable is an answer
    that puts them together. If an `OrdinalEmbedding` predicts held-out answers clearly better than
    any groups do, clusterings of its space join the result. Their weight depends on how well the
    centers of their groups predict answers. If there are no features, or at least three questions
    about each row on average, members that follow answers alone join the pool.

    If `n_clusters` is None and most answers are about pairs, `CorrelationClustering` is tried. Its
    groups are returned if there are no features and groups have fewer than five rows on the
    average; if pairs were asked repeatedly, and it predicts held-out answers to the same questions
    clearly better than the consensus; or if the consensus predicts held-out answers no better than
    one group of all rows does.

    If a few rows are far nearer to each row than all others, as in tables in which several rows
    describe the same thing, groups are many and small, and `regime_` is "identities": matches of
    near rows are merged by average linkage, with answers or without. No member is fitted then. A
    number of groups below a fifth of that of the rows, a pool or a `scale` of your own prevents it.

    Without answers, the consensus of the unconstrained members is returned. With answers, another
    clustering is returned only if it predicts held-out answers clearly better than that consensus,
    so that random answers do little harm.

    With distances, neighbors, Ward's linkage and silhouettes are computed from them. Members that
    need vectors read coordinates, at most 100, by classical multidimensional scaling (Torgerson);
    above 2,000 rows, from the distances to 2,000 landmarks (de Silva and Tenenbaum). Forests read
    the coordinates above the noise, and rotations of them. Anchors are means of coordinates. A
    member of a pool of your own with ``metric="precomputed"`` gets the distances.

    More than 256 features are reduced to their first 100 principal components; sparse ones are
    not made dense. Beyond 5,000 rows memory is linear in the number of rows.

    With anchors, members see up to 10,000 of the answers, chosen at random and moved to the anchors
    of their rows. All rows follow the consensus on the anchors, or Ward's tree of them, cut at one
    height or where answers prefer it: whichever predicts held-out answers best, refined if that
    raises the score. Time is linear in the numbers of rows and answers. The pool is k-means and
    Ward's linkage for more than 50 groups of more than 2,500 rows or anchors.

    References
    ----------
    Z. Lu and H. H. S. Ip, "Constrained spectral clustering via exhaustive and efficient constraint
    propagation", ECCV 2010; J. V. Davis et al., "Information-theoretic metric learning", ICML
    2007; X. Zhu, C. C. Loy and S. Gong, "Constrained clustering with imperfect oracles", TNNLS
    2016; A. Strehl and J. Ghosh, "Cluster ensembles", JMLR 2002. The combination is clew's own.

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
            Features. None: the groups follow from the answers alone. With
            ``metric="precomputed"``: distances of all pairs of rows, square, of shape (n_samples,
            n_samples), or condensed in the order of SciPy's ``pdist``.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            The answers; None if there are none.
        callback : callable, default=None
            Called after each fit of a member with the number of finished fits and of all fits;
            at the end pruned fits count as finished.

        Returns
        -------
        self
        """
        features, known = checked_arguments(self, X, constraints)
        if (found := fit_records(self, features, known, callback)) is not None:
            self._fitted, self.result_ = found
            return self
        if features is not None and self._takes_anchors(known.n_samples):
            check_n_anchors(self)
            seeds = derived_seeds(self.random_state, 5)
            with one_library_thread():
                linked = LinkedRows.of(self, features, seeds[:2])
            return self._fit_on_anchors(linked, known, seeds, None, callback)
        seeds = derived_seeds(self.random_state, 4)
        prepared = None
        if features is not None:
            own = seeds[0], seeds[3]
            with one_library_thread():
                prepared = Prepared.of(features, self.metric, self.standardize, own, self.n_jobs)
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
            return self.fit(fitted.records.features, constraints=known, callback=callback)
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
        """Find groups; `last` has members to use as they are."""
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
        """Fit members to anchors, and refine the groups of all rows; `last` has fitted members."""
        before = None if last is None else last.anchored
        with one_library_thread():
            found = fit_on_anchors(self, linked, known, seeds[2:], before, callback)
        fitted_to = informative_answers(known) if last is None else last.answers
        self._fitted = FittedState(
            parameters_of(self), seeds, Tree(found.tree), anchored=found, answers=fitted_to
        )
        self.result_ = found.result(known, is_settled=last is None)
        return self

    def _takes_anchors(self, n_samples: int) -> bool:
        most = MAX_DENSE_ROWS if self.metric == "precomputed" else ANCHOR_ROWS
        return self.scale == "anchors" or (self.scale == "auto" and n_samples > most)
