"""Warnings that name a line of the user's code, and that can be silenced in one thread.

`warnings.catch_warnings` changes the filters of the whole process: it would silence fits in other
threads too, and if two threads use it at once, the filters of one may stay.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

#: Packages whose frames are skipped. scikit-learn and joblib are among them because their
#: pipelines and threads call our `fit`.
INNER_PACKAGES = frozenset({"clew", "sklearn", "joblib"})

#: Held while the filters of the process are replaced, as scikit-learn does to convert arrays.
#: Reentrant, because a conversion may call any code.
FILTERS = threading.RLock()
_is_silenced = ContextVar("clew_warnings_are_silenced", default=False)


def warn(message: str, category: type[Warning]) -> None:
    """Warn, naming the innermost line outside of clew, scikit-learn and joblib."""
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


class _AllSilenced:
    """Ignores all warnings of the process while at least one thread is within the block."""

    def __init__(self) -> None:
        self._n_within = 0

    def __enter__(self) -> None:
        with FILTERS:
            if self._n_within == 0:
                self._catching = warnings.catch_warnings()
                self._catching.__enter__()
                warnings.simplefilter("ignore")
            self._n_within += 1

    def __exit__(self, *_: object) -> None:
        with FILTERS:
            self._n_within -= 1
            if self._n_within == 0:
                self._catching.__exit__(None, None, None)


_ALL_SILENCED = _AllSilenced()


def all_silenced() -> AbstractContextManager[None]:
    """Silence other packages' warnings in all threads; the last one to leave restores filters."""
    return _ALL_SILENCED


def _package(namespace: dict[str, object]) -> str:
    return str(namespace.get("__name__", "")).partition(".")[0]
