"""Clusterings of the anchors, from which the groups of all rows start."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, ward
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

from clew.cluster.guided._anchors.learned_cut import Merges, cut_by_answers
from clew.cluster.guided._anchors.rows import N_OF_ANCHOR, Memberships
from clew.cluster.guided._members.members import ROWS_BY
from clew.constraints import Constraints

__all__ = ["BY_ANCHORS", "BY_CUT", "BY_WARD", "starts_of"]

#: Names of clusterings of all rows in `scores_` and `weights_`.
BY_ANCHORS, BY_WARD = f"{ROWS_BY}anchors", f"{ROWS_BY}Ward on anchors"
BY_CUT = f"{ROWS_BY}Ward, cut by answers"


def starts_of(
    fitted: Any,
    anchors: NDArray[np.float32],
    nearest: NDArray[np.integer],
    kept: Constraints | None,
) -> dict[str, Memberships]:
    """Return the fitted clustering of the anchors, and cuts of Ward's tree.

    Parameters
    ----------
    fitted : GuidedClustering
        Fitted to the anchors.
    anchors : ndarray of shape (n_anchors, n_columns)
        The anchors.
    nearest : ndarray of shape (n_samples,)
        Nearest anchor of each row.
    kept : Constraints or None
        Answers about all rows, without held-out ones; None if there are none.

    Returns
    -------
    dict of str to Memberships
        Ward's tree is cut at one height, which suits many groups of similar sizes; and by the
        answers, which finds groups of very different sizes, too. Only the fitted clustering if the
        pool is a user's own, or if each anchor is a group.
    """
    probabilities = fitted.probabilities_[: len(anchors)]
    starts = {BY_ANCHORS: Memberships.largest_of(probabilities, N_OF_ANCHOR)}
    n_clusters = probabilities.shape[1]
    if not isinstance(fitted.pool, str) or len(anchors) <= n_clusters:
        return starts
    tree = ward(pdist(anchors))
    starts[BY_WARD] = _of_groups(fcluster(tree, n_clusters, "maxclust") - 1, n_clusters)
    if kept is None:
        return starts
    merges = Merges.of(tree, nearest, kept)
    if fitted.n_clusters is not None:
        starts[BY_CUT] = _of_groups(cut_by_answers(merges, n_clusters), n_clusters)
        return starts
    groups = cut_by_answers(merges)
    n_found = int(groups.max()) + 1
    if n_found > 1:
        starts[BY_CUT] = _of_groups(groups, n_found)
    return starts


def _of_groups(groups: NDArray[np.integer], n_clusters: int) -> Memberships:
    """Return memberships of 1 in these groups."""
    one_each = np.ones(len(groups)), (np.arange(len(groups)), groups)
    shape = len(groups), n_clusters
    return Memberships.largest_of(csr_array(one_each, shape=shape), N_OF_ANCHOR)
