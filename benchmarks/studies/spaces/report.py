"""The report of the study: accuracy and log-loss of held-out answers."""

from benchmarks.studies.people.report import marked
from benchmarks.studies.people.study import Cell
from benchmarks.studies.spaces import study as s
from benchmarks.studies.spaces.kinds import RATINGS
from benchmarks.study.command import study_command
from benchmarks.study.report import Table
from benchmarks.study.results import Results
from benchmarks.study.scores import Score


class SpacesReport:
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.SpacesStudy]) -> None:
        self.results, self.study = results, results.study
        self.sets = [name for name in s.AMOUNTS if name in self.study.found_sets]

    def _beside_others(self, field: str, sign: int) -> Table:
        rows = [
            [
                method.label,
                *(
                    Score.of(self.results.values(n, Cell(s.AMOUNTS[n]), method, field))
                    for n in self.sets
                ),
            ]
            for method in s.METHODS
        ]
        header = [f"{name}, {Cell(s.AMOUNTS[name]).name}" for name in self.sets]
        return marked(["", *header], rows, sign)

    def accuracy(self) -> Table:
        return self._beside_others("accuracy", 1)

    def log_loss(self) -> Table:
        return self._beside_others("log_loss", -1)

    def seconds(self) -> Table:
        rows = []
        for method in s.METHODS:
            spent = [
                self.results.values(n, Cell(s.AMOUNTS[n]), method, "fit_seconds").mean()
                for n in self.sets
            ]
            rows.append([method.label, *(f"{x:.1f}" for x in spent)])
        return Table(["", *self.sets], rows)

    def _converted(
        self, names: list[str], cells: tuple[Cell, ...], methods: tuple[s.Method, ...]
    ) -> Table:
        rows = []
        for name in names:
            for cell in cells if name in self.study.found_sets else ():
                scores = [
                    Score.of(self.results.values(name, cell, method, field))
                    for field in ("accuracy", "log_loss")
                    for method in methods
                ]
                rows.append([name, cell.name, *scores])
        header = [f"{field}, {m.label}" for field in ("accuracy", "log-loss") for m in methods]
        return Table(["", "", *header], rows)

    def most_central(self) -> Table:
        return self._converted([s.MOST_CENTRAL], s.CENTRAL_CELLS, s.CENTRAL)

    def ratings(self) -> Table:
        return self._converted(list(RATINGS), s.RATED_CELLS, s.RATED)


QUICK = s.SpacesStudy(1, (s.MOST_CENTRAL, "reptile, ratings"), "spaces_quick", True)
command = study_command(
    s.SpacesStudy(), SpacesReport, __file__, QUICK, "One trial, two small sets, no other software"
)
