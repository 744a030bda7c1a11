"""Figure 5: soft and hard answers about rows near the boundaries of three groups in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from benchmarks.papers._scores import Score
from clew import Constraints
from clew.cluster import DCRC
from clew.constraints._truth import TRUTH

__all__ = ["EPSILONS", "N_DRAWS", "SPREADS", "Plane", "fitted", "mean_share", "plane"]

Floats = NDArray[np.float64]
ROWS_PER_GROUP = 50
N_TRIPLETS = 500
#: Rows whose two nearest centres are about as far, as a share of all.
SHARE_NEAR = 0.4
CENTRES = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.46]])
#: Width of the groups, 4 apart.
SPREADS = {"close together": 1.35, "far apart": 0.5}
EPSILONS = {"soft": 0.05, "hard": 0.0}
#: How often the plane is drawn; the first is shown.
N_DRAWS = 5


@dataclass(frozen=True)
class Plane:
    """Three groups in the plane, and answers about rows between them."""

    X: Floats
    y: NDArray[np.int64]
    known: Constraints


@cache
def plane(spread: str, draw: int = 0) -> Plane:
    """Draw the groups, of one of the widths in `SPREADS`, and the answers."""
    random = RandomState(draw)
    y = np.repeat(np.arange(len(CENTRES)), ROWS_PER_GROUP)
    X = CENTRES[y] + SPREADS[spread] * random.standard_normal((len(y), 2))
    apart = np.sort(np.linalg.norm(X[:, None] - CENTRES, axis=2), axis=1)
    near = np.argsort(apart[:, 1] - apart[:, 0])[: round(SHARE_NEAR * len(y))]
    rows = np.array([random.choice(near, 3, replace=False) for _ in range(N_TRIPLETS)])
    answers = TRUTH["triplet"](y, rows)
    return Plane(X, y, Constraints.from_triplets(rows, answers, n_samples=len(y)))


@cache
def fitted(spread: str, kind: str, draw: int = 0) -> tuple[DCRC, float]:
    """Fit DCRC, softly or hard, and give the share of rows in the right group."""
    given = plane(spread, draw)
    model = DCRC(len(CENTRES), epsilon=EPSILONS[kind], random_state=draw)
    model.fit(given.X, constraints=given.known)
    orders = (np.array(order)[model.labels_] for order in permutations(range(len(CENTRES))))
    return model, max(float(np.mean(labels == given.y)) for labels in orders)


def mean_share(spread: str, kind: str) -> Score:
    """Average the share of rows in the right group over draws of the plane."""
    return Score.of({draw: fitted(spread, kind, draw)[1] for draw in range(N_DRAWS)})
