"""Folds of answers."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clew import Constraints, GuidedClustering
from clew.constraints._support import fold_numbers, held_out_folds
from clew.exceptions import InvalidArgumentError

KINDS = ("pairs", "triplets", "odd_one_out")


def test_every_answer_is_held_out_once_and_trained_on_otherwise() -> None:
    y = np.arange(40) % 4
    known = Constraints.from_labels(y, n_pairs=23, n_triplets=12, n_odd_one_out=4, random_state=0)
    folds = list(held_out_folds(known, 5, 0))
    assert len(folds) == 5
    for kind in KINDS:
        everything = sorted(getattr(known, kind).tolist())
        held = [getattr(part, kind).tolist() for _, part in folds]
        assert sorted(rows for part in held for rows in part) == everything
        for kept, part in folds:
            both = getattr(kept, kind).tolist() + getattr(part, kind).tolist()
            assert sorted(both) == everything


def test_answers_to_one_question_stay_together() -> None:
    asked = [(i, i + 1) for i in range(20)]
    said = [(*pair, 1) for pair in asked] + [(j, i, 0) for i, j in asked]
    known = Constraints(21, pairs=said, triplets=[(0, 1, 2, 0), (2, 0, 1, -2), (3, 4, 5, 1)])
    for kept, held in held_out_folds(known, 3, 0):
        for kind in ("pairs", "triplets"):
            training, judged = (
                {tuple(sorted(rows)) for rows in getattr(part, kind).tolist()}
                for part in (kept, held)
            )
            assert not training & judged


def test_further_answers_do_not_change_the_folds_of_earlier_ones() -> None:
    y = np.arange(60) % 4
    few, more = (
        Constraints.from_labels(y, n_pairs=50, n_triplets=30, n_odd_one_out=20, random_state=seed)
        for seed in (0, 1)
    )
    alone, together = fold_numbers(few, 3, 7), fold_numbers(few + more, 3, 7)
    for kind in KINDS:
        np.testing.assert_array_equal(together[kind][: len(alone[kind])], alone[kind])


def test_folds_are_about_even_and_differ_by_seed() -> None:
    y = np.arange(500) % 5
    known = Constraints.from_labels(y, n_pairs=6_000, n_triplets=6_000, random_state=0)
    first, second = (fold_numbers(known, 3, seed) for seed in (0, 1))
    for kind in ("pairs", "triplets"):
        sizes = np.bincount(first[kind], minlength=3)
        assert np.abs(sizes - 2_000).max() < 4 * np.sqrt(6_000 * 2 / 9)  # four standard deviations
        assert np.mean(first[kind] == second[kind]) == pytest.approx(1 / 3, abs=0.03)


def test_folds_without_answers_are_left_out() -> None:
    one = Constraints(4, pairs=[(0, 1, 1)] * 3)
    ((kept, held),) = held_out_folds(one, 3, 0)
    assert (len(kept), len(held)) == (0, 3)
    assert list(held_out_folds(Constraints(4), 3, 0)) == []


@pytest.mark.slow
@pytest.mark.usefixtures("small_search")
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_a_search_without_metadata_routing_is_refused_at_once(in_pipeline: bool) -> None:
    """Its scores would all be NaN, and each of them warned; a scoring of one's own needs none."""
    X = np.repeat([[0.0], [9.0]], 8, axis=0) + np.linspace(0, 1, 16)[:, None]
    known = Constraints.from_labels(np.repeat([0, 1], 8), n_pairs=60, random_state=0)
    model = GuidedClustering(random_state=0)
    steps = make_pipeline(StandardScaler(), model) if in_pipeline else model
    step = "guidedclustering__" if in_pipeline else ""
    search = GridSearchCV(steps, {f"{step}n_clusters": [2, 3]}, cv=2)
    with pytest.raises(InvalidArgumentError, match=r"set_config\(enable_metadata_routing=True\)"):
        search.fit(X, **{f"{step}constraints": known})
    search.set_params(scoring=lambda model, rows: float(model.predict(rows).max() < 2))
    assert np.isfinite(search.fit(X, **{f"{step}constraints": known}).best_score_)
