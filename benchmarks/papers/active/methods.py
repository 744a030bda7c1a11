"""Strategies by name, groups without answers, and the information limit: the rows of the tables."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.papers.active.problems import Part
from benchmarks.study import methods as shared
from benchmarks.study.log import seeded
from benchmarks.study.methods import GIVEN
from benchmarks.study.problems import Ints, classical_scaling
from clew import cluster, questions
from clew.exceptions import NoGroupsWarning


@dataclass(frozen=True)
class Method:
    """A strategy: ``make(n_clusters, n_samples)``; or groups without answers, or other software."""

    name: str
    make: Callable[[int, int], Any] | None = None
    version: str = "1"
    trials: int = 5
    every: int = 5  # Answers between two looks at the groups
    budget: int = 3  # Answers for each row
    batch: int = 5  # Questions between two updates
    package: str = ""  # Of other software
    uses_answers: bool = True


def _with_number(kind: Any) -> Callable[[int, int], Any]:
    return lambda k, n: kind(k, metric=GIVEN)


def _without_number(kind: Any) -> Callable[[int, int], Any]:
    return lambda k, n: kind(metric=GIVEN)


GUIDED = Method("Guided", _without_number(questions.Guided), "5")
# The groups are looked at after every 5 answers, as with batches of 5: people answer one by one.
LARGE_BATCHES = replace(GUIDED, name="Guided, batches of 20", version="5", batch=20)
RANDOM = Method("RandomPairs", _with_number(questions.RandomPairs))
MOST_PROBABLE = Method("MostProbable", _with_number(questions.MostProbable))
MARGIN = Method("Margin", _without_number(questions.Margin), trials=3)
EXPLORE = Method(
    "ExploreConsolidate", _with_number(questions.ExploreConsolidate), every=10, trials=3
)
THESIS = Method("ExpectedChange", _with_number(questions.ExpectedChange))
# It finds its super-instances again for each question, which takes seconds after many answers.
COBRAS = Method("COBRAS", _without_number(questions.COBRAS), "2", trials=1, every=10, budget=1)
OTHERS = (
    THESIS,
    MOST_PROBABLE,
    EXPLORE,
    Method("MinMax", _with_number(questions.MinMax), every=10, trials=1),
    Method("CAC1", _with_number(questions.CAC1), trials=3),
    Method("COBRA", lambda k, n: questions.COBRA(max(2, n // 3), metric=GIVEN)),
    COBRAS,
    Method("ActiveSpectral", _with_number(questions.ActiveSpectral), trials=3),
    Method("CorrelationInformation", _with_number(questions.CorrelationInformation), trials=3),
    MARGIN,
    Method("Uncertain", _with_number(questions.Uncertain)),
)
STRATEGIES = (GUIDED, *OTHERS, RANDOM)
#: Methods for sets of a thousand rows, and where only recorded questions can be asked.
FEW = (GUIDED, THESIS, MOST_PROBABLE, EXPLORE, MARGIN, RANDOM)
REPLAYED = (GUIDED, MOST_PROBABLE, MARGIN, RANDOM)
LIMIT = Method("information limit", version="2", uses_answers=False)
#: Groups without answers, of distances or of a few coordinates; all get the number of groups.
WITHOUT = {
    "Ward": shared.Method("", "", "Ward of distances"),
    "GuidedClustering": shared.Method("", "", "guided on distances"),
    "ClustRF": shared.Method("", "", "spectral", "ClustRF"),
}
N_COORDINATES, N_TREES = 10, 200
STARTS = tuple(Method(name, version="4", uses_answers=False) for name in WITHOUT)
#: `Guided` with the number of groups, and the best of the others without.
STARTS_BY_NUMBER = tuple(
    Method(name, uses_answers=False)
    for name in ("Guided, number given", "GuidedClustering, number not given")
)


def without_answers(name: str, part: Part, seed: int) -> Ints:
    """Group rows by their distances, without answers."""
    if name == STARTS_BY_NUMBER[0].name:
        strategy = seeded(questions.Guided(part.n_classes, metric=GIVEN), seed)
        return np.asarray(strategy.start(part.D).labels())
    if name == STARTS_BY_NUMBER[1].name:
        with warnings.catch_warnings():  # where it finds no groups
            warnings.simplefilter("ignore", NoGroupsWarning)
            unknown = seeded(cluster.GuidedClustering(metric=GIVEN), seed).fit(part.D)
        return np.asarray(unknown.labels_)
    of = WITHOUT[name]
    X = classical_scaling(part.D, min(N_COORDINATES, len(part.y) - 1)) if of.similarity else part.D
    labels: Ints = seeded(of.model(part.n_classes, N_TREES), seed).fit(X).labels_
    return labels


PEERS = tuple(
    Method(name, package=name.split()[0], trials=3 if name == "cobras-ts COBRAS" else 1)
    for name in (
        "cobras-ts COBRAS", "scikit-query FFQS", "scikit-query MinMax",
        "active-semi-supervised-clustering ExploreConsolidate",
    )
)  # fmt: skip
