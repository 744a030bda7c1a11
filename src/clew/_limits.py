"""Numbers of rows above which another algorithm is used, or an error is raised; and of checks.

Limits of a single method stand in that method's file.
"""

from __future__ import annotations

#: Largest dense matrix of all pairs of rows; in `float32` it takes 1.5 GiB.
MAX_DENSE_ROWS = 20_000
#: Up to this number of rows, neighbor graphs and kernels are computed from all pairs of rows;
#: above it from the nearest rows only, or again for each block of rows.
ALL_PAIRS_ROWS = 5_000
#: Largest dense matrix whose eigenvectors are computed: O(n³).
EIGENVECTOR_ROWS = 5_000
#: Above this number of rows, guided clustering leaves out slow members, chooses the number of
#: groups on a sample, and uses fewer folds and pivots.
MANY_ROWS = 5_000
#: Above this number of rows, guided clustering fits its model to anchors.
ANCHOR_ROWS = 5_000
#: Up to this number of rows, E2CP propagates answers to all pairs by default: O(n³).
DENSE_PROPAGATION_ROWS = 2_000
#: Rows in a block, in memory or of a Dask array: sums over blocks do not depend on threads.
BLOCK_ROWS = 65_536
#: Number of answered checks that an estimate of the quality of groups needs.
LEAST_CHECKS = 4
#: Number of informative answers before which nothing is said of questions left, groups or people.
LEAST_ANSWERS = 20
