"""The report of the study: the gap between distances and features, set by set."""

from collections.abc import Sequence

from benchmarks.studies.guided_distances import study as s
from benchmarks.study.command import study_command
from benchmarks.study.methods import Method
from benchmarks.study.report import Table
from benchmarks.study.results import Results
from benchmarks.study.scores import Score, averaged, difference

#: Largest loss by distances, in ARI.
GOAL = 0.02
BOTH = (s.ON_DISTANCES, s.ON_FEATURES)


class DistancesReport:
    """The parts of the report, made of the results."""

    goal = f"{GOAL:g}"

    def __init__(self, results: Results[s.DistancesStudy]) -> None:
        self.results, self.sets = results, results.study.found_sets

    def _mean(self, name: str, method: Method, cells: Sequence[s.Cell] = s.CELLS) -> Score:
        """Average a set over the cells, in the trials that have all of them."""
        return Score.of(averaged([self.results.values(name, cell, method) for cell in cells]))

    def _gap(self, names: Sequence[str]) -> Score:
        ours, theirs = (
            averaged([self.results.values(n, cell, method) for n in names for cell in s.CELLS])
            for method in BOTH
        )
        return difference(ours, theirs)

    def _with_features(self) -> list[str]:
        return [n for n in self.sets if len(self.results.values(n, s.CELLS[0], s.ON_FEATURES))]

    def in_short(self) -> str:
        names = self._with_features()
        gaps = {name: self._gap([name]) for name in names}
        known = {name: gap.mean for name, gap in gaps.items() if gap.is_known}
        if not known:
            return "Nothing is measured."
        within = [name for name, gap in known.items() if gap >= -GOAL]
        least = min(known, key=lambda name: known[name])
        return (
            f"ARI on distances minus ARI on features, over all sets: {self._gap(list(known))}. The "
            f"goal is met on {len(within)} of {len(known)} sets; the lowest difference is "
            f"{gaps[least]}, on {least}."
        )

    def by_set(self) -> Table:
        rows = [
            [name, *(self._mean(name, method) for method in s.METHODS), self._gap([name])]
            for name in self.sets
        ]
        return Table(["set", *(m.label for m in s.METHODS), "distances − features"], rows)

    def by_cell(self) -> Table:
        rows = [
            [f"{name}, {cell.name}", *(self._mean(name, m, (cell,)) for m in s.METHODS)]
            for name in self.sets
            for cell in s.CELLS
        ]
        return Table(["set and answers", *(m.label for m in s.METHODS)], rows)

    def seconds(self) -> Table:
        values = self.results.values
        rows = [
            [
                name,
                *(
                    Score.of(averaged([values(name, c, m, "fit_seconds") for c in s.CELLS])).text(
                        ".1f"
                    )
                    for m in BOTH
                ),
            ]
            for name in self.sets
        ]
        return Table(["set", *(m.label for m in BOTH)], rows)


QUICK = s.DistancesStudy(1, ("uci_leaf",), "guided_distances_quick", True)
command = study_command(s.DistancesStudy(), DistancesReport, __file__, QUICK, "One trial, one set")
