"""The items of a question side by side: pictures, texts, or rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import ROUNDED, SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from clew.cli._group_traits import cell
from clew.cli._inputs import Items
from clew.cli._progress import printable
from clew.cli.asking._pictures import Blocks
from clew.exceptions import ClewError

__all__ = ["cards", "shortened"]

#: Columns between two cards, and those that the border of a card takes.
GAP, BORDER = 2, 4
#: Widest card.
WIDEST = 76


def cards(
    items: Items, rows: Sequence[int], labels: Sequence[str], width: int, height: int, protocol: str
) -> RenderableType:
    """Return the items of a question side by side.

    Parameters
    ----------
    items : Items
        All items.
    rows : sequence of int
        Those of the question, from the left.
    labels : sequence of str
        Label of each.
    width, height : int
        Cells that they may take.
    protocol : {"blocks", "kitty", "iterm", "file"}
        How images are shown; only "blocks" are drawn here.
    """
    if items.folder is None and items.texts is None and len(items.frame.columns):
        return _table(items, rows, labels, height)
    each = min(WIDEST, (width - GAP * (len(rows) - 1)) // len(rows))
    grid = Table.grid(padding=(0, GAP, 0, 0))
    for _ in rows:
        grid.add_column(width=each)
    inner = max(1, height - 2)
    bodies = [_body(items, row, inner, each - BORDER, protocol) for row in rows]
    grid.add_row(
        *(
            Panel(
                body,
                title=_title(label, items, row, each),
                title_align="left",
                box=ROUNDED,
                border_style="dim",
                width=each,
            )
            for body, label, row in zip(bodies, labels, rows, strict=True)
        )
    )
    return grid


def shortened(name: str, width: int) -> str:
    """Return a name without its beginning if it is longer than `width` cells."""
    name = printable(name)
    while cell_len(name) > width:
        name = "…" + name[2:] if name.startswith("…") else "…" + name[1:]
    return name


def _title(label: str, items: Items, row: int, width: int) -> Text:
    title = Text(label, style="bold not dim")
    if items.texts is None:
        name = shortened(items.ids[row], width - cell_len(label) - 8)
        title.append(f"  {name}", style="not bold not dim")
    return title


def _body(items: Items, row: int, height: int, width: int, protocol: str) -> RenderableType:
    if items.texts is not None:
        text = Text(_cut(printable(items.texts[row]), width * height))
        return text
    if items.folder is None:
        return Text(printable(items.ids[row]), style="bold")
    if protocol != "blocks":
        return Text(printable(str(items.folder / items.ids[row])), overflow="fold")
    try:
        return Group(Blocks(items.folder / items.ids[row], min(height, (width + 1) // 2)))
    except (ClewError, OSError) as error:
        return Text(f"cannot be shown: {error}")


def _cut(text: str, most: int) -> str:
    return (
        text if len(text) <= most else f"{text[: max(1, most - 30)]} … ({len(text):,} characters)"
    )


def _table(items: Items, rows: Sequence[int], labels: Sequence[str], height: int) -> RenderableType:
    """Return rows of a table side by side, a line for each column; equal values are dim."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("", style="dim")
    for label, row in zip(labels, rows, strict=True):
        name = f"{label}  {printable(items.ids[row])[:40]}" if items.has_ids else label
        table.add_column(Text(name), overflow="fold")
    names = list(items.frame.columns)
    most = max(1, height - 4)
    for name in names[:most]:
        values: list[Any] = [cell(items.frame[name].iloc[row]) for row in rows]
        style = "dim" if len(set(values)) == 1 else ""
        table.add_row(printable(cell(name)), *(Text(printable(v), style=style) for v in values))
    if len(names) > most:
        table.add_row(f"and {len(names) - most} more", *("" for _ in rows))
    return table
