"""Which results stand in which panel of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.papers._relative.methods import Method
from benchmarks.papers._relative.study import Results
from benchmarks.papers._scores import Score, difference
from benchmarks.papers.sklr.methods import paper_source
from benchmarks.papers.sklr.protocol import ALL, LABELLED, NO_ANSWERS, Cell
from benchmarks.papers.sklr.study import SklrStudy

__all__ = ["PANELS", "SAMPLINGS", "Panel", "SklrResults", "gaps", "panel_cells"]

SklrResults = Results[SklrStudy]
#: Who hears of which rows: as the paper draws, which gives relative answers more rows to be about,
#: or matched, all from the few labelled rows, or all from all rows.
SAMPLINGS: Mapping[str, str | None] = {
    "as the paper draws": None,
    "all from the labelled rows": LABELLED,
    "all from all rows": ALL,
}


@dataclass(frozen=True)
class Panel:
    """A column of Figure 1: what people are asked, and what is looked for."""

    letter: str
    setting: str
    target: str

    @property
    def title(self) -> str:
        """Name in tables and pictures."""
        names = {"binary": "two groups", "multi": "all classes"}
        asked = "mixed answers, " if self.setting == "mixed" else ""
        return f"({self.letter}) {asked}{names[self.target]}"


PANELS = (
    Panel("a", "binary", "binary"),
    Panel("b", "multi", "multi"),
    Panel("c", "mixed", "binary"),
    Panel("d", "mixed", "multi"),
)


def panel_cells(
    study: SklrStudy, panel: Panel, method: Method, sampling: str | None = None
) -> Sequence[Cell]:
    """Give the points of a method's curve; without answers it is level."""
    if not method.uses_answers:
        return [NO_ANSWERS] * len(study.sizes)
    source = SAMPLINGS[sampling] if sampling else None
    return study.curve(panel.setting, source or paper_source(method))


def gaps(
    results: SklrResults,
    name: str,
    panel: Panel,
    sampling: str,
    ours: Method,
    others: Sequence[Method],
    field: str = "",
) -> dict[str, Score]:
    """Give by how much a method is ahead of others, at every size."""
    field = field or panel.target
    found = {}
    for other in others:
        mine, theirs = (
            panel_cells(results.study, panel, method, sampling) for method in (ours, other)
        )
        for size, here, there in zip(results.study.sizes, mine, theirs, strict=True):
            pair = (
                results.values(name, here, ours, field),
                results.values(name, there, other, field),
            )
            found[f"{other.label} at {size}"] = difference(*pair)
    return found
