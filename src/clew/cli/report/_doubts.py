"""The answers that look wrong, each with its two images and the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.answers import SAME
from clew.cli._experiment import Outcome, Run
from clew.cli.report._groups import image

__all__ = ["doubt_list", "doubt_words"]


def doubt_words(run: Run) -> str:
    """Sum up in words what was doubted."""
    n_doubted, n_found = len(run.doubted), int(run.wrong[run.doubted].sum())
    n_missed = int(run.wrong.sum()) - n_found
    if n_doubted == 0:
        return f"clew doubts none of the answers; {n_missed} are wrong."
    return (
        f"From the images and all the other answers clew works out how likely each answer is "
        f"wrong, and doubts {n_doubted}, the most doubtful first. {n_found} of them are wrong, "
        f"{n_doubted - n_found} are right after all, and {n_missed} wrong answers go unnoticed. "
        "The doubted answers are those to show to a person once more."
    )


def doubt_list(outcome: Outcome) -> str:
    """Show the doubted answers, and, folded, the wrong ones that are not doubted.

    Parameters
    ----------
    outcome : Outcome
        What the experiment found.

    Returns
    -------
    str
        HTML.
    """
    run = outcome.first
    missed = np.setdiff1d(np.flatnonzero(run.wrong), run.doubted)
    shown = _cards(outcome, run.doubted)
    if len(missed) == 0:
        return shown
    missed = missed[np.argsort(-run.p_wrong[missed], kind="stable")]
    summary = f"<summary>{len(missed)} wrong answers that clew does not doubt</summary>"
    return f"{shown}<details>{summary}{_cards(outcome, missed)}</details>"


def _cards(outcome: Outcome, which: NDArray[np.int64]) -> str:
    cards = "".join(_card(outcome, at) for at in which.tolist())
    return f'<ul class="doubts">{cards}</ul>' if cards else ""


def _card(outcome: Outcome, at: int) -> str:
    run = outcome.first
    i, j = run.known.pairs[at].tolist()
    a, b = int(outcome.y[i]), int(outcome.y[j])
    truth = f"two {a}s" if a == b else f"{a} and {b}"
    said = "same" if run.known.pair_answers[at] == SAME else "different"
    verdict = (
        '<p class="wrong">✓ Wrong answer</p>'
        if run.wrong[at]
        else '<p class="sound">✗ Right answer</p>'
    )
    return (
        f'<li><div class="pair" role="img" aria-label="Images {i} and {j}">'
        f"{image(i)}{image(j)}</div><p>Said: <b>{said}</b></p><p>Truth: {truth}</p>{verdict}"
        f"<small>Doubt {_percent(run.p_wrong[at])}</small></li>"
    )


def _percent(share: np.floating | float) -> str:
    # Never 100: there is always a doubt about a doubt.
    return f"{min(100 * float(share), 99.9):.1f} %"
