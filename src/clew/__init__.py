"""clew groups a collection the way people see it, from data and small, sometimes wrong, answers."""

from importlib.metadata import version

from clew.answers import Answer, Question
from clew.constraints import Constraints

__all__ = ["Answer", "Constraints", "Question", "__version__"]

__version__ = version("clew")
