"""The parts of the study: cells, sets, and the methods of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from benchmarks.papers.guided.ablations import ABLATIONS, UNCREDITED
from benchmarks.papers.guided.methods import (
    COMPARATORS,
    GUIDED,
    HEARS_ALL,
    HEARS_THREES,
    METHODS,
    Method,
)
from benchmarks.papers.guided.protocol import AMOUNTS, ERRORS, KINDS, NO_ANSWERS, PEOPLE, SETS, Cell

__all__ = [
    "ABLATION",
    "ANNOTATORS",
    "KINDS_PART",
    "KIND_METHODS",
    "MAIN",
    "PARTS",
    "Part",
    "part_named",
]

FEW_SETS = ("digits", "vehicle", "olivetti_64x64", "ionosphere", "glass", "iris")


@dataclass(frozen=True)
class Part:
    """Cells that belong together."""

    name: str
    sets: tuple[str, ...]
    cells: tuple[Cell, ...]
    methods: Callable[[Cell], Sequence[Method]]


def _main(cell: Cell) -> Sequence[Method]:
    if cell == NO_ANSWERS:
        return [GUIDED, *(method for method in METHODS if method.hears == "nothing")]
    return [method for method in METHODS if method.hears != "nothing"]


def _led(cell: Cell) -> Sequence[Method]:
    return [
        GUIDED,
        *([UNCREDITED] if cell.is_named else []),
        *(method for method in COMPARATORS if method.hears != "nothing"),
    ]


#: Of answers about three rows, methods that hear pairs alone get the pairs that they imply.
KIND_METHODS = (
    GUIDED,
    *(method for method in METHODS if method.name in ("e2cp", "coprf", "itml")),
    *HEARS_ALL,
)

MAIN = Part(
    "main",
    SETS,
    (NO_ANSWERS, *(Cell("pairs", amount, error) for amount, error in product(AMOUNTS, ERRORS))),
    _main,
)
KINDS_PART = Part(
    "kinds",
    FEW_SETS,
    tuple(Cell(*at) for at in product(KINDS, ("N/4", "N"), (0.0, 0.15))),
    lambda cell: KIND_METHODS if cell.kind == "pairs" else (*KIND_METHODS, *HEARS_THREES),
)
ANNOTATORS = Part(
    "annotators",
    (*FEW_SETS, "segment_small", "wine"),
    tuple(
        Cell(people, amount, 0.0, is_named)
        for people, amount, is_named in product(PEOPLE, ("N", "2N"), (True, False))
    ),
    _led,
)
ABLATION = Part(
    "ablation",
    (
        "vehicle",
        "balance_scale",
        "olivetti_64x64",
        "ionosphere",
        "uci_leaf",
        "glass",
        "wine",
        "iris",
    ),
    tuple(Cell("pairs", amount, error) for amount, error in product(("N/4", "N", "2N"), ERRORS)),
    lambda cell: (GUIDED, *ABLATIONS),
)
PARTS = (MAIN, KINDS_PART, ANNOTATORS, ABLATION)


def part_named(name: str) -> Part:
    """Find a part."""
    return next(part for part in PARTS if part.name == name)
