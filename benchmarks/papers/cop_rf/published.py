"""What the paper's tables say: areas under curves of the adjusted Rand index."""

from __future__ import annotations

__all__ = ["PUBLISHED", "PUBLISHED_METHODS"]

PUBLISHED_METHODS = ("SPClust", "E2CP", "RF+E2CP", "COP-RF")

#: Table, data set, and the areas of `PUBLISHED_METHODS`. Parkinsons and ERCe are left out.
PUBLISHED: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "II": {
        "ionosphere": (0.490, 0.176, 3.120, 2.979),
        "iris": (3.273, 3.516, 3.265, 3.385),
        "segment_small": (1.943, 1.989, 2.266, 2.239),
        "glass": (1.121, 1.210, 1.602, 2.015),
    },
    "III": {
        "ionosphere": (0.490, 0.276, 2.851, 2.606),
        "iris": (3.273, 3.416, 2.988, 3.067),
        "segment_small": (1.943, 1.913, 2.039, 2.109),
        "glass": (1.121, 1.159, 1.244, 1.734),
    },
    "IV": {
        "ionosphere": (0.536, 0.314, 3.172, 3.399),
        "iris": (4.341, 4.352, 3.659, 3.684),
        "segment_small": (2.462, 2.336, 2.481, 2.605),
        "glass": (1.421, 1.477, 1.558, 2.020),
    },
}
