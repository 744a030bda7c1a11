"""The results of a study as a data frame, read from its log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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

    @cached_property
    def records(self) -> dict[Task, Record]:
        found = {}
        for task in self.study.tasks():
            record = self._log.get(self._key(task))
            if record is not None:
                found[task] = record
        return found

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
        others = {
            task.method.name
            for task, record in self.records.items()
            if record["version"] != self.study.key(task)["version"]
        }
        return sorted(others)

    @property
    def n_missing(self) -> int:
        return len(self.study.tasks()) - len(self.records)

    @property
    def sources(self) -> set[str]:
        return {record["source"] for record in self.records.values()}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row for each set, cell, method and trial.

        The results of a method that uses no answers are repeated for every cell.
        """
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
        """Return one field of the results at one point, by trial."""
        if field not in self._by_point:
            known = self.frame.dropna(subset=[field]) if field in self.frame else self.frame[:0]
            groups = known.set_index("trial").groupby(POINT) if len(known) else []
            self._by_point[field] = {point: rows[field] for point, rows in groups}
        found = self._by_point[field].get((name, cell.name, method.name))
        return pd.Series(dtype=float) if found is None else found.infer_objects()

    def score(self, name: str, cell: Any, method: Any, field: str = "ari") -> Score:
        """Average a field over trials; notes how many trials were refused."""
        score = Score.of(self.values(name, cell, method, field))
        refused = 0 if self.study.refusal is not None else self.n_refused(name, cell, method)
        return Score(score.mean, score.error, f" ({refused} refused)" if refused else "")

    def n_refused(self, name: str, cell: Any, method: Any) -> int:
        """Count the trials in which a method refused the answers."""
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

        Only points are counted at which the methods in `beside` have results too, so that all of
        these methods are averaged over the same points.
        """
        wide = self._wide(field)
        wanted = [method.name, *(other.name for other in beside)]
        keys = [cell.name for cell in cells]
        points = [at for pair in product(names, keys) for at in wide.rows.get(pair, ())]
        if not points or not set(wanted) <= set(wide.columns):
            return pd.Series(dtype=float)
        found = wide.values[np.ix_(points, [wide.columns[name] for name in wanted])]
        is_whole = ~np.isnan(found).any(axis=1)
        trials = wide.trials[points][is_whole]
        return pd.Series(found[is_whole, 0]).groupby(trials).mean().rename_axis("trial")

    def _wide(self, field: str) -> _Wide:
        if field not in self._wide_frames:
            self._wide_frames[field] = _Wide.of(self.frame, field)
        return self._wide_frames[field]

    @cached_property
    def _wide_frames(self) -> dict[str, _Wide]:
        return {}


class _Wide(NamedTuple):
    """One field with a row for each set, cell and trial, and a column for each method."""

    values: NDArray[np.float64]
    columns: dict[str, int]
    rows: dict[tuple[str, str], list[int]]
    """Rows of each set and cell."""
    trials: NDArray[np.int64]

    @classmethod
    def of(cls, frame: pd.DataFrame, field: str) -> _Wide:
        known = frame.dropna(subset=[field]) if field in frame else frame[:0]
        values = known[field].astype(float) if len(known) else known["trial"]
        found = values.set_axis(pd.MultiIndex.from_frame(known[[*POINT, "trial"]])).unstack(
            "method"
        )
        rows: dict[tuple[str, str], list[int]] = {}
        for at, (name, cell, _) in enumerate(found.index):
            rows.setdefault((name, cell), []).append(at)
        columns = {name: at for at, name in enumerate(found.columns)}
        return cls(found.to_numpy(float), columns, rows, found.index.get_level_values(2).to_numpy())
