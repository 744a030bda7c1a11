"""DCRC's choice of features: those given, or those of an adaptive Gaussian kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.dcrc._em import Errors
from clew.cluster.dcrc._features import (
    GivenFeatures,
    Problem,
    ScaledFeatures,
    Transform,
    with_ones,
)
from clew.cluster.dcrc._selection import LAMS, TAUS, Choice, choose, n_scorable
from clew.cluster.dcrc._start import groups_by_sklr, initial_weights
from clew.constraints import Constraints
from clew.similarity.kernels.feature_maps import AdaptiveGaussian

__all__ = ["Trial", "best_trial"]

Kernel = Literal["adaptive"] | None
#: With more rows, computing kernel features takes longer than all the rest of the fit.
MAX_ROWS_OF_KERNEL = 200_000


class Trial(NamedTuple):
    """Features, with the starts and the setting that were found for them."""

    kernel: Kernel
    map_: Transform
    problem: Problem
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
    """Use the features that `kernel` names, or those that agree best with held-out answers.

    Parameters
    ----------
    model : DCRC
        Its parameters are read.
    X : ndarray of shape (n_rows, n_features)
        The sampled rows.
    known : Constraints
        The answers about these rows.
    n_samples : int
        Number of rows that the sample represents.
    errors : Errors
        Assumptions about the errors of annotators.
    seeds : sequence of int
        Seeds of the kernel features, of the starts and of the folds.

    Returns
    -------
    Trial
    """
    map_seed, start_seed, fold_seed = seeds
    by_sklr = None
    if model.init != "kmeans" and len(known):
        by_sklr = groups_by_sklr(known, X, model.n_clusters, model.n_init, start_seed)

    def tried(kernel: Kernel) -> Trial:
        map_ = _fitted_map(kernel, X, model.rank, map_seed)
        problem = Problem(with_ones(map_.transform(X)), known, n_samples)
        starts = initial_weights(
            model.init, problem, by_sklr, model.n_clusters, model.n_init, start_seed
        )
        choice = choose(
            problem, list(starts.values()), errors,
            taus=TAUS if model.tau == "cv" else (float(model.tau),),
            lams=LAMS if model.lam == "cv" else (float(model.lam),),
            balance=model.balance, is_scored=model.kernel == "cv",
            seed=fold_seed, n_jobs=model.n_jobs,
        )  # fmt: skip
        return Trial(kernel, map_, problem, starts, choice)

    if model.kernel != "cv":
        return tried(model.kernel)
    plain = tried(None)
    has_few_answers = not plain.choice.scores
    if has_few_answers or n_samples > MAX_ROWS_OF_KERNEL:
        return plain
    adaptive = tried("adaptive")
    is_better = adaptive.choice.is_clearly_above(plain.choice, n_scorable(known))
    return adaptive if is_better else plain


def _fitted_map(kernel: Kernel, X: NDArray[np.float64], rank: int, seed: int) -> Transform:
    if kernel == "adaptive":
        return ScaledFeatures(AdaptiveGaussian(rank, seed).fit(X))
    return GivenFeatures(X)
