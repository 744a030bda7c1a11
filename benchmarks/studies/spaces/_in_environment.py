"""Fit an embedding of cblearn in an environment of its own, where clew is not installed.

``python _in_environment.py JOB`` with JSON in JOB; positions are written beside the answers.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import cblearn.embedding
import numpy as np

#: Parameters that differ from the defaults: as the crowd kernel's paper, and two starts.
OPTIONS = {"CKL": {"mu": 0.05}, "SOE": {"n_init": 2}}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    answers = np.load(job["data"])
    warnings.simplefilter("ignore")
    kind = getattr(cblearn.embedding, job["method"])
    positions, start = {}, time.process_time()
    for part in range(job["n_parts"]):
        for d in job["n_components"]:
            model = kind(d, random_state=job["seed"], **OPTIONS.get(job["method"], {}))
            model.fit(answers[f"part{part}"], n_objects=job["n_rows"])
            positions[f"part{part}_{d}"] = model.embedding_
    seconds = time.process_time() - start
    np.savez(Path(job["data"]).with_name("positions.npz"), **positions)
    print(json.dumps({"seconds": seconds}))
