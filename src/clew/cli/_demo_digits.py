"""The images of the digits as arrays of pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.cli._tables import Groups

__all__ = ["COLUMNS", "SIDE", "group_order", "image", "images", "sprite"]

#: Width and height of a digit's image.
SIDE = 8
#: Value of a black pixel.
INK = 16
#: Images in a line of the sprite, the picture of all images.
COLUMNS = 50


def images(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reshape rows of features to images, (n, 8, 8), from 0 for white to 1 for black."""
    return X.reshape(-1, SIDE, SIDE) / INK


def sprite(X: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Join all images line by line: black on transparent, (height, width, 2)."""
    n_lines = -(-len(X) // COLUMNS)
    cells = np.zeros((n_lines * COLUMNS, SIDE, SIDE))
    cells[: len(X)] = images(X)
    lines = cells.reshape(n_lines, COLUMNS, SIDE, SIDE).swapaxes(1, 2)
    ink = lines.reshape(n_lines * SIDE, COLUMNS * SIDE)
    return np.stack([np.zeros_like(ink), 255 * ink], axis=-1).round().astype(np.uint8)


def group_order(y: NDArray[np.int64], groups: Groups) -> list[NDArray[np.int64]]:
    """Return the rows of each group, the most certain first; groups by their commonest digit."""
    by_confidence = np.argsort(-groups.confidence, kind="stable")
    members = [
        by_confidence[groups.label[by_confidence] == label] for label in np.unique(groups.label)
    ]
    return sorted(members, key=lambda rows: (np.bincount(y[rows]).argmax(), -len(rows)))


def image(row: int) -> str:
    """Return the image of a row as HTML: a window onto the sprite."""
    return f'<i class="image" style="--x:{row % COLUMNS};--y:{row // COLUMNS}"></i>'
