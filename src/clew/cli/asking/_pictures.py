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

__all__ = ["Blocks", "SideBySide", "escape_of", "protocol_of"]

#: Size of an image, and of the margin around it, in the file of images side by side, in pixels.
SIDE, MARGIN = 900, 24
PAPER = (255, 255, 255)
#: Bytes of Base64 in one escape sequence of kitty.
CHUNK = 4096
UPPER = "\N{UPPER HALF BLOCK}"


def protocol_of(wanted: str, environment: Mapping[str, str], colors: str | None) -> str:
    """Return how images are shown.

    Parameters
    ----------
    wanted : str
        The option ``--images``; "auto" recognizes the terminal.
    environment : mapping of str to str
        Environment variables.
    colors : str or None
        Color system that the terminal has, as rich names it.

    Returns
    -------
    {"blocks", "kitty", "iterm", "file"}
    """
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
    """An image in half blocks: two pixels, one above the other, in each cell.

    Parameters
    ----------
    path : Path
        The image.
    rows : int
        Largest number of lines.
    """

    def __init__(self, path: Path, rows: int) -> None:
        self._path, self._rows = path, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        width = options.max_width
        pixels = _fitted(_opened(self._path), width, 2 * self._rows)
        left = " " * ((width - pixels.shape[1]) // 2)
        for top, bottom in zip(pixels[::2], pixels[1::2], strict=True):
            yield Segment(left)
            for upper, lower in zip(top.tolist(), bottom.tolist(), strict=True):
                yield Segment(UPPER, Style.from_color(_color(upper), _color(lower)))
            yield Segment.line()


def _color(pixel: Sequence[int]) -> Color:
    return Color.from_rgb(*pixel)


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
        """Draw images side by side into the file, and return its path.

        Raises
        ------
        ClewError, OSError
            If an image cannot be read any more, or the file cannot be written.
        """
        folder = self._made()
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

    def _made(self) -> Path:
        if self._folder is None:
            runtime = os.environ.get("XDG_RUNTIME_DIR")
            is_there = runtime and os.access(runtime, os.W_OK)
            self._folder = Path(tempfile.mkdtemp(prefix="clew-", dir=runtime if is_there else None))
        return self._folder


def side_by_side(paths: Sequence[Path], height: int = SIDE) -> Image:
    """Return images of one height side by side on white.

    Parameters
    ----------
    paths : sequence of Path
        The images, from the left.
    height : int, default=900
        Height in pixels.
    """
    import PIL.Image

    images = [_opened(path) for path in paths]
    inner = height - 2 * MARGIN
    fitted = []
    for image in images:
        scale = min(inner / image.height, inner / image.width)
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        fitted.append(image.resize(size, reducing_gap=2.0))
    width = MARGIN + len(fitted) * (inner + MARGIN)
    sheet = PIL.Image.new("RGB", (width, height), PAPER)
    for at, image in enumerate(fitted):
        left = MARGIN + at * (inner + MARGIN) + (inner - image.width) // 2
        sheet.paste(image, (left, (height - image.height) // 2))
    return sheet


def escape_of(protocol: str, paths: Sequence[Path], columns: int, rows: int) -> str:
    """Return the escape sequence that draws images side by side.

    Parameters
    ----------
    protocol : {"kitty", "iterm"}
        What the terminal understands.
    paths : sequence of Path
        The images.
    columns, rows : int
        Cells that they may take.
    """
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
