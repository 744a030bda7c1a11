"""Parts of a report: tables, claims, curves and pictures; and the page that they are put into."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, Self

import numpy as np
import pandas as pd

from benchmarks import _harness as harness
from benchmarks.study import pictures
from benchmarks.study.results import Results, S, Score, Values, paired, standing, verdict


class Report(Generic[S]):
    """The parts of a report, made of the results; each report is a subclass."""

    def __init__(self, results: Results[S]) -> None:
        self.results, self.study = results, results.study
        self.sets = self.study.found_sets


@dataclass(frozen=True)
class Table:
    """Rows of text, scores, or values by trial, which become scores."""

    columns: Sequence[str]  # The header, beginning with the name of the first column
    rows: Sequence[Sequence[Any]]
    is_marked: bool = False  # Whether the best score of each column is bold
    is_lowest: bool = False  # Whether the best is the lowest
    average: Callable[[pd.Series], Score] = Score.of  # Computes a score from values by trial

    def markdown(self) -> str:
        average = self.average
        rows = [[average(c) if isinstance(c, pd.Series) else c for c in row] for row in self.rows]
        best = [self._best([row[i] for row in rows]) for i in range(len(self.columns))]
        texts = [[_text(cell, best[i]) for i, cell in enumerate(row)] for row in rows]
        return harness.markdown_table(self.columns, texts)

    def _best(self, column: Sequence[Any]) -> float:
        means = [c.mean for c in column if isinstance(c, Score) and c.is_known and not c.is_gap]
        best = min if self.is_lowest else max
        return best(means, default=np.nan) if self.is_marked else np.nan


def _text(cell: Any, best: float) -> Any:
    if not isinstance(cell, Score):
        return cell
    if cell.mean != best or cell.is_gap:
        return str(cell)
    return f"**{Score(cell.mean, cell.error)}**{cell.note}"


@dataclass(frozen=True)
class Claim:
    """A statement that one result is above another, at one or several places."""

    text: str
    ours: Callable[[Any], Values]  # Returns our values at a place: by trial, or a curve
    theirs: Callable[[Any], Values] | Mapping[str, Callable[[Any], Values]]
    """Returns the values to compare ours with; or several such functions, by name."""
    where: Sequence[str] | Mapping[str, Any]
    """Names of the places; or a mapping from names to the arguments of `ours` and `theirs`."""
    is_below: bool = False  # Whether the statement is that ours is below instead

    @property
    def places(self) -> Mapping[str, Any]:
        return self.where if isinstance(self.where, Mapping) else {p: p for p in self.where}

    def gaps(self, place: Any) -> dict[str, Score]:
        """Return our lead over each of the other results at a place."""
        theirs = self.theirs if isinstance(self.theirs, Mapping) else {"": self.theirs}
        return paired(self.ours(place), {name: of(place) for name, of in theirs.items()})

    def rows(self) -> list[list[str]]:
        """Return claim, place, the least favorable lead with its standard error, and verdict."""
        found = []
        for label, place in self.places.items():
            gaps, sign = self.gaps(place), -1 if self.is_below else 1
            known = {n: sign * gap.mean if gap.is_known else np.inf for n, gap in gaps.items()}
            least = min(known, key=lambda name: known[name], default="")
            gap = str(gaps[least]) if gaps else "–"
            text = f"{gap} ({least})" if least and gaps[least].is_known else gap
            found.append([self.text, label, text, standing(gaps, is_below=self.is_below)])
        return found


def above(
    ours: Any,
    theirs: Any,
    value: Callable[..., Values],
    where: Sequence[str] | Mapping[str, Any],
    text: str = "",
) -> Claim:
    """Claim that a method is above another one: ``value(place, method=method)``."""
    title = f"{ours.label} above {theirs.label}{text}"
    return Claim(title, partial(value, method=ours), partial(value, method=theirs), where)


def counted(claims: Sequence[Claim]) -> str:
    """Count in how many comparisons of all claims ours is above, level and below."""
    gaps = [claim.gaps(place) for claim in claims for place in claim.places.values()]
    found = [verdict(gap) for of in gaps for gap in of.values()]
    above, level, below = map(found.count, ("yes", "level", "**no**"))
    return f"above in {above} of {len(found)} comparisons, level in {level}, below in {below}"


def claims_table(claims: Sequence[Claim]) -> Table:
    """Lay out claims, with a row for each place."""
    rows = [row for claim in claims for row in claim.rows()]
    return Table(["claim", "set", "gap ± se", "verdict"], rows)


@dataclass(frozen=True)
class Line:
    """One curve of a panel."""

    label: str
    curve: pd.DataFrame  # A row for each trial, a column for each point
    style: Mapping[str, Any]


@dataclass(frozen=True)
class Panel:
    """Curves over the same points."""

    title: str
    x: Sequence[float]
    lines: Sequence[Line]
    ticks: Sequence[str] | None = None  # Names of the points

    @classmethod
    def of(
        cls,
        title: str,
        x: Sequence[float],
        methods: Sequence[Any],
        curve: Callable[[Any], pd.DataFrame],
        style: Callable[[Any], Mapping[str, Any]],
        ticks: Sequence[str] | None = None,
    ) -> Self:
        """Draw a curve for each method."""
        return cls(title, x, [Line(m.label, curve(m), style(m)) for m in methods], ticks)


@dataclass(frozen=True)
class Curves:
    """A picture of curves, mean ± standard error: a grid of panels."""

    stem: str
    title: str
    rows: Sequence[Sequence[Panel]]
    x_label: str
    y_labels: Sequence[str] = ("ARI",)
    """Labels of the rows of panels; further rows have the last one."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `pictures.panels`."""

    def draw(self) -> Any:
        figure, grid = pictures.panels(len(self.rows), len(self.rows[0]), **self.options)
        for i, (places, row) in enumerate(zip(grid, self.rows, strict=True)):
            x_label = self.x_label if i == len(grid) - 1 else ""
            for place, panel in zip(places, row, strict=True):
                for line in panel.lines:
                    pictures.line(place, panel.x, line.curve, label=line.label, **line.style)
                pictures.tidied(place, panel.title, x_label)
                if panel.ticks is not None:
                    place.set_xticks(panel.x, panel.ticks)
            places[0].set_ylabel(self.y_labels[min(i, len(self.y_labels) - 1)], fontsize=9)
            pictures.legend_beside(places[-1])
        figure.suptitle(f"{self.title} (mean ± standard error)", fontsize=11)
        return figure


@dataclass(frozen=True)
class Picture:
    """A picture that the study draws itself."""

    stem: str
    title: str
    draw: Callable[[], Any]  # Returns a matplotlib figure
    n_colors: int | None = None
    """Size of the palette that it is stored with, as noisy images hardly compress otherwise."""


@dataclass(frozen=True)
class Page:
    """Parts that are also written to another file, which the documentation includes."""

    stem: str
    blocks: Sequence[Any]


#: A part of a report; a string is a line of Markdown.
Block = str | Table | Claim | Curves | Picture | Page


class _Places(dict[str, Any]):
    """Values for a page's placeholders: attributes of the parts, or their methods' results."""

    def __init__(self, parts: Any, results: Results[Any]) -> None:
        super().__init__(about=_about(results), study=results.study)
        self._parts = parts

    def __missing__(self, name: str) -> Any:
        found = getattr(self._parts, name)
        found = found() if callable(found) else found
        blocks = [found] if isinstance(found, Block) else list(found)
        return "\n".join(_rendered(self["study"].stem, blocks)[1:])


def fill(results: Results[Any], parts: Callable[[Results[Any]], Any], page: str | Path) -> str:
    """Write the report of a study, with its pictures, and return it.

    `page` is the template, or the module of the same name beside it. Its placeholders are in
    braces: ``{about}`` says where the report was made and which results are missing or outdated,
    ``{study}`` is the study, and all others are attributes of `parts(results)`, or methods that
    return one block or several. Missing results become dashes.
    """
    template = Path(page).with_suffix(".md").read_text(encoding="utf-8")
    text = template.format_map(_Places(parts(results), results)).rstrip() + "\n"
    harness.write_text(harness.RESULTS / f"{results.study.stem}.md", text)
    return text


def _rendered(stem: str, blocks: Sequence[Block]) -> list[str]:
    lines: list[str] = []
    claims = [block for block in blocks if isinstance(block, Claim)]
    for block in blocks:
        if isinstance(block, Claim):  # all claims are in one table, at the place of the first
            lines += ["", claims_table(claims).markdown()] if block is claims[0] else []
        elif isinstance(block, Page):
            page = _rendered(stem, block.blocks)
            text = "\n".join(page[1:]) + "\n"
            harness.write_text(harness.RESULTS / f"{stem}_{block.stem}.md", text)
            lines += page
        elif isinstance(block, Curves | Picture):
            name = f"{stem}_{block.stem}.png"
            n_colors = block.n_colors if isinstance(block, Picture) else None
            pictures.save(block.draw(), harness.RESULTS / name, n_colors)
            lines += ["", f"![{block.title}]({name})"]
        else:
            lines += ["", block if isinstance(block, str) else block.markdown()]
    return lines


def _about(results: Results[Any]) -> str:
    """Describe where the report was made, and which results are missing or outdated."""
    study, now = results.study, harness.source_tag()
    source = f"{', '.join(sorted(results.sources))}; today's is {now}. `--fresh` measures again"
    notes = {
        "**Quick run: few trials, small problems; the figures mean little.**": study.is_quick,
        f"**Measured with clew's source {source}.**": results.sources - {now},
        f"**Measured with other parameters: {', '.join(results.outdated)}.**": results.outdated,
        f"**Not complete: {results.n_missing} results are missing.**": results.n_missing,
        f"Not available, and left out: {', '.join(study.absent_sets)}.": study.absent_sets,
    }
    shown = [text for text, is_so in notes.items() if is_so]
    return "\n\n".join([harness.described(harness.provenance()), *shown])
