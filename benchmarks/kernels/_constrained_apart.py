"""The memory of one method: ``python -m benchmarks.kernels._constrained_apart JOB``."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import _harness as harness
from benchmarks.kernels._constrained_cases import CLEW
from benchmarks.kernels._constrained_plain import PLAIN
from benchmarks.kernels._constrained_problems import Problem
from clew.exceptions import ClewWarning


def growth(job: Mapping[str, Any]) -> dict[str, float]:
    """Run once; memory is counted above what data and libraries take."""
    run = (CLEW | PLAIN)[job["run"]]
    warnings.simplefilter("ignore", ClewWarning)
    with threadpool_limits(1):
        run(Problem(60, 10).inputs())  # compiling takes more memory than running
        inputs = Problem(**job["problem"]).inputs()
        harness.reset_memory_peak()
        before = harness.memory_now()
        found = run(inputs)
    return {"growth_mib": harness.memory_peak() - before, "kept": float(found is not None)}


if __name__ == "__main__":
    print(json.dumps(growth(json.loads(sys.argv[1]))))
