"""The scores of all methods and seeds as a table with a strip of dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from clew.cli._demo_experiment import METHODS

__all__ = ["score_table"]

#: Step of the axis, which begins at a multiple of it below the lowest score.
TICK = 0.1


def score_table(scores: Mapping[str, Sequence[float]]) -> str:
    """Return the table, as HTML.

    Parameters
    ----------
    scores : mapping
        Adjusted Rand index by method and seed.
    """
    low = min(0.9, np.floor(min(map(min, scores.values())) / TICK) * TICK)
    rows = "".join(_row(name, scores[name], low) for name in METHODS)
    n_seeds = len(next(iter(scores.values())))
    repeats = "One seed." if n_seeds == 1 else f"A dot is one of {n_seeds} seeds, a bar their mean."
    ticks = np.arange(low, 1 + TICK / 2, TICK)
    step = 2 if len(ticks) > 7 else 1
    axis = "".join(
        f'<span style="left:{_percent(tick, low)}%">{tick:.1f}</span>' for tick in ticks[::step]
    )
    return (
        '<table class="scores"><caption>Agreement of the groups with the digits: adjusted Rand '
        f"index, 0 for random groups and 1 for perfect ones. {repeats} "
        f"The lines run from {low:.1f} to 1.</caption>"
        '<thead><tr><th scope="col">Method</th>'
        f'<th class="strip" aria-hidden="true"><span class="axis">{axis}</span></th>'
        '<th scope="col" class="number">Mean</th><th scope="col" class="number">SD</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )


def _row(name: str, scores: Sequence[float], low: float) -> str:
    dots = "".join(f'<i style="left:{_percent(score, low)}%"></i>' for score in scores)
    bar = f'<b style="left:{_percent(np.mean(scores), low)}%"></b>'
    deviation = f"± {np.std(scores, ddof=1):.3f}" if len(scores) > 1 else "–"
    ours = ' class="ours"' if name == "ari" else ""
    return (
        f'<tr{ours}><th scope="row">{escape(METHODS[name])}</th>'
        f'<td class="strip" aria-hidden="true"><div>{dots}{bar}</div></td>'
        f'<td class="number">{np.mean(scores):.3f}</td><td class="number">{deviation}</td></tr>'
    )


def _percent(score: float | np.floating, low: float) -> str:
    return f"{100 * (score - low) / (1 - low):.2f}"
