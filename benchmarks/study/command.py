"""The command of a study, with the options that all studies have; the check of logged results."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from numbers import Real
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
from joblib import parallel_config
from threadpoolctl import threadpool_limits

from benchmarks._harness import markdown_table
from benchmarks.study.engine import EVERYTHING, Study, Wanted, is_wanted, run
from benchmarks.study.log import Record
from benchmarks.study.report import fill
from benchmarks.study.results import Results

#: Point, field, logged value, new value, difference.
Row = tuple[str, str, Any, Any, float]
#: Fields that are not results: they differ from run to run, or with versions of libraries.
IGNORED = ("seconds", "fit_seconds", "warnings")


def measured_again(
    results: Results[Any], n: int, seed: int, wanted: Wanted = EVERYTHING, tolerance: float = 1e-6
) -> list[Row]:
    """Measure `n` random results of the log again, and compare.

    Returns for each result the fields that differ by more than `tolerance`; if none does, the one
    that differs most.
    """
    tasks = [task for task in results.records if is_wanted(task, wanted)]
    drawn = np.random.RandomState(seed).permutation(len(tasks))[:n]
    rows = []
    with threadpool_limits(1):
        for task in (tasks[i] for i in drawn):
            point = f"{task.set}, {task.cell.name}, {task.method.name}, trial {task.trial}"
            now = results.study.measure(task)
            keys = results.study.key_fields
            logged = {k: v for k, v in results.records[task].items() if k not in keys}
            found = [(point, *row) for row in compared(logged, now, tolerance)]
            print(*found, sep="\n", flush=True)
            rows += found
    return rows


def compared(logged: Record, now: Record, tolerance: float) -> list[tuple[str, Any, Any, float]]:
    """Find the fields that differ; the difference is infinite for a field that only one has."""
    measured = {k for k, v in logged.items() if k == "failure" or isinstance(v, float)}
    known = sorted((measured | set(now)) - set(IGNORED))
    rows = [(k, logged.get(k), now.get(k), _gap(logged.get(k), now.get(k))) for k in known]
    rows.sort(key=lambda row: -row[-1])
    return [row for row in rows if row[-1] > tolerance] or rows[:1]


def _gap(logged: Any, now: Any) -> float:
    if isinstance(logged, Real) and isinstance(now, Real):
        return abs(float(now) - float(logged))
    return 0.0 if logged == now else float("inf")


HELP = "Measure what is missing of a study and write its report; an interrupted run is resumed."


def group(main: str, package: str, text: str) -> click.Group:
    """Join the commands of the studies in the folder of `main`: `command` of each module."""
    found = click.Group(package, help=text)
    for path in sorted(Path(main).parent.glob("[!_]*.py")):
        found.add_command(import_module(f"{package}.{path.stem}").command)
    return found


def study_command(
    study: Study,
    parts: Callable[[Results[Any]], Any],
    page: str | Path,
    quick: Study,
    quick_help: str,
    flags: Mapping[str, tuple[str, Mapping[str, Any]]] | None = None,
) -> click.Command:
    """Make the command that runs a study, or its short form, and fills its page with `parts`.

    `flags` are further options, each with its help and the fields of the study that it changes.
    """
    flags = flags or {}
    options: list[click.Parameter] = [
        _option("--trials", default=study.n_trials, type=click.IntRange(1)),
        _option("--jobs", default=2, help="Processes, one thread each."),
        _option("--dask", metavar="ADDRESS", help="Trials go to this scheduler's workers instead."),
        _option("--quick", "is_quick", is_flag=True, help=f"{quick_help}; writes its own files."),
        _option("--sets", multiple=True, type=click.Choice(study.sets), help="Only these."),
        _option("--methods", multiple=True, help="Only these."),
        _option("--cells", multiple=True, help="Only those whose name has this text."),
        _option("--fresh", is_flag=True, help="Measure again what was measured."),
        _option("--report-only", is_flag=True, help="Run nothing; write the report."),
        _option(
            "--check", type=click.IntRange(1), help="Only measure this many random results again."
        ),
        _option("--seed", default=0, help="Seed of the draw of --check."),
        _option("--tolerance", default=1e-6, help="Larger differences fail --check."),
        *(_option(f"--{name}", is_flag=True, help=text) for name, (text, _) in flags.items()),
    ]

    def callback(trials: int, is_quick: bool, **given: Any) -> None:
        chosen = quick if is_quick else replace(study, n_trials=trials)
        for name, (_, changed) in flags.items():
            if given.pop(name.replace("-", "_")):
                chosen = replace(chosen, **changed)
        options = SimpleNamespace(**given)
        wanted = _wanted(chosen, options)
        if options.check is None:
            if not options.report_only:
                # A quick run tests the program, so it measures everything again.
                with _backend(options.dask):
                    run(chosen, options.jobs, wanted, is_fresh=options.fresh or is_quick)
            print(f"\n{fill(Results(chosen), parts, page)}")
            print(f"files {chosen.stem}* in benchmarks/results/")
        else:
            _check(Results(chosen), wanted, options)

    return click.Command(study.stem, callback=callback, params=options, help=HELP)


@contextmanager
def _backend(address: str | None) -> Iterator[None]:
    """Send joblib's tasks to a Dask cluster, whose workers share this folder; None: processes."""
    if address is None:
        yield
        return
    from dask.distributed import Client

    with Client(address, timeout="10s"), parallel_config(backend="dask"):
        yield


def _option(*names: str, **more: Any) -> click.Option:
    return click.Option(names, show_default=True, **more)


def _wanted(study: Study, options: SimpleNamespace) -> Wanted:
    if options.fresh and options.report_only:
        raise click.UsageError("--fresh measures again, --report-only measures nothing")
    if not study.found_sets:
        raise click.ClickException("no data set was found; set CLEW_DATA to their folder")
    known = sorted({m.name for name in study.found_sets for m, _ in study.points(name)})
    if unknown := sorted(set(options.methods) - set(known)):
        text = f"no method {', '.join(unknown)}; there are {', '.join(known)}"
        raise click.BadParameter(text, param_hint="--methods")
    return options.sets, options.methods, options.cells


def _check(results: Results[Any], wanted: Wanted, options: SimpleNamespace) -> None:
    rows = measured_again(results, options.check, options.seed, wanted, options.tolerance)
    n_changed = len({row[0] for row in rows if row[-1] > options.tolerance})
    texts = [[*row[:4], f"{row[4]:.1e}"] for row in rows]
    print(f"\n{markdown_table(['point', 'field', 'logged', 'now', 'difference'], texts)}\n")
    print(f"{n_changed} of {len({row[0] for row in rows})} results differ")
    raise SystemExit(1 if n_changed else 0)
