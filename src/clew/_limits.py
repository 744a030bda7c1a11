"""Numbers of rows from which another algorithm takes over, or the work is refused.

Each constant has one meaning. Limits that belong to one method alone stay beside that method.
"""

from __future__ import annotations

__all__ = [
    "ALL_PAIRS_ROWS",
    "DENSE_PROPAGATION_ROWS",
    "EIGENVECTOR_ROWS",
    "MANY_ROWS",
    "MAX_DENSE_ROWS",
]

#: Past so many rows, a dense matrix of all pairs is refused: `float32` needs 1.5 GiB there.
MAX_DENSE_ROWS = 20_000
#: Up to so many rows, neighbor graphs and kernels are computed from all pairs of rows; past them
#: from the nearest rows alone, or anew for each block of rows.
ALL_PAIRS_ROWS = 5_000
#: Up to so many rows, all eigenvectors of a dense matrix are computed where that is needed: O(n³).
EIGENVECTOR_ROWS = 5_000
#: Past so many rows, guided clustering leaves out members that take long, looks at a sample to
#: choose the number of groups, and uses fewer folds and pivots.
MANY_ROWS = 5_000
#: Up to so many rows, answers are propagated to all pairs unless the caller says otherwise: O(n³).
DENSE_PROPAGATION_ROWS = 2_000
