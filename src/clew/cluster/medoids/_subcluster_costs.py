"""The costs that subclustering minimizes: of each candidate by itself, and of every two."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.medoids._candidates import Candidates, Neighborhoods

__all__ = ["PAIR_SCALE", "Costs", "Overlap", "Setting", "settings", "shared_costs", "thesis_costs"]

Overlap = Literal["shared", "penalty", "both", "silhouette", "rule"]
#: Default scales, as multiples of the typical distance.
SCALES: dict[Overlap, float] = {
    "shared": 1.0, "penalty": 0.3, "both": 1.0, "silhouette": 1.0, "rule": 0.3,
}  # fmt: skip
#: Penalty for two subclusters that share rows.
OVERLAP_PENALTY = 20.0
#: Probabilities and shares are clipped to 1 minus this, so that logarithms are finite.
LEAST_GAP, LEAST_UNSHARED = 1e-12, 0.01
#: Weights of shared neighborhoods and of the dispersion, relative to distances.
SHARED_WEIGHT, DISPERSION_WEIGHT = 2.0, 0.5
#: With "both": weight of shared neighborhoods, and λ of the thesis' pair costs as a multiple of
#: `scale`. These are divided by the size, as distances within subclusters are.
WEIGHT_BESIDE_DISTANCES, PAIR_SCALE = 1.0, 0.3


class Setting(NamedTuple):
    """One way to weigh overlaps and distances."""

    overlap: Overlap
    scale: float
    """Multiple of the typical distance."""


class Costs(NamedTuple):
    """A cost to minimize: that of each chosen candidate, and of every two that are chosen."""

    own: NDArray[np.float64]
    pair: NDArray[np.float32]
    overlap: NDArray[np.bool_]
    """Whether two subclusters share rows, if no swap may add overlaps; otherwise (0, 0)."""


def settings(overlap: str, scale: float | str) -> list[Setting]:
    """Return the settings to try: one, or for "auto" all but "rule", the preferred one first."""
    tried: tuple[Overlap, ...] = ("shared", "penalty", "both", "silhouette")
    chosen = tried if overlap == "auto" else tuple(o for o in SCALES if o == overlap)
    return [Setting(o, SCALES[o] if isinstance(scale, str) else float(scale)) for o in chosen]


def shared_costs(
    candidates: Candidates,
    near: Neighborhoods,
    scale: float,
    beside: NDArray[np.float32] | None = None,
) -> Costs:
    """Return costs from distances within subclusters and from shared neighborhoods between them.

    Parameters
    ----------
    candidates : Candidates
        The candidates.
    near : Neighborhoods
        Their larger neighborhoods.
    scale : float
        Distance at which a row of a subcluster has cost 1.
    beside : ndarray of shape (n_candidates, n_candidates), default=None
        The pair costs of `thesis_costs`, which are added for "both".

    Returns
    -------
    Costs
    """
    size = candidates.distance.shape[1] + 1
    own = candidates.distance.sum(axis=1) / (max(size - 1, 1) * scale)
    pair = np.maximum(1 - near.shared, np.float32(LEAST_UNSHARED))
    np.log(pair, out=pair)
    pair *= np.float32(-SHARED_WEIGHT if beside is None else -WEIGHT_BESIDE_DISTANCES)
    if beside is not None:
        pair += np.float32(PAIR_SCALE / size) * beside
    np.fill_diagonal(pair, 0.0)
    return Costs(own + DISPERSION_WEIGHT * near.dispersion, pair, np.zeros((0, 0), np.bool_))


def thesis_costs(
    candidates: Candidates,
    apart: NDArray[np.float32],
    overlap: NDArray[np.bool_],
    scale: float,
    *,
    is_rule: bool,
) -> Costs:
    """Return the costs of eq. 4.2, with the rule for overlaps or with a penalty in its place.

    Parameters
    ----------
    candidates : Candidates
        The candidates.
    apart : ndarray of shape (n_candidates, n_candidates)
        Distances between candidates, divided by `scale`.
    overlap : ndarray of shape (n_candidates, n_candidates)
        Whether two subclusters share rows.
    scale : float
        λ in ``P = exp(-distance / λ)``.
    is_rule : bool
        Whether overlaps are limited by the rule.

    Returns
    -------
    Costs
    """
    own = candidates.distance.sum(axis=1) / scale
    pair = _log_costs(apart)
    if not is_rule:
        pair += np.float32(OVERLAP_PENALTY) * overlap
    np.fill_diagonal(pair, 0.0)
    return Costs(own, pair, overlap if is_rule else np.zeros((0, 0), np.bool_))


def _log_costs(apart: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``-2 log(1 - exp(-apart))``: eq. 4.2 counts each pair of centers twice."""
    pair = np.negative(apart)
    np.expm1(pair, out=pair)
    np.negative(pair, out=pair)
    np.log(np.maximum(pair, np.float32(LEAST_GAP), out=pair), out=pair)
    pair *= np.float32(-2.0)
    return pair
