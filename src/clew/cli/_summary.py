"""The end of ``clew group``: a summary as JSON, and as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clew.cli._job import Job
from clew.cli._progress import Words, counted
from clew.cli._tables import Groups, doubted_answers
from clew.constraints import Constraints
from clew.metrics import n_violated

__all__ = ["print_summary", "summarize"]

#: Number of annotators that the text names: those with the most wrong answers. JSON has all.
MOST_NAMED = 5


def summarize(
    job: Job, shape: tuple[int, int | None], groups: Groups, known: Constraints, model: Any
) -> dict[str, Any]:
    """Return what ``--json`` prints, without the time.

    Parameters
    ----------
    job : Job
        The options.
    shape : tuple of int
        Number of rows and of features; None for distances.
    groups : Groups
        The groups.
    known : Constraints
        The answers.
    model : estimator
        The fitted model.
    """
    of_similarity = getattr(getattr(model, "similarity_", None), "error_rate_", None)
    return {
        "rows": shape[0],
        "features": shape[1],
        "method": job.method,
        "seed": job.seed,
        "sizes": np.bincount(groups.label).tolist(),
        "doubtful_rows": int((groups.is_between | groups.is_contradicted).sum()),
        "answers": len(known),
        "violated": n_violated(groups.label, known),
        "doubted": len(doubted_answers(model)),
        "error_rate": _rounded(getattr(model, "error_rate_", of_similarity)),
        "error_interval": _interval(model),
        "annotators": _rates_of_annotators(model),
        "groups_file": None if job.output is None else str(job.output),
        "doubtful_file": None if job.doubtful is None else str(job.doubtful),
    }


def print_summary(
    words: Words,
    job: Job,
    summary: Mapping[str, Any],
    *,
    are_records: bool = False,
) -> None:
    """Print what was done, as sentences; `are_records`: groups are rows that are nearly equal."""
    sizes = summary["sizes"]
    n_groups = len(sizes)
    words.say(
        f"{counted(summary['rows'], 'row')} in {counted(n_groups, 'group')} of "
        f"{min(sizes):,} to {counted(max(sizes), 'row')}; {summary['doubtful_rows']:,} doubtful"
    )
    if job.n_groups is not None and n_groups < job.n_groups:
        words.say(f"only {n_groups} of {job.n_groups} groups were found")
    if job.n_groups is None:
        if are_records:
            how = "how much nearer some rows are to each other than to all others"
        elif summary["features"] == 0:
            how = "answers"
        elif summary["error_rate"] is not None:
            how = "answers and features"
        else:
            how = "silhouette"
        words.say(f"chose {counted(n_groups, 'group')}, by {how}")
    if job.constraints is not None:
        _print_answers(words, job, summary)
    for path in job.outputs:
        words.say(f"wrote {path}")


def _print_answers(words: Words, job: Job, summary: Mapping[str, Any]) -> None:
    words.say(
        f"{counted(summary['answers'], 'answer')}, {summary['doubted']:,} of them doubtful; the "
        f"groups violate {summary['violated']:,}"
    )
    if summary["error_rate"] is not None:
        words.say(_about_wrong_answers(summary))
    elif job.method == "guided":
        words.say("no answer has a weight above 0 and says same or different")
    else:
        how = f"--trust {job.trust}" if job.method == "coprf" else f"--method {job.method}"
        words.say(f"{how} does not estimate which answers are wrong")


def _about_wrong_answers(summary: Mapping[str, Any]) -> str:
    text = f"about {summary['error_rate']:.0%} of the answers are wrong"
    if (interval := summary["error_interval"]) is not None:
        text += f", {interval[0]:.0%} to {interval[1]:.0%} with 95% confidence"
    if rates := summary["annotators"]:
        worst_first = sorted(rates.items(), key=lambda item: -item[1])
        named = ", ".join(f"{name} {rate:.0%}" for name, rate in worst_first[:MOST_NAMED])
        n_more = len(rates) - MOST_NAMED
        text += f"; by annotator: {named}" + (f", fewer of {n_more} others" if n_more > 0 else "")
    return text


def _interval(model: Any) -> list[float] | None:
    interval = getattr(model, "error_interval_", None)
    if interval is None or not np.isfinite(model.error_rate_):
        return None
    return [round(float(bound), 4) for bound in interval]


def _rates_of_annotators(model: Any) -> dict[str, float] | None:
    """Return each annotator's share of wrong answers, where there are several annotators."""
    if _interval(model) is None or len(model.confusion_.annotators_) < 2:
        return None
    confusion = model.confusion_
    rates = zip(confusion.annotators_, confusion.error_rates_, strict=True)
    return {name: round(float(rate), 4) for name, rate in rates}


def _rounded(number: float | None) -> float | None:
    """Round for JSON, which has no NaN."""
    return None if number is None or not np.isfinite(number) else round(float(number), 4)
