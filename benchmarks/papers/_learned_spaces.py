"""Methods that learn features for k-means, and how held-out answers choose their parameters."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans

from benchmarks.study.methods import Answers, Method, noted, selected
from benchmarks.study.problems import Floats, Ints
from benchmarks.study.tags import parameters_of, seeded, tag_of
from clew import Constraints
from clew.constraints._folds import held_out_folds
from clew.similarity._comparisons import inequalities_of

__all__ = ["Outcome", "k_means", "run_method", "version"]

N_FOLDS = 5


@dataclass
class Outcome:
    """What a method made of features and answers."""

    labels: dict[int, Ints] = field(default_factory=dict)
    """Groups, by their number; none if the answers were refused."""
    space: Any = None
    """The fitted transformer, if features were learned."""
    embedding: Floats | None = None
    """The features that k-means grouped."""
    notes: dict[str, Any] = field(default_factory=dict)
    """For the log: CPU seconds of the fit, a refusal, warnings, the chosen parameter."""


def version(method: Method) -> str:
    """Hash the parameters of a method."""
    parts = []
    if method.clusterer:
        parts = [parameters_of(method.model(2))]
    elif method.similarity:
        parts = [parameters_of(method.learner())]
    return tag_of(method.name, method.answers, method.tried, method.n_starts, *parts)


def run_method(
    method: Method, X: Floats, known: Constraints, n_clusters: tuple[int, ...], seed: int
) -> Outcome:
    """Find groups, for each number of them.

    Parameters
    ----------
    method : Method
        How.
    X : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        All answers; the method gets those that it can use.
    n_clusters : tuple of int
        Numbers of groups; learned features are the same for all.
    seed : int
        Of every fit.

    Returns
    -------
    Outcome
        Without labels if the method refused the answers.
    """
    found = Outcome()
    with noted(found.notes):
        _run(found, method, X, known, n_clusters, seed)
    return found


def _run(
    found: Outcome, method: Method, X: Floats, known: Constraints, k: tuple[int, ...], seed: int
) -> None:
    extra = {"constraints": selected(known, method.answers)} if method.uses_answers else {}
    start = time.process_time()
    if method.clusterer:
        models = {n: seeded(method.model(n), seed).fit(X, **extra) for n in k}
        found.labels = {n: model.labels_ for n, model in models.items()}
        found.notes["fit_seconds"] = round(time.process_time() - start, 3)
        return
    found.embedding = X
    if method.similarity:
        found.space = _chosen(found.notes, method, X, known, seed)
        start = time.process_time()
        found.embedding = found.space.fit(X, **extra).embedding_
        found.notes["fit_seconds"] = round(time.process_time() - start, 3)
    found.labels = {n: k_means(found.embedding, n, method.n_starts, seed) for n in k}


def k_means(Z: Floats, n_clusters: int, n_starts: int, seed: int) -> Ints:
    """Group by k-means; of all starts the one of lowest inertia."""
    model = KMeans(n_clusters, n_init=n_starts, random_state=seed).fit(Z)
    return np.asarray(model.labels_, dtype=np.int64)


def _chosen(notes: dict[str, Any], method: Method, X: Floats, known: Constraints, seed: int) -> Any:
    """Set the parameter that is tried to the value under which most held-out answers hold."""
    space = seeded(method.learner(), seed)
    if method.tried is None:
        return space
    name, values = method.tried
    usable = selected(known, "yes_no" if method.answers == "as_pairs" else method.answers)
    n_folds = min(N_FOLDS, len(usable))
    if n_folds < 2:
        return space
    folds = list(held_out_folds(usable, n_folds, np.random.RandomState(seed)))
    held = []
    for value in values:
        candidate = clone(space).set_params(**{name: value})
        held.append(np.mean([_share_held(candidate, X, *fold, method.answers) for fold in folds]))
    notes[name] = values[int(np.argmax(held))]
    return space.set_params(**{name: notes[name]})


def _share_held(
    candidate: Any, X: Floats, kept: Constraints, held: Constraints, answers: Answers
) -> float:
    """Give the share of held-out comparisons that hold in features learned from the other answers.

    Of pairs every must-link is compared with every cannot-link.
    """
    Z = clone(candidate).fit(X, constraints=selected(kept, answers)).embedding_
    comparisons = inequalities_of(held)
    near, far = _distances(Z, comparisons.near), _distances(Z, comparisons.far)
    if answers == "pairs":
        must, cannot = _distances(Z, held.must_link), _distances(Z, held.cannot_link)
        near, far = np.repeat(must, len(cannot)), np.tile(cannot, len(must))
    return float(np.mean(near < far)) if len(near) else 0.5


def _distances(Z: Floats, pairs: Ints) -> Floats:
    return np.asarray(np.linalg.norm(Z[pairs[:, 0]] - Z[pairs[:, 1]], axis=1))
