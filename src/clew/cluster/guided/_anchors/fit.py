"""Guided clustering by anchors, which `GuidedClustering.fit` uses for many rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone

from clew._parallel import blocks, in_threads, one_library_thread
from clew._random import derived_seeds
from clew._warnings import warn
from clew.cluster.guided._anchors.anchors import (
    LINKED_ROWS,
    Links,
    choose_anchors,
    link_all,
    link_rows,
    sampled,
)
from clew.cluster.guided._anchors.answers import hold_out, moved_answers
from clew.cluster.guided._anchors.choice import REFINED, ClusteredRows, cluster_rows
from clew.cluster.guided._anchors.judgment import answer_doubts, final_confusion
from clew.cluster.guided._anchors.rows import Memberships, row_memberships
from clew.cluster.guided._anchors.starts import BY_CUT, starts_of
from clew.cluster.guided._ensemble.answer_errors import informative_answers
from clew.cluster.guided._features.feature_space import FeatureSpace
from clew.cluster.guided._features.prepared import Prepared
from clew.cluster.guided._members.members import ROWS_BY
from clew.cluster.guided._result.regime import Regime
from clew.cluster.guided._result.result import Result
from clew.cluster.guided._result.tree import tree_of_positions
from clew.constraints import Constraints
from clew.exceptions import FewerGroupsWarning
from clew.graphs import DistanceSpace, largest_stored
from clew.metrics import n_violated

__all__ = ["Anchored", "LinkedRows", "fit_on_anchors"]

#: Parameters of the fit on the anchors; their columns are scaled already.
OF_ANCHORS = {"metric": "euclidean", "standardize": False, "scale": "exact"}
#: If there are fewer anchors, they are repeated, because members find few groups in few rows.
LEAST_ANCHORS = 100
#: Number of neighbors of a row in an explanation, and number of rows in one task that finds them.
N_NEIGHBORS, EXPLAINED_ROWS = 10, 2_048


class LinkedRows(NamedTuple):
    """Rows and their anchors, which do not depend on answers."""

    space: FeatureSpace | DistanceSpace
    anchors: NDArray[np.float32]
    """Anchors in the columns of `space`."""
    links: Links
    """Anchors of the rows."""

    @classmethod
    def of(cls, model: Any, X: Any, seeds: Sequence[int]) -> Self:
        """Choose anchors, and link all rows to them.

        Parameters
        ----------
        model : GuidedClustering
            Its parameters are read.
        X : ndarray or csr_array of shape (n_samples, n_features)
            Features, or distances between all pairs of rows if the model's metric is "precomputed".
        seeds : sequence of int
            Two: of units and samples, and of anchors.

        Returns
        -------
        LinkedRows
        """
        of_space, of_anchors = seeds
        sample = sampled(X, of_space)
        space: FeatureSpace | DistanceSpace
        if model.metric == "precomputed":
            space = DistanceSpace.fit(X, of_space)
        else:
            space = FeatureSpace.fit(sample, model.metric, model.standardize, of_space)
        rows = _columns(sample, space, model.n_jobs)
        anchors = choose_anchors(rows, model.n_anchors, of_anchors, model.n_jobs)
        del sample, rows
        return cls(space, anchors, link_all(X, space, anchors, model.n_jobs, model.verbose))


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
    result: Result
    """Groups of the rows, errors and scores."""

    def predict(self, X: Any, n_jobs: int | None = None) -> csr_array:
        """Predict the probabilities of groups from the features.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_rows, n_features)
            Features.
        n_jobs : int or None, default=None
            Number of threads.

        Returns
        -------
        csr_array of shape (n_rows, n_clusters)
            Up to eight groups a row.
        """

        def predicted(part: tuple[int, int]) -> Memberships:
            columns = self.linked.space.transform(X[slice(*part)]).astype(np.float32)
            return row_memberships(link_rows(columns, self.linked.anchors), self.memberships)

        parts = in_threads(predicted, blocks(X.shape[0], LINKED_ROWS), n_jobs=n_jobs)
        return Memberships.stacked(parts).as_sparse()

    @property
    def regime(self) -> Regime:
        """What decided the groups of the rows."""
        regime: Regime = self.model.regime_
        follows = any(
            weight and name.startswith(ROWS_BY) and name.endswith((BY_CUT, REFINED))
            for name, weight in self.result.weights.items()
        )
        if regime != "features" or not follows:
            return regime
        return Regime(
            "both",
            "members that follow the answers do not predict held-out answers clearly better than "
            "those without, but groups of all rows that follow them do",
        )

    def tree(self) -> NDArray[np.float64]:
        """Return a hierarchy of the rows, each at the position of its nearest anchor."""
        positions = self.linked.anchors[self.linked.links.nearest[:, 0]].astype(np.float64)
        return tree_of_positions(self.result.labels, positions)

    def neighbors(self, rows: Sequence[int] | NDArray[np.int64]) -> csr_array:
        """Return the fitted rows that share anchors with some of them.

        Parameters
        ----------
        rows : sequence of int
            Row numbers.

        Returns
        -------
        csr_array of shape (n_samples, n_samples)
            Up to ten entries in each of these rows, none in the others: sums over shared anchors of
            the products of weights.
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
    """Cluster anchors, then all rows.

    Parameters
    ----------
    model : GuidedClustering
        Its parameters are read; a copy of it is fitted to the anchors.
    linked : LinkedRows
        Rows and anchors.
    known : Constraints
        All answers.
    seeds : sequence of int
        Three: of held-out answers, of moved answers, and of the fit on the anchors.
    last : Anchored, default=None
        A fit to earlier answers, whose clusterings of the anchors are used as they are.
    callback : callable, default=None
        Passed to the fit on the anchors.

    Returns
    -------
    Anchored

    Notes
    -----
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
        kept = informative if fold is None else fold.kept
        moved = moved_answers(kept, links.nearest[:, 0], len(anchors), of_moved)
        fitted = clone(model).set_params(**OF_ANCHORS, random_state=of_members)
        _reduce_groups(fitted, len(anchors))
        _fit_members(fitted, linked, moved, callback)
        starts = starts_of(fitted, anchors, links.nearest[:, 0], None if fold is None else kept)
    else:
        fitted, starts = last.model, last.starts
    is_trusted = fitted.regime_ != "features"
    found = cluster_rows(
        starts, links, informative, fold, model.n_jobs, is_trusted=is_trusted, following=(BY_CUT,)
    )
    result = _result(fitted, found, known, informative)
    return Anchored(fitted, linked, starts, found.anchors, result)


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


def _fit_members(model: Any, linked: LinkedRows, moved: Constraints, callback: Any) -> None:
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
        prepared = Prepared.of(rows, "euclidean", False, own, model.n_jobs, space)
    model._fit_to(known, prepared, seeds, None, callback)


def _result(
    model: Any, found: ClusteredRows, known: Constraints, informative: Constraints
) -> Result:
    """Compute the fitted attributes."""
    labels, rate = found.rows.labels, found.errors.rate
    confusion = final_confusion(found.errors, found.answered, found.shared)
    if len(confusion.annotators_) > 1:
        rate = rate.over_annotators(confusion)
    return Result(
        labels=labels,
        probabilities=found.rows.as_sparse(),
        error_rate=rate.rate,
        error_interval=rate.interval,
        confusion=confusion,
        answer_posterior=answer_doubts(known, found.answered, found.shared, confusion),
        scores=model.scores_ | found.scores,
        weights=model.weights_ | found.weights,
        n_violated=n_violated(labels, informative),
    )
