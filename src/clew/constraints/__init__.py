"""What people said about rows, and what follows from it."""

from clew.constraints._closure import Closure
from clew.constraints._conflicts import Conflict
from clew.constraints._constraints import Constraints
from clew.constraints._support import Support, check_constraints

__all__ = ["Closure", "Conflict", "Constraints", "Support", "check_constraints"]
