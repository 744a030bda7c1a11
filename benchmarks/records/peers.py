"""dedupe and Splink, which run in environments of their own, where clew is not installed."""

from __future__ import annotations

import random
import time
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

#: Pairs are compared if they agree in a column of this many values or more.
LEAST_VALUES = 10
#: Probabilities above which Splink joins pairs.
THRESHOLDS = (0.1, 0.3, 0.5, 0.9, 0.99)


#: Columns that need another comparison than that of short strings.
LONG_TEXT, PRICE = "title", "price"
#: Differences of prices, as shares, that Splink tells apart.
SHARES = (0.05, 0.2)


def dedupe(data: Any, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train dedupe on the answers, and partition the rows at its default threshold."""
    import dedupe

    np.random.seed(seed)  # noqa: NPY002  dedupe draws from both
    random.seed(seed)
    start = time.process_time()
    records = _records(data)
    names = list(records[0])
    kinds = {LONG_TEXT: dedupe.variables.Text, PRICE: dedupe.variables.Price}
    texts = [row[LONG_TEXT] for row in records.values() if row.get(LONG_TEXT)]
    variables = [
        kinds.get(name, dedupe.variables.String)(
            name, has_missing=True, **({"corpus": texts} if name == LONG_TEXT else {})
        )
        for name in names
    ]
    model = dedupe.Dedupe(variables, num_cores=0)
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
    """Fit Splink's model, to long texts by the answers "same"; return groups at each threshold."""
    import pandas as pd
    import splink.comparison_level_library as cll
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    start = time.process_time()
    frame = pd.DataFrame(_records(data)).T.reset_index(drop=True).astype(object)
    frame.insert(0, "unique_id", np.arange(len(frame)))
    frame = frame.where(frame.notna(), None)
    names = [name for name in frame.columns if name != "unique_id"]
    compared = [name for name in names if name not in (LONG_TEXT, PRICE)]
    comparisons = [cl.JaroWinklerAtThresholds(name, [0.92, 0.8]) for name in compared]
    rules = [block_on(name) for name in names if frame[name].nunique() >= LEAST_VALUES]
    rules += [block_on(f"substr({names[0]}, 1, 4)")]
    if LONG_TEXT in names:
        frame["words"] = frame[LONG_TEXT].str.split()
        comparisons.append(cl.ArrayIntersectAtSizes("words", [4, 3, 2, 1]))
        rules.append(block_on("words", arrays_to_explode=["words"]))
    if PRICE in names:
        frame[PRICE] = frame[PRICE].astype(float)
        levels = [cll.NullLevel(PRICE), *map(partial(cll.PercentageDifferenceLevel, PRICE), SHARES)]
        comparisons.append(
            cl.CustomComparison(
                output_column_name=PRICE, comparison_levels=[*levels, cll.ElseLevel()]
            )
        )
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=rules,
    )
    linker = Linker(frame, settings, DuckDBAPI())
    training = linker.training
    training.estimate_probability_two_random_records_match(
        [rules[0]], recall=0.5 if LONG_TEXT not in names else 0.1
    )
    training.estimate_u_using_random_sampling(max_pairs=1e6, seed=seed + 1)
    if LONG_TEXT in names:  # expectation maximization finds no match there
        same = data["pairs"][data["is_same"]]
        labels = pd.DataFrame({"unique_id_l": same[:, 0], "unique_id_r": same[:, 1]})
        table = linker.table_management.register_labels_table(labels)
        training.estimate_m_from_pairwise_labels(table)
    else:
        for rule in rules[:2]:
            training.estimate_parameters_using_expectation_maximisation(rule)
    pairs = linker.inference.predict(threshold_match_probability=0.01)
    join = linker.clustering.cluster_pairwise_predictions_at_threshold
    tables = [join(pairs, threshold).as_pandas_dataframe() for threshold in THRESHOLDS]
    groups = [
        np.unique(table.sort_values("unique_id")["cluster_id"], return_inverse=True)[1]
        for table in tables
    ]
    return _found(start, "splink"), {"labels": np.stack(groups)}


def _records(data: Any) -> dict[int, dict[str, Any]]:
    """Return the rows by number; empty values are missing."""
    names = data["names"].tolist()
    return {
        row: {name: _value(name, value) for name, value in zip(names, values, strict=True)}
        for row, values in enumerate(data["values"].tolist())
    }


def _value(name: str, value: str) -> Any:
    if not value:
        return None
    return float(value) if name == PRICE else value.lower()


def _found(start: float, package: str) -> dict[str, Any]:
    return {"seconds": time.process_time() - start, "version": version(package)}
