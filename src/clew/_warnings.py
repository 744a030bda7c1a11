"""Warnings that name the line of the user's code, however deep inside clew they are raised."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]

#: Frames of these packages are not the user's: scikit-learn's pipelines call our `fit`.
INNER_PACKAGES = frozenset({"clew", "sklearn", "joblib"})


def warn(message: str, category: type[Warning]) -> None:
    """Warn, naming the innermost line outside of clew, scikit-learn and joblib.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it.
    category : type
        A subclass of `Warning`.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _package(frame.f_globals) in INNER_PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(namespace: dict[str, object]) -> str:
    return str(namespace.get("__name__", "")).partition(".")[0]
