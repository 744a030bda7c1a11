"""Guided clustering of many rows: the model is fitted to anchors, and all rows follow answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster
from scipy.sparse import csr_array
from sklearn.base import clone

from clew._parallel import blocks, in_threads, one_library_thread, stop_if_abandoned
from clew._validation import derived_seeds
from clew._warnings import warn
from clew.cluster.guided._anchors import (
    LINKED_ROWS,
    N_OF_ANCHOR,
    Links,
    Memberships,
    choose_anchors,
    columns_of,
    link_rows,
    row_memberships,
)
from clew.cluster.guided._answer_model import TiedRows
from clew.cluster.guided._cuts import ward_of
from clew.cluster.guided._errors import AnswerErrors, errors_given_groups, informative_answers
from clew.cluster.guided._features import FeatureSpace, Prepared
from clew.cluster.guided._learned_cut import Merges, cut_by_answers
from clew.cluster.guided._pool import is_default
from clew.cluster.guided._result import GuidedResult, Regime
from clew.cluster.guided._row_blocks import (
    AnsweredMemberships,
    ArrayBlocks,
    ArrayRows,
    Groups,
    LinkedBlocks,
)
from clew.cluster.guided._tree import tree_of_positions
from clew.constraints import AnswerTable, Constraints
from clew.constraints._support import fold_numbers
from clew.constraints._tables import PARAMETER
from clew.exceptions import FewerGroupsWarning, InvalidArgumentError
from clew.graphs import DistanceSpace
from clew.kernels.sparse_memberships import propagate_sparse_beliefs, shared_probabilities
from clew.metrics.likelihood import answer_counts, log_likelihood_of_each
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import OUTCOMES, informative_tables

if TYPE_CHECKING:  # dask is optional
    from clew.cluster.guided._dask import LinkableRows
    from clew.cluster.guided.guided_clustering import GuidedClustering

#: Parameters of the fit on the anchors; their columns are scaled already.
OF_ANCHORS = {"metric": "euclidean", "standardize": False, "scale": "exact"}
#: If there are fewer anchors, they are repeated, because members find few groups in few rows.
LEAST_ANCHORS = 100
#: Number of neighbors of a row in an explanation.
N_NEIGHBORS = 10
#: One answer in five is held out, at most `MAX_HELD` in all.
N_PARTS: Final = 5
MAX_HELD: Final = 200_000
#: Maximum number of answers that are moved to anchors.
MAX_MOVED: Final = 10_000
#: Names of clusterings of all rows in `scores_` and `weights_`.
BY_ANCHORS, BY_WARD, BY_CUT = "anchors", "Ward on anchors", "Ward, cut by answers"
#: Added to the names of clusterings that were refined by answers.
REFINED = ", refined"
#: Rounds of refinement by training answers, to compare clusterings; those of the final one, which
#: update rows and anchors; and sweeps of belief propagation in a round.
N_TRIED_ROUNDS, N_ROUNDS, MAX_SWEEPS = 2, 4, 6
DAMPING, SWEEP_TOL = 0.3, 0.01
#: Another clustering is taken if its held-out log-likelihood is larger by 1 and by this many
#: standard errors; in place of one that trusted answers refined, by more. With many groups, few
#: answers decide.
LEAST_LEAD, N_ERRORS, N_ERRORS_OF_TRUSTED = 1.0, 1.0, 3.0


class Fold(NamedTuple):
    """Training and held-out answers."""

    train: Constraints
    held: Constraints


class LinkedRows(NamedTuple):
    """Rows and their anchors, which do not depend on answers."""

    space: FeatureSpace | DistanceSpace
    anchors: NDArray[np.float32]
    """Anchors in the columns of `space`."""
    rows: LinkedBlocks
    """Links of the rows to anchors."""

    @classmethod
    def of(
        cls, model: GuidedClustering, rows: ArrayRows | LinkableRows, seeds: Sequence[int]
    ) -> Self:
        """Choose anchors, and link all rows to them; two seeds, of samples and of anchors."""
        of_space, of_anchors = seeds
        sample = rows.sampled(of_space)
        space: FeatureSpace | DistanceSpace
        if model.metric == "precomputed":
            space = DistanceSpace.fit(sample, of_space)
        else:
            space = FeatureSpace.fit(sample, model.metric, model._standardize, of_space)
        columns = columns_of(sample, space.transform, model.n_jobs)
        anchors = choose_anchors(columns, model.n_anchors, of_anchors, model.n_jobs)
        del sample, columns
        return cls(space, anchors, rows.linked(space, anchors, model.n_jobs, model.verbose))


class ClusteredRows(NamedTuple):
    """The clustering of all rows that was chosen."""

    before: Memberships
    """Memberships of the anchors that predict the rows."""
    answered: AnsweredMemberships | None
    """Those of answered rows, where answers changed them."""
    anchors: Memberships
    """Memberships of the anchors, averaged over the rows: they predict new rows."""
    errors: AnswerErrors
    scores: dict[str, float]
    """Mean log-likelihood of the held-out answers, for each clustering; NaN without answers."""
    weights: dict[str, float]
    """1 for the chosen clustering, 0 for the others."""


class _Candidate(NamedTuple):
    start: Memberships
    """Memberships of the anchors to start from."""
    answered: Memberships
    """Memberships of the answered rows, found without the held-out answers."""
    is_refined: bool


class AnchorPredictor(NamedTuple):
    """Predicts the groups of new rows by those of their nearest anchors."""

    space: FeatureSpace | DistanceSpace
    anchors: NDArray[np.float32]
    memberships: Memberships

    def predict(self, X: Any, n_jobs: int | None = None) -> csr_array:
        """Predict the probabilities of groups, up to eight a row, (n_rows, n_clusters)."""

        def predicted(part: tuple[int, int]) -> Memberships:
            columns = self.space.transform(X[slice(*part)]).astype(np.float32)
            return row_memberships(link_rows(columns, self.anchors), self.memberships)

        parts = in_threads(predicted, blocks(X.shape[0], LINKED_ROWS), n_jobs=n_jobs)
        return Memberships.stacked(parts).as_sparse()


class Anchored(NamedTuple):
    """A fit on anchors: the result, and what predicts the groups of new rows."""

    model: GuidedClustering
    """`GuidedClustering`, fitted to the anchors."""
    linked: LinkedRows
    """The fitted rows and their anchors."""
    starts: dict[str, Memberships]
    """Clusterings of the anchors that do not follow the held-out answers."""
    rows: ClusteredRows
    """Memberships of anchors and answered rows, and errors of the answers."""
    groups: Groups
    """Groups of all rows."""

    def predictor(self) -> AnchorPredictor:
        """Return what predicts new rows, without what is known of the fitted ones."""
        return AnchorPredictor(self.linked.space, self.linked.anchors, self.rows.anchors)

    def result(self, answers: Constraints, *, is_settled: bool) -> GuidedResult:
        """Collect groups of the rows, errors and scores, given all answers."""
        model, rows = self.model, self.rows
        regime: Regime = model.regime_
        follows = any(
            weight and name.endswith((BY_CUT, REFINED)) for name, weight in rows.weights.items()
        )
        if regime == "features" and follows:
            regime = Regime(
                "both",
                "groups of the anchors do not predict held-out answers clearly better than those "
                "without answers, but groups of all rows that follow them do",
            )
        has_answers = np.isfinite(model.error_rate_) or any(
            map(len, informative_answers(answers).tables)
        )
        return GuidedResult.of(
            *self.groups,
            answers,
            rows.errors if has_answers else None,
            regime,
            n_clusters_probabilities=model.n_clusters_probabilities_,
            scores=model.scores_ | rows.scores,
            weights=model.weights_ | rows.weights,
            is_settled=is_settled,
        )

    def tree(self) -> NDArray[np.float64]:
        """Return a hierarchy of the rows, each at the position of its nearest anchor."""
        if not isinstance(self.linked.rows, ArrayBlocks):
            raise InvalidArgumentError(
                "tree_ needs the positions of all rows in memory: fit to an array in memory, or "
                "to some of the rows"
            )
        every = self.linked.rows.each(nearest_of_block, [None] * self.linked.rows.n_blocks)
        positions = self.linked.anchors[np.concatenate(every)].astype(np.float64)
        return tree_of_positions(self.groups.labels, positions)

    def neighbors(self, rows: Sequence[int] | NDArray[np.int64]) -> csr_array:
        """Rows that share anchors with some rows: up to ten entries in the rows of these.

        Entries are sums over shared anchors of the products of weights, (n_samples, n_samples).
        """
        chosen, n = np.unique(np.asarray(rows, dtype=np.int64)), self.linked.rows.n_rows
        near = self.linked.rows.neighbors(chosen, len(self.linked.anchors), N_NEIGHBORS).tocoo()
        return csr_array((near.data, (chosen[near.row], near.col)), shape=(n, n))


def nearest_of_block(links: Links, _: None) -> NDArray[np.int32]:
    """Nearest anchor of each row of a block."""
    return links.nearest[:, 0]


def fit_on_anchors(
    model: GuidedClustering,
    linked: LinkedRows,
    known: Constraints,
    seeds: Sequence[int],
    last: Anchored | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> Anchored:
    """Cluster anchors, then all rows; three seeds: of held-out answers, moved ones, and the fit.

    `last` is a fit to earlier answers, whose clusterings of the anchors are used as they are.

    Each step reads a block of rows and what is known of the anchors, so that rows need not be in
    memory together. Time O(N·R·d) for linking N rows of d columns to R anchors, as matrix products;
    O(N + A) for A answers; and the fit on the anchors, which depends neither on N nor on A. Memory
    O(N + A + R·K) in addition to the features.
    """
    of_folds, of_moved, of_members = seeds
    _, anchors, rows = linked
    informative = informative_answers(known)
    fold = hold_out(informative, of_folds)
    answered = AnsweredRows.of(informative)
    informative = answered.renumbered(informative)
    if fold is not None:
        fold = Fold(*(answered.renumbered(part) for part in fold))
    near = rows.at(answered.rows)
    if last is None:
        train = informative if fold is None else fold.train
        nearest = near.nearest[:, 0]
        moved = moved_answers(train, nearest, len(anchors), of_moved)
        fitted = clone(model).set_params(**OF_ANCHORS, random_state=of_members)
        if fitted.n_clusters is not None and fitted.n_clusters > len(anchors):
            warn(
                f"GuidedClustering(n_clusters={fitted.n_clusters}): there are only {len(anchors)} "
                "different rows",
                FewerGroupsWarning,
            )
            fitted.set_params(n_clusters=len(anchors))
        _fit_model(fitted, linked, moved, callback)
        starts = starts_of(fitted, anchors, nearest, None if fold is None else train)
    else:
        fitted, starts = last.model, last.starts
    is_trusted = fitted.regime_ != "features"
    found = cluster_rows(
        starts, rows, LinkedAnswers(answered, near, informative, fold), is_trusted=is_trusted
    )
    return Anchored(fitted, linked, starts, found, rows.groups(found.before, found.answered))


def _fit_model(
    model: GuidedClustering, linked: LinkedRows, moved: Constraints, callback: Any
) -> None:
    """Fit the model; few anchors are repeated, because members find few groups in few rows."""
    space, anchors, _ = linked
    n_times = -(-LEAST_ANCHORS // len(anchors))
    rows = np.tile(anchors.astype(np.float64), (n_times, 1))
    known = Constraints(len(rows)).with_tables(moved.tables, moved.annotators)
    if not isinstance(space, DistanceSpace):
        model.fit(rows, constraints=known, callback=callback)
        return
    seeds = derived_seeds(model.random_state, 4)
    own = seeds[0], seeds[3]
    with one_library_thread():
        prepared = Prepared(space, rows, None, own, model.n_jobs)
    model._fit_to(known, prepared, seeds, None, callback)


def starts_of(
    fitted: GuidedClustering,
    anchors: NDArray[np.float32],
    nearest: NDArray[np.integer],
    train: Constraints | None,
) -> dict[str, Memberships]:
    """Return the fitted clustering of the anchors, and cuts of Ward's tree.

    Ward's tree is cut at one height and by the training answers. Without a pool, the first only.
    """
    probabilities = fitted.probabilities_[: len(anchors)]
    starts = {BY_ANCHORS: Memberships.largest_of(probabilities, N_OF_ANCHOR)}
    n_clusters = probabilities.shape[1]
    if not is_default(fitted.pool) or len(anchors) <= n_clusters:
        return starts
    tree = ward_of(anchors.astype(np.float64))
    starts[BY_WARD] = _of_groups(fcluster(tree, n_clusters, "maxclust") - 1, n_clusters)
    if train is None:
        return starts
    merges = Merges.of(tree, nearest, train)
    if fitted.n_clusters is not None:
        starts[BY_CUT] = _of_groups(cut_by_answers(merges, n_clusters), n_clusters)
        return starts
    groups = cut_by_answers(merges)
    n_found = int(groups.max()) + 1
    if n_found > 1:
        starts[BY_CUT] = _of_groups(groups, n_found)
    return starts


def _of_groups(groups: NDArray[np.integer], n_clusters: int) -> Memberships:
    """Return memberships of 1 in these groups."""
    one_each = np.ones(len(groups)), (np.arange(len(groups)), groups)
    shape = len(groups), n_clusters
    return Memberships.largest_of(csr_array(one_each, shape=shape), N_OF_ANCHOR)


class AnsweredRows(NamedTuple):
    """The rows that answers name: other rows need not be looked at one by one."""

    rows: NDArray[np.int64]
    """In ascending order."""

    @classmethod
    def of(cls, known: Constraints) -> Self:
        """Find the rows that any answer names."""
        named = np.zeros(known.n_samples, np.bool_)
        for table in known.tables:
            named[table.rows] = True
        return cls(np.flatnonzero(named))

    def renumbered(self, known: Constraints) -> Constraints:
        """Return the answers with their rows numbered among these."""
        # Not `Constraints.subset`: ids of many rows take long to select.
        number = np.full(known.n_samples, -1)
        number[self.rows] = np.arange(len(self.rows))
        numbered = [table.renumbered(number) for table in known.tables]
        return Constraints(max(len(self.rows), 1)).with_tables(numbered, known.annotators)


class LinkedAnswers(NamedTuple):
    """Answers, and the anchors of the rows that they name."""

    answered: AnsweredRows
    near: Links
    """Links of the answered rows to anchors."""
    known: Constraints
    """All informative answers, about the numbers of answered rows."""
    fold: Fold | None
    """Training and held-out ones; None if no pair would be held out."""


def cluster_rows(
    starts: dict[str, Memberships],
    rows: LinkedBlocks,
    answers: LinkedAnswers,
    *,
    is_trusted: bool = False,
) -> ClusteredRows:
    """Cluster all rows from the best of several starts, refined if that is better.

    The first start is preferred: another one needs a held-out log-likelihood that is larger by 1
    and by a standard error. `is_trusted` says that it follows the answers: it is then refined
    unless that lowers the held-out log-likelihood by three standard errors, as is the tree that
    answers cut; otherwise refinement has to raise it likewise. Without a fold, the first start.
    """
    _, near, known, fold = answers
    found = {
        name: _Candidate(start, row_memberships(near, start), is_refined=False)
        for name, start in starts.items()
    }
    chosen, scores = next(iter(found)), dict.fromkeys(found, np.nan)
    if fold is not None:
        first = chosen
        chosen, _ = _best(found, first, fold)
        start, memberships, _ = found[chosen]
        errors = _errors_given_rows(fold.train, memberships)
        ties = AnswerTies(fold.train, errors.confusion)
        tried = refine_rows(rows, start, answers, ties, N_TRIED_ROUNDS)
        found[chosen + REFINED] = _Candidate(start, tried.beliefs.memberships, is_refined=True)
        is_preferred = (is_trusted and chosen == first) or chosen == BY_CUT
        if is_preferred:
            chosen, scores = _best(found, chosen + REFINED, fold, N_ERRORS_OF_TRUSTED)
        else:
            chosen, scores = _best(found, chosen, fold)
    best = found[chosen]
    errors = _errors_given_rows(known, best.answered)
    weights = dict.fromkeys(found, 0.0) | {chosen: 1.0}
    if not best.is_refined:
        return ClusteredRows(best.start, None, best.start, errors, scores, weights)
    ties = AnswerTies(known, errors.confusion)
    refined = refine_rows(rows, best.start, answers, ties)
    errors = _errors_given_shared(known, shared_without_answer(ties, refined.beliefs))
    answered = AnsweredMemberships(answers.answered.rows, refined.beliefs.memberships)
    return ClusteredRows(refined.before, answered, refined.anchors, errors, scores, weights)


def _errors_given_rows(answers: Constraints, rows: Memberships) -> AnswerErrors:
    """Errors of the answers, given memberships of their rows that no answer changed."""
    tables = informative_tables(answers, with_dont_know_pairs=False)
    return _errors_given_shared(answers, [rows.shared(table.rows) for table in tables])


def _errors_given_shared(
    answers: Constraints, shared: Sequence[NDArray[np.float64]]
) -> AnswerErrors:
    """Errors, given the probabilities that rows share a group without the answer, (m, 5) each."""
    tables = informative_tables(answers, with_dont_know_pairs=False)
    outcomes = [
        np.maximum(of @ OUTCOMES[table.kind].T, 0.0)
        for table, of in zip(tables, shared, strict=True)
    ]
    return errors_given_groups(answers, None, outcomes)


def shared_without_answer(ties: AnswerTies, beliefs: Beliefs) -> list[NDArray[np.float64]]:
    """Probabilities that rows of questions share a group, without the answer, by kind, (m, 5)."""
    found = []
    tables = ties.tied.tables
    for table, places in zip(tables, places_of_ends(tables), strict=True):
        shared = np.empty((len(table), 5))
        groups = beliefs.memberships.groups
        shared_probabilities(table.rows, groups, places, beliefs.cavities, shared)
        found.append(shared)
    return found


def _best(
    found: dict[str, _Candidate], preferred: str, fold: Fold, n_errors: float = N_ERRORS
) -> tuple[str, dict[str, float]]:
    """Return the best clustering of those clearly better than `preferred`, or that; and scores."""
    partitions = {name: candidate.answered.labels for name, candidate in found.items()}
    each = {
        name: log_likelihood_of_each(labels, fold.held, answer_counts(labels, fold.held))
        for name, labels in partitions.items()
    }
    weight = max(sum(float(table.weights.sum()) for table in fold.held.tables), 1e-300)
    scores = {name: float(of.sum()) / weight for name, of in each.items()}
    clear = [name for name, of in each.items() if is_clear(of - each[preferred], n_errors)]
    return max(clear, key=lambda name: scores[name], default=preferred), scores


def is_clear(lead: NDArray[np.float64], n_errors: float) -> bool:
    """Whether differences of log-likelihoods, one for each answer, are clearly above 0 in sum."""
    standard_error = np.sqrt(len(lead)) * lead.std() if len(lead) else 0.0
    return bool(lead.sum() >= max(LEAST_LEAD, n_errors * standard_error))


class Beliefs(NamedTuple):
    """Memberships of the answered rows."""

    memberships: Memberships
    cavities: NDArray[np.float32]
    """Probabilities of the candidates without the answer of each end, (n_ends, n_candidates)."""


class RefinedRows(NamedTuple):
    """Memberships of anchors and answered rows, after the refinement."""

    before: Memberships
    """Memberships of the anchors that predict the other rows."""
    anchors: Memberships
    """Those that average all rows."""
    beliefs: Beliefs


def refine_rows(
    rows: LinkedBlocks,
    start: Memberships,
    answers: LinkedAnswers,
    ties: AnswerTies,
    n_rounds: int = N_ROUNDS,
) -> RefinedRows:
    """Refine the memberships of anchors and answered rows.

    Time O(N + A) a round and memory O(N + A + R·K) for N rows, A answers, R anchors and K groups.
    """
    anchors = start
    named = answers.answered.rows
    suggested = np.full(len(named), -1, np.int32)
    for _ in range(n_rounds):
        stop_if_abandoned()
        beliefs = propagated(row_memberships(answers.near, anchors, suggested), ties)
        suggested = ties.suggested(beliefs.memberships)
        before = anchors
        anchors = rows.update(before, AnsweredMemberships(named, beliefs.memberships))
    return RefinedRows(before, anchors, beliefs)


def propagated(prior: Memberships, ties: AnswerTies) -> Beliefs:
    """Update the memberships of answered rows, found without their answers, with these."""
    tied = ties.tied
    cavities = prior.shares[tied.row_of_end]
    q = np.empty_like(prior.shares)
    propagate_sparse_beliefs(
        np.log(np.maximum(prior.shares, np.finfo(np.float32).tiny)),
        prior.groups,
        tied.ties,
        tied.row_of_end,
        DAMPING,
        MAX_SWEEPS,
        SWEEP_TOL,
        cavities,
        np.zeros_like(cavities),
        q,
    )
    return Beliefs(prior._replace(shares=q), cavities)


class AnswerTies:
    """Answers as ties between the rows that they name, which are numbered among these."""

    def __init__(self, known: Constraints, confusion: ConfusionMatrices) -> None:
        self.tied = TiedRows(known, confusion)
        self._must_link = known.as_pairs().must_link

    def suggested(self, memberships: Memberships) -> NDArray[np.int32]:
        """Group that most must-linked rows are in, -1 for rows without, (n_rows,)."""
        labels, found = memberships.labels, np.full(len(memberships.groups), -1, np.int32)
        both = np.concatenate([self._must_link, self._must_link[:, ::-1]])
        key = both[:, 0] * memberships.n_clusters + labels[both[:, 1]]
        each, count = np.unique(key, return_counts=True)
        row, group = np.divmod(each, memberships.n_clusters)
        # The group with the largest count is written last, and stays.
        order = np.lexsort((group, count))
        found[row[order]] = group[order]
        return found


def places_of_ends(tables: Sequence[AnswerTable]) -> list[NDArray[np.int64]]:
    """Return the positions of the rows of each answer among the ends that `TiedRows` has sorted."""
    columns = [table.rows[:, at] for table in tables for at in range(table.rows.shape[1])]
    order = np.argsort(np.concatenate(columns), kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    parts = np.split(place, np.cumsum([table.rows.size for table in tables])[:-1])
    return [
        np.ascontiguousarray(part.reshape(table.rows.shape[::-1]).T)
        for part, table in zip(parts, tables, strict=True)
    ]


def hold_out(known: Constraints, seed: int) -> Fold | None:
    """Hold out a fifth of the questions; None if no pair would be held out."""
    parts = fold_numbers(known, N_PARTS, seed)
    train = known.select(**{kind: part != 0 for kind, part in parts.items()})
    held = known.select(**{kind: part == 0 for kind, part in parts.items()})
    held = at_most(held, MAX_HELD, np.random.RandomState(seed))
    pairs = held.as_pairs()
    is_scored = (pairs.pair_weights > 0) & ~pairs.is_dont_know
    return Fold(train, held) if is_scored.any() else None


def at_most(known: Constraints, n: int, random: np.random.RandomState) -> Constraints:
    """Choose up to n answers of all kinds at random."""
    sizes = [len(table) for table in known.tables]
    if sum(sizes) <= n:
        return known
    is_chosen = np.zeros(sum(sizes), np.bool_)
    is_chosen[random.choice(len(is_chosen), n, replace=False)] = True
    parts = np.split(is_chosen, np.cumsum(sizes)[:-1])
    names = [PARAMETER[table.kind] for table in known.tables]
    return known.select(**dict(zip(names, parts, strict=True)))


def moved_answers(
    known: Constraints, nearest: NDArray[np.int32], n_anchors: int, seed: int
) -> Constraints:
    """Turn answers about rows into answers about their nearest anchors, up to 10,000.

    A random choice: that of rows near their anchors would favor dense groups.
    """
    number = nearest.astype(np.int64)
    tables = []
    for table in informative_tables(known, with_dont_know_pairs=False):
        moved = table.renumbered(number)
        rows = np.sort(moved.rows, axis=1)
        tables.append(moved.take((rows[:, 1:] != rows[:, :-1]).all(axis=1)))
    every = Constraints(n_anchors).with_tables(tables, known.annotators)
    return at_most(every, MAX_MOVED, np.random.RandomState(seed))
