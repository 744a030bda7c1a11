"""The worker of a project: it owns the model, and all others ask it through the store."""

from clew.worker._process import WorkerProcess
from clew.worker._rows import (
    Rows,
    records_of as records_of,
    reduced as reduced,
    rows_of,
)
from clew.worker._worker import Worker

__all__ = ["Rows", "Worker", "WorkerProcess", "rows_of"]
