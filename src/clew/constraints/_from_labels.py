"""Random answers to random questions, derived from known labels; for experiments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

from clew.answers import ANSWER_WORDS, DONT_KNOW, N_ROWS, Kind
from clew.constraints._meanings import TRUTH, as_classes, is_labeled
from clew.constraints._sampling import as_random, distinct_integers, pair_from_rank
from clew.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from clew.constraints._constraints import Constraints

__all__ = ["from_labels"]


def from_labels(
    cls: type[Constraints],
    y: ArrayLike,
    n_pairs: int = 0,
    *,
    n_triplets: int = 0,
    n_odd_one_out: int = 0,
    error: float = 0.0,
    dont_know: float = 0.0,
    random_state: int | RandomState | None = None,
    ids: Iterable[object] | None = None,
) -> Constraints:
    """Simulate answers from known labels, with a given share of errors.

    Meant for experiments. Questions are drawn uniformly: pairs without replacement, triplets and
    odd-one-out questions independently of each other.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. The number -1 marks a row without a label, which is never drawn.
    n_pairs, n_triplets, n_odd_one_out : int, default=0
        Number of answers of each kind.
    error : float, default=0.0
        Share of wrong answers: exactly ``round(error * n)`` of the n answers of each kind whose
        true answer is not don't-know. A wrong odd-one-out answer is any of the three others with
        equal probability.
    dont_know : float, default=0.0
        Share of those answers that become don't-know, rounded likewise; ``error + dont_know``
        must not exceed 1.
    random_state : int, RandomState or None, default=None
        Seed of the questions and of the errors.
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row, kept as `Constraints.ids`.

    Returns
    -------
    Constraints
        With the origin "random".

    Raises
    ------
    InvalidParameterError
        If there are fewer than `n_pairs` pairs of labeled rows, a number is negative, or a share
        is outside [0, 1].
    InvalidDataError
        If `y` is not one-dimensional or holds NaN.

    Notes
    -----
    The true answer is don't-know if the labels do not determine one: for a triplet if both or
    neither of b and c are in the class of a, for an odd-one-out question about three classes.

    Time and memory are linear in the numbers of rows and answers.

    Examples
    --------
    >>> from clew import Constraints
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> c = Constraints.from_labels(y, 10, error=0.2, random_state=0)
    >>> same = [y[i] == y[j] for i, j in c.pairs]
    >>> int((c.is_must_link != same).sum())
    2
    """
    classes, labeled = as_classes(y), np.flatnonzero(is_labeled(y))
    for name, share in (("error", error), ("dont_know", dont_know)):
        if not 0 <= share <= 1:
            raise InvalidParameterError(f"{name} must lie in [0, 1], got {share}")
    if error + dont_know > 1:
        raise InvalidParameterError(
            f"error + dont_know must not exceed 1, got {error} + {dont_know}"
        )
    random = as_random(random_state)
    drawn: dict[Kind, NDArray[np.int64]] = {}
    counts: dict[Kind, int] = {"pair": n_pairs, "triplet": n_triplets, "odd_one_out": n_odd_one_out}
    for kind, count in counts.items():
        rows = labeled[_random_questions(kind, count, labeled.size, random)]
        answers = _with_errors(TRUTH[kind](classes, rows), kind, error, dont_know, random)
        drawn[kind] = np.column_stack([rows, answers])
    return cls(
        classes.size,
        pairs=drawn["pair"],
        triplets=drawn["triplet"],
        odd_one_out=drawn["odd_one_out"],
        **dict.fromkeys(("pair_origins", "triplet_origins", "odd_one_out_origins"), "random"),
    ).with_ids(ids)


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
