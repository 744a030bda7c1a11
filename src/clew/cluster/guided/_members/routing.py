"""Which parts of a pool member honor answers, and which answers they get."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.pipeline import Pipeline

from clew.constraints import Constraints, Support
from clew.exceptions import InvalidParameterError

__all__ = ["check_honored", "check_routing", "fitted_labels", "honored_answers", "supports_of"]


def supports_of(estimator: Any) -> dict[str, Support]:
    """Return what each part of a clusterer honors.

    Parameters
    ----------
    estimator : estimator
        A clusterer, or a pipeline that ends in one.

    Returns
    -------
    dict of str to Support
        By parameter prefix: "" for the estimator itself, "name__" for a step of a pipeline. Parts
        that honor no answers are left out.
    """
    if isinstance(estimator, Pipeline):
        return {
            f"{name}__{prefix}": support
            for name, step in estimator.steps
            for prefix, support in supports_of(step).items()
        }
    support = getattr(estimator, "supports", None)
    return {"": support} if support is not None and any(support) else {}


def check_routing(name: str, estimator: Any) -> None:
    """Refuse an estimator with a part that honors answers but would get none.

    Parameters
    ----------
    name : str
        The member's name.
    estimator : estimator
        The member.

    Raises
    ------
    InvalidParameterError
        If there is such a part. The message names the member and the part.
    """
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
    """Refuse a member that honors answers, but none of these.

    Parameters
    ----------
    name : str
        The member's name.
    estimator : estimator
        The member.
    answers : Constraints
        All answers; with none, nothing is refused.

    Raises
    ------
    InvalidParameterError
        If there is such a member. The message says what it honors.
    """
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
    """Return answers in the kinds that a method honors.

    Parameters
    ----------
    answers : Constraints
        Answers of any kind.
    support : Support
        What the method honors.

    Returns
    -------
    Constraints
        Triplets and odd-one-out answers are read as pairs if the method honors pairs but not them;
        other kinds that it does not honor are left out.
    """
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
    """Fit a clusterer, each of its parts with the answers that it honors.

    Parameters
    ----------
    estimator : estimator
        Not fitted before.
    X : ndarray or csr_array
        What it reads.
    answers : Constraints or None
        Answers of any kind.

    Returns
    -------
    ndarray of shape (n_samples,)
        Labels.
    """
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
