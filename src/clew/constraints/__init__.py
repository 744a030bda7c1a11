"""People's answers about the rows of a data set, and the pairs that they entail."""

from clew.constraints._closure import Closure, Conflict
from clew.constraints._support import Support, check_constraints
from clew.constraints._tables import AnswerTable
from clew.constraints.constraints import Constraints

__all__ = ["AnswerTable", "Closure", "Conflict", "Constraints", "Support", "check_constraints"]
