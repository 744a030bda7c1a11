"""SKLR and DCRC: time and memory. ``python -m benchmarks.kernels.relative``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.kernels._fits import Benchmark, Case, command

__all__ = ["BENCHMARK", "main"]

NOTE = (
    "One thread, a fresh process for each run, medians of three; peak: of the whole process, data "
    "and libraries included. 1,000 rows are digits, others come from a mixture of Gaussians; all "
    "are standardised. Answers are about random rows. SKLR: the fit and k-means on what it "
    "learned. DCRC: the whole fit, starts and choices included. k-means, of scikit-learn with ten "
    "starts, hears no answers."
)

GIVEN = {"tau": 1.0, "lam": 2.0**-8, "kernel": None, "init": "kmeans"}
STARTS = {"n_init": 10}
DIGITS, BIRDS = (1_000, 64, 10), (5_000, 38, 13)
MANY, MILLION = (100_000, 50, 10), (10**6, 20, 10)
#: 2,500 odd-one-out answers are 5,000 inequalities.
ODD = ("odd_one_out", 2_500)
RANK = {"rank": 300}


def _on_digits(label: str, options: Mapping[str, Any], error: float, most_s: float | None) -> Case:
    return Case(label, "SKLR", "digits", RANK | options, *DIGITS, *ODD, error, most_s)


def _plain(data: str, size: tuple[int, int, int]) -> Case:
    return Case("k-means", "k-means", data, STARTS, *size)


CASES = (
    _on_digits("SKLR, rank 300, C = .2", {"C": 0.2}, 0.0, 2.0),
    _on_digits("SKLR, rank 300, C = 1", {"C": 1.0}, 0.0, 2.0),
    _on_digits("SKLR, rank 300, no slack", {"slack": "none"}, 0.0, 2.0),
    _on_digits("SKLR, rank 300, C chosen", {}, 0.0, None),
    _on_digits("SKLR, rank 300, C = .2", {"C": 0.2}, 0.15, 2.0),
    _on_digits("SKLR, rank 300, C = 1", {"C": 1.0}, 0.15, 2.0),
    _plain("digits", DIGITS),
    Case("DCRC, all given, from k-means", "DCRC", "mixture", GIVEN, *BIRDS, most_s=2.0),
    Case("DCRC, tau and lam given", "DCRC", "mixture", GIVEN | {"init": "best"}, *BIRDS),
    Case("DCRC, kernel, from k-means", "DCRC", "mixture", GIVEN | {"kernel": "adaptive"}, *BIRDS),
    Case("DCRC, default", "DCRC", "mixture", {}, *BIRDS),
    _plain("mixture", BIRDS),
    Case("SKLR, rank 100", "SKLR", "mixture", {"rank": 100}, *MANY, most_s=30.0, most_mib=1024.0),
    Case("SKLR, default", "SKLR", "mixture", {}, *MANY, most_s=30.0, most_mib=1024.0),
    Case("DCRC, default", "DCRC", "mixture", {}, *MILLION, most_s=30.0),
    _plain("mixture", MILLION),
)
QUICK = tuple(case._replace(n_samples=500, n_answers=200) for case in CASES[:2] + CASES[7:8])
BENCHMARK = Benchmark("relative", "SKLR and DCRC", NOTE, CASES, QUICK)
main = command(BENCHMARK)

if __name__ == "__main__":
    main()
