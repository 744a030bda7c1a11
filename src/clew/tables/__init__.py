"""Tables of mixed columns: read from files, and turned into features."""

from clew.tables._columns import ColumnUse
from clew.tables._features import TableFeatures
from clew.tables._read import Table, read_table
from clew.tables._records import RecordFeatures

__all__ = ["ColumnUse", "RecordFeatures", "Table", "TableFeatures", "read_table"]
