"""A test whether distances separate must-links from cannot-links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew._ranking import weighted_auc
from clew._units import Units
from clew.constraints import Constraints
from clew.graphs import LocalScales, scaled_squares

__all__ = ["distances_are_informative"]

#: Area under the ROC curve from which distances count as informative. On 18 data sets it was .4 to
#: .7 where mixing distances into a forest sometimes did harm, and above .8 where it always helped.
INFORMATIVE_AUC = 0.7
MAX_ANSWERS = 1_000


def distances_are_informative(
    rows: NDArray[np.float64], known: Constraints, weight: NDArray[np.float64], seed: int
) -> bool:
    """Test whether must-linked rows are mostly nearer to each other than cannot-linked rows.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        Features. Distances are divided by the local scales of both rows.
    known : Constraints
        Pair answers. From more than 1,000, a random sample of 1,000 is used.
    weight : ndarray of shape (n_pairs,)
        Weight of each answer; 0 for a don't-know.
    seed : int
        Seed of the sample.

    Returns
    -------
    bool
        Whether the area under the ROC curve is at least 0.7. True as well without answers of
        both kinds, from which it cannot be computed.
    """
    chosen = np.flatnonzero(weight > 0)
    if len(chosen) > MAX_ANSWERS:
        chosen = np.random.RandomState(seed).choice(chosen, MAX_ANSWERS, replace=False)
    is_same = known.is_must_link[chosen]
    if is_same.all() or not is_same.any():
        return True
    asked, place = np.unique(known.pairs[chosen], return_inverse=True)
    scaled = Units.around_median(rows).scale(rows)
    scale = LocalScales(scaled).of(scaled[asked])
    i, j = place.reshape(-1, 2).T
    distance = np.linalg.norm(scaled[asked[i]] - scaled[asked[j]], axis=1)
    nearness = -scaled_squares(distance, scale[i], scale[j])
    return weighted_auc(is_same, nearness, weight[chosen]) >= INFORMATIVE_AUC
