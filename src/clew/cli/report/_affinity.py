"""A picture of which rows are together, with the rows in the order of their groups."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.cli.report._png import data_uri

__all__ = ["affinity_figure", "graph_means", "probability_means", "shades"]

#: The picture is about this many pixels wide.
PIXELS = 600
#: The color of affinities; its opacity is the affinity.
THREAD = (156, 70, 48)
#: Affinities from this quantile up have the full color.
BRIGHTEST = 0.985
GAMMA = 0.65
#: Few shades compress well, and look the same.
SHADES = 14
#: Groups with a smaller share of the rows have no room for a label.
LEAST_LABELED = 0.025


def probability_means(
    probabilities: Any, order: NDArray[np.int64], size: int = PIXELS
) -> NDArray[np.float64]:
    """Average the probability that two rows are in one group over the rows of each pixel.

    Parameters
    ----------
    probabilities : ndarray or csr_array of shape (n_rows, n_groups)
        Probability of each group.
    order : ndarray of shape (n_rows,)
        The rows from the top, and from the left.
    size : int, default=600
        About how many pixels wide.

    Returns
    -------
    ndarray of shape (n_pixels, n_pixels)

    Notes
    -----
    The mean of products over a block is the product of the means, so no matrix of all rows is made.
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
    """Average the affinities of a graph over the rows of each pixel.

    Parameters
    ----------
    graph : csr_array of shape (n_rows, n_rows)
        Affinities, 0 where there is no edge.
    order : ndarray of shape (n_rows,)
        The rows from the top, and from the left.
    size : int, default=600
        About how many pixels wide.

    Returns
    -------
    ndarray of shape (n_pixels, n_pixels)
    """
    step, width = _blocks(len(order), size)
    pixel = np.empty(len(order), np.int64)
    pixel[order] = np.arange(len(order)) // step
    entries = csr_array(graph).tocoo()
    row, column = (pixel[end] for end in entries.coords)
    m = len(width)
    sums = np.bincount(row * m + column, entries.data, minlength=m * m).reshape(m, m)
    return np.asarray(sums / (width[:, None] * width), dtype=np.float64)


def shades(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the opacity of each pixel, from 0 for affinity 0 to 1."""
    full = float(np.quantile(means, BRIGHTEST)) or float(means.max()) or 1.0
    opacity = np.clip(means / full, 0, 1) ** GAMMA
    return np.asarray((opacity * SHADES).round() / SHADES)


def affinity_figure(
    means: NDArray[np.float64], sizes: Sequence[int], labels: Sequence[str], alt: str
) -> str:
    """Return the picture with the labels of the groups along its edges, as HTML.

    Parameters
    ----------
    means : ndarray of shape (n_pixels, n_pixels)
        Affinities.
    sizes : sequence of int
        Number of rows of each group.
    labels : sequence of str
        A short label of each group.
    alt : str
        What the picture shows.
    """
    opacity = (255 * shades(means)).round().astype(np.uint8)[..., None]
    color = np.broadcast_to(np.array(THREAD, np.uint8), (*opacity.shape[:2], 3))
    picture = data_uri(np.concatenate([color, opacity], axis=-1))
    tracks = " ".join(f"minmax(0,{size}fr)" for size in sizes)
    least = LEAST_LABELED * sum(sizes)
    shown = "".join(
        f"<span>{escape(label) if size >= least else ''}</span>"
        for label, size in zip(labels, sizes, strict=True)
    )
    return (
        '<figure class="affinity">'
        f'<div class="edge top" aria-hidden="true" style="grid-template-columns:{tracks}">{shown}'
        '</div><div class="edge side" aria-hidden="true" '
        f'style="grid-template-rows:{tracks}">{shown}</div>'
        f'<img src="{picture}" width="{len(means)}" height="{len(means)}" alt="{escape(alt)}">'
        "</figure>"
    )


def _blocks(n: int, size: int) -> tuple[int, NDArray[np.int64]]:
    """Return the rows in most pixels, and the rows in each pixel: the last may have fewer."""
    step = max(1, round(n / size))
    starts = np.arange(0, n, step)
    return step, np.diff(np.append(starts, n))
