"""Results that are computed when they are first read, also in several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar, overload

T = TypeVar("T")


class unlocked_property(cached_property[T]):  # noqa: N801  named as the class that it replaces
    """A `cached_property` without the lock that all instances share before Python 3.12."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> unlocked_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        """Compute the property and store it in the object, where it is found from then on."""
        if instance is None:
            return self
        assert self.attrname is not None
        value = instance.__dict__[self.attrname] = self.func(instance)
        return value


class Once:
    """Results by key, each computed by the first thread that reads it; others wait for that one."""

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, threading.RLock] = {}
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of this key, after a call of `make` if there is none yet."""
        if key not in self._results:
            with self._lock:
                own = self._locks.setdefault(key, threading.RLock())
            with own:
                if key not in self._results:
                    self._results[key] = make()
        return self._results[key]

    def __getstate__(self) -> dict[Hashable, Any]:
        return dict(self._results)

    def __setstate__(self, results: dict[Hashable, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self._results = results
