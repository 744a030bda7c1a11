"""The page: a template, and the words and pictures that go into it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.cli._experiment import Outcome, Setting
from clew.cli.report._doubts import doubt_list, doubt_words
from clew.cli.report._groups import contact_sheets
from clew.cli.report._pictures import COLUMNS, affinity_shades, group_order, sprite
from clew.cli.report._png import data_uri
from clew.cli.report._scores import score_table

__all__ = ["render"]

AFFINITY_PIXELS = 600
#: The colour of affinities; how much of it says how alike two images are.
THREAD = (156, 70, 48)
PACKAGES = ("clew", "numpy", "scikit-learn", "numba")


def render(outcome: Outcome, setting: Setting, figures: Mapping[str, Any]) -> str:
    """Make the report, one HTML page that needs nothing else.

    Parameters
    ----------
    outcome : Outcome
        What the experiment found.
    setting : Setting
        How large it was.
    figures : mapping
        What ``clew demo --json`` prints.

    Returns
    -------
    str
    """
    order = group_order(outcome.y, outcome.first.groups)
    page = files("clew.cli.report")
    return Template(page.joinpath("page.html").read_text("utf-8")).substitute(
        css=page.joinpath("page.css").read_text("utf-8"),
        sprite=data_uri(sprite(outcome.X)),
        columns=COLUMNS,
        lines=-(-len(outcome.X) // COLUMNS),
        n_images=f"{len(outcome.X):,}",
        n_answers=f"{figures['answers']:,}",
        wrong=figures["wrong"],
        doubted=figures["doubted"],
        doubted_wrong=figures["doubted_wrong"],
        scores=score_table(outcome.scores),
        groups=contact_sheets(outcome, order),
        affinity=_affinity(outcome, order),
        doubt_words=doubt_words(outcome.first),
        doubts=doubt_list(outcome),
        made=_made(setting),
        version=escape(version("clew")),
        seconds=figures["seconds"],
    )


def _affinity(outcome: Outcome, order: list[NDArray[np.int64]]) -> str:
    shades = affinity_shades(outcome.first.affinity, np.concatenate(order), AFFINITY_PIXELS)
    alpha = (255 * shades).round().astype(np.uint8)[..., None]
    colour = np.broadcast_to(np.array(THREAD, np.uint8), (*alpha.shape[:2], 3))
    picture = data_uri(np.concatenate([colour, alpha], axis=-1))
    sizes = " ".join(f"minmax(0,{len(rows)}fr)" for rows in order)
    digits = "".join(f"<span>{np.bincount(outcome.y[rows]).argmax()}</span>" for rows in order)
    words = (
        "Chance that every two images are in one group, in group order; each group is a square on "
        "the diagonal"
    )
    return (
        '<figure class="affinity">'
        f'<div class="edge top" aria-hidden="true" style="grid-template-columns:{sizes}">{digits}'
        '</div><div class="edge side" aria-hidden="true" '
        f'style="grid-template-rows:{sizes}">{digits}</div>'
        f'<img src="{picture}" width="{len(shades)}" height="{len(shades)}" alt="{words}"></figure>'
    )


def _made(setting: Setting) -> str:
    """Say what was done, and with what."""
    seeds = "seed 0" if setting.seeds == 1 else f"seeds 0 to {setting.seeds - 1}"
    facts = {
        "Images": "scikit-learn's digits, 8 × 8 pixels (UCI Optical Recognition of Handwritten "
        "Digits, test set)",
        "Answers": f"{setting.n_answers:,} random pairs, each asked once; each answer is wrong "
        f"with a chance of {100 * setting.error:g} %",
        "clew": "GuidedClustering with its defaults, into 10 groups",
        "No answers": "the same without any answers",
        "Ward linkage": "scikit-learn's AgglomerativeClustering on the pixels, into 10 groups",
        "Repeats": f"{seeds}, each with its own questions and errors; the pictures are "
        "those of seed 0",
        "Software": ", ".join(
            [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in PACKAGES)]
        ),
    }
    entries = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    again = f"clew demo --seeds {setting.seeds} --n-answers {setting.n_answers}"
    again += f" --error {setting.error:g}"
    own = "clew cluster X.csv --constraints answers.csv --n-clusters 10 -o clusters.csv"
    return (
        f"<dl>{entries}</dl><p>The same once more, with the same figures:</p>"
        f"<pre>{escape(again)}</pre><p>Your own rows and answers:</p><pre>{escape(own)}</pre>"
    )
