"""People's answers about the rows of a data set, and the pairs that they entail."""

from clew.constraints._closure import Closure
from clew.constraints._conflicts import Conflict
from clew.constraints._constraints import Constraints
from clew.constraints._support import Support, check_constraints
from clew.constraints._tables import AnswerTable

__all__ = ["AnswerTable", "Closure", "Conflict", "Constraints", "Support", "check_constraints"]
