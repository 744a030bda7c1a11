"""Two groups that most features do not show, and answers about them."""

from __future__ import annotations

import numpy as np

from clew import Constraints
from clew.constraints._meanings import TRUTH

rng = np.random.default_rng(0)
#: Only the last feature separates the two groups; the others are noise.
GROUP = rng.integers(2, size=80)
X = np.column_stack([rng.normal(size=(80, 4)) * 1.5, GROUP * 2.0 + rng.normal(size=80) * 0.5])


def odd_ones(n, *, error=0.0, seed=0):
    """Questions that the groups determine, some answered wrongly."""
    random = np.random.RandomState(seed)
    rows = np.array([random.permutation(80)[:3] for _ in range(20 * n)])
    answers = TRUTH["odd_one_out"](GROUP, rows)
    answered = np.flatnonzero(answers >= 0)[:n]
    wrong = random.rand(n) < error
    given = np.where(wrong, (answers[answered] + 1) % 3, answers[answered])
    return Constraints.from_odd_one_out(rows[answered], given, n_samples=80)


KNOWN = odd_ones(60)
