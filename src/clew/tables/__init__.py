"""Tables of mixed columns: read from files, and turned into features."""

from clew.tables._columns import ColumnUse
from clew.tables._features import TableFeatures
from clew.tables._read import Table, read_table

__all__ = ["ColumnUse", "Table", "TableFeatures", "read_table"]
