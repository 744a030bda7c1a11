"""The tables of ``clew group``: groups of rows, and answers that look wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import ANSWER_WORDS, KINDS, Kind
from clew.cli._outputs import csv_text
from clew.cluster import GuidedClustering
from clew.cluster.guided._result import largest_probabilities
from clew.constraints import Constraints
from clew.graphs import local_scale_graph, resolved_n_neighbors
from clew.metrics._violations import violations
from clew.trust.doubts import DOUBT

__all__ = [
    "Doubted",
    "Groups",
    "affinity_graph",
    "doubted_answers",
    "doubtful_csv",
    "find_groups",
    "groups_csv",
]

#: A row of less confidence lies between groups.
UNSURE = 0.5
GROUP_COLUMNS = ("id", "group", "confidence", "doubtful", "doubt_reason", "n_answers")
DOUBTFUL_COLUMNS = (
    "kind", "i", "j", "k", "id_i", "id_j", "id_k", "answer", "annotator", "weight", "p_wrong"
)  # fmt: skip


class Doubted(NamedTuple):
    """An answer that is more likely wrong than right."""

    kind: Kind
    at: int
    """Its position among the answers of that kind."""
    p_wrong: float


class Groups(NamedTuple):
    """Group and doubts of each row; arrays of shape (n_samples,)."""

    label: NDArray[np.int64]
    """Group, numbered in the order of the groups' first rows."""
    confidence: NDArray[np.float64]
    """Probability of the row's group. If the method has no probabilities, the share of the row's
    affinity to its nearest rows that goes to rows of its own group."""
    is_between: NDArray[np.bool_]
    """Whether the confidence is below 0.5."""
    is_contradicted: NDArray[np.bool_]
    """Whether the groups violate an answer about the row that is not doubted."""
    n_answers: NDArray[np.int64]
    """Number of answers about the row, don't-knows included."""


def find_groups(
    model: Any, X: NDArray[np.float64], known: Constraints, *, is_distances: bool = False
) -> Groups:
    """Return the groups of a fitted model, and which rows are doubtful.

    Parameters
    ----------
    model : estimator
        From `clew.cli._models.build_model`, fitted.
    X : ndarray of shape (n_samples, n_features)
        Features that it was fitted to.
    known : Constraints
        Answers that it was fitted to.
    is_distances : bool, default=False
        Whether `X` are distances.

    Returns
    -------
    Groups
    """
    label = _by_first_row(model.labels_)
    if isinstance(model, GuidedClustering):
        confidence = largest_probabilities(model.probabilities_)
    else:
        confidence = _confidence(affinity_graph(model, X, is_distances=is_distances), label)
    violated = violations(label, known)
    for of_kind, doubt in zip(violated, _doubts(model), strict=False):
        of_kind[doubt > DOUBT] = False
    for of_kind, table in zip(violated, known.tables, strict=True):
        of_kind[table.weights == 0] = False
    tables = (known.pairs, known.triplets, known.odd_one_out)
    against = [rows[which] for rows, which in zip(tables, violated, strict=True)]
    n = known.n_samples
    return Groups(
        label,
        confidence,
        confidence < UNSURE,
        _times_named(against, n) > 0,
        _times_named(tables, n),
    )


def _times_named(tables: Iterable[NDArray[np.int64]], n_rows: int) -> NDArray[np.int64]:
    """Count how often each row is named."""
    return np.bincount(np.concatenate([rows.ravel() for rows in tables]), minlength=n_rows)


def doubted_answers(model: Any) -> list[Doubted]:
    """Return the answers that are more likely wrong than right, the most doubtful first."""
    doubted = [
        Doubted(kind, at, float(doubt[at]))
        for kind, doubt in zip(KINDS, _doubts(model), strict=False)
        for at in np.flatnonzero(doubt > DOUBT).tolist()
    ]
    return sorted(doubted, key=lambda one: -one.p_wrong)


def groups_csv(ids: list[str], groups: Groups) -> str:
    """Format the groups and doubts of all rows as CSV."""
    reasons = np.char.add(
        np.where(groups.is_between, "between groups; ", ""),
        np.where(groups.is_contradicted, "goes against an answer; ", ""),
    )
    rows = zip(
        ids,
        groups.label.tolist(),
        groups.confidence.tolist(),
        (reasons != "").tolist(),
        (reason.removesuffix("; ") for reason in reasons.tolist()),
        groups.n_answers.tolist(),
        strict=True,
    )
    return csv_text(GROUP_COLUMNS, rows)


def doubtful_csv(ids: list[str], known: Constraints, model: Any) -> str:
    """Format the answers that look wrong as CSV, the most doubtful first."""
    tables = {table.kind: table for table in known.tables}
    lines = []
    for kind, at, p_wrong in doubted_answers(model):
        asked = tables[kind]
        words = {code: word for word, code in ANSWER_WORDS[kind].items()}
        rows = asked.rows[at].tolist()
        blank = [""] * (3 - len(rows))
        answer, who = words[int(asked.answers[at])], known.annotators[asked.annotators[at]]
        weight = repr(float(asked.weights[at]))
        named = (*rows, *blank, *(ids[i] for i in rows), *blank)
        lines.append((kind, *named, answer, who, weight, p_wrong))
    return csv_text(DOUBTFUL_COLUMNS, lines)


def _doubts(model: Any) -> tuple[NDArray[np.float64], ...]:
    """Return P(wrong) of the answers by kind; NaN, or no entries, if it was not estimated."""
    if isinstance(model, GuidedClustering):
        return tuple(model.answer_posterior_)
    similarity = getattr(model, "similarity_", None)
    return (getattr(similarity, "doubt_", np.empty(0)),)


def _by_first_row(labels: NDArray[np.int32]) -> NDArray[np.int64]:
    _, first, label = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[label]


def affinity_graph(model: Any, X: NDArray[np.float64], *, is_distances: bool = False) -> Any:
    """Return the graph that was cut; without one, that of the nearest rows in the learned space.

    Parameters
    ----------
    model : estimator
        From `clew.cli._models.build_model`, fitted.
    X : ndarray of shape (n_samples, n_features)
        What it grouped.
    is_distances : bool, default=False
        Whether `X` are distances.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
    """
    clusterer = getattr(model, "clusterer_", model)
    if hasattr(clusterer, "graph_"):
        return clusterer.graph_
    space = getattr(getattr(model, "similarity_", None), "embedding_", X)
    n_neighbors = resolved_n_neighbors("auto", len(X))
    return local_scale_graph(space, n_neighbors, is_distance=is_distances)


def _confidence(graph: Any, label: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each row's affinities within its group; 0 for a row without any."""
    entries = graph.tocoo()
    row, column = entries.coords
    is_own = label[row] == label[column]
    own = np.bincount(row[is_own], entries.data[is_own], minlength=len(label))
    whole = np.bincount(row, entries.data, minlength=len(label))
    return np.divide(own, whole, out=np.zeros(len(label)), where=whole > 0)
