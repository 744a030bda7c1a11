"""Other software on the same answers, each package in an environment of its own."""

import numpy as np

from benchmarks.kernels._environments import run_in_environment
from benchmarks.papers.active.problems import Part
from benchmarks.study.problems import Ints, classical_scaling
from clew import Question
from clew.oracles import Oracle

N_COORDINATES = 30


def curve_of_package(
    name: str, part: Part, oracle: Oracle, budget: int, seed: int
) -> tuple[list[tuple[int, Ints]], float]:
    """Run a package; return its groups by number of answers, and CPU seconds of a question.

    `name` holds the names of the package and of its class. The package gets coordinates that
    reproduce the distances, the number of groups, and a table of the answers to all pairs, from
    which it reads the answers to its questions.
    """
    n = len(part.y)
    first, second = np.triu_indices(n, 1)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    same = np.eye(n, dtype=bool)
    same[first, second] = [oracle.answer(Question("pair", pair)).value == 1 for pair in pairs]
    X = classical_scaling(part.D, min(N_COORDINATES, n - 1))
    package, method = name.split()
    found, groups = run_in_environment(
        package, "benchmarks.papers.active.packages:asked", {"X": X, "same": same | same.T},
        package=package, method=method, seed=seed, n_clusters=part.n_classes, budget=budget,
    )  # fmt: skip
    return list(zip(groups["n"].tolist(), groups["labels"], strict=True)), found["seconds"]
