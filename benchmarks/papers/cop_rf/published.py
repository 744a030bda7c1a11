"""What the paper's tables say: areas under curves of the adjusted Rand index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["PUBLISHED", "PUBLISHED_METHODS", "published_area"]

#: The paper's columns, and our method that is to reproduce each.
PUBLISHED_METHODS = {
    "SPClust": "spclust",
    "COP-Kmeans": "cop_kmeans_paper",
    "SL": "sl_paper",
    "E2CP": "e2cp_paper",
    "RF+E2CP": "rf_e2cp_paper",
    "COP-RF": "coprf_hard",
}

Row = tuple[float, float, float, float, float, float]
#: Table, data set, and the areas of `PUBLISHED_METHODS`. ERCe is left out.
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


def published_area(table: str, column: str, sets: Sequence[str]) -> float | None:
    """Average a column of the paper over sets; None if it lacks one of them."""
    rows = PUBLISHED[table]
    if any(name not in rows for name in sets):
        return None
    place = tuple(PUBLISHED_METHODS).index(column)
    return float(np.mean([rows[name][place] for name in sets]))
