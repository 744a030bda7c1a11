"""What the pictures of all studies share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks import _harness as harness

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PINK",
    "RED",
    "SKY",
    "legend_beside",
    "line",
    "matrix_picture",
    "panels",
    "picture_name",
    "saved",
    "tidied",
]

#: Colours that stay apart for colour-blind readers (Okabe and Ito).
BLUE, SKY, GREEN, ORANGE = "#0072B2", "#56B4E9", "#009E73", "#E69F00"
RED, PINK, GREY = "#D55E00", "#CC79A7", "#888888"


class HasStem(Protocol):
    """A study, whose files begin alike."""

    @property
    def stem(self) -> str:
        """How they begin."""


def legend_beside(panel: Any) -> None:
    """Name the lines of a panel, to its right; nothing if it has none."""
    handles, labels = panel.get_legend_handles_labels()
    if handles:
        place = {"loc": "center left", "bbox_to_anchor": (1.02, 0.5)}
        panel.legend(handles, labels, frameon=False, fontsize=8, **place)


def picture_name(study: HasStem, name: str) -> str:
    """Give the file name of a picture."""
    return f"{study.stem}_{name}.png"


def saved(figure: Any, study: HasStem, name: str) -> Path:
    """Write a picture, and let go of it."""
    import matplotlib.pyplot as plt

    path = harness.RESULTS / picture_name(study, name)
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)
    return path


def tidied(panel: Any) -> None:
    """Give a panel small ticks, a faint grid and no frame."""
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def line(panel: Any, x: Sequence[float], curves: Sequence[Any], **style: Any) -> None:
    """Draw the mean of curves, and their standard error as a band; nothing if there are none."""
    if not len(curves):
        return
    mean = np.mean(curves, axis=0)
    panel.plot(x, mean, **({"linewidth": 1.3, "markersize": 3} | style))
    if len(curves) > 1:
        error = np.std(curves, axis=0, ddof=1) / np.sqrt(len(curves))
        panel.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.15, lw=0)


def matrix_picture(panel: Any, affinity: NDArray[np.floating], sizes: NDArray[np.int64]) -> None:
    """Show affinities of rows that are sorted by class, with a line between the classes."""
    # A few affinities are far above the rest; without them the blocks can be seen.
    top = np.quantile(affinity[affinity > 0], 0.98) if (affinity > 0).any() else 1.0
    panel.imshow(affinity, cmap="magma", vmin=0, vmax=top, interpolation="antialiased")
    for edge in np.cumsum(sizes)[:-1] - 0.5:
        panel.axhline(edge, color="white", linewidth=0.4, alpha=0.6)
        panel.axvline(edge, color="white", linewidth=0.4, alpha=0.6)
    panel.set_xticks([])
    panel.set_yticks([])


def panels(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """Make a figure of equal panels, and give it with them, (n_rows, n_columns)."""
    import matplotlib.pyplot as plt

    size = (2.7 * n_columns + 1.8, 2.3 * n_rows + 0.5)
    return plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained")
