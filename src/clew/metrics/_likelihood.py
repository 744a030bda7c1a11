"""How well a partition explains what people said, wrong answers included."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clew.constraints import Constraints
from clew.exceptions import InvalidDataError

__all__ = ["answer_log_likelihood"]

LEAST_PROBABILITY = 1e-3


def answer_log_likelihood(labels: ArrayLike, constraints: Constraints) -> float:
    """Score a partition by the answers: the log-likelihood of "same" within and between groups.

    Within groups people say "same" with one probability, between groups with a lower one; both
    are estimated from the answers. So the score copes with wrong answers, and with many more
    of one answer than of the other.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Group of every row.
    constraints : Constraints
        The answers, each counted by its weight. Only pairs are looked at; don't-knows say nothing
        here.

    Returns
    -------
    float
        0 at most; higher is better. Comparable between partitions of the same answers only.

    Raises
    ------
    InvalidDataError
        If `labels` does not hold one label for each row of the constraints.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.metrics import answer_log_likelihood
    >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2), (1, 3)], n_samples=4)
    >>> answer_log_likelihood([0, 0, 1, 1], c) > answer_log_likelihood([0, 1, 0, 1], c)
    True
    """
    group = np.asarray(labels)
    if group.shape != (constraints.n_samples,):
        raise InvalidDataError(
            f"labels must have shape ({constraints.n_samples},), one for each row that the "
            f"constraints speak of, got {group.shape}"
        )
    said_same = constraints.is_must_link
    weight = np.where(constraints.is_dont_know, 0.0, constraints.pair_weights)
    within = group[constraints.pairs[:, 0]] == group[constraints.pairs[:, 1]]
    base = (weight[said_same].sum() + 0.5) / (weight.sum() + 1.0)
    yes = [weight[side & said_same].sum() for side in (within, ~within)]
    no = [weight[side & ~said_same].sum() for side in (within, ~within)]
    p = [(y + 2 * base) / (y + n + 2) for y, n in zip(yes, no, strict=True)]
    if p[0] < p[1]:
        p = [base, base]
    p_same = np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return float(np.dot(yes, np.log(p_same)) + np.dot(no, np.log1p(-p_same)))
