"""Compiles the kernels of all methods, so that no later run has to."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

__all__ = ["compile_kernels"]

#: Methods that share kernels are compiled in one process; the longest work comes first.
PARTS = (
    ("clustrf", "coprf"),
    ("copkmeans", "pckmeans", "mpckmeans"),
    ("groups",),
    ("itml", "sklr", "diffusion"),
    ("dcrc",),
    ("linkage",),
)
N_ROWS, N_GROUPS = 150, 3


def compile_kernels(advance: Callable[[int, int], None]) -> None:
    """Fit every method to a small problem, several at once in separate processes.

    Parameters
    ----------
    advance : callable
        Called after each part with the number of parts done and of all.
    """
    n_workers = min(os.cpu_count() or 1, len(PARTS))
    with ProcessPoolExecutor(n_workers, mp_context=get_context("spawn")) as pool:
        for done, part in enumerate(as_completed(pool.submit(_fit, p) for p in PARTS), start=1):
            part.result()
            advance(done, len(PARTS))


def _fit(methods: tuple[str, ...]) -> None:
    """Fit some methods, each to answers of kinds that it takes."""
    import numpy as np
    from sklearn.cluster import KMeans

    from clew.cli._models import build_model
    from clew.cluster import GuidedClustering
    from clew.constraints import Constraints
    from clew.similarity import E2CP

    y = np.arange(N_ROWS) % N_GROUPS
    X = np.random.RandomState(0).normal(size=(N_ROWS, 4)) + 4 * y[:, None]
    right = Constraints.from_labels(y, N_ROWS, random_state=0)
    pairs = Constraints.from_labels(y, N_ROWS, error=0.1, random_state=0)
    triples = Constraints.from_labels(y, n_triplets=20, n_odd_one_out=20, random_state=0)
    answers = {"clustrf": None, "copkmeans": right, "linkage": right}
    answers |= dict.fromkeys(("groups", "dcrc", "sklr"), pairs + triples)
    made = {
        # The steps of guided clustering, without its forests.
        "groups": GuidedClustering(N_GROUPS, pool=[("kmeans", KMeans(N_GROUPS))], random_state=0),
        "diffusion": E2CP(form="sparse"),
    }
    for method in methods:
        model = made.get(method) or build_model(method, N_GROUPS, n_trees=20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, constraints=answers.get(method, pairs))
