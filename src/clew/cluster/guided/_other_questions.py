"""Questions about random rows that are as near to each other as those of questions asked.

Who records only some of the answers, or asks only what has an answer, has chosen questions by their
answers. That choice is evidence, beside what any other question would have been answered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from clew.cluster.guided._features import Prepared, Rows

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Questions whose distances are read, and most rows that others are drawn for. With fewer, groups
#: that have more of these rows would seem larger.
N_QUESTIONS, N_ROWS = 200, 1_000
#: Of many rows so few of these that no more distances are sorted, but at least 100.
MOST_DISTANCES, FEWEST_ROWS = 5_000_000, 100
#: Least number of questions that are drawn.
N_DRAWN = 4_000


def other_questions(rows: Rows, asked: Labels) -> Labels:
    """Draw rows for questions like those `asked`, (n_questions, size): (n_drawn, size).

    The first row is random; the others have the ranks, by distance to it, of those of a question
    that was asked. They are random, too, if there are no features. Time O(n d), memory O(n), for
    300 rows, and more of few.
    """
    rng, n, size = np.random.RandomState(0), len(rows.X), asked.shape[1]
    firsts = rng.permutation(n)[: min(N_ROWS, max(MOST_DISTANCES // n, FEWEST_ROWS))]
    n_each = -(-N_DRAWN // len(firsts))
    first = firsts.repeat(n_each)
    if not rows.has_features:
        steps = np.stack([rng.randint(1, n - at, len(first)) for at in range(size - 1)])
        steps[1:] += steps[1:] >= steps[0]  # no row twice in a question
        return np.column_stack([first, *(first + steps) % n])
    rank = _ranks(rows, asked[:: -(-len(asked) // N_QUESTIONS)])
    order = _distances(rows, firsts).argsort(axis=1, kind="stable")
    ranks = rank[rng.choice(len(rank), len(first))]
    return np.column_stack([first, order[np.arange(len(first))[:, None] // n_each, ranks]])


def _ranks(rows: Rows, asked: Labels) -> Labels:
    """Rank of each other row among those near the first one, which has rank 0."""
    distance = _distances(rows, asked[:, 0])
    own = np.take_along_axis(distance, asked[:, 1:], axis=1)
    return np.column_stack([(distance < one[:, None]).sum(axis=1) for one in own.T])


def _distances(rows: Rows, chosen: Labels) -> Floats:
    """Distances of chosen rows to all, -1 to themselves, (n_chosen, n_samples)."""
    if isinstance(rows, Prepared) and rows.distances is not None:
        distances = rows.distances[chosen].astype(np.float64)
    else:
        distances = cdist(rows.X[chosen], rows.X)
    distances[np.arange(len(chosen)), chosen] = -1.0  # also where rows repeat
    return np.asarray(distances)
