"""The work of ``clew group``: read, fit, write, summarize."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path
from typing import Any

from clew._files import check_regular
from clew.cli._features import features_for
from clew.cli._inputs import Items
from clew.cli._job import Job
from clew.cli._models import build_model
from clew.cli._outputs import check_writable, write_with_table
from clew.cli._progress import Words, counted
from clew.cli._records import are_many_small_groups, with_records_recognized
from clew.cli._report import Findings, report_page
from clew.cli._rows import read_rows
from clew.cli._saved import saved_bytes
from clew.cli._summary import print_summary, summarize
from clew.cli._tables import doubtful_csv, find_groups, groups_csv
from clew.constraints import Constraints, Support, check_constraints
from clew.constraints._log import check_content_of_log, is_log, read_log
from clew.exceptions import (
    ClewWarning,
    DistancesAsFeaturesWarning,
    FileFormatError,
    InvalidDataError,
    InvalidParameterError,
    UnsupportedConstraintError,
)

__all__ = ["run"]

#: Methods that report their progress, and what their progress bar says.
LONG_WORK = {
    "guided": "Fitting clusterings",
    "coprf": "Growing trees",
    "clustrf": "Growing trees",
}


def run(job: Job) -> dict[str, Any]:
    """Group the rows of a file.

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
    check_writable(*job.outputs)
    if job.constraints is not None:
        check_regular(job.constraints)
    items = _items(job, words)
    known = _answers(job, items, words)
    model, X = _fitted(job, items, known, words)
    shape = (X.shape[0], None if items.is_distances else X.shape[1])
    groups = find_groups(model, X, known, is_distances=items.is_distances)
    summary = summarize(job, shape, groups, known, model)
    summary["seconds"] = round(time.perf_counter() - start, 3)
    _write(job, Findings(job, items, X, known, model, groups, summary))
    print_summary(words, job, summary, are_records=are_many_small_groups(model))
    return summary


def _write(job: Job, found: Findings) -> None:
    """Write all files, or none; print the groups if no file is named for them."""
    items, known, model = found.items, found.known, found.model
    groups = groups_csv(items.ids, found.groups)
    files: dict[Path, str | bytes] = {}
    if job.doubtful is not None:
        files[job.doubtful] = doubtful_csv(items.ids, known, model)
    if job.report is not None:
        files[job.report] = report_page(found)
    if job.save is not None:
        files[job.save] = saved_bytes(model, items.ids, known)
    write_with_table(files, job.output, groups, "groups.csv")


def _items(job: Job, words: Words) -> Items:
    items = with_records_recognized(job, read_rows(job, words), words)
    n, n_features = items.X.shape
    if n_features == 0:
        _check_answers_alone(job)
    elif not items.is_distances:
        words.detail(f"{job.items}: {counted(n, 'row')}, {counted(n_features, 'feature')}")
    if job.n_groups is not None and job.n_groups > n:
        raise InvalidParameterError(
            f"--n-groups {job.n_groups} is too many: {job.items} has only {n} rows"
        )
    return items


def _check_answers_alone(job: Job) -> None:
    """Refuse rows without features if there are no answers that could group them."""
    if job.constraints is None:
        raise InvalidDataError(
            f"{job.items}: no column can be used as a feature; rows without features can be "
            "grouped by answers (--constraints)"
        )
    if job.method != "guided":
        raise InvalidDataError(
            f"{job.items}: no column can be used as a feature, and --method {job.method} needs "
            "features; --method guided groups rows by answers alone"
        )


def _answers(job: Job, items: Items, words: Words) -> Constraints:
    n = items.X.shape[0]
    if job.constraints is None:
        return Constraints(n)
    is_jsonl = job.constraints.suffix.lower() == ".jsonl"
    layout = {} if is_jsonl else job.layout._asdict()
    read: Any = Constraints.read_jsonl if is_jsonl else Constraints.read_csv
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ClewWarning)
        try:
            known: Constraints = read(job.constraints, n_samples=n, ids=items.ids, **layout)
        except FileFormatError as error:
            if items.has_ids or "no row with the id" not in str(error):
                raise
            raise FileFormatError(
                f"{error}; the rows have numbers in place of ids: --id-column, or --ids for an "
                "array, says where their ids are"
            ) from error
    for warning in warned:
        words.say(str(warning.message))
    if is_jsonl and not items.has_ids and not job.answers_alone and is_log(job.constraints):
        check_content_of_log(job.constraints, read_log(job.constraints).entries, items.content_of)
    if items.has_ids and _names_rows(job.constraints):
        words.say(
            f"{job.constraints}: i, j and k are row numbers from 0; if they are ids, rename the "
            "columns to id_i, id_j and id_k"
        )
    words.detail(f"{job.constraints}: {counted(len(known), 'answer')}")
    # If the rows have no ids, their numbers were used as ids to read the answers. They are removed,
    # so that messages name rows by number.
    return known if items.has_ids else known.with_ids(None)


def _names_rows(path: Path) -> bool:
    """Whether the first line of a file of answers, a header or a record, has row numbers alone."""
    with path.open("rb") as file:
        words = set(re.findall(rb"\w+", file.readline().lower()))
    return b"i" in words and b"id_i" not in words


def _fitted(job: Job, items: Items, known: Constraints, words: Words) -> tuple[Any, Any]:
    """Return the fitted model, and the features or distances that it was fitted to."""
    model = build_model(
        job.method, job.n_groups, n_trees=job.n_trees, mode=job.mode, trust=job.trust,
        seed=job.seed, jobs=job.jobs, is_distances=items.is_distances,
    )  # fmt: skip
    _check_support(job, model, known)
    X = items.X
    if not items.is_distances and X.shape[1]:
        features = features_for(model, X, job.standardizes, is_scaled=items.is_scaled)
        if "standardize" in model.get_params(deep=False):
            model.set_params(standardize=features.standardize)
        if items.folder is None and not items.are_records:
            words.say(features.note)
        X = features.X
    words.detail(f"grouping by {job.method}, seed {job.seed}")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ClewWarning)
        _fit(job, X, known, words, model)
    for warning in warned:
        if warning.category is not DistancesAsFeaturesWarning:  # `read_rows` has asked
            words.say(str(warning.message))
    return model, X


def _fit(job: Job, X: Any, known: Constraints, words: Words, model: Any) -> None:
    with words.bar(LONG_WORK.get(job.method, f"Fitting {job.method}")) as advance:
        if job.method == "spectral":
            model.fit(X)
        elif X.shape[1] == 0:
            model.fit(constraints=known, callback=advance)
        elif job.method in LONG_WORK:
            model.fit(X, constraints=known, callback=advance)
        else:
            model.fit(X, constraints=known)


def _check_support(job: Job, model: Any, known: Constraints) -> None:
    """Refuse kinds of answers that the method does not take, before the work begins."""
    try:
        check_constraints(model, known, known.n_samples, getattr(model, "supports", Support()))
    except UnsupportedConstraintError as error:
        rest = "--constraints" if job.method in ("clustrf", "spectral") else "such answers"
        hint = f"use --method guided, or leave {rest} out"
        problem = str(error).partition(". Remove")[0]
        raise UnsupportedConstraintError(f"--method {job.method}: {problem}; {hint}") from error
