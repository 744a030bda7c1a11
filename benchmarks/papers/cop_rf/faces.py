"""Figure 13: affinity propagation, with the usual preference and with the true number of groups."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import AffinityPropagation
from sklearn.exceptions import ConvergenceWarning

from benchmarks.study.problems import Ints
from clew.metrics import adjusted_rand_score

MAX_STEPS = 7
#: With the usual damping, .5, messages often oscillate where the preference is low.
STEADIER = ({"damping": 0.7, "max_iter": 200}, {"damping": 0.9, "max_iter": 400})
Similarity = NDArray[np.floating]


class Found(NamedTuple):
    """Groups, their number, and whether the messages converged."""

    labels: Ints
    n_groups: int
    is_converged: bool


def both(similarity: Similarity, y: Ints, seed: int) -> dict[str, Any]:
    """Score the groups with the median preference, and with as many groups as classes ("_at_k")."""
    # Single precision halves the time; affinities of forests have no more digits.
    dense = similarity.astype(np.float32)
    usual, matched = propagated(dense, seed), with_n_groups(dense, len(np.unique(y)), seed)
    found: dict[str, Any] = {}
    for end, run in (("", usual), ("_at_k", matched)):
        found[f"ari{end}"] = float(adjusted_rand_score(y, run.labels))
        found |= {f"n_groups{end}": run.n_groups, f"is_converged{end}": run.is_converged}
    return found


def propagated(similarity: Similarity, seed: int, **parameters: Any) -> Found:
    """Run affinity propagation; the default preference is the median similarity."""
    model = AffinityPropagation(affinity="precomputed", random_state=seed, **parameters)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        labels = model.fit(similarity).labels_
    is_converged = not any(issubclass(w.category, ConvergenceWarning) for w in given)
    return Found(labels, len(np.unique(labels)), is_converged)


def with_n_groups(similarity: Similarity, n_groups: int, seed: int) -> Found:
    """Search the preference that gives a number of groups; return the converged run nearest to it.

    The number of groups is about a power of the gap between the largest similarity and the
    preference. Each step changes the gap by that power law, and by a factor of 3 at most.
    """
    i, j = np.triu_indices(len(similarity), 1)
    middle, high = (float(v) for v in np.quantile(similarity[i, j], [0.5, 1.0]))
    gap = high - middle or 1.0
    too_small, too_large, runs = 0.0, np.inf, []
    converged: list[tuple[float, int]] = []
    for _ in range(MAX_STEPS):
        runs.append(_steadily(similarity, seed, high - gap))
        found = runs[-1].n_groups
        if runs[-1].is_converged and found == n_groups:
            break
        # Before convergence the number of groups is unreliable; messages converge with few groups.
        if runs[-1].is_converged and found > n_groups:
            too_small = gap
        else:
            too_large = gap
        if runs[-1].is_converged:
            converged.append((gap, found))
            ratio = (found / n_groups) ** (1 / _power(converged[-2:]))
            gap *= float(np.clip(ratio, 1 / 3, 3.0))
        gap = _between(gap, too_small, too_large)
    return min(runs, key=lambda run: (not run.is_converged, abs(run.n_groups - n_groups)))


def _between(gap: float, too_small: float, too_large: float) -> float:
    """Return the gap if it is within the bounds, otherwise a value between them."""
    if too_small < gap < too_large:
        return gap
    if too_small == 0:
        return too_large / 3
    return float(np.sqrt(too_small * min(too_large, 9 * too_small)))


def _steadily(similarity: Similarity, seed: int, preference: float) -> Found:
    for parameters in STEADIER:
        found = propagated(similarity, seed, preference=preference, **parameters)
        if found.is_converged:
            break
    return found


def _power(points: list[tuple[float, int]]) -> float:
    """Fit ``n_groups ∝ gap ** -power`` to two runs, between .3 and 4."""
    if len(points) < 2 or points[0][1] == points[1][1]:
        return 1.0
    (gap, found), (other_gap, other_found) = points
    slope = np.log(found / other_found) / np.log(other_gap / gap)
    return float(np.clip(slope, 0.3, 4.0))
