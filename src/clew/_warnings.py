"""Warnings that name a line of the user's code, and that can be silenced in one thread.

`warnings.catch_warnings` changes the filters of the whole process: it would silence fits in other
threads too, and if two threads use it at once, the filters of one may stay.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["silenced", "warn"]

#: Packages whose frames are skipped. scikit-learn and joblib are among them because their
#: pipelines and threads call our `fit`.
INNER_PACKAGES = frozenset({"clew", "sklearn", "joblib"})

_is_silenced = ContextVar("clew_warnings_are_silenced", default=False)


def warn(message: str, category: type[Warning]) -> None:
    """Warn, naming the innermost line outside of clew, scikit-learn and joblib.

    Parameters
    ----------
    message : str
        The problem, and what to do about it.
    category : type
        A subclass of `Warning`.
    """
    if _is_silenced.get():
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _package(frame.f_globals) in INNER_PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def silenced() -> Iterator[None]:
    """Silence clew's own warnings within a ``with`` block, in this thread only."""
    token = _is_silenced.set(True)
    try:
        yield
    finally:
        _is_silenced.reset(token)


def _package(namespace: dict[str, object]) -> str:
    return str(namespace.get("__name__", "")).partition(".")[0]
