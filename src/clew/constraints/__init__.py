"""What people said about rows, and what follows from it."""

from clew.constraints._closure import Closure
from clew.constraints._conflicts import Conflict
from clew.constraints._constraints import Constraints

__all__ = ["Closure", "Conflict", "Constraints"]
