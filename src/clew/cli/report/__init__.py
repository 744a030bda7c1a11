"""Reports: HTML pages from templates, which need no other file and no network, and their pictures.

The templates escape all text. Pictures are made here: PNG files, and positions on an axis that a
template draws as SVG.
"""

from __future__ import annotations

import base64
import shlex
import struct
import sys
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = [
    "Strip",
    "affinity_picture",
    "data_uri",
    "dot_plot",
    "graph_means",
    "png",
    "probability_means",
    "render",
    "shades",
]

#: PNG's code of the kind of picture, by its number of channels.
COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
#: The picture of affinities is about this many pixels wide.
PIXELS = 600
#: The color of affinities; its opacity is the affinity.
THREAD = (156, 70, 48)
#: Affinities from this quantile up have the full color; few shades compress well.
BRIGHTEST, GAMMA, SHADES = 0.985, 0.65, 14
#: Groups with a smaller share of the rows have no room for a label.
LEAST_LABELED = 0.025
#: Steps of an axis, and most of them.
STEPS, MOST_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25), 5


def render(template: str, **view: Any) -> str:
    """Return a page: a template of this folder, filled in; knows the version and the command."""
    common = {"version": version("clew"), "command": shlex.join(["clew", *sys.argv[1:]])}
    return _environment().get_template(template).render(common | view)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("clew.cli.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


class Strip(NamedTuple):
    """A line of a dot plot."""

    label: str
    dots: Sequence[float]
    words: str
    """The values as text."""
    interval: tuple[float, float] | None = None
    mean: float | None = None
    is_marked: bool = False


def dot_plot(strips: Sequence[Strip], low: float | None = None) -> Mapping[str, Any]:
    """Return the positions of dots, intervals and ticks in percent of the axis.

    The axis ends at a tick above the largest value, at most 1, and begins at `low` or at 0.
    """
    values = [value for one in strips for value in (*one.dots, *(one.interval or ()))]
    start = low or 0.0
    step = next((s for s in STEPS if (max(values) - start) / s <= MOST_STEPS), STEPS[-1])
    end = min(1.0, start + step * max(1, int(np.ceil(round((max(values) - start) / step, 6)))))

    def place(value: float | np.floating) -> str:
        return f"{100 * (value - start) / (end - start):.2f}"

    ticks = np.arange(start, end + step / 2, step)
    return {
        "ticks": [(place(tick), tick) for tick in ticks],
        "start": start,
        "end": end,
        "lines": [
            {
                "label": one.label,
                "words": one.words,
                "dots": [place(value) for value in one.dots],
                "interval": one.interval and [place(bound) for bound in one.interval],
                "mean": None if one.mean is None else place(one.mean),
                "is_marked": one.is_marked,
            }
            for one in strips
        ],
    }


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode a picture, (height, width, channels): gray, gray and alpha, RGB, or RGBA."""
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, COLOR_TYPES[channels], 0, 0, 0)
    # Each line begins with the code of its filter; 0 means no filter.
    lines = np.zeros((height, 1 + width * channels), np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    content = b"\x89PNG\r\n\x1a\n"
    for kind, data in (
        (b"IHDR", header),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ):
        content += struct.pack(">I", len(data)) + kind + data
        content += struct.pack(">I", zlib.crc32(kind + data))
    return content


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """Encode a picture as a data URI."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode("ascii")


def probability_means(
    probabilities: NDArray[np.float64] | csr_array, order: NDArray[np.int64], size: int = PIXELS
) -> NDArray[np.float64]:
    """Average the probability that two rows are in one group over the rows of each pixel.

    `probabilities`: (n_rows, n_groups); `order`: the rows from the top. The mean of products over a
    block is the product of the means, so no matrix of all rows is made.
    """
    step, width = _blocks(len(order), size)
    start = np.arange(0, len(order), step)
    if isinstance(probabilities, np.ndarray):
        sums = np.add.reduceat(probabilities[order], start, axis=0)
    else:
        pixels = csr_array((np.ones(len(order)), order, np.append(start, len(order))))
        sums = (pixels @ probabilities).toarray()
    means = sums / width[:, None]
    return np.asarray(means @ means.T, dtype=np.float64)


def graph_means(
    graph: csr_array, order: NDArray[np.int64], size: int = PIXELS
) -> NDArray[np.float64]:
    """Average the affinities of a graph, (n_rows, n_rows), over the rows of each pixel."""
    step, width = _blocks(len(order), size)
    pixel = np.empty(len(order), np.int64)
    pixel[order] = np.arange(len(order)) // step
    entries = csr_array(graph).tocoo()
    row, column = (pixel[end] for end in entries.coords)
    m = len(width)
    sums = np.bincount(row * m + column, entries.data, minlength=m * m).reshape(m, m)
    return np.asarray(sums / (width[:, None] * width), dtype=np.float64)


def _blocks(n: int, size: int) -> tuple[int, NDArray[np.int64]]:
    """Return the rows in most pixels, and the rows in each pixel: the last may have fewer."""
    step = max(1, round(n / size))
    return step, np.diff(np.append(np.arange(0, n, step), n))


def shades(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the opacity of each pixel, from 0 for affinity 0 to 1."""
    full = float(np.quantile(means, BRIGHTEST)) or float(means.max()) or 1.0
    opacity = np.clip(means / full, 0, 1) ** GAMMA
    return np.asarray((opacity * SHADES).round() / SHADES)


def affinity_picture(means: NDArray[np.float64], sizes: Sequence[int]) -> Mapping[str, Any]:
    """Return the picture of affinities, (n_pixels, n_pixels), and the labels along its edges."""
    opacity = (255 * shades(means)).round().astype(np.uint8)[..., None]
    color = np.broadcast_to(np.array(THREAD, np.uint8), (*opacity.shape[:2], 3))
    least = LEAST_LABELED * sum(sizes)
    return {
        "uri": data_uri(np.concatenate([color, opacity], axis=-1)),
        "n_pixels": len(means),
        "tracks": " ".join(f"minmax(0,{size}fr)" for size in sizes),
        "labels": [str(at) if size >= least else "" for at, size in enumerate(sizes, start=1)],
    }
