"""Random answers to random questions, derived from known labels; for experiments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

from clew.answers import ANSWER_WORDS, DONT_KNOW, N_ROWS, Kind
from clew.constraints._meanings import TRUTH, as_classes, is_labeled
from clew.constraints._tables import PARAMETER
from clew.exceptions import InvalidParameterError


def draw_answers(
    y: ArrayLike,
    counts: Mapping[Kind, int],
    error: float,
    dont_know: float,
    random_state: int | RandomState | None,
) -> dict[str, NDArray[np.int64]]:
    """Return the parameters pairs, triplets and odd_one_out of `Constraints`: rows and answers."""
    classes, labeled = as_classes(y), np.flatnonzero(is_labeled(y))
    for name, share in (("error", error), ("dont_know", dont_know)):
        if not 0 <= share <= 1:
            raise InvalidParameterError(f"{name} must lie in [0, 1], got {share}")
    if error + dont_know > 1:
        raise InvalidParameterError(
            f"error + dont_know must not exceed 1, got {error} + {dont_know}"
        )
    random = as_random(random_state)
    drawn = {}
    for kind, count in counts.items():
        rows = labeled[_random_questions(kind, count, labeled.size, random)]
        answers = _with_errors(TRUTH[kind](classes, rows), kind, error, dont_know, random)
        drawn[PARAMETER[kind]] = np.column_stack([rows, answers])
    return drawn


def _random_questions(
    kind: Kind, count: int, n_labeled: int, random: RandomState
) -> NDArray[np.int64]:
    """Draw the rows of questions as positions among the labeled rows."""
    if count < 0:
        raise InvalidParameterError(f"the number of {kind} answers must not be negative: {count}")
    if kind == "pair":
        total = n_labeled * (n_labeled - 1) // 2
        if count > total:
            raise InvalidParameterError(
                f"n_pairs={count} pairs without replacement cannot be drawn: "
                f"{n_labeled} labeled rows have {total}"
            )
        return np.column_stack(pair_from_rank(distinct_integers(total, count, random)))
    if count and n_labeled < N_ROWS[kind]:
        raise InvalidParameterError(
            f"{kind} answers are about three rows, but only {n_labeled} have a label"
        )
    return _distinct_triples(count, n_labeled, random)


def _distinct_triples(count: int, n_rows: int, random: RandomState) -> NDArray[np.int64]:
    """Draw ordered triples of different rows, uniformly and with replacement."""
    triples = np.empty((count, 3), dtype=np.int64)
    for position in range(3):
        drawn = random.randint(0, max(n_rows - position, 1), size=count, dtype=np.int64)
        # The number drawn counts the rows that the triple does not have yet.
        for taken in np.sort(triples[:, :position], axis=1).T:
            drawn += drawn >= taken
        triples[:, position] = drawn
    return triples


def _with_errors(
    truth: NDArray[np.int64], kind: Kind, error: float, dont_know: float, random: RandomState
) -> NDArray[np.int64]:
    """Make exact shares of the answers wrong, or don't-know."""
    answers = truth.copy()
    known = random.permutation(np.flatnonzero(truth != DONT_KNOW))
    n_wrong = round(error * known.size)
    # If the shares sum to 1, both numbers may be rounded up.
    n_unknown = min(round(dont_know * known.size), known.size - n_wrong)
    wrong, unknown = known[:n_wrong], known[n_wrong : n_wrong + n_unknown]
    codes = np.array([code for code in ANSWER_WORDS[kind].values() if code != DONT_KNOW])
    # Adding a number from 1 to n - 1, modulo n, to the position of the true answer yields a wrong
    # one.
    position = np.argmax(truth[wrong, None] == codes, axis=1)
    step = random.randint(1, codes.size, size=n_wrong)
    answers[wrong] = codes[(position + step) % codes.size]
    answers[unknown] = DONT_KNOW
    return answers


def as_random(random_state: int | RandomState | None) -> RandomState:
    """Resolve a `random_state` as scikit-learn does."""
    # Imported here because scikit-learn imports pandas, if installed, which is slow.
    from sklearn.utils import check_random_state

    random: RandomState = check_random_state(random_state)
    return random


def distinct_integers(total: int, size: int, random: RandomState) -> NDArray[np.int64]:
    """Draw integers in [0, total) uniformly without replacement, in random order."""
    if total <= 3 * size:
        return random.permutation(total)[:size].astype(np.int64)
    drawn = np.zeros(0, dtype=np.int64)
    while drawn.size < size:
        more = random.randint(0, total, size=size - drawn.size + 8, dtype=np.int64)
        drawn = np.concatenate([drawn, more])
        first = np.unique(drawn, return_index=True)[1]
        drawn = drawn[np.sort(first)]
    return drawn[:size]


def pair_from_rank(ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs (low, high) at some ranks of the list (0,1), (0,2), (1,2), (0,3), ..."""
    high = ((1 + np.sqrt(1.0 + 8.0 * ranks)) / 2).astype(np.int64)
    # The square root may be off by one where ranks exceed 2**53.
    high -= high * (high - 1) // 2 > ranks
    high += high * (high + 1) // 2 <= ranks
    return ranks - high * (high - 1) // 2, high
