"""Answers held out."""

from __future__ import annotations

import numpy as np

from clew import Constraints
from clew.constraints._folds import held_out_folds


def test_every_answer_is_held_out_once_and_learned_from_otherwise() -> None:
    y = np.arange(40) % 4
    known = Constraints.from_labels(y, n_pairs=23, n_triplets=12, n_odd_one_out=4, random_state=0)
    folds = list(held_out_folds(known, 5, np.random.RandomState(0)))
    assert len(folds) == 5
    for kind in ("pairs", "triplets", "odd_one_out"):
        everything = sorted(getattr(known, kind).tolist())
        held = [getattr(part, kind).tolist() for _, part in folds]
        assert sorted(rows for part in held for rows in part) == everything
        sizes = [len(part) for part in held]
        assert max(sizes) - min(sizes) <= 1
        for kept, part in folds:
            both = getattr(kept, kind).tolist() + getattr(part, kind).tolist()
            assert sorted(both) == everything
