"""Tables of mixed columns: read from files, and turned into features."""

import importlib
from typing import TYPE_CHECKING

from clew.tables._columns import ColumnUse
from clew.tables._read import Table, read_table

if TYPE_CHECKING:
    from clew.tables._features import TableFeatures as TableFeatures
    from clew.tables._records import RecordFeatures as RecordFeatures

__all__ = ["ColumnUse", "RecordFeatures", "Table", "TableFeatures", "read_table"]

#: Imported when they are first used: whoever reads a table needs no scikit-learn.
_MODULES = {"RecordFeatures": "_records", "TableFeatures": "_features"}


if not TYPE_CHECKING:  # mypy would accept any attribute

    def __getattr__(name: str) -> object:
        """Import a name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module 'clew.tables' has no attribute {name!r}")
        return getattr(importlib.import_module(f"clew.tables.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
