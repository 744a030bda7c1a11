"""Search for the best number of groups: numbers far apart first, then those between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from clew.cluster.guided._ensemble.progress import Step
from clew.cluster.guided._numbers.held_out import highest
from clew.cluster.guided._numbers.unconstrained import LEAST_MEAN_ROWS

__all__ = [
    "FEWEST",
    "MOST",
    "best_number",
    "first_tried",
    "larger_numbers",
    "max_steps",
]

#: The numbers 2, 3, 4, 5, 8, ... 100 are tried first, then those around the best of them.
FEWEST, MOST, RATIO = 2, 100, 1.4
MAX_TRIED_BETWEEN = 6


def first_tried(n_samples: int, most: int | None = None) -> list[int]:
    """Return the numbers that are tried first; none if there are fewer than 4 rows."""
    most = min(MOST, n_samples // 2) if most is None else most
    numbers = np.round(FEWEST * RATIO ** np.arange(40))
    return np.unique(np.minimum(numbers, most)).astype(int).tolist() if most >= FEWEST else []


def larger_numbers(n_different: int) -> list[int]:
    """Return the numbers above 100 that are tried if answers prefer the largest ones below.

    Parameters
    ----------
    n_different : int
        Number of different rows.

    Returns
    -------
    list of int
        Up to a fifth of the rows.
    """
    return [k for k in first_tried(n_different, n_different // LEAST_MEAN_ROWS) if k > MOST]


def best_number(
    score: Callable[[int], float],
    numbers: Sequence[int],
    step: Step,
    chosen: Callable[[Mapping[int, float]], int] = highest,
) -> int:
    """Score numbers, then those around the chosen one, and choose again."""
    scores: dict[int, float] = {}

    def best_with(more: Sequence[int]) -> int:
        for k in more:
            if k not in scores:
                scores[k] = score(k)
                step()
        return chosen(scores)

    at = numbers.index(best_with(numbers))
    low, high = numbers[max(at - 1, 0)], numbers[min(at + 1, len(numbers) - 1)]
    between = np.unique(np.round(np.linspace(low, high, MAX_TRIED_BETWEEN + 2)).astype(int))
    return best_with(between.tolist())


def max_steps(n_samples: int, n_folds: int) -> int:
    """Return how many numbers may be tried; with answers, each counts up to three times."""
    n_tried = len(first_tried(n_samples)) + MAX_TRIED_BETWEEN
    return 3 * n_tried + len(larger_numbers(n_samples)) if n_folds else n_tried
