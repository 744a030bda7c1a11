"""How alike are two items, given data and answers; one method a file."""

from clew.similarity._clustrf import ClustRF
from clew.similarity._coprf import COPRF

__all__ = ["COPRF", "ClustRF"]
