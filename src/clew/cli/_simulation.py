"""The work of ``clew simulate``: read, let simulated people answer, measure, write."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clew._files import array_errors, content_of, csv_text, text_of
from clew.answers import Kind, SecondsModel
from clew.cli._models import session_data
from clew.cli._outputs import check_writable, write_or_keep
from clew.cli._project_rows import column_of_project
from clew.cli._reading import RowsJob, read_rows
from clew.cli._rows import ARRAYS, Rows, kind_of
from clew.cli._words import Words, counted
from clew.exceptions import FileFormatError, InvalidDataError, MissingDependencyError
from clew.metrics import adjusted_rand_score, jaccard_score_pairs
from clew.oracles import SimulatedOracle
from clew.session import Session
from clew.tables._read import Columns, table_of

Classes = NDArray[np.int64]

HEADER = ("strategy", "repeat", "answers", "minutes", "jaccard", "ari")
GOALS = (0.8, 0.9, 0.95)
#: Number of points of a curve, and of printed ones: each is a fit.
N_POINTS, N_PRINTED = 12, 13


class Point(NamedTuple):
    """Agreement of the groups with the classes after some number of answers."""

    strategy: str
    repeat: int
    answers: int
    minutes: float
    jaccard: float
    ari: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationJob(RowsJob):
    """Options of ``clew simulate``."""

    truth: str
    error: float
    dont_know: float
    budget: int | None
    strategies: tuple[str, ...]
    kinds: tuple[Kind, ...]
    n_groups: int | None
    repeats: int
    output: Path | None
    plot: Path | None

    @property
    def is_column(self) -> bool:
        """Whether the classes are a column of the table."""
        if Path(self.truth).is_file():
            return False
        return self.project is not None or kind_of(self.items)[0] not in ARRAYS

    @property
    def columns_wanted(self) -> Columns:
        """Which columns of a table are used: never the classes."""
        if not self.is_column:
            return Columns(self.id_column, self.columns, self.drop or ())
        kept = None if self.columns is None else [c for c in self.columns if c != self.truth]
        dropped = () if kept is not None else tuple({*(self.drop or ()), self.truth})
        return Columns(self.id_column, kept, dropped)


def run(job: SimulationJob) -> dict[str, Any]:
    """Simulate people who answer questions about the rows of a file."""
    start = time.perf_counter()
    words = Words(quiet=job.quiet, verbose=job.verbose)
    check_writable(job.output, job.plot)
    if job.plot is not None and find_spec("matplotlib") is None:
        raise MissingDependencyError(
            "--plot needs matplotlib: pip install 'clew[plots]', or leave --plot out"
        )
    if job.project is not None and job.is_column:
        items = read_rows(job, words)
        classes = column_of_project(job.project, job.truth, items.ids)
    else:
        classes = _read_classes(job)
        items = read_rows(job, words)
    y = _checked(classes, items, job, words)
    budget = job.budget or 3 * len(y)
    curve = _simulated(job, items, y, budget, words)
    files: dict[Path, str | bytes] = {}
    if job.output is not None:
        files[job.output] = csv_text(HEADER, curve)
    if job.plot is not None:
        files[job.plot] = _picture(curve, job)
    if files:
        write_or_keep(files)
    return {
        "rows": len(y),
        "classes": int(y.max()) + 1,
        "error": job.error,
        "budget": budget,
        "answers_to": _to_goals(curve, job, "answers"),
        "minutes_to": _to_goals(curve, job, "minutes"),
        "curve": [point._asdict() for point in curve],
        "output": None if job.output is None else str(job.output),
        "plot": None if job.plot is None else str(job.plot),
        "seconds": round(time.perf_counter() - start, 3),
    }


def table(found: Mapping[str, Any]) -> str:
    """Format what `run` returns: agreement after some numbers of answers, and answers to goals."""
    points = pd.DataFrame(found["curve"])
    of_points = ["minutes", "jaccard", "ari"]
    mean = points.groupby(["strategy", "answers"], sort=False)[of_points].mean()
    lines = [
        f"{found['rows']} rows of {found['classes']} classes, {found['error']:.0%} wrong answers"
    ]
    for name, of_one in mean.groupby(level="strategy", sort=False):
        curve = of_one.droplevel("strategy")
        at = np.unique(np.linspace(0, len(curve) - 1, N_PRINTED).round().astype(int))
        lines += ["", str(name), "answers  minutes  jaccard    ari"]
        lines += [
            f"{answers:7d}  {row.minutes:7.1f}    {row.jaccard:.3f}  {row.ari:.3f}"
            for answers, row in curve.iloc[at].iterrows()
        ]
        minutes = found["minutes_to"][name]
        lines.append("answers to a Jaccard index of " + ", ".join(
            f"{goal}: not reached" if n is None
            else f"{goal}: {round(n)} ({minutes[goal]:.1f} minutes)"
            for goal, n in found["answers_to"][name].items()
        ))  # fmt: skip
    return "\n".join(lines)


def _read_classes(job: SimulationJob) -> pd.Series[Any]:
    """Read the classes from the table of the rows, or from a file of their own."""
    if job.is_column:
        wanted = Columns(job.id_column, [job.truth])
        table = table_of(content_of(job.items), str(job.items), job.format, wanted)
        # The column of ids is not one of the others.
        return pd.Series(table.ids) if table.frame.empty else table.frame.iloc[:, 0]
    path = Path(job.truth)
    if not path.is_file():
        raise FileFormatError(
            f"--truth {job.truth}: there is no such file; {job.items} is an array without columns, "
            "so its classes are one on each line of a text file, or an array .npy"
        )
    if path.suffix.lower() == ".npy":
        with array_errors(path), path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
        return pd.Series(stored.ravel())
    return pd.Series([line.strip() or None for line in text_of(path).splitlines()])


def _checked(classes: pd.Series[Any], items: Rows, job: SimulationJob, words: Words) -> Classes:
    """Return classes as numbers, -1 for rows without one."""
    n = len(classes)
    if n != items.X.shape[0]:
        found = f"{n:,} {'class' if n == 1 else 'classes'}"
        raise InvalidDataError(
            f"--truth {job.truth} has {found}, but {job.items} has {items.X.shape[0]:,} rows"
        )
    codes, names = pd.factorize(classes)
    n_missing = int((codes < 0).sum())
    if n_missing:
        words.say(f"{counted(n_missing, 'row')} without a class: answers are don't know")
    if not 1 < len(names) < len(codes) - n_missing:
        what = (
            "one class" if len(names) <= 1 else f"a class of its own for each of {len(names)} rows"
        )
        raise InvalidDataError(
            f"--truth {job.truth} has {what}; name the column of the groups that people would make"
        )
    return np.asarray(codes, np.int64)


def _simulated(
    job: SimulationJob, items: Rows, y: Classes, budget: int, words: Words
) -> list[Point]:
    given, note = session_data(items, job.standardizes)
    if note:
        words.say(note)
    step = max(1, -(-budget // N_POINTS))
    total = len(job.strategies) * job.repeats * budget
    curve: list[Point] = []
    with words.bar("Answering") as advance:
        done = 0
        for name in job.strategies:
            for repeat in range(job.repeats):
                session = Session(
                    **given, strategy=name, kinds=job.kinds, n_clusters=job.n_groups,
                    random_state=job.seed + repeat, n_jobs=job.jobs,
                )  # fmt: skip
                oracle = SimulatedOracle(
                    y, error=job.error, dont_know=job.dont_know, seconds=SecondsModel(),
                    random_state=job.seed + repeat,
                )  # fmt: skip
                curve.append(_point(session, y, name, repeat))
                while (n := len(session.answers)) < budget:
                    session.run(oracle, min(step, budget - n))
                    advance(done + len(session.answers), total)
                    if len(session.answers) == n:
                        words.say(f"{name} had no more questions after {counted(n, 'answer')}")
                        break
                    curve.append(_point(session, y, name, repeat))
                done += budget
    return curve


def _point(session: Session, y: Classes, name: str, repeat: int) -> Point:
    has_class = y >= 0
    labels = session.result().labels_[has_class]  # what clew group returns, too
    jaccard = float(jaccard_score_pairs(y[has_class], labels))
    ari = float(adjusted_rand_score(y[has_class], labels))
    answers = session.answers
    minutes = sum(answer.ms or 0 for answer in answers) / 60_000
    return Point(name, repeat, len(answers), round(minutes, 3), jaccard, ari)


def _to_goals(
    curve: Sequence[Point], job: SimulationJob, what: str
) -> dict[str, dict[str, float | None]]:
    """Return the mean answers or minutes to each Jaccard index; None if a repeat misses it."""
    found: dict[str, dict[str, float | None]] = {}
    for name in job.strategies:
        found[name] = {}
        for goal in GOALS:
            first = [
                min((getattr(p, what) for p in curve
                     if (p.strategy, p.repeat) == (name, repeat) and p.jaccard >= goal),
                    default=None)
                for repeat in range(job.repeats)
            ]  # fmt: skip
            reached = [n for n in first if n is not None]
            is_reached = len(reached) == len(first)
            found[name][str(goal)] = float(np.mean(reached)) if is_reached else None
    return found


def _picture(curve: Sequence[Point], job: SimulationJob) -> bytes:
    """Draw the curve; the figure belongs to no window or global state."""
    from matplotlib.figure import Figure

    assert job.plot is not None
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    points = pd.DataFrame(curve)
    for name, of_one in points.groupby("strategy", sort=False):
        for _, of_repeat in of_one.groupby("repeat"):
            axes.plot(of_repeat.answers, of_repeat.jaccard, color="0.85", lw=0.8, zorder=1)
        mean = of_one.groupby("answers")["jaccard"].mean()
        axes.plot(mean.index, mean, label=str(name), lw=2, zorder=2)
    axes.set(
        xlabel="answers", ylabel="Jaccard index of pairs", ylim=(0, 1.02), xlim=(0, None),
        title=f"{job.items.name}, {job.error:.0%} wrong answers",
    )  # fmt: skip
    axes.legend(frameon=False, loc="lower right")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=job.plot.suffix[1:].lower(), dpi=150)
    return buffer.getvalue()
