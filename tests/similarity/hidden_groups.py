"""Two groups that features hide, and what people say of them."""

from __future__ import annotations

import numpy as np

from clew import Constraints
from clew.constraints._meanings import TRUTH

rng = np.random.default_rng(0)
#: Two groups that only the last feature tells apart, among features that tell nothing.
GROUP = rng.integers(2, size=80)
X = np.column_stack([rng.normal(size=(80, 4)) * 1.5, GROUP * 2.0 + rng.normal(size=80) * 0.5])


def odd_ones(n, *, error=0.0, seed=0):
    """Questions that groups settle, some answered wrongly."""
    random = np.random.RandomState(seed)
    rows = np.array([random.permutation(80)[:3] for _ in range(20 * n)])
    answers = TRUTH["odd_one_out"](GROUP, rows)
    told = np.flatnonzero(answers >= 0)[:n]
    wrong = random.rand(n) < error
    given = np.where(wrong, (answers[told] + 1) % 3, answers[told])
    return Constraints.from_odd_one_out(rows[told], given, n_samples=80)


KNOWN = odd_ones(60)
