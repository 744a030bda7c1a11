"""The measures of the forest benchmark; each gives the rows of one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from benchmarks._harness import alternated, measured_apart, medians
from benchmarks.kernels._forest_problems import (
    CONTENDERS,
    SIZES,
    Size,
    fit,
    gaussian_mixture,
    prepared,
)
from clew import Constraints
from clew.similarity import COPRF, ClustRF

__all__ = ["Options", "affinities", "coprf", "forests", "sparse", "threads"]

APART = "benchmarks.kernels._forest_apart"
FEWEST_PEER_TREES = 20
PAPER_SECONDS = 213.0
Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """How thorough to be."""

    peer_share: float = 0.1
    """Share of the trees that peers grow on large problems."""
    is_quick: bool = False

    def sizes(self) -> list[Size]:
        """Give the problems; when quick, without the largest and with fewer trees."""
        if not self.is_quick:
            return list(SIZES)
        return [replace(s, n_trees=100 if s.is_large else 200) for s in SIZES[:-1]]

    def peer_trees(self, size: Size) -> int:
        """Give the trees that peers grow on a problem."""
        if not (size.is_large or self.is_quick):
            return size.n_trees
        return min(size.n_trees, max(FEWEST_PEER_TREES, round(self.peer_share * size.n_trees)))


def forests(options: Options) -> Iterator[Row]:
    """Time contenders on the same two-class problem, and weigh them in fresh processes."""
    for size in options.sizes():
        X, source = size.features()
        trees = {who: options.peer_trees(size) for who in CONTENDERS} | {"clew": size.n_trees}
        data = {who: prepared(who, X) for who in CONTENDERS}
        runs = {who: partial(fit, who, data[who], trees[who]) for who in CONTENDERS}
        repeats = {who: 1 if size.is_large and who != "clew" else 3 for who in CONTENDERS}
        seconds = alternated(runs, repeats)
        scale = {who: size.n_trees / trees[who] for who in CONTENDERS}
        time = {who: value * scale[who] for who, value in medians(seconds).items()}
        is_weighed = size.is_large or not options.is_quick
        yield {
            "size": size.name,
            "data": source,
            "n_trees": size.n_trees,
            "peer_trees": trees["RandomForest"],
            "seconds": time,
            "runs": seconds,
            "ratio": {who: time[who] / time["clew"] for who in CONTENDERS if who != "clew"},
            "memory_mib": _memory(size, trees) if is_weighed else None,
        }


def _memory(size: Size, trees: dict[str, int]) -> dict[str, float]:
    """Weigh all contenders; those with fewer trees twice, to tell what grows with the trees."""
    return {who: _grown(who, size, trees[who]) for who in CONTENDERS}


def _grown(who: str, size: Size, n_trees: int) -> float:
    job = {"task": "forest_memory", "who": who, "size": asdict(size)}
    whole = measured_apart(APART, job | {"n_trees": n_trees})["growth_mib"]
    if n_trees == size.n_trees:
        return float(whole)
    half = measured_apart(APART, job | {"n_trees": n_trees // 2})["growth_mib"]
    return float(whole + (whole - half) * (size.n_trees - n_trees) / (n_trees - n_trees // 2))


def coprf(options: Options) -> Iterator[Row]:
    """Time COP-RF at the size of the paper's own measurement: 600 rows, 0.3 % of all pairs."""
    X, y = gaussian_mixture(600, 30, n_clusters=6, seed=0)
    right, wrong = (
        Constraints.from_labels(y, n_pairs=539, error=error, random_state=0)
        for error in (0.0, 0.15)
    )
    cases: list[tuple[str, dict[str, Any], Constraints]] = [
        (mode, {"mode": mode, "trust": trust}, answers)
        for answers in (right, wrong)
        for mode in ("soft", "hard")
        for trust in (None, "auto")
        # Hard constraints that contradict each other are refused.
        if not (answers is wrong and mode == "hard" and trust is None)
    ]
    published = {"mode": "hard", "trust": "inconsistency", "affinity": "leaf"}
    cases += [("hard", published, right), ("hard", published, wrong)]
    n_trees = 200 if options.is_quick else 1000

    models = [COPRF(n_trees, n_jobs=1, random_state=0, **parameters) for _, parameters, _ in cases]
    runs = {
        str(i): partial(models[i].fit, X, constraints=answers)
        for i, (_, _, answers) in enumerate(cases)
    }
    for run in runs.values():
        run()
    seconds = alternated(runs, 3)
    for (mode, parameters, answers), time in zip(cases, medians(seconds).values(), strict=True):
        yield {
            "mode": mode,
            "trust": str(parameters["trust"]),
            "wrong": "15 %" if answers is wrong else "none",
            "n_trees": n_trees,
            "seconds": time,
            "paper_ratio": PAPER_SECONDS / time if n_trees == 1000 else None,
        }


def threads(options: Options) -> Iterator[Row]:
    """Time one thread against two; the forests are equal to the last bit."""
    sizes = options.sizes()
    for size in (sizes[0], sizes[2], sizes[3]):
        X, source = size.features()
        models = {str(n): ClustRF(size.n_trees, n_jobs=n, random_state=0) for n in (1, 2)}
        runs = {n: partial(model.fit, X) for n, model in models.items()}
        runs["2"]()
        seconds = alternated(runs, 3 if options.is_quick else 5)
        time = medians(seconds)
        yield {
            "size": size.name,
            "data": source,
            "n_trees": size.n_trees,
            "one": time["1"],
            "two": time["2"],
            "ratio": time["1"] / time["2"],
            "runs": seconds,
        }


def affinities(options: Options) -> Iterator[Row]:
    """Time the dense affinity of a grown forest, for each way to weigh nodes."""
    for size in (options.sizes()[0], options.sizes()[2]):
        X, source = size.features()
        model = ClustRF(size.n_trees, n_jobs=1, random_state=0).fit(X)

        def read(kind: str, model: ClustRF = model) -> None:
            model.set_params(affinity=kind).__dict__.pop("affinity_matrix_", None)
            assert len(model.affinity_matrix_)

        kinds = ("leaf", "uniform", "adaptive")
        time = medians(alternated({kind: partial(read, kind) for kind in kinds}, 3))
        yield {"size": size.name, "data": source, "n_trees": size.n_trees} | time


def sparse(options: Options) -> Iterator[Row]:
    """Time forest and nearest rows where nothing can be dense, each in a fresh process."""
    n, n_trees = (10_000, 50) if options.is_quick else (100_000, 100)
    # A forest grown on fewer draws has shallower trees; the other rows are led to its leaves.
    cases = [(None, 1), (n // 5, 1), (None, 2)]
    for max_samples, n_jobs in cases[:1] if options.is_quick else cases:
        job = {
            "n_samples": n,
            "n_trees": n_trees,
            "k": 20,
            "max_samples": max_samples,
            "n_jobs": n_jobs,
        }
        yield job | measured_apart(APART, job | {"task": "sparse_neighbours"})
