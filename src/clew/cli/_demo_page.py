"""The page of the demo: scores, images in their groups, doubted answers with the truth."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np

from clew.cli._demo_digits import COLUMNS, group_order, sprite
from clew.cli._demo_doubts import doubt_list, doubt_words
from clew.cli._demo_experiment import Outcome, Setting
from clew.cli._demo_groups import contact_sheets
from clew.cli._demo_scores import score_table
from clew.cli.report import (
    Section,
    affinity_figure,
    data_uri,
    definitions,
    facts,
    probability_means,
    render_page,
)

__all__ = ["demo_page"]

PACKAGES = ("clew", "numpy", "scikit-learn", "numba")


def demo_page(outcome: Outcome, setting: Setting, figures: Mapping[str, Any]) -> str:
    """Return the page of the demo, as HTML.

    Parameters
    ----------
    outcome : Outcome
        The results.
    setting : Setting
        The size of the experiment.
    figures : mapping
        What ``clew demo --json`` prints.
    """
    n_images, n_answers = f"{len(outcome.X):,}", f"{figures['answers']:,}"
    return render_page(
        brand="clew demo",
        heading=f"{n_images} handwritten digits, grouped with the help of {n_answers} answers",
        lead=f"Simulated people saw {n_answers} random pairs of images and answered: the same "
        f"digit, or different? {figures['wrong']} answers are wrong. clew knows neither which "
        "answers are wrong nor which digit an image shows.",
        sections=[
            Section("figures", "Figures", "What the answers add", _figures(outcome, figures)),
            Section("groups", "Groups", "The groups", _groups(outcome)),
            Section("affinity", "Together", "Which images are together", _affinity(outcome)),
            Section("doubted", "Doubted answers", "Answers that look wrong", _doubts(outcome)),
            Section("made", "How it was made", "How it was made", _made(setting)),
        ],
        seconds=figures["seconds"],
        style=_style(outcome),
    )


def _style(outcome: Outcome) -> str:
    """Return the style sheet of the images."""
    lines = -(-len(outcome.X) // COLUMNS)
    picture = data_uri(sprite(outcome.X))
    variables = f'--sprite: url("{picture}"); --columns: {COLUMNS}; --lines: {lines};'
    rules = files("clew.cli").joinpath("_demo.css").read_text("utf-8")
    return f":root {{ {variables} }}\n{rules}"


def _figures(outcome: Outcome, figures: Mapping[str, Any]) -> str:
    counts = facts(
        [
            (str(figures["doubted"]), "answers look wrong to clew"),
            (str(figures["doubted_wrong"]), "of these are wrong"),
            (str(figures["wrong"]), f"of all {figures['answers']:,} answers are wrong"),
        ]
    )
    return score_table(outcome.scores) + counts


def _groups(outcome: Outcome) -> str:
    words = (
        "All images, the most certain of each group first. "
        '<span class="key"></span> marks an image whose digit is not that of most of its group.'
    )
    sheets = contact_sheets(outcome, group_order(outcome.y, outcome.first.groups))
    return f"<p>{words}</p>{sheets}"


def _affinity(outcome: Outcome) -> str:
    order = group_order(outcome.y, outcome.first.groups)
    words = (
        "The probability that two images are in one group, for every two images in the order of "
        "the groups. A stronger color is a higher probability. Color off the diagonal joins groups "
        "that are hard to separate."
    )
    picture = affinity_figure(
        probability_means(outcome.first.probabilities, np.concatenate(order)),
        [len(rows) for rows in order],
        [str(np.bincount(outcome.y[rows]).argmax()) for rows in order],
        "Probability that two images are in one group; each group is a square on the diagonal",
    )
    return f"<p>{words}</p>{picture}"


def _doubts(outcome: Outcome) -> str:
    return f"<p>{escape(doubt_words(outcome.first))}</p>{doubt_list(outcome)}"


def _made(setting: Setting) -> str:
    """Describe the experiment, and how to repeat it."""
    seeds = "seed 0" if setting.seeds == 1 else f"seeds 0 to {setting.seeds - 1}"
    entries = {
        "Images": "scikit-learn's digits, 8 × 8 pixels (UCI Optical Recognition of Handwritten "
        "Digits, test set)",
        "Answers": f"{setting.n_answers:,} random pairs, each asked once; an answer is wrong with "
        f"probability {setting.error:g}",
        "clew": "GuidedClustering with its defaults, into 10 groups",
        "No answers": "the same without answers",
        "Ward linkage": "scikit-learn's AgglomerativeClustering of the pixels, into 10 groups",
        "Repeats": f"{seeds}, each with other questions and errors; the pictures show seed 0",
        "Software": ", ".join(
            [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in PACKAGES)]
        ),
    }
    again = f"clew demo --seeds {setting.seeds} --n-answers {setting.n_answers}"
    again += f" --error {setting.error:g}"
    own = "clew group X.csv --constraints answers.csv -o groups.csv --report report.html"
    return (
        f"{definitions(entries)}<p>To repeat it:</p><pre>{escape(again)}</pre>"
        f"<p>The same for your own data:</p><pre>{escape(own)}</pre>"
    )
