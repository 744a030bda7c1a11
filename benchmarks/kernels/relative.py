"""SKLR and DCRC: whole fits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sklearn.cluster import KMeans

from benchmarks.kernels._measure import COLUMNS, Case, fit, whole_fit
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from clew.cluster import DCRC, KernelKMeans
from clew.similarity import SKLR

#: Rows in a mini-batch of k-means on the embedding of many rows.
BATCH, MANY_ROWS = 4_096, 20_000


def sklr(problem: Problem, **options: Any) -> Callable[[], Any]:
    """Learn the kernel, then find the groups."""
    X, known = problem.X, problem.answers
    batch = BATCH if len(X) > MANY_ROWS else None
    groups = KernelKMeans(problem.n_clusters, batch_size=batch, random_state=0)
    space = SKLR(random_state=0, **options)
    return lambda: groups.fit(space.fit(X, constraints=known).embedding_).labels_


def _k_means(problem: Problem) -> Case:
    options = {"kind": KMeans, "n_clusters": problem.n_clusters, "n_init": 10, "random_state": 0}
    without = replace(problem, n_answers=0)
    return whole_fit("k-means", fit, without, options | {"takes_answers": False})


DIGITS = Problem("digits", 1_000, 64, 10, "odd_one_out", 2_500, is_scaled=True)
WRONG = replace(DIGITS, error=0.15)
BIRDS = Problem("mixture", 5_000, 38, 13, "triplets", 1_500, is_scaled=True)
MANY = replace(BIRDS, n_samples=100_000, n_features=50, n_clusters=10)
MILLION = replace(MANY, n_samples=10**6, n_features=20)
DEFAULT = {"kind": DCRC, "n_clusters": 13, "random_state": 0}
GIVEN = DEFAULT | {"tau": 1.0, "lam": 2.0**-8, "kernel": None}
STARTED = GIVEN | {"init": "kmeans"}
RANK = {"rank": 300}
SKLR_AND_DCRC = (
    whole_fit("SKLR, rank 300, C = .2", sklr, DIGITS, RANK | {"C": 0.2}, 2.0),
    whole_fit("SKLR, rank 300, C = 1", sklr, DIGITS, RANK | {"C": 1.0}, 2.0),
    whole_fit("SKLR, rank 300, no slack", sklr, DIGITS, RANK | {"slack": "none"}, 2.0),
    whole_fit("SKLR, rank 300, C chosen", sklr, DIGITS, RANK),
    whole_fit("SKLR, rank 300, C = .2", sklr, WRONG, RANK | {"C": 0.2}, 2.0),
    whole_fit("SKLR, rank 300, C = 1", sklr, WRONG, RANK | {"C": 1.0}, 2.0),
    _k_means(DIGITS),
    whole_fit("DCRC, all given, from k-means", fit, BIRDS, STARTED, 2.0),
    whole_fit("DCRC, tau and lam given", fit, BIRDS, GIVEN | {"init": "best"}),
    whole_fit("DCRC, kernel, from k-means", fit, BIRDS, STARTED | {"kernel": "adaptive"}),
    whole_fit("DCRC, default", fit, BIRDS, DEFAULT),
    _k_means(BIRDS),
    whole_fit("SKLR, rank 100", sklr, MANY, {"rank": 100}, 30.0, 1024.0),
    whole_fit("SKLR, default", sklr, MANY, {}, 30.0, 1024.0),
    whole_fit("DCRC, default", fit, MILLION, DEFAULT | {"n_clusters": 10}, 30.0),
    _k_means(MILLION),
)
PAGE = Page("relative", {"fits": Table(COLUMNS, SKLR_AND_DCRC, quick=slice(0, 8, 7))})
