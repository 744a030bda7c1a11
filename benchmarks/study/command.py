"""The command of a study, with the options that all studies have."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from benchmarks import _harness as harness
from benchmarks.study.check import check, laid_out
from benchmarks.study.engine import Study, run
from benchmarks.study.results import Results

__all__ = ["group", "study_command"]

HELP = """Measure what is missing of a study, and write its report; an interrupted run is resumed.

Data sets come from the folder that CLEW_DATA names, or from OpenML.
"""


def group(main: str, package: str, text: str) -> click.Group:
    """Join the commands of all studies of a package: `command` of each ``STUDY/command.py``.

    Parameters
    ----------
    main : str
        Path of the package's ``__main__.py``.
    package : str
        Name of the package.
    text : str
        Help.
    """
    found = click.Group(package, help=text)
    for path in sorted(Path(main).parent.glob("[!_]*/command.py")):
        found.add_command(import_module(f"{package}.{path.parent.name}.command").command)
    return found


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
        click.Option(["--cells"], multiple=True, help="Run only those whose name has this text."),
        click.Option(["--fresh"], is_flag=True, help="Measure again what was measured."),
        click.Option(["--report-only"], is_flag=True, help="Run nothing; write the report."),
        click.Option(
            ["--check", "n_checked"],
            type=click.IntRange(1),
            help="Measure so many random results of the log again, compare, and write nothing.",
        ),
        click.Option(["--seed"], default=0, show_default=True, help="Which --check draws."),
        click.Option(
            ["--tolerance"],
            default=1e-6,
            show_default=True,
            help="Larger differences fail --check.",
        ),
    ]

    def callback(
        trials: int,
        jobs: int,
        quick: bool,
        sets: tuple[str, ...],
        methods: tuple[str, ...],
        cells: tuple[str, ...],
        fresh: bool,
        report_only: bool,
        n_checked: int | None,
        seed: int,
        tolerance: float,
        **others: Any,
    ) -> None:
        if fresh and report_only:
            raise click.UsageError("--fresh measures again, --report-only measures nothing")
        study = make(trials, is_quick=quick, **others)
        if not study.found_sets:
            raise click.ClickException("no data set was found; set CLEW_DATA to their folder")
        _check_methods(study, methods)
        if n_checked is not None:
            rows = check(Results(study), n_checked, seed, (sets, methods, cells))
            n_changed = sum(row[-1] > tolerance for row in rows)
            print(f"\n{laid_out(rows)}\n\n{n_changed} of {len(rows)} results differ")
            raise SystemExit(1 if n_changed else 0)
        start = time.perf_counter()
        if not report_only:
            # A quick run is a test of the program: nothing that it measured before counts.
            run(study, jobs, sets=sets, methods=methods, cells=cells, is_fresh=fresh or quick)
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
