"""Arrays of pixels: the digits side by side, and affinities in the order of the groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.cli._tables import Groups

__all__ = ["COLUMNS", "SIDE", "affinity_shades", "group_order", "images", "sprite"]

#: Width and height of a digit's image.
SIDE = 8
INK = 16
#: Images in a line of the sprite.
COLUMNS = 50
#: Affinities from this quantile up are drawn in the full colour.
BRIGHTEST = 0.985
GAMMA = 0.65
#: Fewer shades make a smaller file, and look the same.
SHADES = 14


def images(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shape rows of features into images, (n, 8, 8), from 0 for paper to 1 for ink."""
    return X.reshape(-1, SIDE, SIDE) / INK


def sprite(X: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Put all images into one, line by line: black ink on nothing, (height, width, 2)."""
    n_lines = -(-len(X) // COLUMNS)
    cells = np.zeros((n_lines * COLUMNS, SIDE, SIDE))
    cells[: len(X)] = images(X)
    lines = cells.reshape(n_lines, COLUMNS, SIDE, SIDE).swapaxes(1, 2)
    ink = lines.reshape(n_lines * SIDE, COLUMNS * SIDE)
    return np.stack([np.zeros_like(ink), 255 * ink], axis=-1).round().astype(np.uint8)


def group_order(y: NDArray[np.int64], groups: Groups) -> list[NDArray[np.int64]]:
    """Give the rows of each group, the surest first; groups by the digit that most of them show."""
    surest = np.argsort(-groups.confidence, kind="stable")
    members = [surest[groups.label[surest] == label] for label in np.unique(groups.label)]
    return sorted(members, key=lambda rows: (np.bincount(y[rows]).argmax(), -len(rows)))


def affinity_shades(
    affinity: NDArray[np.float32], order: NDArray[np.int64], size: int
) -> NDArray[np.float64]:
    """Draw affinities in a given order of rows, smaller.

    Parameters
    ----------
    affinity : ndarray of shape (n, n)
        Affinities of every two rows.
    order : ndarray of shape (n,)
        The rows, from the top and from the left.
    size : int
        About how many pixels wide; each pixel is the mean of a square of entries.

    Returns
    -------
    ndarray of shape (pixels, pixels)
        From 0 for none to 1.
    """
    n = len(order)
    step = max(1, round(n / size))
    starts = np.arange(0, n, step)
    sums = np.add.reduceat(affinity[np.ix_(order, order)], starts, axis=0, dtype=np.float64)
    sums = np.add.reduceat(sums, starts, axis=1)
    width = np.diff(np.append(starts, n))
    means = sums / (width[:, None] * width)
    shades = np.clip(means / np.quantile(means, BRIGHTEST), 0, 1) ** GAMMA
    return np.asarray((shades * SHADES).round() / SHADES)
