"""Other software on the same answers, each package in an environment of its own."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kernels._environments import run_in_environment
from benchmarks.papers.active.problems import Part
from benchmarks.study.problems import Ints, classical_scaling
from clew import Question
from clew.oracles import Oracle

SCRIPT = Path(__file__).with_name("_in_environment.py")
N_COORDINATES = 30


def curve_of_package(
    name: str, part: Part, oracle: Oracle, budget: int, seed: int
) -> tuple[list[tuple[int, Ints]], float]:
    """Run ``"PACKAGE CLASS"``; returns groups by number of answers, and CPU seconds a question.

    It gets coordinates that reproduce the distances, the number of groups, and answers to all
    pairs, of which it looks up those that it asks for.
    """
    n = len(part.y)
    first, second = np.triu_indices(n, 1)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    same = np.eye(n, dtype=bool)
    same[first, second] = [oracle.answer(Question("pair", pair)).value == 1 for pair in pairs]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        X = classical_scaling(part.D, min(N_COORDINATES, n - 1))
        np.savez(path, X=X, same=same | same.T)
        package, method = name.split()
        job: dict[str, Any] = {
            "data": str(path), "method": method, "package": package, "seed": seed,
            "n_clusters": part.n_classes, "budget": budget,
        }  # fmt: skip
        found = run_in_environment(package, job, SCRIPT)
        with np.load(path.with_name("groups.npz")) as file:
            points = list(zip(file["n"].tolist(), file["labels"], strict=True))
    return points, float(found["seconds"])
