"""A collection of pictures that clew ships, with their kinds, and answers about them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pictures", "load_pictures"]

FOLDER = Path(__file__).parent / "pictures"


@dataclass(frozen=True, kw_only=True, eq=False)
class Pictures:
    """A folder of pictures with known kinds, and answers about them.

    Parameters
    ----------
    folder : Path
        Folder of the images; its README tells their source and license.
    ids : list of str
        Name of each file, in ascending order.
    y : ndarray of shape (n_pictures,), int64
        The kind of each picture, as a position in `class_names`.
    class_names : tuple of str
        Names of the kinds.
    answers : Path
        File of 300 answers of three simulated people, as `clew ask` writes it; 6 % are wrong.
    """

    folder: Path
    ids: list[str]
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    answers: Path


def load_pictures() -> Pictures:
    """Return the collection of pictures that clew ships.

    Returns
    -------
    Pictures
        109 color pictures, 128 × 128 pixels, of eight kinds: birds, buildings, clothing, flowers,
        fruit, mammals, sweets and vehicles.

    Notes
    -----
    The pictures are drawings of the font Noto Color Emoji (Apache License 2.0).

    Examples
    --------
    >>> from clew.datasets import load_pictures
    >>> pictures = load_pictures()
    >>> len(pictures.ids), pictures.ids[0], pictures.class_names[pictures.y[0]]
    (109, 'ambulance.webp', 'vehicle')
    """
    with (FOLDER / "kinds.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names, y = np.unique([row["kind"] for row in rows], return_inverse=True)
    return Pictures(
        folder=FOLDER,
        ids=[row["id"] for row in rows],
        y=y.astype(np.int64),
        class_names=tuple(names.tolist()),
        answers=FOLDER / "answers.jsonl",
    )
