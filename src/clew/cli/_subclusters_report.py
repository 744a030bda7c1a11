"""The report of ``clew subclusters --report``: the rows of each subcluster, or their pictures."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.cli._group_traits import cell
from clew.cli._inputs import Items
from clew.cli._progress import counted
from clew.cli.report import Section, data_uri, definitions, facts, render_page, table
from clew.cluster import Subclustering

__all__ = ["subclusters_page"]

#: Maximum number of subclusters that are shown, of columns in a table, and of pixels of the width
#: and height of a picture.
MOST_SHOWN, MOST_COLUMNS, MOST_PIXELS = 300, 6, 96
STYLE = """
.pictures { display: flex; flex-wrap: wrap; gap: .4rem; }
.pictures figure { margin: 0; width: 5.5rem; }
.pictures img { width: 100%; image-rendering: pixelated; border-radius: 3px; }
.pictures figcaption { font-size: .72rem; overflow: hidden; text-overflow: ellipsis; }
"""


def subclusters_page(
    name: str,
    items: Items,
    model: Subclustering,
    shape: tuple[int, int] | None,
    summary: Mapping[str, Any],
) -> str:
    """Return the report, as HTML.

    Parameters
    ----------
    name : str
        Name of the file of rows.
    items : Items
        The rows.
    model : Subclustering
        The fitted model.
    shape : tuple of int or None
        Height and width of images, if the features are pixels.
    summary : mapping
        What ``--json`` prints.
    """
    sure = model.confidence_.mean(axis=1)
    shown = np.sort(np.argsort(-sure, kind="stable")[:MOST_SHOWN])
    figures = [
        (f"{summary['rows']:,}", "rows"),
        (f"{summary['subclusters']:,}", "subclusters"),
        (f"{summary['mean_confidence']:.2f}", "mean confidence"),
        (f"{summary['separation']:.2f}", "mean silhouette"),
    ]
    more = "" if len(shown) == len(sure) else f"<p>The {len(shown)} surest are shown.</p>"
    ink = _Ink(items, shape) if shape is not None else None
    html = "".join(_subcluster(items, model, at, ink) for at in shown.tolist())
    about = (
        "<p>Each subcluster with its rows, the center first. Confidence is the probability that a "
        "row is in its center's group.</p>"
    )
    made = definitions({"Overlap": str(summary["overlap"]), "Rows": name})
    command = f"<p>The command:</p><pre>{escape(shlex.join(['clew', *sys.argv[1:]]))}</pre>"
    return render_page(
        brand="clew report",
        heading=f"{name}: {counted(len(sure), 'subcluster')} of {counted(model.size, 'row')}",
        lead="A few sure examples of each group; all other rows are left out.",
        sections=[
            Section("result", "Result", "The result", facts(figures)),
            Section("subclusters", "Subclusters", "The subclusters", about + more + html),
            Section("made", "How it was made", "How it was made", made + command),
        ],
        seconds=summary["seconds"],
        style=STYLE,
    )


class _Ink:
    """Pictures of rows whose features are pixels."""

    def __init__(self, items: Items, shape: tuple[int, int]) -> None:
        self._X, self._shape = items.X, shape
        self._step = max(1, -(-max(shape) // MOST_PIXELS))
        self._low, self._high = float(items.X.min()), float(items.X.max())

    def uri(self, row: int) -> str:
        """Return the picture of a row as a data URI, no larger than it is shown."""
        values = self._X[row]
        values = np.asarray(values.todense() if hasattr(values, "todense") else values)
        pixels: NDArray[np.float64] = values.reshape(*self._shape, -1)
        pixels = pixels[:: self._step, :: self._step]
        span = self._high - self._low or 1.0
        return data_uri((255 * (pixels - self._low) / span).round().astype(np.uint8))


def _subcluster(items: Items, model: Subclustering, at: int, ink: _Ink | None) -> str:
    rows, sure = model.exemplars_[at].tolist(), model.confidence_[at]
    words = f"{counted(len(rows), 'row')}, mean confidence {sure.mean():.2f}"
    html = f'<article class="group"><header><h3>Subcluster {at}</h3><p>{words}</p></header>'
    if ink is not None:
        pictures = "".join(
            f'<figure><img src="{ink.uri(row)}" alt="row {escape(items.ids[row])}">'
            f"<figcaption>{escape(cell(items.ids[row]))}</figcaption></figure>"
            for row in rows
        )
        return f'{html}<div class="pictures">{pictures}</div></article>'
    columns = list(items.frame.columns[:MOST_COLUMNS])
    cells = [
        (
            cell(items.ids[row]),
            f"{sure[position]:.2f}",
            *(cell(items.frame[name].iloc[row]) for name in columns),
        )
        for position, row in enumerate(rows)
    ]
    header = ("id", "confidence", *map(str, columns))
    return f"{html}{table(header, cells, f'Rows of subcluster {at}')}</article>"
