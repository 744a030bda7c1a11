"""A user's own pool: further clusterings to start from, each with the answers that it honors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from clew._composition import takes_distances
from clew._warnings import silenced
from clew.cluster.guided._features import Prepared
from clew.cluster.guided._partitions import Labels, renumbered
from clew.constraints import Constraints, Support
from clew.exceptions import InvalidParameterError


class Member(NamedTuple):
    """A clusterer of features, or of distances; its parts with `supports` get answers."""

    name: str
    estimator: Any

    def partition(self, prepared: Prepared, answers: Constraints | None) -> Labels:
        """Cluster the rows; noise (-1) is a group of its own."""
        rows = prepared.X
        if takes_distances(self.estimator):
            if prepared.distances is None:
                raise InvalidParameterError(
                    f"pool member {self.name!r} takes distances, but features are given: use "
                    "GuidedClustering(metric='precomputed'), or give that member another metric"
                )
            rows = np.asarray(prepared.distances)
        with silenced():
            try:
                return renumbered(fitted_labels(clone(self.estimator), rows, answers))
            except Exception as error:
                error.add_note(f"Raised by {self.name!r}, a member of the pool.")
                raise


def is_default(pool: Any) -> bool:
    """Whether there are no clusterings of a user's own."""
    return isinstance(pool, str) and pool == "default"


def checked_members(pool: Any, seed: int = 0) -> list[Member]:
    """Validate a user's pool: names, and clusterers with a `fit_predict`."""
    given: list[Any] = list(pool) if isinstance(pool, list | tuple) else [pool]
    is_pair = [isinstance(entry, tuple | list) and len(entry) == 2 for entry in given]
    if not given or not all(is_pair):
        raise InvalidParameterError(
            f"pool must be 'default', or a list of (name, clusterer) pairs; got {pool!r}"
        )
    names = [name for name, _ in given]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidParameterError(f"names in a pool must be different strings, got {names}")
    for name, estimator in given:
        if isinstance(estimator, type) or not isinstance(estimator, BaseEstimator):
            raise InvalidParameterError(f"pool member {name!r} is not an estimator: {estimator!r}")
        if not hasattr(estimator, "fit_predict"):
            raise InvalidParameterError(
                f"pool member {name!r} is not a clusterer: {type(estimator).__name__} has no "
                "fit_predict"
            )
        check_routing(name, estimator)
    return [Member(name, _seeded(part, seed)) for name, part in given]


def _seeded(estimator: Any, seed: int) -> Any:
    """Set every `random_state` that is None, so that two fits are equal."""
    unset = {
        name: seed
        for name, value in estimator.get_params().items()
        if value is None and name.split("__")[-1] == "random_state"
    }
    return clone(estimator).set_params(**unset) if unset else estimator


def supports_of(estimator: Any) -> dict[str, Support]:
    """Return what each part of a clusterer honors, by parameter prefix: "" or "step__"."""
    if isinstance(estimator, Pipeline):
        return {
            f"{name}__{prefix}": support
            for name, step in estimator.steps
            for prefix, support in supports_of(step).items()
        }
    support = getattr(estimator, "supports", None)
    return {"": support} if support is not None and any(support) else {}


def check_routing(name: str, estimator: Any) -> None:
    """Refuse an estimator with a part that honors answers but would get none."""
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            check_routing(name, step)
        return
    if hasattr(estimator, "supports") or not hasattr(estimator, "get_params"):
        return
    for parameter, part in estimator.get_params().items():
        if not isinstance(part, type) and any(getattr(part, "supports", ())):
            raise InvalidParameterError(
                f"pool member {name!r}: {type(estimator).__name__} passes no answers on to its "
                f"{parameter}, a {type(part).__name__}; put that into the pool itself, or into a "
                "Pipeline"
            )


def check_honored(name: str, estimator: Any, answers: Constraints) -> None:
    """Refuse a member that honors answers, but none of these; with none, nothing is refused."""
    supports = supports_of(estimator).values()
    if not supports or not any(map(len, answers.tables)):
        return
    if not any(len(t) for support in supports for t in honored_answers(answers, support).tables):
        kinds = {kind for support in supports for kind, can in support._asdict().items() if can}
        raise InvalidParameterError(
            f"pool member {name!r} honors {', '.join(sorted(kinds))} only, and none of the answers "
            "are of these kinds; leave it out of the pool"
        )


def honored_answers(answers: Constraints, support: Support) -> Constraints:
    """Answers in the kinds that a method honors; about three rows also as pairs."""
    codes = (answers.pair_answers, answers.triplet_answers, answers.odd_one_out_answers)
    no_pairs, no_triplets, no_odd = (np.zeros(len(of_kind), dtype=bool) for of_kind in codes)
    native = answers.select(
        pairs=None if support.pairs else no_pairs,
        triplets=None if support.triplets else no_triplets,
        odd_one_out=None if support.odd_one_out else no_odd,
    )
    others = answers.select(
        pairs=no_pairs,
        triplets=no_triplets if support.triplets else None,
        odd_one_out=no_odd if support.odd_one_out else None,
    )
    honored = native + others.as_pairs() if support.pairs else native
    return honored if support.dont_know else honored.select(**_definite(honored))


def fitted_labels(estimator: Any, X: Any, answers: Constraints | None) -> NDArray[Any]:
    """Fit a clusterer, each of its parts with the answers that it honors."""
    supports = {} if answers is None else supports_of(estimator)
    given = {
        f"{prefix}constraints": honored_answers(answers, support)  # type: ignore[arg-type]
        for prefix, support in supports.items()
    }
    # Without metadata routing a pipeline takes parameters by step, whatever its steps request.
    with config_context(enable_metadata_routing=False):
        labels: NDArray[Any] = estimator.fit_predict(X, **given)
    return labels


def _definite(answers: Constraints) -> dict[str, NDArray[np.bool_]]:
    kinds = ("pairs", "triplets", "odd_one_out")
    return {kind: table.answers >= -1 for kind, table in zip(kinds, answers.tables, strict=True)}
