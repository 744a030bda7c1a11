"""One step of a sampled partition: splits of groups, moves of rows, merges of groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.partitions.blocks import draw_blocks
from clew.kernels.partitions.rows import draw_rows
from clew.kernels.partitions.splits import draw_splits
from clew.kernels.partitions.tables import Answered, Groups, Scoring, fill_tables

__all__ = ["advance"]


@kernel
def advance(
    groups: Groups,
    log_odds: NDArray[np.float32],
    answered: Answered,
    scoring: Scoring,
    n_tries: int,
    state: NDArray[np.uint64],
) -> None:
    """Draw splits of groups, the group of each row, and merges; the tables are computed first."""
    fill_tables(groups, log_odds)
    draw_splits(groups, log_odds, answered, scoring, n_tries, state)
    draw_rows(groups, log_odds, answered, scoring, state)
    draw_blocks(groups, log_odds, answered, scoring, state)
