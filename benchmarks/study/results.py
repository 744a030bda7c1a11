"""The results of a study as a data frame, read from its log."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

import pandas as pd

from benchmarks.study.engine import Study, Task
from benchmarks.study.log import Record
from benchmarks.study.scores import Score

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
