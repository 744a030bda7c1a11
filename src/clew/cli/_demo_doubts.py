"""The answers that look wrong, each with its two images and the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.answers import SAME
from clew.cli._demo_digits import image
from clew.cli._demo_experiment import Outcome, Run
from clew.cli.report import card_list, percent

__all__ = ["doubt_list", "doubt_words"]


def doubt_words(run: Run) -> str:
    """Say how many answers are doubted, and how many of these are wrong."""
    n_doubted, n_found = len(run.doubted), int(run.wrong[run.doubted].sum())
    n_missed = int(run.wrong.sum()) - n_found
    if n_doubted == 0:
        return f"clew doubts none of the answers; {n_missed} are wrong."
    return (
        "clew estimates from the images and all other answers how probable it is that an answer is "
        f"wrong. {n_doubted} answers are more probably wrong than right, the most doubtful first: "
        f"{n_found} of these are wrong and {n_doubted - n_found} right. {n_missed} wrong answers "
        "are not among them. Ask again about the doubted answers."
    )


def doubt_list(outcome: Outcome) -> str:
    """Return the doubted answers and, folded, the wrong ones that are not doubted, as HTML."""
    run = outcome.first
    missed = np.setdiff1d(np.flatnonzero(run.wrong), run.doubted)
    shown = _cards(outcome, run.doubted)
    if len(missed) == 0:
        return shown
    missed = missed[np.argsort(-run.p_wrong[missed], kind="stable")]
    summary = f"<summary>{len(missed)} wrong answers that clew does not doubt</summary>"
    return f"{shown}<details>{summary}{_cards(outcome, missed)}</details>"


def _cards(outcome: Outcome, which: NDArray[np.int64]) -> str:
    return card_list(_card(outcome, at) for at in which.tolist())


def _card(outcome: Outcome, at: int) -> str:
    run = outcome.first
    i, j = run.known.pairs[at].tolist()
    a, b = int(outcome.y[i]), int(outcome.y[j])
    truth = f"two {a}s" if a == b else f"{a} and {b}"
    answer = "same" if run.known.pair_answers[at] == SAME else "different"
    verdict = (
        '<p class="wrong">✓ Wrong answer</p>'
        if run.wrong[at]
        else '<p class="sound">✗ Right answer</p>'
    )
    return (
        f'<div class="pair" role="img" aria-label="Images {i} and {j}">{image(i)}{image(j)}</div>'
        f"<p>Answer: <b>{answer}</b></p><p>Truth: {truth}</p>{verdict}"
        f"<small>Wrong with probability {percent(run.p_wrong[at])}</small>"
    )
