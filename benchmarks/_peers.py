"""Other packages, which run in environments of their own, where clew is not installed.

``python -m benchmarks._peers JOB``, with JSON in JOB: "function" (a module and a function) gets the
arrays of the file "arrays" and the "options". It returns what it measured, printed as JSON in the
last line, and arrays, which replace those of the file.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import time
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.metadata import distributions, version
from typing import Any

import numpy as np

from benchmarks._memory import memory_now, memory_peak


def carry_out(job: dict[str, Any]) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    module, _, name = job["function"].partition(":")
    with np.load(job["arrays"]) as file:
        arrays = dict(file)
    found, computed = getattr(importlib.import_module(module), name)(arrays, **job["options"])
    np.savez(job["arrays"], **computed)
    measured: dict[str, Any] = found
    return measured


def _links(data: Any) -> Any:
    return [[(int(i), int(j)) for i, j in data[kind]] for kind in ("must_link", "cannot_link")]


def _pairwise(name: str) -> Any:
    def fit(module: Any, data: Any) -> Any:
        must, cannot = _links(data)
        model = getattr(module, name)(n_clusters=int(data["n_clusters"]))
        return model.fit(data["X"], ml=must, cl=cannot).labels_

    return fit


def _clumppy(module: Any, data: Any) -> Any:
    k, seed = int(data["n_clusters"]), random.randrange(2**31)
    return module.cop_kmeans(data["X"], k, *_links(data), seed=seed)


def _copkmeans_ht(module: Any, data: Any) -> Any:
    labels, _ = module.cop_kmeans(data["X"].tolist(), int(data["n_clusters"]), *_links(data))
    if labels is None:
        raise ValueError("no assignment found")
    return labels


def _linkage(module: Any, data: Any) -> Any:
    squared = (data["X"] ** 2).sum(axis=1)
    square = squared[:, None] + squared - 2 * data["X"] @ data["X"].T
    distance = np.sqrt(np.maximum(square, 0.0))
    # Its constraints are penalties; these are far larger than any distance.
    penalty = np.zeros_like(distance)
    for sign, name in ((-1.0, "must_link"), (1.0, "cannot_link")):
        i, j = data[name].T
        penalty[i, j] = penalty[j, i] = sign * 1e6
    tree = module.constrained_linkage(distance, method="average", constraint_matrix=penalty)
    return _cut(tree, len(distance), int(data["n_clusters"]))


def _cut(tree: Any, n: int, n_clusters: int) -> Any:
    group = {row: [row] for row in range(n)}
    for k, (a, b) in enumerate(tree[: n - n_clusters, :2].astype(int).tolist()):
        group[n + k] = group.pop(a) + group.pop(b)
    labels = np.empty(n, dtype=int)
    for label, rows in enumerate(group.values()):
        labels[rows] = label
    return labels


def _dominant(module: Any, data: Any) -> Any:
    raise ImportError(f"the package holds {[n for n in dir(module) if n[0] != '_'] or 'no code'}")


def _metric(name: str, **fixed: Any) -> Any:
    def fit(module: Any, data: Any, **options: Any) -> Any:
        # A copy, because ITML changes its bounds.
        bounds = {"bounds": data["bounds"].copy()} if name == "ITML" else {}
        model = getattr(module, name)(**fixed, **options).fit(*_answers(name, data), **bounds)
        return model.get_mahalanobis_matrix()

    return fit


def _answers(name: str, data: Any) -> Any:
    """Return features of the rows that answers name; for pairs also 1 (must-link) and -1."""
    if name == "LSML":
        return (data["X"][np.concatenate([data["near"], data["far"]], axis=1)],)
    must, cannot = data["must_link"], data["cannot_link"]
    y = np.concatenate([np.ones(len(must), int), -np.ones(len(cannot), int)])
    return data["X"][np.concatenate([must, cannot])], y


SURE = "active-semi-supervised-clustering"
MODULES = {
    SURE: "active_semi_clustering.semi_supervised.pairwise_constraints",
    "copkmeans-ht": "copkmeans-ht.cop_kmeans", "constrained-linkage": "constrained_linkage",
    "metric-learn": "metric_learn",
}  # fmt: skip
#: Tasks by package and method.
TASKS = {
    f"{SURE} COPKMeans": _pairwise("COPKMeans"), f"{SURE} PCKMeans": _pairwise("PCKMeans"),
    f"{SURE} MPCKMeans": _pairwise("MPCKMeans"), "clumppy COPKMeans": _clumppy,
    "copkmeans-ht COPKMeans": _copkmeans_ht, "dominant DominantNeighbors": _dominant,
    "constrained-linkage ConstrainedLinkage": _linkage, "metric-learn ITML": _metric("ITML"),
    "metric-learn LSML": _metric("LSML"), "metric-learn MMC full": _metric("MMC"),
    "metric-learn MMC diagonal": _metric("MMC", diagonal=True),
}  # fmt: skip


def timed_fits(
    data: Any, task: str, n_runs: int, options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one of `TASKS` `n_runs` times, with seeds 0, 1, ...

    Returns times, failures, growth in memory and versions; and the last result.
    """
    package = task.split()[0]
    module = importlib.import_module(MODULES.get(package, package))
    before, seconds, failures, results = memory_now(), [], [], {}
    fit = TASKS[task]
    if package == "metric-learn":  # imports on first use are not timed
        fit(module, data, max_iter=1)
    for seed in range(n_runs):
        np.random.seed(seed)  # noqa: NPY002  the packages draw from it
        random.seed(seed)
        try:
            start = time.process_time()
            results["result"] = np.asarray(fit(module, data, **options))
        except Exception as error:  # whatever a package raises is reported
            failures.append(f"{type(error).__name__}: {error}"[:100].strip(": "))
        else:
            seconds.append(time.process_time() - start)
    versions = {dist.metadata["Name"]: dist.version for dist in distributions()}
    found = {"seconds": seconds, "failures": failures, "growth_mib": memory_peak() - before}
    return found | {"versions": versions}, results


#: Packages that only ask: the numbers of answers, as multiples of the number of rows, after which
#: PCKMeans groups the rows.
PARTS = (0, 0.5, 1, 2, 3)


class Budget(Exception):  # noqa: N818  not an error
    """Raised to end a package's loop."""


class Asked:
    """An oracle that all packages can call: looks answers up in a table, and records them."""

    def __init__(self, same: Any, budget: int) -> None:
        self.same, self.budget = same, budget
        self.max_queries_cnt = budget
        self.links: list[tuple[int, int, bool]] = []
        self.stop: type[Exception] = Budget

    @property
    def queries(self) -> int:
        return len(self.links)

    def query(self, i: int, j: int) -> bool:
        if self.queries >= self.budget:
            raise self.stop
        answer = bool(self.same[i, j])
        self.links.append((int(i), int(j), answer))
        return answer

    # The names that cobras-ts calls.
    query_points = query

    def update_clustering(self, clustering: Any) -> None:
        """Ignore the groups."""

    def continue_cluster_process(self) -> bool:
        return True


def cobras(job: dict[str, Any], X: Any, asked: Asked) -> list[tuple[int, Any]]:
    """Return the groups after each answer; a single group until COBRAS returns some."""
    from cobras_ts.cobras_kmeans import COBRAS_kmeans

    found = COBRAS_kmeans(X, asked, job["budget"]).cluster()
    labels = [np.zeros(len(X), int), *found[1]]
    for at in range(1, len(labels)):
        labels[at] = labels[at - 1] if labels[at] is None else np.array(labels[at])
    return list(enumerate(labels))


def selected(job: dict[str, Any], X: Any, asked: Asked) -> list[tuple[int, Any]]:
    """Answer the pairs that a package asks about, and group the rows by PCKMeans."""
    k = job["n_clusters"]
    if job["package"] == "scikit-query":
        import skquery.pairwise
        from skquery.exceptions import EmptyBudgetError

        asked.stop = EmptyBudgetError
        ask = getattr(skquery.pairwise, job["method"])()
        options: dict[str, Any] = {"n_clusters": k}
    else:
        from active_semi_clustering.active import pairwise_constraints
        from active_semi_clustering.active.pairwise_constraints import example_oracle

        asked.stop = example_oracle.MaximumQueriesExceeded
        ask, options = getattr(pairwise_constraints, job["method"])(n_clusters=k), {}
    try:
        ask.fit(X, asked, **options)
    except ValueError:  # no rows are left to ask about
        if asked.queries < len(X):
            raise
    return [(n, grouped(X, k, asked.links[:n])) for n in (round(p * len(X)) for p in PARTS)]


def grouped(X: Any, k: int, links: list[tuple[int, int, bool]]) -> Any:
    """Run PCKMeans; return a single group if it fails five times, as on contradictions."""
    from active_semi_clustering.semi_supervised.pairwise_constraints import PCKMeans

    must, cannot = ([(i, j) for i, j, same in links if same == kind] for kind in (True, False))
    for _ in range(5):
        try:
            return PCKMeans(k).fit(X, ml=must, cl=cannot).labels_
        except Exception as error:  # the package has an exception of its own for each
            print(type(error).__name__, error, file=sys.stderr)
    return np.zeros(len(X), int)


def asked(data: Any, seed: int, **job: Any) -> tuple[dict[str, float], dict[str, Any]]:
    """Let a package ask; returns CPU seconds for each question, and groups by number of answers."""
    np.random.seed(seed % 2**31)  # noqa: NPY002  the packages draw from it
    random.seed(seed)
    oracle = Asked(data["same"], job["budget"])
    start = time.process_time()
    run = cobras if job["package"] == "cobras-ts" else selected
    points = run(job, data["X"], oracle)
    seconds = (time.process_time() - start) / max(oracle.queries, 1)
    n, labels = zip(*points, strict=True)
    return {"seconds": seconds}, {"n": np.array(n), "labels": np.array(labels)}


#: Parameters that differ from the defaults: mu as in the paper on the crowd kernel, and two starts.
CBLEARN_OPTIONS: dict[str, Any] = {"CKL": {"mu": 0.05}, "SOE": {"n_init": 2}}


def embedded(
    parts: dict[str, Any], method: str, n_components: Sequence[int], n_rows: int, seed: int
) -> tuple[dict[str, float], dict[str, Any]]:
    """Fit each number of components to each part; returns CPU seconds, and positions."""
    import cblearn.embedding

    kind = getattr(cblearn.embedding, method)
    positions, start = {}, time.process_time()
    for name, triplets in parts.items():
        for d in n_components:
            model = kind(d, random_state=seed, **CBLEARN_OPTIONS.get(method, {}))
            positions[f"{name}_{d}"] = model.fit(triplets, n_objects=n_rows).embedding_
    return {"seconds": time.process_time() - start}, positions


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


if __name__ == "__main__":
    print(json.dumps(carry_out(json.loads(sys.argv[1]))))
