"""Contact sheets: all images of each group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clew.cli._demo_digits import image
from clew.cli._demo_experiment import Outcome

__all__ = ["contact_sheets"]


def contact_sheets(outcome: Outcome, order: Sequence[NDArray[np.int64]]) -> str:
    """Return all images of each group, as HTML.

    Parameters
    ----------
    outcome : Outcome
        The results.
    order : sequence of ndarray
        The rows of each group.
    """
    return "".join(_sheet(outcome, rows) for rows in order)


def _sheet(outcome: Outcome, rows: NDArray[np.int64]) -> str:
    counts = np.bincount(outcome.y[rows])
    digits = [digit for digit in np.argsort(-counts, kind="stable").tolist() if counts[digit]]
    most, others = digits[0], digits[1:]
    label = int(outcome.first.groups.label[rows[0]])
    title = f"Mostly {most}" if others else f"Only {most}"
    words = f"group {label}, {len(rows)} images"
    if others:
        shares = [f"{counts[digit]} {_article(digit)} {digit}" for digit in others]
        words += f": {counts[most]} show {_article(most)} {most}, {', '.join(shares)}"
    cells = "".join(_cell(row, int(outcome.y[row]), most) for row in rows.tolist())
    return (
        f'<article class="group"><header><h3>{title}</h3><p>{words}</p></header>'
        f'<div class="sheet" role="img" aria-label="{title}: {words}">{cells}</div></article>'
    )


def _cell(row: int, digit: int, most: int) -> str:
    if digit == most:
        return f"<span>{image(row)}</span>"
    title = f"image {row} shows {_article(digit)} {digit}"
    return f'<span class="other" title="{title}">{image(row)}</span>'


def _article(digit: int) -> str:
    return "an" if digit == 8 else "a"
