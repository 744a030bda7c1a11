"""dedupe and Splink, which run in environments of their own, where clew is not installed."""

from __future__ import annotations

import random
import time
from importlib.metadata import version
from typing import Any

import numpy as np

#: Pairs are compared if they agree in a column of this many values or more.
LEAST_VALUES = 10
#: Probabilities above which Splink joins pairs.
THRESHOLDS = (0.5, 0.9, 0.99)


def dedupe(data: Any, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train dedupe on the answers, and partition the rows at its default threshold."""
    import dedupe

    np.random.seed(seed)  # noqa: NPY002  dedupe draws from both
    random.seed(seed)
    start = time.perf_counter()
    records = _records(data)
    names = list(records[0])
    model = dedupe.Dedupe(
        [dedupe.variables.String(name, has_missing=True) for name in names], num_cores=0
    )
    model.prepare_training(records)
    pairs = [(records[i], records[j]) for i, j in data["pairs"].tolist()]
    is_same = data["is_same"].tolist()
    model.mark_pairs({
        "match": [pair for pair, same in zip(pairs, is_same, strict=True) if same],
        "distinct": [pair for pair, same in zip(pairs, is_same, strict=True) if not same],
    })  # fmt: skip
    model.train()
    labels = np.empty(len(records), int)
    for group, (rows, _) in enumerate(model.partition(records, 0.5)):
        labels[list(rows)] = group
    return _found(start, "dedupe"), {"labels": labels[None]}


def splink(data: Any, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit Splink's model without answers; return the groups at each threshold."""
    import pandas as pd
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    start = time.perf_counter()
    frame = pd.DataFrame(_records(data)).T.reset_index(drop=True).astype(object)
    frame.insert(0, "unique_id", np.arange(len(frame)))
    frame = frame.where(frame.notna(), None)
    names = [name for name in frame.columns if name != "unique_id"]
    rules = [block_on(name) for name in names if frame[name].nunique() >= LEAST_VALUES]
    rules += [block_on(f"substr({names[0]}, 1, 4)")]
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[cl.JaroWinklerAtThresholds(name, [0.92, 0.8]) for name in names],
        blocking_rules_to_generate_predictions=rules,
    )
    linker = Linker(frame, settings, DuckDBAPI())
    training = linker.training
    training.estimate_probability_two_random_records_match([rules[0]], recall=0.5)
    training.estimate_u_using_random_sampling(max_pairs=1e6, seed=seed + 1)
    for rule in rules[:2]:
        training.estimate_parameters_using_expectation_maximisation(rule)
    pairs = linker.inference.predict(threshold_match_probability=0.01)
    join = linker.clustering.cluster_pairwise_predictions_at_threshold
    tables = [join(pairs, threshold).as_pandas_dataframe() for threshold in THRESHOLDS]
    labels = [
        np.unique(table.sort_values("unique_id")["cluster_id"], return_inverse=True)[1]
        for table in tables
    ]
    return _found(start, "splink"), {"labels": np.stack(labels)}


def _records(data: Any) -> dict[int, dict[str, str | None]]:
    """Return the rows by number; empty values are missing."""
    names = data["names"].tolist()
    return {
        row: {name: value.lower() or None for name, value in zip(names, values, strict=True)}
        for row, values in enumerate(data["values"].tolist())
    }


def _found(start: float, package: str) -> dict[str, Any]:
    return {"seconds": time.perf_counter() - start, "version": version(package)}
