"""A warning where answers look as if "same" and "different" were swapped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from clew._warnings import warn
from clew.answers import ORIGINS
from clew.constraints import Constraints
from clew.exceptions import ReversedAnswersWarning

__all__ = ["warn_of_reversed_answers"]

#: Log-likelihood ratio from which "same" counts as rarer within groups than between them.
LEAST_RATIO = 10.0


def warn_of_reversed_answers(labels: NDArray[np.int64], known: Constraints) -> None:
    """Warn if rows of one group are called the same clearly less often than other rows.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,), int64
        Groups that were found from features alone.
    known : Constraints
        Answers. Those to questions that a strategy asked are ignored: it asks about similar rows
        that may differ, and about different ones that may be the same.

    Warns
    -----
    ReversedAnswersWarning
    """
    asked = ORIGINS.index("asked")
    random = known.with_tables(table.take(table.origins != asked) for table in known.tables)
    pairs = random.as_pairs()
    is_together = labels[pairs.pairs[:, 0]] == labels[pairs.pairs[:, 1]]
    weight = np.where(pairs.is_dont_know, 0.0, pairs.pair_weights)
    counts = np.zeros((2, 2))
    np.add.at(counts, (is_together.astype(int), pairs.is_must_link.astype(int)), weight)
    totals = counts.sum(axis=1)
    if not totals.all():
        return
    apart, together = counts[:, 1] / totals
    if together < apart and _log_likelihood_ratio(counts) >= LEAST_RATIO:
        warn(
            f'rows that are alike by their features were called "same" in {together:.0%} of the '
            f'answers, others in {apart:.0%}. Are "same" and "different" swapped? The groups '
            "follow the answers as far as these predict each other",
            ReversedAnswersWarning,
        )


def _log_likelihood_ratio(counts: NDArray[np.float64]) -> float:
    """Compare answers that depend on the groups with answers that do not."""
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    log_sizes = xlogy(rows, rows).sum() + xlogy(columns, columns).sum()
    return float(xlogy(counts, counts).sum() + xlogy(counts.sum(), counts.sum()) - log_sizes)
