"""Must-links and cannot-links as pairs of rows, each pair once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.constraints import Constraints

__all__ = ["Links", "links_of"]


class Links(NamedTuple):
    """Answered pairs of positive weight, in ascending order."""

    keys: NDArray[np.int64]
    """``i·n + j`` of each pair, where i < j."""
    must: NDArray[np.float64]
    """Total weight of the must-links of each pair."""
    cannot: NDArray[np.float64]
    """Total weight of the cannot-links of each pair."""


def links_of(known: Constraints) -> Links:
    """Add up the answers to each pair; don't-knows and answers of weight 0 are left out."""
    weight = np.where(known.is_dont_know, 0.0, known.pair_weights)
    is_used = weight > 0
    row = known.pairs[is_used].min(axis=1, initial=known.n_samples)
    other = known.pairs[is_used].max(axis=1, initial=0)
    keys, at = np.unique(row * known.n_samples + other, return_inverse=True)
    must = np.where(known.is_must_link, weight, 0.0)[is_used]
    cannot = np.where(known.is_cannot_link, weight, 0.0)[is_used]
    return Links(
        keys.astype(np.int64),
        np.bincount(at, must, len(keys)).astype(np.float64),
        np.bincount(at, cannot, len(keys)).astype(np.float64),
    )
