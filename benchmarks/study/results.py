"""The results of a study as a data frame, read from its log; means over trials and verdicts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd
from scipy.stats import t as student

from benchmarks.study.engine import Study, Task
from benchmarks.study.log import Record
from clew.metrics import area_under_curve

#: One value for each trial, or a column for each point of a curve.
Values = pd.Series | pd.DataFrame
#: Mean differences up to this count as level.
LEVEL = 0.005


@dataclass(frozen=True)
class Score:
    """A mean over trials and its standard error."""

    mean: float = float("nan")
    error: float = float("nan")
    note: str = ""  # Text printed after it
    is_gap: bool = False  # Whether it is a difference, printed with its sign

    @classmethod
    def of(cls, values: pd.Series) -> Self:
        """Average over trials; the error of a single value is NaN."""
        found: Any = values.astype(float)
        return cls(float(found.mean()), float(found.sem()))

    @classmethod
    def with_interval(cls, values: pd.Series) -> Self:
        """Average over trials; the error is half the width of the mean's 95 % interval."""
        score, n = cls.of(values), values.count()
        factor = student.ppf(0.975, n - 1) if n > 1 else 1.0
        return cls(score.mean, float(factor) * score.error)

    @property
    def is_known(self) -> bool:
        return not np.isnan(self.mean)

    def text(self, form: str = ".3f", factor: float = 1.0) -> str:
        if not self.is_known:
            return f"–{self.note}"
        error = "" if np.isnan(self.error) else f" ± {factor * self.error:{form.lstrip('+')}}"
        return f"{factor * self.mean:{form}}{error}{self.note}"

    def __str__(self) -> str:
        return self.text("+.3f" if self.is_gap else ".3f")


def difference(ours: pd.Series, theirs: pd.Series) -> Score:
    """Average the paired difference over the trials that both have."""
    return replace(Score.of(ours - theirs), is_gap=True)


def averaged(parts: list[pd.Series]) -> pd.Series:
    """Average over several results, for each trial that all of them have."""
    if not parts:
        return pd.Series(dtype=float)
    return pd.concat(parts, axis=1).dropna().mean(axis=1)


def area(curve: pd.DataFrame) -> pd.Series:
    """Return the area under the curve of each complete trial: trapezoids of unit width."""
    complete = curve.dropna()
    areas = [area_under_curve(row) for row in complete.to_numpy(float)]
    return pd.Series(areas, index=complete.index, dtype=float)


def paired(ours: Values, theirs: Mapping[str, Any]) -> dict[str, Score]:
    """Subtract results of methods by name from ours, at each point of a curve."""
    if isinstance(ours, pd.Series):
        return {name: difference(ours, values) for name, values in theirs.items()}
    return {
        f"{name} at {point}" if name else str(point): difference(ours[point], values[point])
        for name, values in theirs.items()
        for point in ours.columns
    }


def verdict(gap: Score, *, is_below: bool = False) -> str:
    """Return "yes" for a difference above two standard errors, "level" within, or "**no**"."""
    if not gap.is_known:
        return "not complete"
    if abs(gap.mean) <= max(2 * float(np.nan_to_num(gap.error)), LEVEL):
        return "level"
    return "yes" if (gap.mean > 0) != is_below else "**no**"


def standing(gaps: Mapping[str, Score], *, is_below: bool = False) -> str:
    """Summarize several differences: the verdict if all agree, otherwise their numbers."""
    verdicts = [verdict(gap, is_below=is_below) for gap in gaps.values()]
    if not verdicts or "not complete" in verdicts:
        return "not complete"
    if len(set(verdicts)) == 1:
        return verdicts[0]
    words = {"yes": "in favor", "level": "level", "**no**": "against"}
    counts = ", ".join(f"{verdicts.count(v)} {word}" for v, word in words.items() if v in verdicts)
    return f"{'**no**' if '**no**' in verdicts else 'level'}: {counts}"


def in_order(scores: Mapping[str, Score]) -> str:
    """List names by their means, the best first."""
    known = {label: score.mean for label, score in scores.items() if score.is_known}
    best_first = sorted(known.items(), key=lambda item: -item[1])
    return " > ".join(f"{label} {mean:.2f}" for label, mean in best_first) or "not complete"


def best_of(candidates: Iterable[Any], score: Callable[[Any], Score]) -> tuple[Any, Score]:
    """Find the candidate of the highest mean, and its score; None if no score is known."""
    known = [(one, of) for one in candidates if (of := score(one)).is_known]
    return max(known, key=lambda pair: pair[1].mean, default=(None, Score()))


S = TypeVar("S", bound=Study)
POINT = ["set", "cell", "method"]


class Results(Generic[S]):
    """The results of a study, read from its log.

    The results of a method are those measured with its present parameters. If the log has none,
    the newest with other parameters are used, and the method is in `outdated`.
    """

    def __init__(self, study: S) -> None:
        self.study = study
        self._log = study.log.read()
        self._by_point: dict[str, dict[Any, pd.Series]] = {}
        self._wide: dict[str, pd.DataFrame] = {}

    @cached_property
    def records(self) -> dict[Task, Record]:
        found = ((task, self._log.get(self._key(task))) for task in self.study.tasks())
        return {task: record for task, record in found if record is not None}

    def _key(self, task: Task) -> tuple[Any, ...]:
        key = self.study.key(task)
        versions = self._versions.get(tuple(key[f] for f in self.study.method_fields), [])
        if versions and key["version"] not in versions:
            key["version"] = versions[-1]
        return tuple(key.values())

    @cached_property
    def _versions(self) -> dict[tuple[Any, ...], list[str]]:
        """The versions in the log by method, in the order of their last results."""
        found: dict[tuple[Any, ...], dict[str, None]] = {}
        for record in self._log.values():
            of_method = found.setdefault(tuple(record[f] for f in self.study.method_fields), {})
            of_method.pop(record["version"], None)
            of_method[record["version"]] = None
        return {method: list(versions) for method, versions in found.items()}

    @cached_property
    def outdated(self) -> list[str]:
        key, records = self.study.key, self.records.items()
        return sorted({t.method.name for t, r in records if r["version"] != key(t)["version"]})

    @property
    def n_missing(self) -> int:
        return len(self.study.tasks()) - len(self.records)

    @property
    def sources(self) -> set[str]:
        return {record["source"] for record in self.records.values()}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per set, cell, method and trial; results without answers are in each cell."""
        measured: dict[tuple[str, Any, Any], list[tuple[int, Record]]] = {}
        for task, record in self.records.items():
            measured.setdefault(task[:3], []).append((task.trial, record))
        rows = [
            record | {"set": name, "cell": cell.name, "method": method.name, "trial": trial}
            for name in self.study.found_sets
            for method, cell in self.study.points(name)
            for trial, record in measured.get((name, method, self.study.base(method, cell)), [])
        ]
        found = pd.DataFrame(rows, columns=None if rows else [*POINT, "trial", "failure"])
        if "failure" not in found:
            found["failure"] = None
        if self.study.refusal is not None and rows:
            found.loc[found["failure"].notna(), "ari"] = self.study.refusal
        return found

    def values(self, name: str, cell: Any, method: Any, field: str = "ari") -> pd.Series:
        if field not in self._by_point:
            known = self._known(field).set_index("trial")
            groups: Any = known.groupby(POINT) if len(known) else []
            self._by_point[field] = {point: rows[field] for point, rows in groups}
        found = self._by_point[field].get((name, cell.name, method.name))
        return pd.Series(dtype=float) if found is None else found.infer_objects()

    def _known(self, field: str) -> pd.DataFrame:
        return self.frame.dropna(subset=[field]) if field in self.frame else self.frame[:0]

    def score(self, name: str, cell: Any, method: Any, field: str = "ari") -> Score:
        """Average a field over trials; notes how many trials were refused."""
        score = Score.of(self.values(name, cell, method, field))
        refused = 0 if self.study.refusal is not None else self.n_refused(name, cell, method)
        return Score(score.mean, score.error, f" ({refused} refused)" if refused else "")

    def n_refused(self, name: str, cell: Any, method: Any) -> int:
        return len(self.values(name, cell, method, "failure"))

    def curve(
        self, name: str, cells: Sequence[Any], method: Any, field: str = "ari", x: Any = None
    ) -> pd.DataFrame:
        """Return a row for each trial, and a column for each cell, named by `x`."""
        columns = [self.values(name, cell, method, field) for cell in cells]
        labels = list(x) if x is not None else [cell.name for cell in cells]
        return pd.concat(columns, axis=1, keys=range(len(labels))).set_axis(labels, axis=1)

    def mean(
        self,
        names: Iterable[str],
        cells: Iterable[Any],
        method: Any,
        beside: Sequence[Any] = (),
        field: str = "ari",
    ) -> pd.Series:
        """Average over sets and cells, by trial.

        Uses only the points at which the methods in `beside` have results too, so that the averages
        of all of them are over the same points.
        """
        if field not in self._wide:
            known = self._known(field).reindex(columns=[*POINT, "trial", field])
            at = [*POINT[:2], "trial"]
            self._wide[field] = known.pivot(index=at, columns="method", values=field)
        wide, compared = self._wide[field], {m.name: None for m in (method, *beside)}
        if not set(compared) <= set(wide.columns):
            return pd.Series(dtype=float)
        is_meant = wide.index.isin([cell.name for cell in cells], level="cell")
        is_meant &= wide.index.isin(list(names), level="set")
        whole: Any = wide.loc[is_meant, list(compared)].dropna()
        return pd.Series(whole[method.name].astype(float).groupby("trial").mean())
