"""Rows of a report as people know them: small pictures, or texts."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from clew.cli._group_traits import cell
from clew.cli._inputs import Items
from clew.cli._progress import printable
from clew.exceptions import ClewError
from clew.items import open_image

__all__ = ["STYLE", "figure", "galleries", "gallery", "is_shown"]

#: Pixels of the longer side, twice as many as a screen of normal density shows.
PIXELS, QUALITY = 224, 78
#: Characters of a text that are shown.
MOST_TEXT = 300
STYLE = """
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(6.6rem, 1fr)); gap: .8rem; margin: 0 0 1rem; padding: 0; list-style: none; }
.gallery.texts { grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
figure { margin: 0; min-width: 0; }
figure img { display: block; width: 100%; height: 6.6rem; object-fit: contain; background: var(--card); border: 1px solid var(--line); border-radius: 6px; }
figure blockquote { margin: 0; padding: .6rem .8rem; background: var(--card); border: 1px solid var(--line); border-radius: 6px; overflow-wrap: anywhere; line-height: 1.4; }
figcaption { margin-top: .25rem; font-size: .78rem; line-height: 1.3; color: var(--quiet); overflow-wrap: anywhere; }
figcaption span { display: block; }
.doubts .pair > figure { flex: 1 1 0; }
@media (max-width: 40rem) { .gallery { grid-template-columns: repeat(auto-fill, minmax(4.6rem, 1fr)); gap: .5rem; } .gallery img { height: 4.6rem; } }
"""  # noqa: E501 - a rule a line


def is_shown(items: Items) -> bool:
    """Whether rows are shown as pictures or texts, and not by their columns."""
    return items.folder is not None or items.texts is not None


def gallery(items: Items, rows: Sequence[int], captions: Iterable[str] = ()) -> str:
    """Return rows as a grid of pictures or texts, as HTML.

    Parameters
    ----------
    items : Items
        Images or texts.
    rows : sequence of int
        Those that are shown.
    captions : iterable of str, default=()
        A second line for each.
    """
    lines = list(captions) or [""] * len(rows)
    cells = "".join(
        f"<li>{figure(items, row, line)}</li>" for row, line in zip(rows, lines, strict=True)
    )
    kind = "" if items.texts is None else " texts"
    return f'<ul class="gallery{kind}">{cells}</ul>'


def galleries(items: Items, typical: NDArray[np.int64], unsure: NDArray[np.int64]) -> str:
    """Return the typical rows of a group and its least certain ones, as HTML."""
    html = gallery(items, typical.tolist())
    unsure = unsure[~np.isin(unsure, typical)]
    if len(unsure):
        html += f"<h4>Least certain</h4>{gallery(items, unsure.tolist())}"
    return html


def figure(items: Items, row: int, caption: str = "") -> str:
    """Return one row as a picture or a text, as HTML."""
    second = f"<span>{escape(caption)}</span>" if caption else ""
    if items.texts is not None:
        text = items.texts[row]
        text = text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
        below = f"<figcaption>{second}</figcaption>" if second else ""
        return f'<figure><blockquote dir="auto">{escape(text)}</blockquote>{below}</figure>'
    name = escape(cell(printable(items.ids[row])))
    return f"<figure>{_picture(items, row)}<figcaption>{name}{second}</figcaption></figure>"


def _picture(items: Items, row: int) -> str:
    """Return the element of a picture: encoded anew, so that nothing but pixels is in the page."""
    assert items.folder is not None
    try:
        image = open_image(items.folder / items.ids[row], PIXELS)
    except (ClewError, OSError) as error:
        return f"<p>cannot be shown: {escape(str(error))}</p>"
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    name = escape(printable(items.ids[row]))
    size = f'width="{image.width}" height="{image.height}"'
    return f'<img src="data:image/jpeg;base64,{data}" alt="{name}" loading="lazy" {size}>'
