"""Measure cases: time, memory and quality, in this process, a fresh one or an environment."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from typing import Any, NamedTuple, Self

from threadpoolctl import threadpool_limits

from benchmarks import _harness as harness, _memory as memory
from benchmarks._environments import PackageError, run_in_environment
from benchmarks.kernels._problems import Problem
from clew.metrics import adjusted_rand_score, n_violated

Row = dict[str, Any]
#: Trees that a quick run grows.
FEW_TREES = 100


class Run(NamedTuple):
    """One way to do the work of a case."""

    name: str
    task: Callable[..., Callable[[], Any]] | str | float
    """Called with the problem and `options`, returns the work to time, a function without
    arguments. A string names one of `_peers.TASKS`; a number is a published time."""
    options: Mapping[str, Any] = {}
    repeats: int = 3
    package: str | None = None
    """Name in `_environments.PACKAGES`: the run takes place in that environment."""
    scale: float = 1.0  # Multiplies the seconds of a run that grows only a part of the trees

    def quick(self) -> Self:
        """Return the same with few trees and one repeat."""
        few = {"n_trees": FEW_TREES} if "n_trees" in self.options else {}
        return self._replace(options={**self.options, **few}, repeats=1, scale=1.0)


class Case(NamedTuple):
    """One method on one problem, and its peers."""

    label: str
    problem: Problem
    ours: Run
    peers: tuple[Run, ...] = ()
    in_fresh_process: bool = False
    """Whether each repeat is timed in a fresh process, which gives its peak memory too."""
    measures_growth: bool = False
    """Whether each run is repeated once in a fresh process to measure its growth in memory."""
    judge: Callable[[Problem, Any, Any], Row] | None = None
    """Computes figures of quality from the problem, the result of a run and the result of ours;
    the last is None when ours itself is judged."""
    goals: Mapping[str, float] = {}
    """Bound of each value, by its path such as "ours.cpu_s": a minimum of ratios and scores, and a
    maximum of seconds and MiB."""

    def quick(self) -> Self:
        ours, *peers = (run.quick() for run in (self.ours, *self.peers))
        few = self._replace(problem=self.problem.few(), ours=ours, peers=tuple(peers))
        return few._replace(measures_growth=False, goals={})


def measured(case: Case, clock: str) -> Row:
    """Measure a case and its peers; ratios compare the seconds of `clock`, "cpu_s" or "wall_s".

    "ours" and each of "peers" have the medians "cpu_s" and "wall_s", the shortest time
    "least_wall_s" (which a busy machine lengthens least), the seconds of each repeat,
    "growth_mib" and "peak_mib" if measured, "ratio" (a peer's seconds divided by ours), what the
    judge returned, and "reason" if a peer failed.
    """
    ours, peers = _apart(case) if case.in_fresh_process else _in_turns(case)
    for peer in peers.values():
        peer |= {"ratio": peer[clock] / ours[clock]} if clock in peer else {}
    row = {"label": case.label, "problem": case.problem.about(), "goals": dict(case.goals)}
    return row | {"options": _plain(case.ours.options), "ours": ours, "peers": peers}


def _apart(case: Case) -> tuple[Row, dict[str, Row]]:
    runs = [apart(_once, case.ours, case.problem, case.judge) for _ in range(case.ours.repeats)]
    last = runs[-1]
    numbers = {k: median(run[k] for run in runs) for k in last if isinstance(last[k], float)}
    return last | numbers | _seconds([(run["wall_s"], run["cpu_s"]) for run in runs]), {}


def _in_turns(case: Case) -> tuple[Row, dict[str, Row]]:
    """Time the runs of this process in turns, then those of other environments."""
    here = {"ours": case.ours} | {run.name: run for run in case.peers if callable(run.task)}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the judge counts violated answers
        _work(case.ours, case.problem.few())()  # compiles the kernels
        runs = {name: _work(run, case.problem) for name, run in here.items()}
        seconds, found = harness.alternated(runs, {name: here[name].repeats for name in here})
    rows = {}
    for name, run in here.items():
        growth = {"growth_mib": _growth(run, case.problem)} if case.measures_growth else {}
        rows[name] = _seconds(seconds[name], run.scale) | growth | {"options": _plain(run.options)}
    for run in case.peers:
        if isinstance(run.task, float):
            rows[run.name] = _seconds([(run.task, run.task)])
        elif run.package is not None:
            rows[run.name], found[run.name] = _in_environment(run, case.problem)
    for name, result in found.items():
        if case.judge and result is not None:
            ours = found["ours"] if name != "ours" else None
            rows[name] |= case.judge(case.problem, result, ours)
    return rows.pop("ours"), rows


def _plain(options: Mapping[str, Any]) -> Row:
    return {key: value for key, value in options.items() if not callable(value)}


def _work(run: Run, problem: Problem) -> Callable[[], Any]:
    return run.task(problem.prepared(), **run.options)  # type: ignore[operator]


def fit(
    problem: Problem, *, kind: Any, take: str = "labels_", on: str = "X",
    takes_answers: bool = True, **options: Any,
) -> Callable[[], Any]:  # fmt: skip
    """Task of most runs: fit an estimator of class `kind` and return its attribute `take`."""
    X, model = getattr(problem, on), kind(**options)
    known = {"constraints": problem.answers} if takes_answers else {}
    return lambda: getattr(model.fit(X, **known), take)


def _seconds(runs: Sequence[tuple[float, float]], scale: float = 1.0) -> Row:
    wall, cpu = ([scale * seconds for seconds in column] for column in zip(*runs, strict=True))
    return {
        "cpu_s": median(cpu), "wall_s": median(wall), "least_wall_s": min(wall),
        "runs_cpu_s": cpu, "runs_wall_s": wall,
    }  # fmt: skip


def _growth(run: Run, problem: Problem) -> float:
    """Measure the growth in memory; that of a part of the trees is extrapolated from two parts."""
    whole: float = apart(_once, run, problem, None)["growth_mib"]
    if run.scale == 1:
        return whole
    half = run._replace(options={**run.options, "n_trees": run.options["n_trees"] // 2})
    slope: float = whole - apart(_once, half, problem, None)["growth_mib"]
    return whole + 2 * (run.scale - 1) * slope


def _once(run: Run, problem: Problem, judge: Any) -> Row:
    """Compile, then measure time and memory of a single run; called in a fresh process."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        _work(run, problem.few())()  # compiling takes more memory than running
        work = _work(run, problem)
        memory.reset_memory_peak()
        before = memory.memory_now()
        wall, cpu, found = harness.timed(work)
    peak = memory.memory_peak()
    row = {"cpu_s": cpu, "wall_s": wall, "growth_mib": peak - before, "peak_mib": peak}
    return row | (judge(problem, found, None) if judge else {})


def apart(function: Callable[..., Row], *arguments: Any) -> Row:
    """Call a module-level function in a fresh process, which uses no memory for anything else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


#: Columns of whole fits of clusterers, each in a fresh process, with their scores.
COLUMNS = {
    "method": "label", "rows × features": "problem.size", "groups": "ours.groups",
    "answers": "problem.answers", "CPU s": "ours.cpu_s", "wall s": "ours.wall_s",
    "peak MiB": "ours.peak_mib", "ARI": "ours.ari",
}  # fmt: skip


def agreement(problem: Problem, labels: Any, ours: Any) -> Row:
    """Score groups against the classes and the answers."""
    return {
        "ari": float(adjusted_rand_score(problem.rows[1], labels)),
        "violated": n_violated(labels, problem.answers),
        "groups": len(set(labels.tolist())),
    }


def whole_fit(label: str, task: Any, problem: Problem, options: Any, *bounds: float) -> Case:
    """Make a case; `bounds` are upper limits of CPU seconds and of MiB of memory."""
    goals = dict(zip(("ours.cpu_s", "ours.peak_mib"), bounds, strict=False))
    run = Run("clew", task, options)
    return Case(label, problem, run, in_fresh_process=True, judge=agreement, goals=goals)


_FOUND: dict[str, tuple[Row, Any]] = {}


def _in_environment(run: Run, problem: Problem) -> tuple[Row, Any]:
    """Run a peer in its own environment; cases with the same problem share the result."""
    key = repr((run, problem))
    row, found = _FOUND[key] = _FOUND.get(key) or _called(run, problem)
    return dict(row), found


def _called(run: Run, problem: Problem) -> tuple[Row, Any]:
    row: Row = {"options": dict(run.options)}
    job = {"task": run.task, "n_runs": run.repeats} | row
    function = "benchmarks._peers:timed_fits"
    try:
        found, arrays = run_in_environment(str(run.package), function, problem.arrays(), **job)
    except PackageError as error:
        return row | {"reason": str(error)}, None
    seconds, failures = (found.pop(key) for key in ("seconds", "failures"))
    row |= found | {"runs_cpu_s": seconds}
    if failures:
        row["reason"] = f"{len(failures)} of {run.repeats} runs failed: {failures[0]}"
    return (row | {"cpu_s": median(seconds)}, arrays["result"]) if arrays else (row, None)
