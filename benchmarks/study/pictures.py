"""Functions that the pictures of all studies share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: Colors that color-blind readers can distinguish (Okabe and Ito).
BLUE, SKY, GREEN, ORANGE = "#0072B2", "#56B4E9", "#009E73", "#E69F00"
RED, PINK, GRAY = "#D55E00", "#CC79A7", "#888888"


def panels(
    n_rows: int, n_columns: int, width: float = 2.7, height: float = 2.3, **options: Any
) -> Any:
    """Make a figure with a grid of equal panels, (n_rows, n_columns)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = (width * n_columns + 1.8, height * n_rows + 0.5)
    options = {"figsize": size, "layout": "constrained"} | options
    return plt.subplots(n_rows, n_columns, squeeze=False, **options)


def save(figure: Any, path: Path, n_colors: int | None = None) -> None:
    """Write a figure, with a palette of `n_colors` colors if given, and close it."""
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)
    if n_colors is not None:
        from PIL import Image

        with Image.open(path) as picture:
            small = picture.convert("RGB").quantize(n_colors)
        small.save(path, optimize=True)


def legend_beside(panel: Any) -> None:
    """Name the lines of a panel to its right, if it has any."""
    if panel.get_legend_handles_labels()[0]:
        panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))


def tidied(panel: Any, title: str = "", x_label: str = "", y_label: str = "") -> None:
    """Give a panel titles, small ticks, a faint grid and no frame."""
    panel.set_title(title, fontsize=9)
    panel.set_xlabel(x_label, fontsize=9)
    panel.set_ylabel(y_label, fontsize=9)
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def line(panel: Any, x: Sequence[float], curves: pd.DataFrame, **style: Any) -> None:
    """Draw the mean over complete trials (rows), with a band of one standard error."""
    curves = curves.dropna()
    if not len(curves):
        return
    mean = curves.mean().to_numpy()
    panel.plot(x, mean, **({"linewidth": 1.3, "markersize": 3, "marker": "o"} | style))
    if len(curves) > 1:
        error = curves.sem().to_numpy()
        panel.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.15, lw=0)


def matrix_picture(panel: Any, affinity: NDArray[np.floating], y: NDArray[np.int64]) -> None:
    """Draw affinities, the rows sorted by class, with lines between the classes."""
    order = np.argsort(y, kind="stable")
    affinity = affinity[np.ix_(order, order)]
    # A few affinities are far above the rest, and would hide the blocks.
    top = np.quantile(affinity[affinity > 0], 0.98) if (affinity > 0).any() else 1.0
    panel.imshow(affinity, cmap="magma", vmin=0, vmax=top, interpolation="antialiased")
    for edge in np.cumsum(np.bincount(y))[:-1] - 0.5:
        panel.axhline(edge, color="white", linewidth=0.4, alpha=0.6)
        panel.axvline(edge, color="white", linewidth=0.4, alpha=0.6)
    panel.set(xticks=[], yticks=[])
