"""Pictures in a terminal, and side by side in a file for another program."""

from __future__ import annotations

import base64
import io
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.color import Color
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style

from clew.items import open_image

if TYPE_CHECKING:
    from PIL.Image import Image
from rich.box import ROUNDED, SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from clew.cli._rows import Rows, cell
from clew.cli._words import printable
from clew.exceptions import ClewError

#: Size of an image, and of the margin around it, in the file of images side by side, in pixels.
SIDE, MARGIN = 900, 24
PAPER = (255, 255, 255)
#: Bytes of Base64 in one escape sequence of kitty.
CHUNK = 4096
UPPER = "\N{UPPER HALF BLOCK}"


def protocol_of(wanted: str, environment: Mapping[str, str], colors: str | None) -> str:
    """Return how images are shown."""
    if wanted != "auto":
        return wanted
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    # tmux and screen pass these protocols on only if they are set up to.
    is_nested = "TMUX" in environment or term.startswith(("screen", "tmux"))
    if not is_nested:
        if "KITTY_WINDOW_ID" in environment or "kitty" in term or "ghostty" in term:
            return "kitty"
        if program in ("iTerm.app", "WezTerm", "mintty"):
            return "iterm"
    return "blocks" if colors in ("256", "truecolor") else "file"


@lru_cache(maxsize=16)
def _opened(path: Path) -> Image:
    return open_image(path, SIDE)


class Blocks:
    """An image in half blocks: two pixels, one above the other, in each cell."""

    def __init__(self, path: Path, rows: int) -> None:
        self._path, self._rows = path, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        width = options.max_width
        pixels = _fitted(_opened(self._path), width, 2 * self._rows)
        left = " " * ((width - pixels.shape[1]) // 2)
        for top, bottom in zip(pixels[::2], pixels[1::2], strict=True):
            yield Segment(left)
            for upper, lower in zip(top.tolist(), bottom.tolist(), strict=True):
                colors = Color.from_rgb(*upper), Color.from_rgb(*lower)
                yield Segment(UPPER, Style.from_color(*colors))
            yield Segment.line()


def _fitted(image: Image, width: int, height: int) -> Any:
    """Return the pixels of an image as large as fits; an even number of lines."""
    scale = min(width / image.width, height / image.height)
    w, h = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    small = np.asarray(image.resize((w, h), reducing_gap=2.0))
    if h % 2:
        small = np.concatenate((small, small[-1:])) if h > 1 else np.repeat(small, 2, axis=0)
    return small[: 2 * (height // 2)]


class SideBySide:
    """The images of a question in one file, in a folder that is removed when the program ends."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def write(self, paths: Sequence[Path]) -> Path:
        """Draw images side by side into the file, and return its path."""
        if self._folder is None:
            runtime = os.environ.get("XDG_RUNTIME_DIR")
            is_there = runtime and os.access(runtime, os.W_OK)
            self._folder = Path(tempfile.mkdtemp(prefix="clew-", dir=runtime if is_there else None))
        folder = self._folder
        path = folder / "question.jpg"
        # Replaced at once, so that a viewer never reads half a file.
        partial = folder / f"{secrets.token_hex(4)}.jpg"
        side_by_side(paths).save(partial, quality=92)
        partial.replace(path)
        return path

    def close(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def side_by_side(paths: Sequence[Path]) -> Image:
    """Return images of one height side by side on white."""
    import PIL.Image

    inner = SIDE - 2 * MARGIN
    fitted = []
    for image in map(_opened, paths):
        scale = min(inner / image.height, inner / image.width)
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        fitted.append(image.resize(size, reducing_gap=2.0))
    width = MARGIN + len(fitted) * (inner + MARGIN)
    sheet = PIL.Image.new("RGB", (width, SIDE), PAPER)
    for at, image in enumerate(fitted):
        left = MARGIN + at * (inner + MARGIN) + (inner - image.width) // 2
        sheet.paste(image, (left, (SIDE - image.height) // 2))
    return sheet


def escape_of(protocol: str, paths: Sequence[Path], columns: int, rows: int) -> str:
    """Return the escape sequence that draws images side by side."""
    buffer = io.BytesIO()
    side_by_side(paths).save(buffer, "PNG", compress_level=1)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    if protocol == "iterm":
        size = f"width={columns};height={rows};preserveAspectRatio=1"
        return f"\x1b]1337;File=inline=1;size={len(buffer.getvalue())};{size}:{data}\a\n"
    chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    parts = []
    for at, chunk in enumerate(chunks):
        first = f"a=T,f=100,q=2,c={columns},r={rows}," if at == 0 else ""
        parts.append(f"\x1b_G{first}m={int(at < len(chunks) - 1)};{chunk}\x1b\\")
    # Images of the question before are deleted.
    return "\x1b_Ga=d,q=2\x1b\\" + "".join(parts) + "\n"


#: Columns between two cards, and those that the border of a card takes.
GAP, BORDER = 2, 4
#: Widest card.
WIDEST = 76


def cards(
    items: Rows, rows: Sequence[int], labels: Sequence[str], width: int, height: int, protocol: str
) -> RenderableType:
    """Return the items of a question side by side."""
    if items.folder is None and items.texts is None and len(items.frame.columns):
        return _table(items, rows, labels, height)
    each = min(WIDEST, (width - GAP * (len(rows) - 1)) // len(rows))
    grid = Table.grid(padding=(0, GAP, 0, 0))
    for _ in rows:
        grid.add_column(width=each)
    inner = max(1, height - 2)
    bodies = [_body(items, row, inner, each - BORDER, protocol) for row in rows]
    panels = []
    for body, label, row in zip(bodies, labels, rows, strict=True):
        title = Text(label, style="bold not dim")
        if items.texts is None:
            name = shortened(items.ids[row], each - cell_len(label) - 8)
            title.append(f"  {name}", style="not bold not dim")
        panels.append(Panel(body, box=ROUNDED, title=title, title_align="left",
                            border_style="dim", width=each))  # fmt: skip
    grid.add_row(*panels)
    return grid


def shortened(name: str, width: int) -> str:
    """Return a name without its beginning if it is longer than `width` cells."""
    name = printable(name)
    while cell_len(name) > width:
        name = "…" + name[2:] if name.startswith("…") else "…" + name[1:]
    return name


def _body(items: Rows, row: int, height: int, width: int, protocol: str) -> RenderableType:
    if items.texts is not None:
        text = "\n".join(map(printable, items.texts[row].strip().splitlines()))
        if len(text) > (most := width * height):
            text = f"{text[: max(1, most - 30)]} … ({len(text):,} characters)"
        return Text(text)
    if items.folder is None:
        return Text(printable(items.ids[row]), style="bold")
    if protocol != "blocks":
        return Text(printable(str(items.path(row))), overflow="fold")
    try:
        return Group(Blocks(items.path(row), min(height, (width + 1) // 2)))
    except (ClewError, OSError) as error:
        return Text(f"cannot be shown: {error}")


def _table(items: Rows, rows: Sequence[int], labels: Sequence[str], height: int) -> RenderableType:
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
