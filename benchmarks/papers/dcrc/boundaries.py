"""Figure 5: soft and hard answers about rows near the boundaries of three groups in the plane."""

from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import RandomState

from benchmarks.study.pictures import BLUE, GREEN, PINK, panels
from benchmarks.study.problems import Floats, Ints
from clew import Constraints
from clew.cluster import DCRC
from clew.constraints._meanings import TRUTH

ROWS_PER_GROUP = 50
N_TRIPLETS = 500
#: Share of the rows that are asked about: those whose two nearest centers are about equally far.
SHARE_NEAR = 0.4
CENTERS = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.46]])
#: Standard deviation of the groups, whose centers are 4 apart.
WIDTHS = {"close together": 1.35, "far apart": 0.5}
EPSILONS = {"soft": 0.05, "hard": 0.0}
#: Draws of the plane; the first is shown.
N_DRAWS = 5


@cache
def plane(width: str, draw: int = 0) -> tuple[Floats, Ints, Constraints]:
    """Draw rows and groups, of one of `WIDTHS`, and answers about rows between the groups."""
    random = RandomState(draw)
    y = np.repeat(np.arange(len(CENTERS)), ROWS_PER_GROUP)
    X = CENTERS[y] + WIDTHS[width] * random.standard_normal((len(y), 2))
    distance = np.sort(np.linalg.norm(X[:, None] - CENTERS, axis=2), axis=1)
    near = np.argsort(distance[:, 1] - distance[:, 0])[: round(SHARE_NEAR * len(y))]
    rows = np.array([random.choice(near, 3, replace=False) for _ in range(N_TRIPLETS)])
    answers = TRUTH["triplet"](y, rows)
    return X, y, Constraints.from_triplets(rows, answers, n_samples=len(y))


@cache
def fitted(width: str, kind: str, draw: int = 0) -> tuple[DCRC, float]:
    """Fit DCRC, soft or hard, and return the share of rows in the right group."""
    X, y, known = plane(width, draw)
    model = DCRC(len(CENTERS), epsilon=EPSILONS[kind], random_state=draw).fit(X, constraints=known)
    orders = (np.array(order)[model.labels_] for order in permutations(range(len(CENTERS))))
    return model, max(float(np.mean(labels == y)) for labels in orders)


def shares(width: str, kind: str) -> pd.Series:
    """Return the share of rows in the right group, by draw of the plane."""
    return pd.Series([fitted(width, kind, draw)[1] for draw in range(N_DRAWS)])


def draw() -> Any:
    """Shade the plane by the entropy of the group probabilities, and show the rows."""
    figure, grid = panels(len(WIDTHS), len(EPSILONS))
    for row, width in zip(grid, WIDTHS, strict=True):
        for place, kind in zip(row, EPSILONS, strict=True):
            _shaded(place, width, kind)
    return figure


def _shaded(place: Any, width: str, kind: str) -> None:
    X, (model, share) = plane(width)[0], fitted(width, kind)
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    x, y = (np.linspace(*ends, 120) for ends in zip(low, high, strict=True))
    points = np.column_stack([of.ravel() for of in np.meshgrid(x, y)])
    p = np.clip(model.predict_proba(points), 1e-12, 1)
    entropy = -(p * np.log(p)).sum(axis=1).reshape(len(y), len(x))
    place.contourf(x, y, entropy, levels=12, cmap="Greys", alpha=0.7)
    place.scatter(*X.T, c=np.array([BLUE, PINK, GREEN])[model.labels_], s=8)
    place.set_title(f"{width}, {kind}: {share:.1%}", fontsize=9)
    place.set(xticks=[], yticks=[])
