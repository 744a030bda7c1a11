"""The work of ``clew subclusters``: read, fit, write, summarize."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.cli._features import features_for
from clew.cli._inputs import Items
from clew.cli._job import RowsJob
from clew.cli._outputs import check_writable, csv_text, write_with_table
from clew.cli._progress import Words, counted
from clew.cli._rows import read_rows
from clew.cli._subclusters_report import subclusters_page
from clew.cluster import Subclustering
from clew.exceptions import ClewWarning, DistancesAsFeaturesWarning, InvalidParameterError

__all__ = ["SubclusterJob", "run"]

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
    """Find subclusters of the rows of a file.

    Returns
    -------
    dict
        The summary that ``--json`` prints.

    Raises
    ------
    ClewError, OSError
        If an input or a parameter is invalid, or a file cannot be written.
    """
    start = time.perf_counter()
    words = Words(quiet=job.quiet, verbose=job.verbose)
    check_writable(job.output, job.report)
    items = read_rows(job, words)
    _check_sizes(job, items)
    model = _fitted(job, items, words)
    summary = {
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
    _write(job, items, model, summary)
    words.say(
        f"{counted(job.n_groups, 'subcluster')} of {counted(job.size, 'row')}; mean confidence "
        f"{summary['mean_confidence']:.2f}; {summary['seconds']:.1f} s"
    )
    for path in (job.output, job.report):
        if path is not None:
            words.say(f"wrote {path}")
    return summary


def _check_sizes(job: SubclusterJob, items: Items) -> None:
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


def _fitted(job: SubclusterJob, items: Items, words: Words) -> Subclustering:
    model = Subclustering(
        job.n_groups,
        size=job.size,
        candidates=job.candidates or "auto",
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


def _write(
    job: SubclusterJob, items: Items, model: Subclustering, summary: Mapping[str, Any]
) -> None:
    """Write all files, or none; print the subclusters if no file is named for them."""
    rows = [
        (cluster, position, items.ids[row], float(model.confidence_[cluster, position]))
        for cluster, members in enumerate(model.exemplars_.tolist())
        for position, row in enumerate(members)
    ]
    text = csv_text(HEADER, rows)
    files: dict[Path, str | bytes] = {}
    if job.report is not None:
        files[job.report] = subclusters_page(job.items.name, items, model, job.images, summary)
    write_with_table(files, job.output, text, "subclusters.csv")
