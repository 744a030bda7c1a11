"""Folds of answers."""

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


def test_answers_to_one_question_stay_together():
    asked = [(i, i + 1) for i in range(20)]
    said = [(*pair, 1) for pair in asked] + [(j, i, 0) for i, j in asked]
    known = Constraints(21, pairs=said, triplets=[(0, 1, 2, 0), (2, 0, 1, -2), (3, 4, 5, 1)])
    for kept, held in held_out_folds(known, 3, np.random.RandomState(0)):
        for kind in ("pairs", "triplets"):
            learned, judged = (
                {tuple(sorted(rows)) for rows in getattr(part, kind).tolist()}
                for part in (kept, held)
            )
            assert not learned & judged
