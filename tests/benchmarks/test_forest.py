"""The forest benchmark gives every contender the same problem, and says what it scaled."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.kernels import forest
from benchmarks.kernels._forest_measures import Options
from benchmarks.kernels._forest_problems import SIZES, Size, fit, gaussian_mixture, prepared


def test_peers_get_twice_the_rows_and_clew_the_rows() -> None:
    X, _ = gaussian_mixture(40, 3, n_clusters=2, seed=0)
    assert prepared("clew", X)[1] is None
    both, is_twin = prepared("RandomForest", X)
    assert is_twin is not None
    assert both.shape == (80, 3)
    assert (both[:40] == X).all()
    for column, twin in zip(X.T, both[40:].T, strict=True):
        assert np.isin(twin, column).all()


@pytest.mark.parametrize("who", ["clew", "RandomForest", "ExtraTrees"])
def test_every_contender_grows_the_trees_it_is_asked_for(who: str) -> None:
    X, _ = gaussian_mixture(40, 3, n_clusters=2, seed=0)
    model = fit(who, prepared(who, X), 7)
    n_trees = model.forest_.n_trees if who == "clew" else len(model.estimators_)  # type: ignore[attr-defined]
    assert n_trees == 7


def test_peers_grow_all_trees_where_that_is_quick() -> None:
    options = Options(peer_share=0.1)
    assert [options.peer_trees(size) for size in SIZES] == [1000, 1000, 1000, 100, 20]
    assert options.peer_trees(Size(10_000, 50, 100)) == 20
    assert all(Options(peer_share=1.0).peer_trees(size) == size.n_trees for size in SIZES)


def test_targets_are_judged_by_the_worst_size() -> None:
    def row(size: str, random_forest: float, extra: float) -> dict[str, object]:
        return {"size": size, "ratio": {"RandomForest": random_forest, "ExtraTrees": extra}}

    rows = [row("600×30", 9.0, 2.0), row("50,000×50", 7.0, 1.5)]
    lines = forest.targets({"forests": rows})
    assert "**missed**" in lines[0]
    assert "50,000×50" in lines[0]
    assert lines[1].startswith("- reached")
