"""The demo in one wide picture: images of each group, and which images are together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.cli._demo_digits import SIDE, group_order, images
from clew.cli._demo_experiment import Outcome
from clew.cli.report import png, probability_means, shades

__all__ = ["collage"]

PAPER = np.array([251, 250, 247])
INK = np.array([38, 34, 31])
THREAD = np.array([156, 70, 48])
ZOOM = 2
MARGIN = 28
#: Images in a line, lines for each group, and pixels around an image.
N_COLUMNS, N_LINES, GAP = 40, 3, 2
BAND = 10


def collage(outcome: Outcome) -> bytes:
    """Return some images of each group, its mean image and the affinities, as a PNG."""
    order = group_order(outcome.y, outcome.first.groups)
    bands = [_band(outcome, rows) for rows in order]
    left = np.vstack([part for band in bands for part in (band, _blank(BAND, band.shape[1]))])
    left = left[:-BAND]
    means = probability_means(outcome.first.probabilities, np.concatenate(order), len(left))
    right = _mixed(_resized(shades(means), len(left)), THREAD)
    picture = np.hstack([left, _blank(len(left), MARGIN), right])
    framed = np.full((len(left) + 2 * MARGIN, picture.shape[1] + 2 * MARGIN, 3), PAPER, np.uint8)
    framed[MARGIN:-MARGIN, MARGIN:-MARGIN] = picture
    return png(framed)


def _band(outcome: Outcome, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Draw the mean image of a group and its images, the most certain first.

    Images of a digit other than the most frequent one of the group are colored.
    """
    n_shown = min(len(rows), N_COLUMNS * N_LINES)
    shown = rows[np.linspace(0, len(rows) - 1, n_shown).astype(int)]
    cell = SIDE * ZOOM + 2 * GAP
    ink = np.zeros((N_LINES * cell, N_COLUMNS * cell))
    is_marked = np.zeros(ink.shape, bool)
    is_other = outcome.y[shown] != np.bincount(outcome.y[rows]).argmax()
    for at, image in enumerate(_zoomed(images(outcome.X[shown]), ZOOM)):
        top, left = GAP + at // N_COLUMNS * cell, GAP + at % N_COLUMNS * cell
        ink[top : top + len(image), left : left + len(image)] = image
        is_marked[top : top + len(image), left : left + len(image)] = is_other[at]
    mean = images(outcome.X[rows].mean(axis=0, keepdims=True))
    zoom = len(ink) // SIDE
    title = np.zeros((len(ink), len(ink)))
    title[: zoom * SIDE, : zoom * SIDE] = _zoomed(mean, zoom)[0]
    sheet = np.where(is_marked[..., None], _mixed(ink, THREAD), _mixed(ink, INK))
    return np.hstack([_mixed(title, INK), _blank(len(ink), BAND), sheet])


def _zoomed(pictures: NDArray[np.float64], zoom: int) -> NDArray[np.float64]:
    return pictures.repeat(zoom, axis=1).repeat(zoom, axis=2)


def _resized(square: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Scale to `size` × `size` pixels, each the nearest one."""
    at = np.arange(size) * len(square) // size
    return square[np.ix_(at, at)]


def _mixed(opacity: NDArray[np.float64], color: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Blend a color with that of the paper; `opacity` is its share."""
    mixture = PAPER + opacity[..., None] * (color - PAPER)
    return np.asarray(mixture.round(), dtype=np.uint8)


def _blank(height: int, width: int) -> NDArray[np.uint8]:
    return np.full((height, width, 3), PAPER, np.uint8)
