"""Run a function in a package's own environment, where clew is not installed.

``python -m benchmarks.kernels._in_environment JOB``, with JSON in JOB: "function" is a module and
its function, which gets the arrays of the file "arrays" and the "options". It returns what it
measured, printed as JSON in the last line, and arrays, which replace those of the file.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from typing import Any

import numpy as np


def carry_out(job: dict[str, Any]) -> dict[str, Any]:
    """Run the function, and write the arrays."""
    warnings.simplefilter("ignore")
    module, _, name = job["function"].partition(":")
    with np.load(job["arrays"]) as file:
        arrays = dict(file)
    found, computed = getattr(importlib.import_module(module), name)(arrays, **job["options"])
    np.savez(job["arrays"], **computed)
    measured: dict[str, Any] = found
    return measured


if __name__ == "__main__":
    print(json.dumps(carry_out(json.loads(sys.argv[1]))))
