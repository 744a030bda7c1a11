"""What the studies compare: spaces that answers make, for k-means; or clusterers that take them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans

from benchmarks.papers._identity import parameters_of, seeded, tag_of
from clew import Constraints
from clew.answers import DONT_KNOW
from clew.constraints._folds import held_out_folds
from clew.exceptions import InvalidConstraintsError, TooLargeError
from clew.metrics import adjusted_rand_score, normalized_mutual_info_score, pairwise_f_score
from clew.similarity._comparisons import inequalities_of

__all__ = ["Hears", "Method", "Outcome", "heard", "k_means", "run_method", "scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Hears = Literal["nothing", "pairs", "as_pairs", "odd_one_out", "triplets", "yes_no"]
N_FOLDS = 5


@dataclass(frozen=True)
class Method:
    """One row of the tables."""

    name: str
    label: str
    hears: Hears
    """Which answers it is told."""
    space: Callable[[], Any] | None = None
    """Gives what learns features, in which k-means finds groups; None: the features as given."""
    groups: Callable[[int], Any] | None = None
    """Gives what finds that many groups itself, in place of `space`."""
    tried: tuple[str, tuple[Any, ...]] | None = None
    """A parameter of the space, and its values: held-out answers choose one, the first if alike."""
    n_starts: int = 10
    """Of k-means."""

    @property
    def uses_answers(self) -> bool:
        """Whether it is told any."""
        return self.hears != "nothing"

    @property
    def version(self) -> str:
        """Hash the parameters: results under another version are another method's."""
        parts = [
            parameters_of(model)
            for model in (self.space and self.space(), self._groups(2))
            if model
        ]
        return tag_of(self.name, self.hears, self.tried, self.n_starts, *parts)

    def _groups(self, n_clusters: int) -> Any:
        return self.groups(n_clusters) if self.groups else None


@dataclass(frozen=True)
class Outcome:
    """What a method made of features and answers."""

    labels: dict[int, Ints]
    """Groups, by their number."""
    space: Any = None
    """What learned features, if anything did."""
    embedding: Floats | None = None
    """The features in which k-means found the groups."""
    notes: dict[str, Any] = field(default_factory=dict)
    """For the log: CPU seconds of the fit, how it failed, warnings, the chosen parameter."""


def heard(known: Constraints, hears: Hears) -> Constraints:
    """Keep of answers what a method is told."""
    if hears == "as_pairs":
        return known.as_pairs()
    told = known.triplet_answers != DONT_KNOW if hears == "yes_no" else None
    return known.select(
        pairs=None if hears == "pairs" else [],
        triplets=told if hears in ("triplets", "yes_no") else [],
        odd_one_out=None if hears == "odd_one_out" else [],
    )


def run_method(
    method: Method, X: Floats, known: Constraints, n_clusters: tuple[int, ...], seed: int
) -> Outcome:
    """Find groups, for each number of them.

    Parameters
    ----------
    method : Method
        How.
    X : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        All answers; the method hears what it can use.
    n_clusters : tuple of int
        How many groups; of a learned space all are found in one.
    seed : int
        Of all chances.

    Returns
    -------
    Outcome
        Without labels if the method refuses the answers; its notes say how.
    """
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            found = _found(method, X, known, n_clusters, seed)
        except (InvalidConstraintsError, TooLargeError) as error:
            found = Outcome({}, notes={"failure": type(error).__name__})
    if given:
        found.notes["warnings"] = sorted({warning.category.__name__ for warning in given})
    return found


def _found(
    method: Method, X: Floats, known: Constraints, n_clusters: tuple[int, ...], seed: int
) -> Outcome:
    extra = {"constraints": heard(known, method.hears)} if method.uses_answers else {}
    start = time.process_time()
    if method.groups:
        models = {k: seeded(method.groups(k), seed) for k in n_clusters}
        labels = {k: model.fit(X, **extra).labels_ for k, model in models.items()}
        return Outcome(labels, notes={"fit_seconds": round(time.process_time() - start, 3)})
    space, notes = None, dict[str, Any]()
    if method.space:
        space, notes = _chosen(method, X, known, seed)
        start = time.process_time()
        space.fit(X, **extra)
        notes["fit_seconds"] = round(time.process_time() - start, 3)
    embedding = X if space is None else space.embedding_
    labels = {k: k_means(embedding, k, method.n_starts, seed) for k in n_clusters}
    return Outcome(labels, space, embedding, notes)


def k_means(Z: Floats, n_clusters: int, n_starts: int, seed: int) -> Ints:
    """Find groups: of all starts the one of lowest inertia."""
    model = KMeans(n_clusters, n_init=n_starts, random_state=seed).fit(Z)
    return np.asarray(model.labels_, dtype=np.int64)


def _chosen(method: Method, X: Floats, known: Constraints, seed: int) -> tuple[Any, dict[str, Any]]:
    """Give the space, with the value of its parameter under which most held-out answers hold."""
    space = seeded(method.space() if method.space else None, seed)
    if method.tried is None:
        return space, {}
    name, values = method.tried
    told = heard(known, "yes_no") if method.hears == "as_pairs" else heard(known, method.hears)
    n_folds = min(N_FOLDS, len(told))
    if n_folds < 2:
        return space, {}
    folds = list(held_out_folds(told, n_folds, np.random.RandomState(seed)))
    held = []
    for value in values:
        candidate = clone(space).set_params(**{name: value})
        held.append(np.mean([_share_held(candidate, X, *fold, method.hears) for fold in folds]))
    best = values[int(np.argmax(held))]
    return space.set_params(**{name: best}), {name: best}


def _share_held(
    candidate: Any, X: Floats, kept: Constraints, held: Constraints, hears: Hears
) -> float:
    """Give the share of held-out comparisons that hold in the features learned from the others.

    Of pairs every must-link is compared with every cannot-link.
    """
    Z = clone(candidate).fit(X, constraints=heard(kept, hears)).embedding_
    comparisons = inequalities_of(held)
    near, far = _distances(Z, comparisons.near), _distances(Z, comparisons.far)
    if hears == "pairs":
        must, cannot = _distances(Z, held.must_link), _distances(Z, held.cannot_link)
        near, far = np.repeat(must, len(cannot)), np.tile(cannot, len(must))
    return float(np.mean(near < far)) if len(near) else 0.5


def _distances(Z: Floats, pairs: Ints) -> Floats:
    return np.asarray(np.linalg.norm(Z[pairs[:, 0]] - Z[pairs[:, 1]], axis=1))


def scores(y: Ints, labels: Ints) -> dict[str, float]:
    """Judge groups by true classes: pairwise F-measure, adjusted Rand index, mutual information."""
    return {
        "f": float(pairwise_f_score(y, labels)),
        "ari": float(adjusted_rand_score(y, labels)),
        "nmi": float(normalized_mutual_info_score(y, labels)),
    }
