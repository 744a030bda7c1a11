"""The work of ``clew cluster``: read, group, write, sum up."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import click
import numpy as np

from clew.cli._inputs import Items, read_items
from clew.cli._models import build_model, features_for
from clew.cli._outputs import check_writable, write_together
from clew.cli._progress import Words, counted
from clew.cli._tables import clusters_csv, doubted_answers, doubtful_csv, find_groups
from clew.constraints import Constraints, Support, check_constraints
from clew.exceptions import ClewWarning, InvalidParameterError, UnsupportedConstraintError
from clew.metrics import n_violated

__all__ = ["Job", "run"]

#: Methods that take a while, and what they do then.
LONG_WORK = {
    "guided": "Trying ways to group",
    "coprf": "Growing trees",
    "clustrf": "Growing trees",
}
#: Annotators who are named in words, those who err most; JSON has all.
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked of ``clew cluster``."""

    items: Path
    n_clusters: int | None
    constraints: Path | None
    method: str
    output: Path | None
    doubtful: Path | None
    mode: str
    trust: str
    n_trees: int
    seed: int
    jobs: int
    quiet: bool
    verbose: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Take the options of the command line."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})


def run(job: Job) -> dict[str, Any]:
    """Do what was asked.

    Returns
    -------
    dict
        The summary that ``--json`` prints.

    Raises
    ------
    ClewError, OSError
        If an input or a parameter will not do, or a file cannot be written.
    """
    start = time.perf_counter()
    words = Words(quiet=job.quiet, verbose=job.verbose)
    for path in (job.output, job.doubtful):
        if path is not None:
            check_writable(path)
    items, known = _read(job, words)
    model = _fitted(job, items, known, words)
    files, summary = _results(job, items, known, model)
    write_together({path: text for path, text in files.items() if path is not None})
    if job.output is None:
        click.echo(files[None], nl=False)
    summary["seconds"] = round(time.perf_counter() - start, 3)
    _tell(words, job, summary)
    return summary


def _read(job: Job, words: Words) -> tuple[Items, Constraints]:
    items = read_items(job.items)
    items = items._replace(X=features_for(job.method, items.X))
    n = len(items.X)
    words.detail(f"{job.items}: {counted(n, 'row')}, {counted(items.X.shape[1], 'feature')}")
    if job.n_clusters is not None and job.n_clusters > n:
        raise InvalidParameterError(
            f"--n-clusters {job.n_clusters} is too many: {job.items} has only {n} rows"
        )
    if job.constraints is None:
        return items, Constraints(n)
    is_jsonl = job.constraints.suffix.lower() == ".jsonl"
    read = Constraints.read_jsonl if is_jsonl else Constraints.read_csv
    known = read(job.constraints, n_samples=n)
    words.detail(f"{job.constraints}: {counted(len(known), 'answer')}")
    return items, known


def _fitted(job: Job, items: Items, known: Constraints, words: Words) -> Any:
    model = build_model(
        job.method, job.n_clusters, n_trees=job.n_trees, mode=job.mode, trust=job.trust,
        seed=job.seed, jobs=job.jobs,
    )  # fmt: skip
    _check_support(job, model, known)
    words.detail(f"grouping by {job.method}, seed {job.seed}")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ClewWarning)
        _fit(job, items, known, words, model)
    for warning in warned:
        words.say(str(warning.message))
    return model


def _fit(job: Job, items: Items, known: Constraints, words: Words, model: Any) -> None:
    if job.method == "spectral":
        model.fit(items.X)
    elif job.method in LONG_WORK:
        with words.bar(LONG_WORK[job.method]) as advance:
            model.fit(items.X, constraints=known, callback=advance)
    else:
        model.fit(items.X, constraints=known)


def _check_support(job: Job, model: Any, known: Constraints) -> None:
    """Refuse answers that the method would drop, before the work begins."""
    try:
        check_constraints(model, known, known.n_samples, getattr(model, "supports", Support()))
    except UnsupportedConstraintError as error:
        rest = "--constraints" if job.method in ("clustrf", "spectral") else "such answers"
        hint = f"use --method guided, or leave {rest} out"
        raise UnsupportedConstraintError(f"--method {job.method}: {error}; {hint}") from error


def _results(
    job: Job, items: Items, known: Constraints, model: Any
) -> tuple[dict[Path | None, str], dict[str, Any]]:
    """Give the texts by the files that they are for, None being the standard output; a summary."""
    groups = find_groups(model, items.X, known)
    files: dict[Path | None, str] = {job.output: clusters_csv(items.ids, groups)}
    if job.doubtful is not None:
        files[job.doubtful] = doubtful_csv(items.ids, known, model)
    of_similarity = getattr(getattr(model, "similarity_", None), "error_rate_", None)
    error_rate = getattr(model, "error_rate_", of_similarity)
    summary = {
        "rows": len(items.X),
        "features": items.X.shape[1],
        "method": job.method,
        "seed": job.seed,
        "sizes": np.bincount(groups.label).tolist(),
        "doubtful_rows": int((groups.is_between | groups.is_contradicted).sum()),
        "answers": len(known),
        "violated": n_violated(groups.label, known),
        "doubted": len(doubted_answers(model)),
        "error_rate": _rounded(error_rate),
        "error_interval": _interval(model),
        "annotators": _rates_of_annotators(model),
        "clusters_file": None if job.output is None else str(job.output),
        "doubtful_file": None if job.doubtful is None else str(job.doubtful),
    }
    return files, summary


def _tell(words: Words, job: Job, summary: Mapping[str, Any]) -> None:
    """Say in words what was done."""
    sizes = summary["sizes"]
    n_groups = len(sizes)
    words.say(
        f"{counted(summary['rows'], 'row')} in {counted(n_groups, 'group')} of "
        f"{min(sizes):,} to {counted(max(sizes), 'row')}; {summary['doubtful_rows']:,} doubtful"
    )
    if job.n_clusters is not None and n_groups < job.n_clusters:
        words.say(f"only {n_groups} of {job.n_clusters} groups could be told apart")
    if job.n_clusters is None:
        how = "the answers" if summary["error_rate"] is not None else "how far they are apart"
        words.say(f"chose {counted(n_groups, 'group')}, by {how}")
    if job.constraints is not None:
        words.say(
            f"{counted(summary['answers'], 'answer')}, {summary['doubted']:,} doubted; the groups "
            f"go against {summary['violated']:,}"
        )
        if summary["error_rate"] is None:
            how = f"--trust {job.trust}" if job.method == "coprf" else f"--method {job.method}"
            words.say(
                "no answer tells anything"
                if job.method == "guided"
                else f"no answer was judged one by one ({how})"
            )
        else:
            words.say(_about_wrong_answers(summary))
    for path in (job.output, job.doubtful):
        if path is not None:
            words.say(f"wrote {path}")


def _about_wrong_answers(summary: Mapping[str, Any]) -> str:
    text = f"about {summary['error_rate']:.0%} of the answers look wrong"
    if (interval := summary["error_interval"]) is not None:
        text += f", {interval[0]:.0%} to {interval[1]:.0%} with confidence 95%"
    if rates := summary["annotators"]:
        worst_first = sorted(rates.items(), key=lambda item: -item[1])
        told = ", ".join(f"{name} {rate:.0%}" for name, rate in worst_first[:MOST_NAMED])
        n_more = len(rates) - MOST_NAMED
        text += f"; of {told}" + (f", of {n_more} others fewer" if n_more > 0 else "")
    return text


def _interval(model: Any) -> list[float] | None:
    interval = getattr(model, "error_interval_", None)
    if interval is None or not np.isfinite(model.error_rate_):
        return None
    return [round(float(bound), 4) for bound in interval]


def _rates_of_annotators(model: Any) -> dict[str, float] | None:
    """Give the share of wrong answers of each annotator, where it was estimated of several."""
    if _interval(model) is None or len(model.confusion_.annotators_) < 2:
        return None
    confusion = model.confusion_
    rates = zip(confusion.annotators_, confusion.error_rates_, strict=True)
    return {name: round(float(rate), 4) for name, rate in rates}


def _rounded(number: float | None) -> float | None:
    """Round for JSON, which has no NaN."""
    return None if number is None or not np.isfinite(number) else round(float(number), 4)
