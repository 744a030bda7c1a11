"""The command of a study, with the options that all studies have."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from benchmarks import _harness as harness
from benchmarks.study.engine import Study, run
from benchmarks.study.results import Results

__all__ = ["study_command"]

HELP = """Measure what is missing of a study, and write its report; an interrupted run is resumed.

Data sets come from the folder that CLEW_DATA names, or from OpenML.
"""


def study_command(
    name: str,
    make: Callable[..., Study],
    report: Callable[[Results[Any]], str],
    *,
    sets: Sequence[str],
    trials: int,
    fields: Sequence[str],
    quick: str,
    extra: Sequence[click.Option] = (),
) -> click.Command:
    """Make the command that runs a study and writes its report.

    Parameters
    ----------
    name : str
        Of the command.
    make : callable
        Makes the study from ``trials``, ``is_quick`` and the options in `extra`.
    report : callable
        Writes the report.
    sets : sequence of str
        All data sets.
    trials : int
        Default number of trials.
    fields : sequence of str
        Fields whose means are written as JSON.
    quick : str
        What a quick run is.
    extra : sequence of click.Option
        Further options.
    """
    options = [
        click.Option(["--trials"], default=trials, show_default=True, type=click.IntRange(1)),
        click.Option(["--jobs"], default=2, show_default=True, help="Processes, one thread each."),
        click.Option(["--quick"], is_flag=True, help=f"{quick}; writes its own files."),
        click.Option(["--sets"], multiple=True, type=click.Choice(sets), help="Run only these."),
        click.Option(["--methods"], multiple=True, help="Run only these."),
        click.Option(["--fresh"], is_flag=True, help="Measure again what was measured."),
        click.Option(["--report-only"], is_flag=True, help="Run nothing; write the report."),
    ]

    def callback(
        trials: int,
        jobs: int,
        quick: bool,
        sets: tuple[str, ...],
        methods: tuple[str, ...],
        fresh: bool,
        report_only: bool,
        **others: Any,
    ) -> None:
        if fresh and report_only:
            raise click.UsageError("--fresh measures again, --report-only measures nothing")
        study = make(trials, is_quick=quick, **others)
        if not study.found_sets:
            raise click.ClickException("no data set was found; set CLEW_DATA to their folder")
        _check_methods(study, methods)
        start = time.perf_counter()
        if not report_only:
            # A quick run is a test of the program: nothing that it measured before counts.
            run(study, jobs, sets=sets, methods=methods, is_fresh=fresh or quick)
        results = Results(study)
        text = report(results)
        _write_means(results, fields)
        spent = time.perf_counter() - start
        print(f"\n{text}\n{spent:.0f} s; files {study.stem}* in benchmarks/results/")

    return click.Command(name, callback=callback, params=[*options, *extra], help=HELP)


def _check_methods(study: Study, wanted: Sequence[str]) -> None:
    known = sorted({m.name for name in study.found_sets for m, _ in study.points(name)})
    if unknown := sorted(set(wanted) - set(known)):
        raise click.BadParameter(
            f"no method {', '.join(unknown)}; there are {', '.join(known)}", param_hint="--methods"
        )


def _write_means(results: Results[Any], fields: Sequence[str]) -> None:
    """Write means for other programs: set, cell, method and field to mean, error and trials."""
    frame = results.frame
    known = [field for field in fields if field in frame]
    content: dict[str, Any] = {"about": harness.provenance(), "means": {}}
    if known:
        numbers = frame[known].astype(float)
        means = numbers.groupby([frame["set"], frame["cell"], frame["method"]]).agg(
            ["mean", "sem", "count"]
        )
        for (name, cell, method), row in means.iterrows():
            content["means"].setdefault(name, {}).setdefault(cell, {})[method] = {
                field: json.loads(row[field].to_json()) for field in known if row[field]["count"]
            }
    harness.write_json(harness.RESULTS / f"{results.study.stem}.json", content)
