"""Starts of DCRC: logistic models fitted to groups of k-means or of SKLR, and the best solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress, in_threads
from clew.cluster._kmeans import kmeans
from clew.cluster.dcrc._answers import AnsweredRows
from clew.cluster.dcrc._em import Errors, Solution, Steps, run_em
from clew.cluster.dcrc._features import Problem, sampled_rows, training_rows
from clew.cluster.dcrc._objective import Penalties, TrainingRows, ascend
from clew.constraints import Constraints
from clew.similarity import SKLR

__all__ = ["BestSolution", "Groups", "best_solution", "groups_by_sklr", "initial_weights"]

#: Largest number of rows without answers that SKLR is fitted to; its groups are only a start.
MAX_ROWS_OF_SKLR = 3_000
#: The logistic model of given groups.
MAX_ITER, RIDGE = 100, Penalties(tau=0.0, balance=0.0, lam=1e-3)


class BestSolution(NamedTuple):
    """The best solution, the name of its start, and the answers that it was fitted to."""

    start: str
    answers: AnsweredRows
    solution: Solution


class Groups(NamedTuple):
    """Groups of some of the sampled rows."""

    rows: NDArray[np.int64]
    group: NDArray[np.int64]


def groups_by_sklr(
    known: Constraints, X: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> Groups:
    """Find groups by k-means in the space that soft SKLR learns from the answers.

    Parameters
    ----------
    known : Constraints
        The answers about the sampled rows.
    X : ndarray of shape (n_rows, n_features)
        The sampled rows, as given.
    n_clusters, n_init : int
        Number of groups, and of starts of k-means.
    seed : int
        Seed of SKLR, of k-means, and of the rows without answers that SKLR is fitted to.

    Returns
    -------
    Groups
    """
    rows = sampled_rows(known, MAX_ROWS_OF_SKLR, seed)
    space = SKLR(random_state=seed).fit(X[rows], constraints=known.subset(rows))
    return Groups(rows, _kmeans(space.embedding_, n_clusters, n_init, seed))


def initial_weights(
    init: str, problem: Problem, by_sklr: Groups | None, n_clusters: int, n_init: int, seed: int
) -> dict[str, NDArray[np.float64]]:
    """Return the weights of each start, by name.

    Parameters
    ----------
    init : {"best", "kmeans", "sklr"}
        The starts; "best" is both.
    problem : Problem
        Rows and answers.
    by_sklr : Groups or None
        Groups from SKLR; None without answers, and if `init` is "kmeans".
    n_clusters, n_init, seed : int
        Number of groups, number of starts of k-means, and their seed.

    Returns
    -------
    dict of str to ndarray of shape (n_clusters, n_features + 1)
    """
    starts = {}
    if init != "sklr" or by_sklr is None:
        group = _kmeans(problem.features[:, :-1], n_clusters, n_init, seed)
        starts["kmeans"] = _logistic_model(problem.features, group, n_clusters)
    if by_sklr is not None:
        features = problem.features[by_sklr.rows]
        starts["sklr"] = _logistic_model(features, by_sklr.group, n_clusters)
    return starts


def best_solution(
    starts: Mapping[str, NDArray[np.float64]],
    problem: Problem,
    errors: Errors,
    penalties: Penalties,
    steps: Steps,
    n_jobs: int | None,
    callback: Progress | None,
) -> BestSolution:
    """Run EM from each start, and return the solution of highest `Solution.score`."""
    answers = errors.informative_answers(problem.known)
    rows = training_rows(problem, answers, len(problem.features), 0)
    solutions = in_threads(
        lambda weights: run_em(rows, answers, weights, errors, penalties, steps),
        list(starts.values()),
        n_jobs=n_jobs,
        what="starts",
        callback=callback,
    )
    name, best = max(zip(starts, solutions, strict=True), key=lambda item: item[1].score)
    return BestSolution(name, answers, best)


def _kmeans(
    features: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> NDArray[np.int64]:
    k = min(n_clusters, len(features))
    return kmeans(features, k, n_init=n_init, random_state=seed).labels


def _logistic_model(
    features: NDArray[np.float64], group: NDArray[np.int64], n_clusters: int
) -> NDArray[np.float64]:
    """Fit the weights to given groups by ridge regression."""
    n = len(features)
    rows = TrainingRows(np.ascontiguousarray(features.T), n, np.full(n, 1.0 / n), n)
    weights = np.zeros((n_clusters, features.shape[1]))
    return ascend(weights, rows, np.eye(n_clusters)[:, group], RIDGE, MAX_ITER)[0]
