"""The work of ``clew subclusters``: read, fit, write, summarize."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clew._files import csv_text
from clew.cli._models import features_for
from clew.cli._outputs import check_writable, write_with_table
from clew.cli._reading import RowsJob, read_rows
from clew.cli._report import gallery
from clew.cli._rows import Rows, cell
from clew.cli._words import Words, counted
from clew.cli.report import render
from clew.cluster import Subclustering
from clew.exceptions import ClewWarning, DistancesAsFeaturesWarning, InvalidParameterError

HEADER = ("group", "position", "id", "confidence")
#: Numbers of channels of gray and of RGB images.
CHANNELS = (1, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubclusterJob(RowsJob):
    """Options of ``clew subclusters``."""

    n_groups: int
    size: int
    output: Path | None
    report: Path | None
    images: tuple[int, int] | None
    candidates: int | None
    overlap: str


def run(job: SubclusterJob) -> dict[str, Any]:
    """Find subclusters of the rows of a file."""
    start = time.perf_counter()
    words = Words(quiet=job.quiet, verbose=job.verbose)
    check_writable(job.output, job.report)
    items = read_rows(job, words)
    _check_sizes(job, items)
    model = _fitted(job, items, words)
    summary: dict[str, Any] = {
        "rows": items.X.shape[0],
        "subclusters": job.n_groups,
        "size": job.size,
        "overlap": model.overlap_,
        "separation": round(model.separation_, 4),
        "mean_confidence": round(float(model.confidence_.mean()), 4),
        "output": None if job.output is None else str(job.output),
        "report": None if job.report is None else str(job.report),
        "seconds": round(time.perf_counter() - start, 3),
    }
    lines = [
        (cluster, position, items.ids[row], float(model.confidence_[cluster, position]))
        for cluster, members in enumerate(model.exemplars_.tolist())
        for position, row in enumerate(members)
    ]
    files: dict[Path, str | bytes] = {}
    if job.report is not None:
        files[job.report] = _page(job, items, model, summary)
    write_with_table(files, job.output, csv_text(HEADER, lines), "subclusters.csv")
    words.say(
        f"{counted(job.n_groups, 'subcluster')} of {counted(job.size, 'row')}; mean confidence "
        f"{summary['mean_confidence']:.2f}; {summary['seconds']:.1f} s"
    )
    for path in (job.output, job.report):
        if path is not None:
            words.say(f"wrote {path}")
    return summary


def _check_sizes(job: SubclusterJob, items: Rows) -> None:
    """Check the numbers of rows and pixels."""
    n = items.X.shape[0]
    if job.n_groups * job.size > n:
        raise InvalidParameterError(
            f"--n-groups {job.n_groups} with -n {job.size} needs {job.n_groups * job.size} "
            f"rows; {job.items} has only {n}"
        )
    if job.images is not None:
        height, width = job.images
        sizes = [channels * height * width for channels in CHANNELS]
        if items.X.shape[1] not in sizes:
            raise InvalidParameterError(
                f"--images {height}x{width} needs {sizes[0]} features, or {sizes[1]} for RGB; "
                f"{job.items} has {items.X.shape[1]}"
            )


def _fitted(job: SubclusterJob, items: Rows, words: Words) -> Subclustering:
    model = Subclustering(
        job.n_groups,
        size=job.size,
        n_candidates=job.candidates or "auto",
        overlap=job.overlap,  # type: ignore[arg-type]
        metric="precomputed" if items.is_distances else "euclidean",
        n_jobs=job.jobs,
        random_state=job.seed,
    )
    X: Any = items.X
    if not items.is_distances:
        features = features_for(model, X, job.standardizes, is_scaled=items.is_scaled)
        X = features.X
        words.say(features.note)
    with warnings.catch_warnings(record=True) as warned, words.bar("Finding subclusters"):
        warnings.simplefilter("always", ClewWarning)
        warnings.simplefilter("ignore", DistancesAsFeaturesWarning)  # `read_rows` has asked
        model.fit(X)
    for warning in warned:
        words.say(str(warning.message))
    return model


#: Maximum numbers of subclusters that are shown, of columns in a table, and of pixels of the width
#: and height of a picture.
MOST_SHOWN, MOST_COLUMNS, MOST_PIXELS = 300, 6, 96


def _page(job: SubclusterJob, items: Rows, model: Subclustering, summary: Mapping[str, Any]) -> str:
    """Return the report: the rows of each subcluster, or their pictures."""
    sure = model.confidence_.mean(axis=1)
    shown = np.sort(np.argsort(-sure, kind="stable")[:MOST_SHOWN])
    if job.images is not None:
        X = items.X if isinstance(items.X, np.ndarray) else items.X.toarray()
        step = max(1, -(-max(job.images) // MOST_PIXELS))
        images = X.reshape(len(X), *job.images, -1)[:, ::step, ::step]
        low, span = float(X.min()), float(X.max() - X.min()) or 1.0
        items = items._replace(pixels=(255 * (images - low) / span).round().astype(np.uint8))
    return render(
        "subclusters.html",
        brand="clew report",
        heading=f"{job.items.name}: {counted(len(sure), 'subcluster')} of "
        f"{counted(model.size, 'row')}",
        lead="A few sure examples of each group; all other rows are left out.",
        sections=[
            ("result", "Result", "The result"),
            ("subclusters", "Subclusters", "The subclusters"),
            ("made", "How it was made", "How it was made"),
        ],
        seconds=summary["seconds"],
        figures=[
            (f"{summary['rows']:,}", "rows"),
            (f"{summary['subclusters']:,}", "subclusters"),
            (f"{summary['mean_confidence']:.2f}", "mean confidence"),
            (f"{summary['separation']:.2f}", "mean silhouette"),
        ],
        n_subclusters=len(sure),
        subclusters=[_subcluster(items, model, at) for at in shown.tolist()],
        made={"Overlap": str(summary["overlap"]), "Rows": job.items.name},
    )


def _subcluster(items: Rows, model: Subclustering, at: int) -> dict[str, Any]:
    rows, sure = model.exemplars_[at].tolist(), model.confidence_[at]
    words = f"{counted(len(rows), 'row')}, mean confidence {sure.mean():.2f}"
    if items.pixels is not None:
        return {"number": at, "words": words, "rows": gallery(items, rows)}
    columns = list(items.frame.columns[:MOST_COLUMNS])
    lines = [
        (cell(items.ids[row]), f"{p:.2f}", *(cell(items.frame[name].iloc[row]) for name in columns))
        for row, p in zip(rows, sure, strict=True)
    ]
    header = ("id", "confidence", *map(str, columns))
    view = {"header": header, "lines": lines, "label": f"Rows of subcluster {at}"}
    return {"number": at, "words": words, "rows": view}
