"""The work of ``clew demo``: experiment, report, figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clew.cli._demo_collage import collage
from clew.cli._demo_experiment import METHODS, Outcome, Setting, experiment
from clew.cli._demo_page import demo_page
from clew.cli._outputs import check_folder, write_folder
from clew.cli._progress import Words
from clew.cli._tables import groups_csv

__all__ = ["Setting", "run"]

Figures = dict[str, Any]


def run(setting: Setting, folder: Path, *, quiet: bool) -> tuple[Figures, Callable[[], None]]:
    """Do the experiment and write the files.

    Parameters
    ----------
    setting : Setting
        The size of the experiment.
    folder : Path
        Where to write; it is made if it does not exist.
    quiet : bool
        Print nothing but errors on the standard error.

    Returns
    -------
    figures : dict
        What ``--json`` prints. ARI are means over the seeds; counts of answers are those of seed 0,
        which the report shows.
    show : callable
        Prints the figures as a table for people.
    """
    start = time.perf_counter()
    words = Words(quiet=quiet)
    check_folder(folder)
    with words.bar("Fitting clusterings") as advance:
        outcome = experiment(setting, advance)
    figures = _figures(outcome)
    figures["seconds"] = round(time.perf_counter() - start, 2)
    write_folder(
        folder,
        {
            "report.html": demo_page(outcome, setting, figures),
            "groups.csv": groups_csv(list(map(str, range(len(outcome.y)))), outcome.first.groups),
            "demo.png": collage(outcome),
        },
    )
    words.say(f"wrote {folder / 'report.html'}, groups.csv and demo.png")
    return figures, partial(_show, outcome, figures)


def _figures(outcome: Outcome) -> Figures:
    first = outcome.first
    means = {name: round(float(np.mean(outcome.scores[name])), 4) for name in METHODS}
    return means | {
        "answers": len(first.wrong),
        "wrong": int(first.wrong.sum()),
        "doubted": len(first.doubted),
        "doubted_wrong": int(first.wrong[first.doubted].sum()),
    }


def _show(outcome: Outcome, figures: Figures) -> None:
    """Print the figures as a table."""
    from rich.console import Console
    from rich.table import Table

    n_seeds = len(outcome.scores["ari"])
    repeats = "1 seed" if n_seeds == 1 else f"{n_seeds} seeds"
    table = Table(title=f"Adjusted Rand index, {repeats}")
    table.add_column("method")
    for column in ("mean", "SD", "lowest", "highest"):
        table.add_column(column, justify="right")
    for name, words in METHODS.items():
        scores = np.array(outcome.scores[name])
        deviation = scores.std(ddof=1) if n_seeds > 1 else np.nan
        cells = [f"{value:.3f}" for value in (scores.mean(), deviation, scores.min(), scores.max())]
        is_ours = name == "ari"
        table.add_row(
            words,
            *("–" if cell == "nan" else cell for cell in cells),
            style="bold" if is_ours else None,
        )
    console = Console()
    console.print(table)
    console.print(
        f"{figures['answers']} answers, {figures['wrong']} of them wrong (first seed). "
        f"clew doubts {figures['doubted']}, of which {figures['doubted_wrong']} are wrong."
    )
    console.print(f"{figures['seconds']:.1f} seconds.")
