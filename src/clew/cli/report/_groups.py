"""Contact sheets: all images of each group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clew.cli._experiment import Outcome
from clew.cli.report._pictures import COLUMNS

__all__ = ["contact_sheets", "image"]


def contact_sheets(outcome: Outcome, order: Sequence[NDArray[np.int64]]) -> str:
    """Show every group with all its images.

    Parameters
    ----------
    outcome : Outcome
        What the experiment found.
    order : sequence of ndarray
        The rows of each group, in the order in which they are shown.

    Returns
    -------
    str
        HTML.
    """
    return "".join(_sheet(outcome, rows) for rows in order)


def image(row: int) -> str:
    """Show the image of a row: a window onto the sprite."""
    return f'<i class="image" style="--x:{row % COLUMNS};--y:{row // COLUMNS}"></i>'


def _sheet(outcome: Outcome, rows: NDArray[np.int64]) -> str:
    shown = outcome.y[rows]
    counts = np.bincount(shown)
    digits = [digit for digit in np.argsort(-counts, kind="stable").tolist() if counts[digit]]
    most, others = digits[0], digits[1:]
    rest = ", ".join(f"{counts[digit]} a {digit}" for digit in others)
    words = f"{counts[most]} show a {most}" + (f"; {rest}" if rest else ", and no other digit")
    label = int(outcome.first.groups.label[rows[0]])
    cells = "".join(
        f"<span>{image(row)}</span>"
        if digit == most
        else f'<span class="other" title="image {row}: a {digit}">{image(row)}</span>'
        for row, digit in zip(rows.tolist(), shown.tolist(), strict=True)
    )
    return (
        f'<article class="group"><header><h3>Group {label}: {len(rows)} images</h3>'
        f'<p>{words}</p></header><div class="sheet" role="img" '
        f'aria-label="The {len(rows)} images of group {label}: {words}">{cells}</div></article>'
    )
