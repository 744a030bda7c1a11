"""Where the answers of people are kept: a file for one person, a store for a project.

`AnswerFile` is the log of `clew ask` in a file. `open_store` opens the store of a project, in
SQLite or PostgreSQL; `Store` says what every store promises.
"""

from clew.store._open import open_store, warm_up
from clew.store._transfer import export_all, import_all
from clew.store.answer_file import AnswerFile
from clew.store.base import (
    Annotator,
    Counts,
    Group,
    ItemChanges,
    Job,
    Lease,
    Logged,
    Served,
    Store,
    StoredResult,
    Suggestion,
    Token,
    WorkerState,
)

__all__ = [
    "Annotator",
    "AnswerFile",
    "Counts",
    "Group",
    "ItemChanges",
    "Job",
    "Lease",
    "Logged",
    "Served",
    "Store",
    "StoredResult",
    "Suggestion",
    "Token",
    "WorkerState",
    "export_all",
    "import_all",
    "open_store",
    "warm_up",
]
