"""Questions about three rows, by the information in their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from clew.answers import AUTO_KINDS, QUESTION_KINDS, Kind, SecondsModel
from clew.exceptions import InvalidParameterError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]

#: How three rows i, j, k can be grouped: all in one group, one of them apart, all apart.
STATES = ("ijk", "jk|i", "ik|j", "ij|k", "i|j|k")
#: True answer in each state: a column of the answers below, or -1 for don't-know.
ANSWER_OF_STATE = {"odd_one_out": (3, 0, 1, 2, -1), "triplet": (-1, -1, 1, 0, -1)}
N_ANSWERS = {"odd_one_out": 4, "triplet": 2}
#: Weight of the pairs "same" and "different" that an answer about three rows implies. Evidence
#: for the pairs adds up; with these weights it is about that of one answer.
EVIDENCE = {"pair": (1.0, 1.0), "triplet": (0.75, 0.75), "odd_one_out": (1.0, 0.5)}
#: Weight of the three pairs that "none differs" implies.
NONE_DIFFERS_EVIDENCE = 0.5
#: Pairs that are completed to three rows, and third rows for each.
N_PAIRS, N_THIRDS = 300, 4
PROBABILITIES = (1e-6, 1 - 1e-6)


class Triple(NamedTuple):
    """A question about three rows, and its value."""

    value: float
    kind: Kind
    rows: tuple[int, int, int]


def checked_kinds(
    kinds: str | Sequence[str], seconds: Mapping[str, float] | SecondsModel | None
) -> tuple[tuple[Kind, ...], SecondsModel]:
    """Check `kinds` and `seconds` of `Guided`; "auto" stands for `AUTO_KINDS`."""
    names = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    names = AUTO_KINDS if names == ("auto",) else names
    if not names or any(name not in QUESTION_KINDS for name in names):
        raise InvalidParameterError(
            f"Guided(kinds={kinds!r}): kinds must be 'auto', or one or more of "
            f"{', '.join(QUESTION_KINDS)}"
        )
    if isinstance(seconds, SecondsModel):
        model = seconds
    else:
        try:
            model = SecondsModel(**(seconds or {}))
        except TypeError as error:
            raise InvalidParameterError(
                f"Guided(seconds={seconds!r}): seconds must be a SecondsModel, or map its "
                "parameters, such as 'pair' and 'odd_one_out', to seconds"
            ) from error
    return tuple(kind for kind in QUESTION_KINDS if kind in names), model


def joint_probabilities(ij: Floats, ik: Floats, jk: Floats) -> Floats:
    """Return the probabilities of all in one group; i, j or k apart; all apart, (n, 5).

    Those of independent pairs, given that being in one group is transitive.
    """
    weight = np.stack(
        (
            ij * ik * jk,
            jk * (1 - ij) * (1 - ik),
            ik * (1 - ij) * (1 - jk),
            ij * (1 - ik) * (1 - jk),
            (1 - ij) * (1 - ik) * (1 - jk),
        ),
        axis=1,
    )
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def triple_information(states: Floats, kind: Kind, error: float) -> Floats:
    """Return the information in an answer about three rows of known `states` (n, 5), in nats, (n,).

    All wrong answers are equally probable. A don't-know adds nothing, although it is the true
    answer if the rows determine no other.
    """
    n_answers = N_ANSWERS[kind]
    given = np.zeros((len(STATES), n_answers))
    for state, answer in enumerate(ANSWER_OF_STATE[kind]):
        given[state] = error / n_answers
        if answer >= 0:
            given[state] = error / (n_answers - 1)
            given[state, answer] = 1 - error
    answers = states @ given
    return np.asarray(
        states @ xlogy(given, given).sum(axis=1) - xlogy(answers, answers).sum(axis=1)
    )


def best_triples(
    same: Singles, value: Singles, weight: Singles, kinds: tuple[Kind, ...], error: float
) -> list[Triple]:
    """Complete the most valuable pairs to three rows, and rank them; none of their pairs was asked.

    `value` (n_rows, n_rows) of questions about pairs is below the diagonal, negative where none
    can be asked. The information is multiplied by the smallest `weight` (n_rows,) of the rows.
    """
    rows = _completed(value)
    if len(rows) == 0:
        return []
    least = weight[rows].min(axis=1)
    found = []
    for kind in kinds:
        for order in _orders(kind):
            a, b, c = rows[:, order].T
            near = (same[u, v].astype(float) for u, v in ((a, b), (a, c), (b, c)))
            states = joint_probabilities(*(np.clip(p, *PROBABILITIES) for p in near))
            gain = triple_information(states, kind, error) * least
            found += [
                Triple(float(gain[at]), kind, (int(a[at]), int(b[at]), int(c[at])))
                for at in range(len(rows))
            ]
    return sorted(found, key=lambda triple: (-triple.value, triple.kind, triple.rows))


def _orders(kind: Kind) -> list[list[int]]:
    """Return the orders of three rows that are different questions."""
    return [[0, 1, 2]] if kind == "odd_one_out" else [[0, 1, 2], [1, 0, 2], [2, 0, 1]]


def _completed(value: Singles) -> Ints:
    """Add third rows to the best pairs: those whose pairs with both are the most valuable."""
    n = len(value)
    flat = value.ravel()
    n_best = min(N_PAIRS, flat.size - 1)
    best = np.argpartition(-flat, n_best)[:n_best] if n_best else np.arange(flat.size)
    best = best[flat[best] > 0]
    found = set()
    for i, j in zip(*np.divmod(best, n), strict=True):
        with_both = [np.maximum(value[row], value[:, row]) for row in (i, j)]
        total = with_both[0] + with_both[1]
        total[np.minimum(*with_both) < 0] = -np.inf
        thirds = np.argsort(-total, kind="stable")[:N_THIRDS]
        found |= {tuple(sorted((int(i), int(j), int(k)))) for k in thirds if np.isfinite(total[k])}
    return np.array(sorted(found), np.int64).reshape(-1, 3)
