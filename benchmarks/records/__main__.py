"""``python -m benchmarks.records``: duplicates in two made tables, and records of real answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks import _harness as harness
from benchmarks._environments import PackageError, run_in_environment
from benchmarks.records.tables import asked_pairs, table_of
from benchmarks.studies._human import load
from clew import Constraints
from clew.cluster import GuidedClustering
from clew.exceptions import DatasetNotFoundError
from clew.metrics import adjusted_rand_score
from clew.tables import RecordFeatures

SETS = ("restaurants", "products")
N_ANSWERS, ERROR = 150, 0.05
#: Cuts of the three-line baseline; the first is the usual one.
CUTS = (0.5, 0.3, 0.4, 0.6, 0.7)
HUMAN = ("crowder_restaurant", "crowder_restaurant_qt", "crowder_product_qt")
REPORT = Path(__file__).parent / "report.md"

Labels = NDArray[np.int64]


@click.command()
@click.option("--seeds", default=3, show_default=True, help="Number of tables of each kind.")
def main(seeds: int) -> None:
    """Measure, print the tables and write them to benchmarks/results/records.md."""
    about = harness.provenance()
    runs = [run for name in SETS for seed in range(seeds) for run in measured(name, seed)]
    human = [row for name in HUMAN if (row := of_answers_alone(name)) is not None]
    content = {"about": about, "tables": runs, "answers": human}
    text = json.dumps(content, indent=1) + "\n"
    harness.write_text(harness.RESULTS / "records.json", text)
    page = REPORT.read_text(encoding="utf-8").format(
        about=harness.described(about), seeds=seeds, tables=_table(runs), answers=_human(human)
    )
    harness.write_text(harness.RESULTS / "records.md", page)
    click.echo(page)


def measured(name: str, seed: int) -> list[dict[str, Any]]:
    """Group a made table by each method; return agreement, number of groups and seconds."""
    frame, truth = table_of(name, seed)
    cosine = _cosine(frame)
    pairs, is_same = asked_pairs(cosine, truth, N_ANSWERS, ERROR, seed)
    answers = Constraints.from_pairs(
        must_link=pairs[is_same], cannot_link=pairs[~is_same], n_samples=len(frame)
    )
    data = {
        "values": frame.fillna("").to_numpy().astype(str),
        "names": np.array(list(frame.columns)),
        "pairs": pairs,
        "is_same": is_same,
    }
    methods: dict[str, Callable[[], Any]] = {
        "average linkage, cut at 0.5": lambda: _linkage(frame)[:1],
        "average linkage, best cut in hindsight": lambda: _linkage(frame),
        "clew, no answers": lambda: _clew(frame, Constraints(len(frame))),
        "clew": lambda: _clew(frame, answers),
        "dedupe": lambda: _of_peer("dedupe", data, seed),
        "Splink, best threshold in hindsight": lambda: _of_peer("splink", data, seed),
    }
    rows = []
    for method, fit in methods.items():
        start = time.process_time()
        row: dict[str, Any] = {"set": name, "seed": seed, "method": method}
        try:
            found = fit()
        except PackageError as error:
            row["failure"] = str(error)[:200]
        else:
            seconds = time.process_time() - start
            if isinstance(found, tuple):
                found, seconds = found
            scores = [float(adjusted_rand_score(truth, labels)) for labels in found]
            best = int(np.argmax(scores))
            row |= {"ari": scores[best], "groups": len(np.unique(found[best])), "s": seconds}
        print(row, flush=True)
        rows.append(row)
    return rows


def _cosine(frame: pd.DataFrame) -> NDArray[np.float64]:
    texts = frame.fillna("").agg(" ".join, axis=1)
    weights = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(texts)
    return np.asarray((weights @ weights.T).toarray())


def _linkage(frame: pd.DataFrame) -> list[Labels]:
    distance = np.maximum(1.0 - _cosine(frame), 0.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), "average")
    return [np.asarray(fcluster(tree, cut, "distance"), np.int64) for cut in CUTS]


def _clew(frame: pd.DataFrame, answers: Constraints) -> list[Labels]:
    X = RecordFeatures().fit_transform(frame)
    return [GuidedClustering(random_state=0).fit(X, constraints=answers).labels_]


def _of_peer(package: str, data: dict[str, Any], seed: int) -> tuple[list[Labels], float]:
    """Return the groups and the seconds without those of starting another process."""
    found, arrays = run_in_environment(package, f"benchmarks._peers:{package}", data, seed=seed)
    return list(arrays["labels"]), float(found["seconds"])


def of_answers_alone(name: str) -> dict[str, Any] | None:
    """Group records whose texts are not public, by the answers of people alone."""
    try:
        people = load(name, 0)
    except DatasetNotFoundError as error:  # the data are not part of the project
        print(error)
        return None
    known, truth = people.constraints(), people.classes["entity"]
    start = time.process_time()
    model = GuidedClustering(random_state=0).fit(constraints=known)
    seconds = time.process_time() - start
    return {
        "set": name,
        "rows": known.n_samples,
        "answers": len(known),
        "clew": float(adjusted_rand_score(truth, model.labels_)),
        "closure": float(adjusted_rand_score(truth, _closure_of_majority(known))),
        "s": seconds,
    }


def _closure_of_majority(known: Constraints) -> Labels:
    """Join the rows that most answers call the same."""
    n, pairs = known.n_samples, np.sort(known.pairs, axis=1)
    key, question = np.unique(pairs @ np.array([n, 1]), return_inverse=True)
    votes = np.bincount(question, np.where(known.is_must_link, 1.0, -1.0))
    same = key[votes > 0]
    links = coo_array((np.ones(len(same)), (same // n, same % n)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


def _table(runs: list[dict[str, Any]]) -> str:
    rows = []
    for name in SETS:
        for method in dict.fromkeys(run["method"] for run in runs):
            these = [run for run in runs if (run["set"], run["method"]) == (name, method)]
            fits = [run for run in these if "ari" in run]
            if fits:
                scores = [run["ari"] for run in fits]
                cells = [
                    f"{np.mean(scores):.3f}",
                    f"{min(scores):.3f}",
                    f"{np.mean([run['groups'] for run in fits]):,.0f}",
                    f"{np.median([run['s'] for run in fits]):.1f}",
                ]
            else:
                cells = [these[0]["failure"], "–", "–", "–"]
            rows.append([name, method, *cells])
    return harness.markdown_table(["table", "method", "ARI", "lowest", "groups", "s"], rows)


def _human(rows: list[dict[str, Any]]) -> str:
    cells = [
        [row["set"], f"{row['rows']:,}", f"{row['answers']:,}", f"{row['clew']:.3f}",
         f"{row['closure']:.3f}", f"{row['s']:.1f}"]
        for row in rows
    ]  # fmt: skip
    headings = ["records", "rows", "answers", "clew", "majority and closure", "clew s"]
    return harness.markdown_table(headings, cells) if cells else "The data were not at hand."


if __name__ == "__main__":
    main()
