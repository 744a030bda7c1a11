"""Guided clustering of many rows: the model is fitted to anchors, and all rows follow answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster
from scipy.sparse import csr_array
from sklearn.base import clone

from clew._parallel import blocks, in_threads, one_library_thread, stop_if_abandoned
from clew._random import derived_seeds
from clew._warnings import warn
from clew.cluster.guided._anchors import (
    LINKED_ROWS,
    N_OF_ANCHOR,
    Links,
    Memberships,
    all_anchor_memberships,
    all_row_memberships,
    choose_anchors,
    link_all,
    link_rows,
    row_memberships,
    sampled,
)
from clew.cluster.guided._errors import AnswerErrors, errors_given_groups, informative_answers
from clew.cluster.guided._features import FeatureSpace, Prepared, ward_of
from clew.cluster.guided._learned_cut import Merges, cut_by_answers
from clew.cluster.guided._partitions import TiedRows
from clew.cluster.guided._pool import is_default
from clew.cluster.guided._result import GuidedResult, Regime
from clew.cluster.guided._tree import tree_of_positions
from clew.constraints import AnswerTable, Constraints
from clew.constraints._folds import fold_numbers
from clew.constraints._tables import PARAMETER
from clew.exceptions import FewerGroupsWarning
from clew.graphs import DistanceSpace, largest_stored
from clew.kernels.sparse_belief_propagation import propagate_sparse_beliefs, shared_probabilities
from clew.metrics.likelihood import answer_counts, log_likelihood_of_each
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import OUTCOMES, informative_tables

#: Parameters of the fit on the anchors; their columns are scaled already.
OF_ANCHORS = {"metric": "euclidean", "standardize": False, "scale": "exact"}
#: If there are fewer anchors, they are repeated, because members find few groups in few rows.
LEAST_ANCHORS = 100
#: Number of neighbors of a row in an explanation, and number of rows in one task that finds them.
N_NEIGHBORS, EXPLAINED_ROWS = 10, 2_048
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
    links: Links
    """Anchors of the rows."""

    @classmethod
    def of(cls, model: Any, X: Any, seeds: Sequence[int]) -> Self:
        """Choose anchors, and link all rows to them; two seeds, of samples and of anchors."""
        of_space, of_anchors = seeds
        sample = sampled(X, of_space)
        space: FeatureSpace | DistanceSpace
        if model.metric == "precomputed":
            space = DistanceSpace.fit(X, of_space)
        else:
            space = FeatureSpace.fit(sample, model.metric, model._standardize, of_space)
        rows = _columns(sample, space, model.n_jobs)
        anchors = choose_anchors(rows, model.n_anchors, of_anchors, model.n_jobs)
        del sample, rows
        return cls(space, anchors, link_all(X, space, anchors, model.n_jobs, model.verbose))


class ClusteredRows(NamedTuple):
    """The clustering of all rows that was chosen."""

    rows: Memberships
    """Memberships of the rows."""
    anchors: Memberships
    """Memberships of the anchors that predict them."""
    errors: AnswerErrors
    scores: dict[str, float]
    """Mean log-likelihood of the held-out answers, for each clustering; NaN without answers."""
    weights: dict[str, float]
    """1 for the chosen clustering, 0 for the others."""


class _Candidate(NamedTuple):
    start: Memberships
    """Memberships of the anchors to start from."""
    rows: Memberships
    """Memberships of all rows, found without the held-out answers."""
    is_refined: bool


class Anchored(NamedTuple):
    """A fit on anchors: the result, and what predicts the groups of new rows."""

    model: Any
    """`GuidedClustering`, fitted to the anchors."""
    linked: LinkedRows
    """The fitted rows and their anchors."""
    starts: dict[str, Memberships]
    """Clusterings of the anchors that do not follow the held-out answers."""
    memberships: Memberships
    """Memberships of the anchors, after the refinement."""
    rows: ClusteredRows
    """Groups of all rows, and errors of the answers."""

    def predict(self, X: Any, n_jobs: int | None = None) -> csr_array:
        """Predict the probabilities of groups, up to eight a row, (n_rows, n_clusters)."""

        def predicted(part: tuple[int, int]) -> Memberships:
            columns = self.linked.space.transform(X[slice(*part)]).astype(np.float32)
            return row_memberships(link_rows(columns, self.linked.anchors), self.memberships)

        parts = in_threads(predicted, blocks(X.shape[0], LINKED_ROWS), n_jobs=n_jobs)
        return Memberships.stacked(parts).as_sparse()

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
            rows.rows.labels,
            rows.rows.as_sparse(),
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
        positions = self.linked.anchors[self.linked.links.nearest[:, 0]].astype(np.float64)
        return tree_of_positions(self.rows.rows.labels, positions)

    def neighbors(self, rows: Sequence[int] | NDArray[np.int64]) -> csr_array:
        """Rows that share anchors with some rows: up to ten entries in the rows of these.

        Entries are sums over shared anchors of the products of weights, (n_samples, n_samples).
        """
        _, anchors, links = self.linked
        n, n_near = links.nearest.shape
        entries = links.weight.ravel(), links.nearest.ravel(), np.arange(n + 1) * n_near
        linked = csr_array(entries, shape=(n, len(anchors)))
        chosen = np.asarray(rows, dtype=np.int64)
        found = csr_array((n, n))
        for start, end in blocks(len(chosen), EXPLAINED_ROWS):
            here = chosen[start:end]
            select = csr_array((np.ones(len(here)), (here, here)), shape=(n, n))
            found = csr_array(found + largest_stored(select @ linked @ linked.T, N_NEIGHBORS))
        return found


def fit_on_anchors(
    model: Any,
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
    _, anchors, links = linked
    informative = informative_answers(known)
    fold = hold_out(informative, of_folds)
    if last is None:
        train = informative if fold is None else fold.train
        moved = moved_answers(train, links.nearest[:, 0], len(anchors), of_moved)
        fitted = clone(model).set_params(**OF_ANCHORS, random_state=of_members)
        _reduce_groups(fitted, len(anchors))
        _fit_model(fitted, linked, moved, callback)
        starts = starts_of(fitted, anchors, links.nearest[:, 0], None if fold is None else train)
    else:
        fitted, starts = last.model, last.starts
    is_trusted = fitted.regime_ != "features"
    rows = cluster_rows(starts, links, informative, fold, model.n_jobs, is_trusted=is_trusted)
    return Anchored(fitted, linked, starts, rows.anchors, rows)


def _columns(
    X: Any, space: FeatureSpace | DistanceSpace, n_jobs: int | None
) -> NDArray[np.float32]:
    """Map rows to the columns of the space, in single precision."""
    parts = in_threads(
        lambda part: space.transform(X[slice(*part)]).astype(np.float32),
        blocks(X.shape[0], LINKED_ROWS),
        n_jobs=n_jobs,
    )
    return np.concatenate(parts)


def _reduce_groups(model: Any, n_anchors: int) -> None:
    """Reduce the number of groups to that of different anchors."""
    if model.n_clusters is not None and model.n_clusters > n_anchors:
        warn(
            f"GuidedClustering(n_clusters={model.n_clusters}): there are only {n_anchors} "
            "different rows",
            FewerGroupsWarning,
        )
        model.set_params(n_clusters=n_anchors)


def _fit_model(model: Any, linked: LinkedRows, moved: Constraints, callback: Any) -> None:
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
    fitted: Any,
    anchors: NDArray[np.float32],
    nearest: NDArray[np.integer],
    train: Constraints | None,
) -> dict[str, Memberships]:
    """Return the fitted clustering of the anchors, and cuts of Ward's tree.

    Ward's tree is cut at one height, which suits many groups of similar sizes; and by the training
    answers, which finds groups of very different sizes, too. Only the fitted clustering if the pool
    is a user's own, or if each anchor is a group.
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


def cluster_rows(
    starts: dict[str, Memberships],
    links: Links,
    answers: Constraints,
    fold: Fold | None,
    n_jobs: int | None = None,
    *,
    is_trusted: bool = False,
) -> ClusteredRows:
    """Cluster all rows from the best of several starts, refined if that is better.

    The first start is preferred: another one needs a held-out log-likelihood that is larger by 1
    and by a standard error. `is_trusted` says that it follows the answers: it is then refined
    unless that lowers the held-out log-likelihood by three standard errors, as is the tree that
    answers cut; otherwise refinement has to raise it likewise. Without a fold, the first start.
    """
    found = {
        name: _Candidate(start, all_row_memberships(links, start, n_jobs), is_refined=False)
        for name, start in starts.items()
    }
    chosen, scores = next(iter(found)), dict.fromkeys(found, np.nan)
    if fold is not None:
        first = chosen
        chosen, _ = _best(found, first, fold)
        start, rows, _ = found[chosen]
        errors = _errors_given_rows(fold.train, rows)
        answered = AnsweredRows(fold.train, errors.confusion)
        tried = refine_rows(links, start, answered, n_jobs, N_TRIED_ROUNDS)
        found[chosen + REFINED] = _Candidate(start, tried.rows, is_refined=True)
        is_preferred = (is_trusted and chosen == first) or chosen == BY_CUT
        if is_preferred:
            chosen, scores = _best(found, chosen + REFINED, fold, N_ERRORS_OF_TRUSTED)
        else:
            chosen, scores = _best(found, chosen, fold)
        del tried, rows
    best = found[chosen]
    errors = _errors_given_rows(answers, best.rows)
    weights = dict.fromkeys(found, 0.0) | {chosen: 1.0}
    del found
    if not best.is_refined:
        return ClusteredRows(best.rows, best.start, errors, scores, weights)
    answered = AnsweredRows(answers, errors.confusion)
    refined = refine_rows(links, best.start, answered, n_jobs)
    shared = shared_without_answer(answered, refined.beliefs)
    errors = _errors_given_shared(answers, shared)
    return ClusteredRows(refined.rows, refined.anchors, errors, scores, weights)


def _errors_given_rows(answers: Constraints, rows: Memberships) -> AnswerErrors:
    """Errors of the answers, given memberships of all rows that no answer changed."""
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


def shared_without_answer(answered: AnsweredRows, beliefs: Beliefs) -> list[NDArray[np.float64]]:
    """Probabilities that rows of questions share a group, without the answer, by kind, (m, 5)."""
    found = []
    tables = answered.tied.tables
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
    partitions = {name: candidate.rows.labels for name, candidate in found.items()}
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
    """Memberships of all rows and anchors, after the refinement."""

    rows: Memberships
    anchors: Memberships
    beliefs: Beliefs


def refine_rows(
    links: Links,
    start: Memberships,
    answered: AnsweredRows,
    n_jobs: int | None = None,
    n_rounds: int = N_ROUNDS,
) -> RefinedRows:
    """Refine the memberships of all rows.

    Each round predicts rows from anchors, updates the rows that answers name by loopy belief
    propagation, and averages rows for each anchor. Time O(N + A) and memory O(N + A + R·K) for N
    rows, A answers, R anchors and K groups.
    """
    anchors = start
    suggested = np.full(len(answered.rows), -1, np.int32)
    near = links.at(answered.rows)
    for _ in range(n_rounds):
        stop_if_abandoned()
        beliefs = propagated(row_memberships(near, anchors, suggested), answered)
        suggested = answered.suggested(beliefs.memberships)
        rows = all_row_memberships(links, anchors, n_jobs)
        rows = rows.with_rows(answered.rows, beliefs.memberships)
        anchors = all_anchor_memberships(links, rows, anchors, n_jobs)
    return RefinedRows(rows, anchors, beliefs)


def propagated(prior: Memberships, answered: AnsweredRows) -> Beliefs:
    """Update the memberships of answered rows, found without their answers, with these."""
    tied = answered.tied
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


class AnsweredRows:
    """The rows that answers name, and the answers as ties between them."""

    def __init__(self, known: Constraints, confusion: ConfusionMatrices) -> None:
        tables = informative_tables(known, with_dont_know_pairs=False)
        named = np.zeros(known.n_samples, np.bool_)
        for table in tables:
            named[table.rows] = True
        self.rows = np.flatnonzero(named)
        # Not `Constraints.subset`: ids of many rows take long to select.
        number = np.full(known.n_samples, -1)
        number[self.rows] = np.arange(len(self.rows))
        numbered = [table.renumbered(number) for table in tables]
        self.known = Constraints(max(len(self.rows), 1)).with_tables(numbered, known.annotators)
        self.tied = TiedRows(self.known, confusion)
        self._must_link = self.known.as_pairs().must_link

    def suggested(self, memberships: Memberships) -> NDArray[np.int32]:
        """Group that most must-linked rows are in, -1 for rows without, (n_rows,)."""
        labels, found = memberships.labels, np.full(len(self.rows), -1, np.int32)
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

    Chosen at random: choosing those whose rows are near their anchors would favor dense groups.
    Answers that name an anchor twice are left out.
    """
    number = nearest.astype(np.int64)
    tables = []
    for table in informative_tables(known, with_dont_know_pairs=False):
        moved = table.renumbered(number)
        rows = np.sort(moved.rows, axis=1)
        tables.append(moved.take((rows[:, 1:] != rows[:, :-1]).all(axis=1)))
    every = Constraints(n_anchors).with_tables(tables, known.annotators)
    return at_most(every, MAX_MOVED, np.random.RandomState(seed))
