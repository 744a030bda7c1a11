"""The information in the answer to each question about a pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["question_values"]

Singles = NDArray[np.float32]

#: Weight of the log-odds from features, which break ties: near pairs come first.
TIE_BREAK = 1e-4


@kernel
def question_values(
    same: Singles,
    log_odds: Singles,
    taken: NDArray[np.bool_],
    weight: Singles,
    central: Singles,
    error: float,
    value: Singles,
) -> None:
    """Compute the mutual information of an answer and the truth, weighted, for all pairs.

    Parameters
    ----------
    same : ndarray of shape (n_rows, n_rows), float32
        Probability that a pair is in one group.
    log_odds : ndarray of shape (n_rows, n_rows), float32
        Log-odds, from features, that a pair is in one group.
    taken : ndarray of shape (n_rows, n_rows), bool
        Pairs that were asked.
    weight : ndarray of shape (n_rows,), float32
        The value is multiplied by the smaller of the weights of the two rows.
    central : ndarray of shape (n_rows,), float32
        The value is multiplied by 1 plus the entries of the two rows.
    error : float
        Probability of a wrong answer.
    value : ndarray of shape (n_rows, n_rows), float32
        Output, below the diagonal; -1 elsewhere and for asked pairs.
    """
    noise = -error * np.log(error) - (1 - error) * np.log(1 - error)
    for i in range(len(same)):
        value[i, i:] = -1.0
        for j in range(i):
            if taken[i, j]:
                value[i, j] = -1.0
                continue
            p = min(max(same[i, j], 1e-6), 1 - 1e-6)
            given = p * (1 - error) + (1 - p) * error
            entropy = -given * np.log(given) - (1 - given) * np.log(1 - given)
            score = (entropy - noise) * min(weight[i], weight[j]) + TIE_BREAK * log_odds[i, j]
            value[i, j] = score * (1 + central[i] + central[j])
