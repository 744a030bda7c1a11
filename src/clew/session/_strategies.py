"""Strategies by name, started on the items of a session."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from sklearn.base import clone

from clew import questions
from clew._units import Units
from clew._warnings import silenced
from clew.exceptions import InvalidParameterError
from clew.questions import Strategy
from clew.session._items import Items

__all__ = ["STRATEGIES", "started"]

STRATEGIES: Final[Mapping[str, type[Strategy]]] = MappingProxyType(
    {
        "guided": questions.Guided,
        "random": questions.RandomPairs,
        "uncertain": questions.Uncertain,
        "most_probable": questions.MostProbable,
        "explore_consolidate": questions.ExploreConsolidate,
        "min_max": questions.MinMax,
        "cac1": questions.CAC1,
        "cobra": questions.COBRA,
        "cobras": questions.COBRAS,
        "active_spectral": questions.ActiveSpectral,
        "correlation_information": questions.CorrelationInformation,
        "expected_change": questions.ExpectedChange,
        "margin": questions.Margin,
    }
)
#: Probability that two items are in the same group if neither features nor distances are known.
UNKNOWN = 0.25


def started(
    strategy: str | Strategy,
    items: Items,
    *,
    n_clusters: int | None,
    kinds: tuple[str, ...],
    seed: int,
    n_jobs: int | None,
) -> Strategy:
    """Make a strategy and start it.

    Parameters
    ----------
    strategy : str or Strategy
        A name of `STRATEGIES`, or an object, which is copied.
    items : Items
        What it is started on.
    n_clusters : int or None
        Number of groups.
    kinds : tuple of str
        Kinds of questions.
    seed : int
        Seed of a strategy given by name.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Strategy

    Raises
    ------
    InvalidParameterError
        If the name is unknown; if `n_clusters` is missing where the strategy needs it, or given
        where it cannot be set; or if the strategy cannot ask questions of these `kinds`.
    """
    made = _by_name(strategy, n_clusters, seed, n_jobs)
    parameters = made.get_params(deep=False)
    if "metric" in parameters:
        made.set_params(metric=items.metric)
    if kinds != ("pair",):
        if "kinds" not in parameters:
            raise InvalidParameterError(
                f"Session(kinds={kinds!r}): {type(made).__name__} asks about pairs only"
            )
        made.set_params(kinds=kinds)
    unknown = None
    if not items.is_known and not isinstance(made, questions.Guided):
        unknown = np.full(items.X.shape, UNKNOWN)
        np.fill_diagonal(unknown, 1.0)
    X = items.X
    if parameters.get("standardize") == "auto":
        made.set_params(standardize=items.standardize)
    elif "standardize" not in parameters and not items.is_distances:
        units = Units.standardized(X, items.standardize)
        # Features that share a unit stay as they are: some parameters are in their unit.
        X = units.scale(X) if np.ptp(units.unit) > 0 or items.standardize is True else X
    with silenced():  # warnings name the session's parameters, not the strategy's
        return made.start(X, probabilities=unknown)


def _by_name(
    strategy: str | Strategy, n_clusters: int | None, seed: int, n_jobs: int | None
) -> Strategy:
    if isinstance(strategy, Strategy):
        if n_clusters is not None:
            raise InvalidParameterError(
                "Session(n_clusters=...) is for strategies given by name; set it in the strategy: "
                f"{type(strategy).__name__}(n_clusters={n_clusters})"
            )
        copied: Strategy = clone(strategy)
        return copied
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise InvalidParameterError(
            f"Session(strategy={strategy!r}): strategy must be one of {', '.join(STRATEGIES)}, or "
            "an object of clew.questions"
        )
    kind = STRATEGIES[strategy]
    parameters = inspect.signature(kind).parameters
    found: dict[str, Any] = {"random_state": seed}
    if "n_jobs" in parameters:
        found["n_jobs"] = n_jobs
    if "n_clusters" in parameters:
        if n_clusters is None and parameters["n_clusters"].default is not None:
            raise InvalidParameterError(
                f"the strategy {strategy!r} needs Session(n_clusters=...); 'guided' does not"
            )
        found["n_clusters"] = n_clusters
    elif n_clusters is not None:
        raise InvalidParameterError(
            f"the strategy {strategy!r} takes no number of groups; leave n_clusters out"
        )
    return kind(**found)
