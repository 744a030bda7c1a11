"""Tables of mixed columns: read from files, and turned into features."""

from typing import TYPE_CHECKING

from clew._lazy import imported_when_used
from clew.tables._columns import ColumnUse
from clew.tables._read import Table, read_table

if TYPE_CHECKING:
    from clew.tables._features import TableFeatures as TableFeatures
    from clew.tables._records import RecordFeatures as RecordFeatures

__all__ = ["ColumnUse", "RecordFeatures", "Table", "TableFeatures", "read_table"]


if not TYPE_CHECKING:  # mypy would accept any attribute
    # Whoever reads a table needs no scikit-learn.
    __getattr__, __dir__ = imported_when_used(
        __name__, {"RecordFeatures": "_records", "TableFeatures": "_features"}
    )
