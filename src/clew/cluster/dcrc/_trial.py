"""DCRC's choice of the features that groups are told apart by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.dcrc._em import Errors
from clew.cluster.dcrc._features import GivenFeatures, Lengthened, Transform, View, with_ones
from clew.cluster.dcrc._selection import LAMS, TAUS, Choice, choose, n_judging
from clew.cluster.dcrc._start import groups_by_sklr, starts_by
from clew.constraints import Constraints
from clew.similarity.kernels.feature_maps import AdaptiveGaussian

__all__ = ["Trial", "best_trial"]

Kernel = Literal["adaptive"] | None
#: Of more rows, their features of the kernel alone would take longer than all the rest.
MAX_ROWS_OF_KERNEL = 200_000


class Trial(NamedTuple):
    """Features to tell groups apart by, where to start with them, and what was chosen for them."""

    kernel: Kernel
    map_: Transform
    view: View
    starts: dict[str, NDArray[np.float64]]
    choice: Choice


def best_trial(
    model: Any,
    X: NDArray[np.float64],
    known: Constraints,
    n_samples: int,
    errors: Errors,
    seeds: Sequence[int],
) -> Trial:
    """Take the features asked for, or those with which groups give more answers held out.

    Parameters
    ----------
    model : DCRC
        Its parameters are read.
    X : ndarray of shape (n_seen, n_features)
        The rows that are looked at.
    known : Constraints
        The answers, about these rows.
    n_samples : int
        How many rows they stand for.
    errors : Errors
        What is believed of annotators.
    seeds : sequence of int
        Of features, starts and folds.

    Returns
    -------
    Trial
    """
    map_seed, start_seed, fold_seed = seeds
    groups = None
    if model.init != "kmeans" and len(known):
        groups = groups_by_sklr(known, X, model.n_clusters, model.n_init, start_seed)

    def tried(kernel: Kernel) -> Trial:
        map_ = _map(kernel, X, model.rank, map_seed)
        view = View(with_ones(map_.transform(X)), known, n_samples)
        starts = starts_by(model.init, view, groups, model.n_clusters, model.n_init, start_seed)
        choice = choose(
            view, list(starts.values()), errors,
            taus=TAUS if model.tau == "cv" else (float(model.tau),),
            lams=LAMS if model.lam == "cv" else (float(model.lam),),
            balance=model.balance, is_scored=model.kernel == "cv",
            seed=fold_seed, n_jobs=model.n_jobs,
        )  # fmt: skip
        return Trial(kernel, map_, view, starts, choice)

    if model.kernel != "cv":
        return tried(model.kernel)
    given = tried(None)
    has_few_answers = not given.choice.scores
    if has_few_answers or n_samples > MAX_ROWS_OF_KERNEL:
        return given
    curved = tried("adaptive")
    return curved if curved.choice.is_clearly_above(given.choice, n_judging(known)) else given


def _map(kernel: Kernel, X: NDArray[np.float64], rank: int, seed: int) -> Transform:
    """Learn from the rows that are looked at how to see any."""
    if kernel == "adaptive":
        return Lengthened(AdaptiveGaussian(rank, seed).fit(X))
    return GivenFeatures(X)
