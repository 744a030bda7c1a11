"""Guided clustering: time and memory. ``python -m benchmarks.kernels.guided``."""

from __future__ import annotations

from typing import Any

from benchmarks.kernels._fits import Benchmark, Case, command

__all__ = ["BENCHMARK", "main"]

NOTE = (
    "One thread, a fresh process for each run, medians of three; peak: of the whole process, data "
    "and libraries included. Rows are digits; more than 1,797 are drawn of them again, and all "
    "these get noise of standard deviation 3 (pixels go from 0 to 16). Features are standardised. "
    "One answer for each row, about random pairs, 15 % of them wrong. 2,000 rows are asked to take "
    "15 s, 600 rows 2 s, and 20,000 rows 180 s and 2 GiB."
)
#: Rows, and the CPU seconds and MiB that they may take.
SIZES = ((600, 2.0, None), (2_000, 15.0, None), (20_000, 180.0, 2048.0))


def _case(n_clusters: int | None, n_rows: int, most_s: float, most_mib: float | None) -> Case:
    number = "10 groups" if n_clusters else "groups counted"
    label = f"GuidedClustering, {number}"
    about: dict[str, Any] = {"kind": "pairs", "n_answers": n_rows, "error": 0.15}
    bounds = {"most_s": most_s, "most_mib": most_mib}
    return Case(label, "guided", "digits", {}, n_rows, 64, n_clusters, **about, **bounds)


CASES = tuple(_case(n_clusters, *size) for size in SIZES for n_clusters in (10, None))
QUICK = tuple(case._replace(n_samples=300, n_answers=100) for case in CASES[:2])
BENCHMARK = Benchmark("guided_cost", "Guided clustering", NOTE, CASES, QUICK)
main = command(BENCHMARK)

if __name__ == "__main__":
    main()
