"""Questions of other packages, which run in environments of their own, without clew."""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import numpy as np

#: Packages that only ask: the numbers of answers, as multiples of the number of rows, after which
#: PCKMeans groups the rows.
PARTS = (0, 0.5, 1, 2, 3)


class Budget(Exception):  # noqa: N818  not an error
    """Raised to end a package's loop."""


class Asked:
    """An oracle that all packages can call: looks answers up in a table, and records them."""

    def __init__(self, same: Any, budget: int) -> None:
        self.same, self.budget = same, budget
        self.max_queries_cnt = budget
        self.links: list[tuple[int, int, bool]] = []
        self.stop: type[Exception] = Budget

    @property
    def queries(self) -> int:
        return len(self.links)

    def query(self, i: int, j: int) -> bool:
        if self.queries >= self.budget:
            raise self.stop
        answer = bool(self.same[i, j])
        self.links.append((int(i), int(j), answer))
        return answer

    # The names that cobras-ts calls.
    query_points = query

    def update_clustering(self, clustering: Any) -> None:
        """Ignore the groups."""

    def continue_cluster_process(self) -> bool:
        return True


def cobras(job: dict[str, Any], X: Any, asked: Asked) -> list[tuple[int, Any]]:
    """Return the groups after each answer; a single group until COBRAS returns some."""
    from cobras_ts.cobras_kmeans import COBRAS_kmeans

    found = COBRAS_kmeans(X, asked, job["budget"]).cluster()
    labels = [np.zeros(len(X), int), *found[1]]
    for at in range(1, len(labels)):
        labels[at] = labels[at - 1] if labels[at] is None else np.array(labels[at])
    return list(enumerate(labels))


def selected(job: dict[str, Any], X: Any, asked: Asked) -> list[tuple[int, Any]]:
    """Answer the pairs that a package asks about, and group the rows by PCKMeans."""
    k = job["n_clusters"]
    if job["package"] == "scikit-query":
        import skquery.pairwise
        from skquery.exceptions import EmptyBudgetError

        asked.stop = EmptyBudgetError
        ask = getattr(skquery.pairwise, job["method"])()
        options: dict[str, Any] = {"n_clusters": k}
    else:
        from active_semi_clustering.active import pairwise_constraints
        from active_semi_clustering.active.pairwise_constraints import example_oracle

        asked.stop = example_oracle.MaximumQueriesExceeded
        ask, options = getattr(pairwise_constraints, job["method"])(n_clusters=k), {}
    try:
        ask.fit(X, asked, **options)
    except ValueError:  # no rows are left to ask about
        if asked.queries < len(X):
            raise
    return [(n, grouped(X, k, asked.links[:n])) for n in (round(p * len(X)) for p in PARTS)]


def grouped(X: Any, k: int, links: list[tuple[int, int, bool]]) -> Any:
    """Run PCKMeans; return a single group if it fails five times, as on contradictions."""
    from active_semi_clustering.semi_supervised.pairwise_constraints import PCKMeans

    must, cannot = ([(i, j) for i, j, same in links if same == kind] for kind in (True, False))
    for _ in range(5):
        try:
            return PCKMeans(k).fit(X, ml=must, cl=cannot).labels_
        except Exception as error:  # the package has an exception of its own for each
            print(type(error).__name__, error, file=sys.stderr)
    return np.zeros(len(X), int)


def asked(data: Any, seed: int, **job: Any) -> tuple[dict[str, float], dict[str, Any]]:
    """Let a package ask; returns CPU seconds for each question, and groups by number of answers."""
    np.random.seed(seed % 2**31)  # noqa: NPY002  the packages draw from it
    random.seed(seed)
    oracle = Asked(data["same"], job["budget"])
    start = time.process_time()
    run = cobras if job["package"] == "cobras-ts" else selected
    points = run(job, data["X"], oracle)
    seconds = (time.process_time() - start) / max(oracle.queries, 1)
    n, labels = zip(*points, strict=True)
    return {"seconds": seconds}, {"n": np.array(n), "labels": np.array(labels)}
