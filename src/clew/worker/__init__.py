"""The worker of a project: it owns the model, and all others ask it through the store."""

from typing import TYPE_CHECKING

from clew._lazy import imported_when_used
from clew.worker._process import WorkerProcess

if TYPE_CHECKING:
    from clew.worker._rows import Rows as Rows, rows_of as rows_of
    from clew.worker._worker import Worker as Worker

__all__ = ["Rows", "Worker", "WorkerProcess", "rows_of"]


if not TYPE_CHECKING:  # mypy would accept any attribute
    # The web process, which starts a worker, needs no NumPy.
    __getattr__, __dir__ = imported_when_used(
        __name__, {"Rows": "_rows", "Worker": "_worker", "rows_of": "_rows"}
    )
