"""Whether distances tell which rows people call the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew._ranking import weighted_auc
from clew._units import Units
from clew.constraints import Constraints
from clew.graphs import LocalScales, scaled_squares

__all__ = ["distances_tell"]

#: Area under the ROC curve from which distances tell. On 18 data sets it was .4 to .7 where mixing
#: distances into a forest did harm at times, and above .8 where it always helped.
TELLING = 0.7
MAX_ANSWERS = 1_000


def distances_tell(
    rows: NDArray[np.float64], known: Constraints, weight: NDArray[np.float64], seed: int
) -> bool:
    """Find out whether must-linked rows are mostly nearer to each other than cannot-linked ones.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        Where distances are measured, on the local scales of both rows.
    known : Constraints
        The answers; of more than 1,000 a random sample is looked at.
    weight : ndarray of shape (n_pairs,)
        How far each answer is believed; 0 for a don't-know.
    seed : int
        Seed of the sample.

    Returns
    -------
    bool
        True too where nobody can know: without answers of both kinds.
    """
    chosen = np.flatnonzero(weight > 0)
    if len(chosen) > MAX_ANSWERS:
        chosen = np.random.RandomState(seed).choice(chosen, MAX_ANSWERS, replace=False)
    is_same = known.is_must_link[chosen]
    if is_same.all() or not is_same.any():
        return True
    asked, place = np.unique(known.pairs[chosen], return_inverse=True)
    inside = Units.around_median(rows).inside(rows)
    scale = LocalScales(inside).of(inside[asked])
    i, j = place.reshape(-1, 2).T
    distance = np.linalg.norm(inside[asked[i]] - inside[asked[j]], axis=1)
    nearness = -scaled_squares(distance, scale[i], scale[j])
    return weighted_auc(is_same, nearness, weight[chosen]) >= TELLING
