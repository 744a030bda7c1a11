"""What the paper's Table 2 says, in its own units."""

from __future__ import annotations

__all__ = ["PUBLISHED"]

#: Data set and method: the area at each M, or one area where there is no M. USAA and ERCe are
#: left out.
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "segment_full": {
        "knn": (34.8, 36.2, 37.6, 37.8, 37.9),
        "dominant": (38.3, 29.1, 34.7, 37.2, 37.2),
        "consensus": (34.9, 36.8, 35.8, 36.8, 35.9),
        "leaf": (39.5,),
        "uniform": (40.7,),
        "adaptive": (41.8,),
    },
    "pie10_32x32": {
        "knn": (4.4, 4.4, 4.9, 4.8, 4.7),
        "dominant": (3.0, 2.3, 2.4, 3.0, 3.5),
        "consensus": (4.0, 4.4, 4.3, 4.3, 4.2),
        "leaf": (19.8,),
        "uniform": (22.9,),
        "adaptive": (20.5,),
    },
}
