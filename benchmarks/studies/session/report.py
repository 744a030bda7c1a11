"""The report of the study: how often intervals hold the truth, and how good predictions are."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from benchmarks.studies.session import study as s
from benchmarks.studies.session.estimates import SHARES, Run, quality_of, regression, run_of
from benchmarks.study.command import study_command
from benchmarks.study.report import Table
from benchmarks.study.results import Results
from clew.session import _remaining as now
from clew.session._remaining import Remaining

#: Jaccard indices that are counted where stopping is advised.
ENDS = (0.9, 0.95)
FACTORS, N_CHECKS = (1.5, 2.0), ((4, 6), (7, 12), (13, 25), (26, 999))


class SessionReport:
    """The parts of the report, made of the results."""

    goal, step, budget = f"{now.GOAL}", f"{s.STEP}", f"{s.BUDGET}"

    def __init__(self, results: Results[s.SessionStudy]) -> None:
        self.results = results
        self.fitted_on, self.held_out = (", ".join(sets) for sets in (s.FITTED_ON, s.HELD_OUT))

    @cached_property
    def runs(self) -> list[Run]:
        records = self.results.records.items()
        return [run_of(task.set, task.cell.error, record) for task, record in records]

    @cached_property
    def states(self) -> list[tuple[Run, dict[str, float]]]:
        """The session of each state with an estimate, and the true and the estimated values."""
        found = []
        for run in self.runs:
            for state in run.states:
                if (quality := quality_of(state)) is None:
                    continue
                row = {"n_checks": float(quality.n_checks), "true": state["jaccard"]}
                row |= {"estimate": quality.jaccard.value}
                for name in s.MEASURES:
                    each, true = getattr(quality, name), state[name]
                    row[name] = each.low - s.TOLERANCE <= true <= each.high + s.TOLERANCE
                    row[f"width of {name}"] = each.high - each.low
                row |= {name: state[name] for name in ("groups_precision", "groups_recall")}
                found.append((run, row))
        return found

    def _groups(self) -> dict[str, Callable[[Run], bool]]:
        return {
            "held out": lambda run: run.set in s.HELD_OUT,
            "fitted on": lambda run: run.set in s.FITTED_ON,
        }

    def _coverage(self, name: str, rows: Sequence[dict[str, float]]) -> list[str]:
        if not rows:
            return [name, "0", *["–"] * 9]
        mean = {field: float(np.mean([row[field] for row in rows])) for field in rows[0]}
        return [
            name,
            f"{len(rows):,}",
            *(f"{100 * mean[each]:.1f} %" for each in s.MEASURES),
            *(f"{mean[f'width of {each}']:.2f}" for each in s.MEASURES),
            *(f"{100 * mean[each]:.1f} %" for each in ("groups_precision", "groups_recall")),
            f"{mean['true']:.2f}, {mean['estimate']:.2f}",
        ]

    def quality(self) -> Table:
        rows = []
        for name, is_in in self._groups().items():
            inside = [(run, row) for run, row in self.states if is_in(run)]
            rows.append(self._coverage(name, [row for _, row in inside]))
            for cell in s.CELLS:
                of = [row for run, row in inside if run.error == cell.error]
                rows.append(self._coverage(f"{name}, {cell.name}", of))
            for low, high in N_CHECKS:
                of = [row for _, row in inside if low <= row["n_checks"] <= high]
                text = f"{low} to {high}" if high < N_CHECKS[-1][1] else f"{low} or more"
                rows.append(self._coverage(f"{name}, {text} checks", of))
        return Table(self._header("sessions"), rows)

    def by_set(self) -> Table:
        rows = [
            self._coverage(name, [row for run, row in self.states if run.set == name])
            for name in (*s.HELD_OUT, *s.FITTED_ON)
        ]
        return Table(self._header("set"), rows)

    def _header(self, first: str) -> list[str]:
        widths = [f"width of {each}" for each in s.MEASURES]
        groups = ["precision of a group", "recall of a group"]
        truth = "true, estimated Jaccard index"
        return [first, "results", *s.MEASURES, *widths, *groups, truth]

    def stopping(self) -> Table:
        rows = []
        for name, is_in in self._groups().items():
            runs = [run for run in self.runs if is_in(run)]
            reached = [run for run in runs if run.needed is not None]
            stopped = [state for run in runs if (state := run.stopped) is not None]
            in_time = [
                state["n_answers"] <= 1.3 * max(run.needed or 0, s.LEAST_TO_STOP)
                for run in reached
                if (state := run.stopped) is not None
            ]
            true = np.array([state["jaccard"] for state in stopped])
            rows.append(
                [
                    *(name, str(len(runs)), str(len(reached)), str(len(stopped))),
                    f"{100 * sum(in_time) / max(len(reached), 1):.0f} %",
                    *(f"{100 * (true >= of).mean():.0f} %" if len(true) else "–" for of in ENDS),
                ]
            )
        header = ["", "sessions", "reach the goal", "stop", "within 1.3 of the goal"]
        return Table([*header, *(f"true index {of} or more" for of in ENDS)], rows)

    def remaining(self) -> Table:
        rows = []
        for name, is_in in self._groups().items():
            for share in SHARES:
                runs = [run for run in self.runs if is_in(run)]
                label = f"{name}, at {share:.0%}"
                rows.append([label, str(len(runs)), *_shares([run.at(share) for run in runs])])
        for share in SHARES:
            label = f"each set, by the others, at {share:.0%}"
            rows.append([label, str(len(self.runs)), *_shares(self._left_out(share))])
        header = ["", "sessions", "reach the goal", "within 1.5", "within 2", "in the range"]
        return Table([*header, "too high"], rows)

    def _left_out(self, share: float) -> list[tuple[Remaining, float] | None]:
        """Estimate for the sessions of each set by a regression on those of all other sets."""
        found: list[tuple[Remaining, float] | None] = []
        for name in sorted({run.set for run in self.runs if run.with_estimate()}):
            others = [run for run in self.runs if run.set != name]
            if any(run.with_estimate() for run in others):
                fitted = regression(others)
                found += [run.at(share, fitted) for run in self.runs if run.set == name]
        return found

    def coefficients(self) -> Table:
        fitted = regression([run for run in self.runs if run.set in s.FITTED_ON])
        names = [
            *("intercept", "d", "log groups", "d · log groups", "log items", "log answers"),
            *("low end", "high end"),
        ]
        values = zip(
            names,
            (*fitted.coefficients, *fitted.range),
            (*now.COEFFICIENTS, *now.RANGE),
            strict=True,
        )
        rows = [[name, f"{of:.3f}", f"{used:.3f}"] for name, of, used in values]
        return Table(["", "fitted to this log", "in use"], rows)


def _shares(estimates: Sequence[tuple[Remaining, float] | None]) -> list[str]:
    found = [each for each in estimates if each is not None]
    if not found:
        return ["0", *["–"] * 4]
    ratio = np.array([of.median / left for of, left in found])
    shares = [np.maximum(ratio, 1 / np.maximum(ratio, 1e-9)) <= factor for factor in FACTORS]
    shares += [[of.low <= left <= of.high for of, left in found], ratio > 1]
    return [str(len(found)), *(f"{100 * np.mean(share):.0f} %" for share in shares)]


QUICK = s.SessionStudy(1, ("iris",), "session_quick", True)
command = study_command(s.SessionStudy(), SessionReport, __file__, QUICK, "One trial, one set")
