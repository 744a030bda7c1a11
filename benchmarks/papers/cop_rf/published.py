"""The areas of the paper's tables, and which of ours is meant to reproduce each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.papers.cop_rf.study import METHODS, Curve, source_of
from benchmarks.study.engine import method_named
from benchmarks.study.methods import Method
from benchmarks.study.scores import Score

#: The paper's columns, and our method.
COLUMNS: dict[str, Method] = {
    column: method_named(METHODS, name)
    for column, name in {
        "SPClust": "spclust",
        "COP-Kmeans": "cop_kmeans_paper",
        "SL": "sl_paper",
        "E2CP": "e2cp_paper",
        "RF+E2CP": "rf_e2cp_paper",
        "COP-RF": "coprf_hard",
    }.items()
}
Row = tuple[float, float, float, float, float, float]
#: Table, data set, and the areas of `COLUMNS`. ERCe is left out.
PUBLISHED: dict[str, dict[str, Row]] = {
    "II": {
        "ionosphere": (0.490, 0.225, 0.063, 0.176, 3.120, 2.979),
        "iris": (3.273, 1.632, 3.499, 3.516, 3.265, 3.385),
        "segment_small": (1.943, 0.499, 1.973, 1.989, 2.266, 2.239),
        "parkinsons": (0.677, 0.114, 0.811, 0.787, 1.082, 1.403),
        "glass": (1.121, 0.394, 1.162, 1.210, 1.602, 2.015),
    },
    "III": {
        "ionosphere": (0.490, 0.146, 0.192, 0.276, 2.851, 2.606),
        "iris": (3.273, 1.590, 3.454, 3.416, 2.988, 3.067),
        "segment_small": (1.943, 0.433, 1.877, 1.913, 2.039, 2.109),
        "parkinsons": (0.677, 0.067, 0.786, 0.780, 0.910, 1.102),
        "glass": (1.121, 0.679, 1.114, 1.159, 1.244, 1.734),
    },
    "IV": {
        "ionosphere": (0.536, 0.000, 0.253, 0.314, 3.172, 3.399),
        "iris": (4.341, 2.507, 4.339, 4.352, 3.659, 3.684),
        "segment_small": (2.462, 0.514, 2.348, 2.336, 2.481, 2.605),
        "parkinsons": (0.979, 0.108, 0.957, 0.948, 0.975, 1.338),
        "glass": (1.421, 0.343, 1.380, 1.477, 1.558, 2.020),
    },
}
#: A figure is reproduced within two standard errors, a tenth of it, or an area of .05.
TOLERANCE, LEAST = 0.10, 0.05


def published_area(table: Curve, column: str, sets: Sequence[str]) -> float | None:
    """Average a column of the paper over sets; None if it lacks one of them."""
    rows, place = PUBLISHED[table.name], tuple(COLUMNS).index(column)
    if not sets or any(source_of(name) not in rows for name in sets):
        return None
    return float(np.mean([rows[source_of(name)][place] for name in sets]))


def reproduced(score: Score, paper: float) -> str:
    """Judge whether we reproduce a figure: "yes", or ours is "higher" or "**lower**"."""
    gap = score.mean - paper
    if abs(gap) <= max(2 * np.nan_to_num(score.error), TOLERANCE * abs(paper), LEAST):
        return "yes"
    return "higher" if gap > 0 else "**lower**"
