"""What all pictures of the study share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import _harness as harness
from benchmarks.papers.cop_rf.study import Study

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PINK",
    "RED",
    "SKY",
    "legend_beside",
    "picture_name",
    "saved",
    "tidied",
]

#: Colours that stay apart for colour-blind readers (Okabe and Ito).
BLUE, SKY, GREEN, ORANGE = "#0072B2", "#56B4E9", "#009E73", "#E69F00"
RED, PINK, GREY = "#D55E00", "#CC79A7", "#888888"


def legend_beside(panel: Any) -> None:
    """Name the lines of a panel, to its right; nothing if it has none."""
    handles, labels = panel.get_legend_handles_labels()
    if handles:
        place = {"loc": "center left", "bbox_to_anchor": (1.02, 0.5)}
        panel.legend(handles, labels, frameon=False, fontsize=8, **place)


def picture_name(study: Study, name: str) -> str:
    """Give the file name of a picture."""
    return f"{study.stem}_{name}.png"


def saved(figure: Any, study: Study, name: str) -> Path:
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
