"""metric-learn on one problem, inside an environment of its own, where clew is not installed.

``python _metrics_peer.py JOB`` with JSON in JOB; the last line that it prints is JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import distributions
from typing import Any

import numpy as np


def _itml(data: Any, options: Any) -> Any:
    from metric_learn import ITML

    pairs, y = _pairs(data)
    bounds = np.array(data["bounds"])  # the package changes what it is given
    return ITML(**options).fit(pairs, y, bounds=bounds)


def _lsml(data: Any, options: Any) -> Any:
    from metric_learn import LSML

    rows = np.concatenate([data["near"], data["far"]], axis=1)
    return LSML(**options).fit(data["X"][rows])


def _mmc(is_diagonal: bool) -> Any:
    def fit(data: Any, options: Any) -> Any:
        from metric_learn import MMC

        return MMC(diagonal=is_diagonal, **options).fit(*_pairs(data))

    return fit


def _pairs(data: Any) -> Any:
    must, cannot = data["must_link"], data["cannot_link"]
    y = np.concatenate([np.ones(len(must), int), -np.ones(len(cannot), int)])
    return data["X"][np.concatenate([must, cannot])], y


TASKS = {"ITML": _itml, "LSML": _lsml, "MMC full": _mmc(False), "MMC diagonal": _mmc(True)}


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """Fit so often, and give the metric of the last time."""
    data = dict(np.load(job["data"]))
    with warnings.catch_warnings():
        # What is imported when first used is no part of the times, as compiling is none of clew's.
        warnings.simplefilter("ignore")
        TASKS[job["task"]](data, {"max_iter": 1})
    seconds, model, said = [], None, set()
    for _ in range(job["n_runs"]):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            start = time.process_time()
            model = TASKS[job["task"]](data, job["options"])
            seconds.append(time.process_time() - start)
        said |= {f"{warning.category.__name__}: {warning.message}"[:100] for warning in given}
    assert model is not None  # it is run once at least
    return {
        "seconds": seconds,
        "metric": model.get_mahalanobis_matrix().tolist(),
        "n_iter": int(getattr(model, "n_iter_", -1)),
        "warnings": sorted(said),
        "versions": {dist.metadata["Name"]: dist.version for dist in distributions()},
    }


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]))))
