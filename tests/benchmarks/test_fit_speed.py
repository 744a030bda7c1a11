"""Benchmarks of whole fits: each case can be fitted, and what was missed is said."""

from __future__ import annotations

import warnings

import pytest
from benchmarks.kernels import guided, relative
from benchmarks.kernels._fit_apart import FITS, fitted
from benchmarks.kernels._fits import markdown


@pytest.mark.parametrize("name", FITS)
def test_every_fit_finds_the_groups_of_its_data(name):
    options = {"n_init": 3} if name == "k-means" else {}
    job = {
        "fit": name, "data": "mixture", "options": options, "n_samples": 400, "n_features": 20,
        "n_clusters": 3, "kind": "triplets", "n_answers": 40, "error": 0.0,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fitted(job)
    assert found["ari"] > 0.9
    assert found["cpu_s"] > 0
    assert found["peak_mib"] > 50


CASES = (*relative.BENCHMARK.cases, *guided.BENCHMARK.cases)


def test_the_figures_to_reach_are_asked_of_the_sizes_they_are_for():
    asked = {(c.fit, c.n_samples): (c.most_s, c.most_mib) for c in CASES if c.most_s}
    assert asked == {
        ("SKLR", 1_000): (2.0, None),
        ("DCRC", 5_000): (2.0, None),
        ("SKLR", 100_000): (30.0, 1024.0),
        ("DCRC", 10**6): (30.0, None),
        ("guided", 600): (2.0, None),
        ("guided", 2_000): (15.0, None),
        ("guided", 20_000): (180.0, 2048.0),
    }


def test_the_page_says_what_was_missed(about):
    case = relative.BENCHMARK.cases[0]._asdict()
    row = case | {"cpu_s": 2.5, "wall_s": 2.6, "peak_mib": 300.0, "ari": 0.9, "runs_cpu_s": [2.5]}
    page = markdown(relative.BENCHMARK, [row, row | {"cpu_s": 1.5}], about, is_quick=False)
    assert "**missed**: SKLR, rank 300, C = .2, 1,000 rows, 2,500 odd-one-out: 2.5 s" in page
    assert "- reached: SKLR, rank 300, C = .2, 1,000 rows, 2,500 odd-one-out: 1.5 s" in page


def test_guided_clustering_counts_the_groups_of_digits_drawn_again():
    chosen = guided.BENCHMARK.cases[1]
    assert chosen.n_clusters is None
    assert fitted(chosen._asdict() | {"n_samples": 1_900, "n_answers": 200})["ari"] > 0.4
