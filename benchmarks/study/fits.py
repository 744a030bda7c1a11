"""Fits a method: a clusterer, or k-means in learned features, with parameters chosen or given."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans

from benchmarks.study.log import parameters_of, seeded, tag_of
from benchmarks.study.methods import Answers, Method, noted, selected
from benchmarks.study.problems import Floats, Ints
from clew import Constraints
from clew.constraints._folds import held_out_folds
from clew.similarity._comparisons import inequalities_of

N_FOLDS = 5


@dataclass
class Outcome:
    """The result of a method."""

    labels: dict[int, Ints] = field(default_factory=dict)
    """Labels by the number of groups; empty if the answers were refused."""
    model: Any = None
    """The fitted clusterer, or the fitted transformer if features were learned for k-means."""
    embedding: Floats | None = None  # The features that k-means was run on
    notes: dict[str, Any] = field(default_factory=dict)
    """For the log: CPU seconds of the fit, a refusal, warnings, the chosen parameter."""


def version(method: Method, n_trees: int = 0) -> str:
    """Hash the parameters of a method."""
    parts = []
    if method.clusterer:
        parts = [parameters_of(method.model(2, n_trees))]
    elif method.similarity:
        parts = [parameters_of(method.learner())]
    return tag_of(method.name, method.answers, method.tried, method.n_starts, *parts)


def run_method(
    method: Method,
    X: Floats,
    known: Constraints | None,
    n_clusters: Sequence[int],
    seed: int,
    n_trees: int = 0,
) -> Outcome:
    """Find groups, for each number of them, from those of the answers that the method can use.

    If the answers were refused, the outcome has no labels. Every fit has the same seed.
    """
    found, extra = Outcome(), {}
    if method.uses_answers and known is not None:
        extra = {"constraints": selected(known, method.answers)}
    with noted(found.notes):
        if method.similarity and not method.clusterer:
            found.model = _chosen(found.notes, method, X, known, seed)
        start = time.process_time()
        if method.clusterer:
            models = {k: seeded(method.model(k, n_trees), seed) for k in n_clusters}
            found.labels = {k: model.fit(X, **extra).labels_ for k, model in models.items()}
            found.model = models[n_clusters[-1]]
        else:
            found.embedding = found.model.fit(X, **extra).embedding_ if method.similarity else X
        if method.clusterer or method.similarity:
            found.notes["fit_seconds"] = round(time.process_time() - start, 3)
        if found.embedding is not None:
            starts = {"n_init": method.n_starts, "random_state": seed}
            models = {k: KMeans(k, **starts).fit(found.embedding) for k in n_clusters}
            found.labels = {k: model.labels_ for k, model in models.items()}
    return found


def _chosen(notes: dict[str, Any], method: Method, X: Floats, known: Any, seed: int) -> Any:
    """Choose the value of the tried parameter that satisfies the most held-out answers."""
    space = seeded(method.learner(), seed)
    if method.tried is None:
        return space
    name, values = method.tried
    usable = selected(known, "yes_no" if method.answers == "as_pairs" else method.answers)
    folds = list(held_out_folds(usable, N_FOLDS, seed))
    if len(folds) < 2:
        return space
    held = []
    for value in values:
        candidate = clone(space).set_params(**{name: value})
        held.append(np.mean([_share_held(candidate, X, *fold, method.answers) for fold in folds]))
    notes[name] = values[int(np.argmax(held))]
    return space.set_params(**{name: notes[name]})


def _share_held(
    candidate: Any, X: Floats, kept: Constraints, held: Constraints, answers: Answers
) -> float:
    """Return the share of held-out comparisons that hold in features learned from the others."""
    Z = clone(candidate).fit(X, constraints=selected(kept, answers)).embedding_
    comparisons = inequalities_of(held)
    near, far = _distances(Z, comparisons.near), _distances(Z, comparisons.far)
    if answers == "pairs":  # every must-link is compared with every cannot-link
        must, cannot = _distances(Z, held.must_link), _distances(Z, held.cannot_link)
        near, far = np.repeat(must, len(cannot)), np.tile(cannot, len(must))
    return float(np.mean(near < far)) if len(near) else 0.5


def _distances(Z: Floats, pairs: Ints) -> Floats:
    return np.asarray(np.linalg.norm(Z[pairs[:, 0]] - Z[pairs[:, 1]], axis=1))
