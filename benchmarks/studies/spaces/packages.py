"""Embeddings of cblearn, which run in an environment of its own, where clew is not installed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

#: Parameters that differ from the defaults: mu as in the paper on the crowd kernel, and two starts.
OPTIONS: dict[str, Any] = {"CKL": {"mu": 0.05}, "SOE": {"n_init": 2}}


def fitted(
    parts: dict[str, Any], method: str, n_components: Sequence[int], n_rows: int, seed: int
) -> tuple[dict[str, float], dict[str, Any]]:
    """Fit each number of components to each part; returns CPU seconds, and positions."""
    import cblearn.embedding

    kind = getattr(cblearn.embedding, method)
    positions, start = {}, time.process_time()
    for name, triplets in parts.items():
        for d in n_components:
            model = kind(d, random_state=seed, **OPTIONS.get(method, {}))
            positions[f"{name}_{d}"] = model.fit(triplets, n_objects=n_rows).embedding_
    return {"seconds": time.process_time() - start}, positions
