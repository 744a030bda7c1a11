"""Random answers that fit known labels, but for an exact share of wrong ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

from clew.answers import ANSWER_WORDS, DONT_KNOW, Kind
from clew.constraints._ranks import as_random, distinct_integers, pair_from_rank
from clew.constraints._truth import TRUTH, as_classes
from clew.exceptions import InvalidParameterError

__all__ = ["random_answers"]


def random_answers(
    y: ArrayLike,
    counts: Mapping[Kind, int],
    *,
    error: float,
    dont_know: float,
    random_state: int | RandomState | None,
) -> tuple[int, dict[Kind, NDArray[np.int64]]]:
    """Draw answers of each kind; see `Constraints.from_labels`.

    Returns
    -------
    n_samples : int
    answers : dict of kind to ndarray of shape (n, 3) or (n, 4)
        Rows and the answer.
    """
    classes = as_classes(y)
    for name, share in (("error", error), ("dont_know", dont_know)):
        if not 0 <= share <= 1:
            raise InvalidParameterError(f"{name} must lie in [0, 1], got {share}")
    if error + dont_know > 1:
        raise InvalidParameterError(
            f"error + dont_know must not exceed 1, got {error} + {dont_know}"
        )
    rng = as_random(random_state)
    answers = {}
    for kind, count in counts.items():
        rows = _random_rows(kind, count, classes.size, rng)
        said = _with_mistakes(TRUTH[kind](classes, rows), kind, error, dont_know, rng)
        answers[kind] = np.column_stack([rows, said])
    return classes.size, answers


def _random_rows(kind: Kind, count: int, n_samples: int, rng: RandomState) -> NDArray[np.int64]:
    n_rows = 2 if kind == "pair" else 3
    if count < 0:
        raise InvalidParameterError(f"the number of {kind} answers must not be negative: {count}")
    if kind == "pair":
        total = n_samples * (n_samples - 1) // 2
        if count > total:
            raise InvalidParameterError(
                f"n_pairs={count} pairs without repeats cannot be drawn: "
                f"{n_samples} rows have {total}"
            )
        return np.column_stack(pair_from_rank(distinct_integers(total, count, rng)))
    if count and n_samples < n_rows:
        raise InvalidParameterError(
            f"{kind} answers are about three rows, but there are only {n_samples}"
        )
    return _distinct_triples(count, n_samples, rng)


def _distinct_triples(count: int, n_samples: int, rng: RandomState) -> NDArray[np.int64]:
    """Draw ordered triples of different rows, each uniform: skip what was drawn before."""
    triples = np.empty((count, 3), dtype=np.int64)
    for position in range(3):
        drawn = rng.randint(0, max(n_samples - position, 1), size=count, dtype=np.int64)
        for taken in np.sort(triples[:, :position], axis=1).T:
            drawn += drawn >= taken
        triples[:, position] = drawn
    return triples


def _with_mistakes(
    truth: NDArray[np.int64], kind: Kind, error: float, dont_know: float, rng: RandomState
) -> NDArray[np.int64]:
    """Make exact shares of the settled answers wrong, or don't-know."""
    said = truth.copy()
    settled = rng.permutation(np.flatnonzero(truth != DONT_KNOW))
    n_wrong = round(error * settled.size)
    # Both shares may round up where together they are all there is.
    n_unknown = min(round(dont_know * settled.size), settled.size - n_wrong)
    wrong, unknown = settled[:n_wrong], settled[n_wrong : n_wrong + n_unknown]
    codes = np.array([code for code in ANSWER_WORDS[kind].values() if code != DONT_KNOW])
    # A step of 1 to n - 1 round the list of codes never ends where it began.
    place = np.argmax(truth[wrong, None] == codes, axis=1)
    step = rng.randint(1, codes.size, size=n_wrong)
    said[wrong] = codes[(place + step) % codes.size]
    said[unknown] = DONT_KNOW
    return said
