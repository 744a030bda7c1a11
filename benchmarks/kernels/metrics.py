"""Learned metrics beside the package metric-learn: ``python -m benchmarks.kernels.metrics``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import _harness as harness
from benchmarks.kernels._metrics_problems import METHODS, PROBLEMS, QUICK, Method, Problem, save
from benchmarks.kernels._peers import PEERS, PeerMissingError, environment_of, run_peer

__all__ = ["main", "markdown", "measured", "unbounded", "verdicts"]

SCRIPT = Path(__file__).with_name("_metrics_peer.py")
PEER, N_RUNS, SECONDS_FOR_PEER = "metric-learn", 3, 300.0
#: What the package is asked for besides its defaults, so that it goes on to its end.
CLOSER: dict[str, dict[str, Any]] = {
    "ITML": {"tol": 1e-9, "max_iter": 20_000},
    "LSML": {"tol": 1e-9, "max_iter": 3_000},
    "MMC full": {"tol": 1e-9, "max_iter": 500},
    "MMC diagonal": {"tol": 1e-12, "max_iter": 300},
}
#: Share by which an objective may be larger and still count as no worse.
SLACK = 1e-5
HEADER = [
    "method", "problem", "peer", "clew objective", "peer objective", "difference", "clew s",
    "peer s", "ratio",
]  # fmt: skip
NOTE = (
    "One thread, CPU time, medians of three runs (one where the package goes on to its end). Both "
    "get the same standardised rows and the same answers. Objective: what the paper minimises, "
    "computed in one way for both metrics; lower is better. Difference: the largest entry of the "
    "difference of both metrics, relative to the largest entry of clew's; metrics of MMC are first "
    "scaled to trace 1. Ratio: seconds of the package / seconds of clew."
)
OBJECTIVES = """\
- ITML: `tr M - log det M - d`, and `t - log t - 1` for each bound that moves by the factor t
  (gamma 1); bounds are the 5th and 95th percentile of squared distances.
- LSML: mean squared residual, and `tr M - log det M - d`.
- MMC: root mean square distance of must-links / mean distance of cannot-links. The ridge of clew
  is 1e-9 here."""
DEPARTURES = """\
Where metric-learn 0.7.0 departs from the papers, by its source:

- ITML: its own bounds are percentiles of distances, but are compared with squared distances.
  Here it is given the bounds.
- LSML: the loss weighs comparisons by weights that add up to 1, but its gradient leaves the
  weights out, so steps do not go down the slope of what it measures. With the weights put back it
  ends where clew does: on iris and wine the metrics then differ by 2e-7 at most.
- MMC, full: the squared distances of must-links are held at a hundredth of their first sum, in
  place of 1, which changes the scale alone, and may exceed it by 1 %.
- MMC, diagonal: it does not reach the minimum. Newton's steps are cut off where a weight would be
  negative, and then halved some sixty times each without getting lower. (Its line search also adds
  the logarithm that its gradient subtracts; putting that right changes nothing on iris and wine.)
  SciPy's L-BFGS on the paper's objective ends where clew does."""
Row = dict[str, Any]


def measured(method: Method, problem: Problem, python: Path) -> Iterator[Row]:
    """Fit clew's method and the package's, with its defaults and going on to the end."""
    inputs = problem.inputs()
    runs = {"clew": lambda: method.fitted(inputs)}
    ours = method.fitted(inputs)  # compiles what there is to compile
    seconds = harness.alternated(runs, N_RUNS, clock=time.process_time)["clew"]
    own = {
        "method": method.name, "problem": problem.name, "clew_s": median(seconds),
        "clew_runs": seconds, "clew_objective": method.value(ours, inputs),
        "has_minimum": method.has_minimum(inputs),
    }  # fmt: skip
    with TemporaryDirectory() as folder:
        data = Path(folder) / "inputs.npz"
        save(inputs, data)
        for name, options in (("defaults", {}), ("to the end", CLOSER[method.name])):
            n_runs = 1 if options else N_RUNS
            job = {"task": method.name, "data": str(data), "n_runs": n_runs, "options": options}
            try:
                found = run_peer(python, SCRIPT, job, SECONDS_FOR_PEER)
            except PeerMissingError as error:
                yield own | {"peer": name, "options": options, "reason": str(error)}
                continue
            theirs = np.array(found.pop("metric"))
            yield own | {
                "peer": name, "options": options, "peer_s": median(found["seconds"]),
                "peer_runs": found.pop("seconds"), "peer_objective": method.value(theirs, inputs),
                "difference": method.difference(ours, theirs), "peer_said": found,
            }  # fmt: skip


def _cells(row: Row) -> list[object]:
    if "reason" in row:
        return [row["method"], row["problem"], row["peer"], _short(row["clew_objective"]),
                None, None, row["clew_s"], None, None]  # fmt: skip
    return [
        row["method"], row["problem"], row["peer"], _short(row["clew_objective"]),
        _short(row["peer_objective"]), f"{row['difference']:.1e}", row["clew_s"], row["peer_s"],
        f"{row['peer_s'] / row['clew_s']:.1f}×",
    ]  # fmt: skip


def _short(value: float) -> str:
    return f"{value:.6g}"


def verdicts(rows: Iterable[Row]) -> list[str]:
    """Say of each method whether its objective is no worse than the package's, anywhere."""
    found = []
    parts: dict[str, list[Row]] = {}
    for row in rows:
        if "reason" not in row and row["has_minimum"]:
            parts.setdefault(row["method"], []).append(row)
    for name, members in parts.items():
        lower = [1.0 - row["clew_objective"] / row["peer_objective"] for row in members]
        word = "no worse" if min(lower) >= -SLACK else "**worse**"
        to_end = [row["difference"] for row in members if row["peer"] == "to the end"]
        differ = f"{min(to_end):.1e} to {max(to_end):.1e}" if to_end else "–"
        found.append(
            f"- {name}: {word} in {len(members)} comparisons, lower by {min(lower):.1e} to "
            f"{max(lower):.1e} of the package's; metrics differ by {differ} where the package goes "
            "on to its end"
        )
    return found


def unbounded(rows: Iterable[Row]) -> list[str]:
    """Name the problems that have no solution, which no objective can judge."""
    names = {f"{row['method']} on {row['problem']}" for row in rows if not row["has_minimum"]}
    return [
        f"- Not judged: {name}. There are directions in which no must-linked rows differ, so "
        "without a ridge the objective falls to 0, and the value is a matter of when to stop."
        for name in sorted(names)
    ]


def markdown(rows: list[Row], about: dict[str, Any], *, is_quick: bool) -> str:
    """Write the page."""
    lines = ["# Learned metrics beside metric-learn", ""]
    if is_quick:
        lines += ["**Quick run: few answers; the times mean little.**", ""]
    lines += [harness.described(about), "", NOTE, ""]
    lines += [harness.markdown_table(HEADER, map(_cells, rows)), "", OBJECTIVES, ""]
    lines += ["## Is clew's objective no worse?", "", *verdicts(rows), *unbounded(rows), ""]
    reasons = {f"- {r['method']}, {r['problem']}: {r['reason']}" for r in rows if "reason" in r}
    if reasons:
        lines += ["## What did not run", "", *sorted(reasons), ""]
    return "\n".join([*lines, "## The package and the papers", "", DEPARTURES, ""])


@click.command()
@click.option("--quick", is_flag=True, help="Two small problems, into files of its own.")
@click.option(
    "--only", multiple=True, type=click.Choice(sorted(METHODS)),
    help="Measure these methods; repeatable. Writes no files.",
)  # fmt: skip
def main(quick: bool, only: tuple[str, ...]) -> None:
    """Learn metrics with clew and with metric-learn on the same problems, and compare."""
    about = harness.provenance()
    try:
        python = environment_of(PEERS[PEER])
    except PeerMissingError as error:
        raise click.ClickException(f"metric-learn could not be installed: {error}") from error
    rows: list[Row] = []
    with threadpool_limits(1):
        for problem in QUICK if quick else PROBLEMS:
            for name, method in METHODS.items():
                if only and name not in only:
                    continue
                for row in measured(method, problem, python):
                    rows.append(row)
                    print(f"{name}, {problem.name}, {row['peer']}", flush=True)
    print("\n".join(["", harness.markdown_table(HEADER, map(_cells, rows)), "", *verdicts(rows)]))
    print("\n".join(unbounded(rows)))
    if not only:
        stem = "metrics_quick" if quick else "metrics"
        content = {"about": about, "seed": 0, "rows": rows}
        harness.write_json(harness.RESULTS / f"{stem}.json", content)
        harness.write_text(harness.RESULTS / f"{stem}.md", markdown(rows, about, is_quick=quick))


if __name__ == "__main__":
    main()
