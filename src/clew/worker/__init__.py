"""The worker of a project: it owns the model, and all others ask it through the store."""

import importlib
from typing import TYPE_CHECKING

from clew.worker._process import WorkerProcess

if TYPE_CHECKING:
    from clew.worker._rows import Rows as Rows, rows_of as rows_of
    from clew.worker._worker import Worker as Worker

__all__ = ["Rows", "Worker", "WorkerProcess", "rows_of"]

#: Imported when they are first used: the web process, which starts a worker, needs no NumPy.
_MODULES = {"Rows": "_rows", "Worker": "_worker", "rows_of": "_rows"}


if not TYPE_CHECKING:  # mypy would accept any attribute

    def __getattr__(name: str) -> object:
        """Import a name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module 'clew.worker' has no attribute {name!r}")
        return getattr(importlib.import_module(f"clew.worker.{_MODULES[name]}"), name)
