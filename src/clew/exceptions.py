"""Every error that clew raises on purpose, and every warning.

All errors descend from `ClewError`, and also from the built-in exception that a caller would
expect, so that both ``except ClewError`` and ``except ValueError`` do what they say. All warnings
descend from `ClewWarning`.
"""

from __future__ import annotations

__all__ = [
    "ClewError",
    "ClewWarning",
    "DatasetNotFoundError",
    "DeadEndWarning",
    "FewerGroupsWarning",
    "FileFormatError",
    "IgnoredColumnsWarning",
    "InconsistentConstraintsError",
    "InfeasibleConstraintsError",
    "InvalidArgumentError",
    "InvalidConstraintsError",
    "InvalidDataError",
    "InvalidParameterError",
    "MissingDependencyError",
    "TooLargeError",
    "UnsupportedConstraintError",
]


class ClewError(Exception):
    """Base class of every error that clew raises on purpose."""


class InvalidConstraintsError(ClewError, ValueError):
    """An answer cannot be what anybody said: a row out of range, a repeated row, an unknown code.

    Also raised where constraints speak of another number of rows than the data has.
    """


class InconsistentConstraintsError(InvalidConstraintsError):
    """Answers contradict each other, and the method takes every one of them as binding.

    Parameters
    ----------
    message : str
        What contradicts what, and what to do about it.
    chain : tuple of int, default=()
        Rows of the shortest contradicting chain: must-links join its neighbours one by one, and
        a cannot-link parts its ends. Where comparisons of distances contradict each other, rows
        two by two: each two are said to be nearer than the next, and the last are the first.

    Examples
    --------
    >>> from clew.exceptions import InconsistentConstraintsError
    >>> InconsistentConstraintsError("rows 3 and 9 contradict", chain=(3, 5, 9)).chain
    (3, 5, 9)
    """

    def __init__(self, message: str, chain: tuple[int, ...] = ()) -> None:
        # Both go to args, which is what pickle hands back to this constructor.
        super().__init__(message, chain)
        self.chain = chain

    def __str__(self) -> str:
        return str(self.args[0])


class InfeasibleConstraintsError(InvalidConstraintsError):
    """No two answers contradict each other, but no grouping into so many groups keeps them all.

    Also raised where a search found none and gave up; the message says which of the two it is.

    Parameters
    ----------
    message : str
        What does not fit, and what to do about it.
    rows : tuple of int, default=()
        Rows that stand in the way: rows that all have to be apart, or some of those among which
        the search failed.

    Examples
    --------
    >>> from clew.exceptions import InfeasibleConstraintsError
    >>> InfeasibleConstraintsError("3 rows, 2 groups", rows=(0, 4, 7)).rows
    (0, 4, 7)
    """

    def __init__(self, message: str, rows: tuple[int, ...] = ()) -> None:
        # Both go to args, which is what pickle hands back to this constructor.
        super().__init__(message, rows)
        self.rows = rows

    def __str__(self) -> str:
        return str(self.args[0])


class UnsupportedConstraintError(ClewError, ValueError):
    """The method does not honour this kind of constraint, and refuses it rather than drop it."""


class InvalidArgumentError(ClewError, TypeError):
    """An argument has the wrong type or the wrong place, such as answers given as `y`."""


class InvalidParameterError(ClewError, ValueError):
    """A parameter has a value outside its allowed range."""


class InvalidDataError(ClewError, ValueError):
    """The data cannot be used as given: not finite, of the wrong shape, or too few rows."""


class FileFormatError(ClewError, ValueError):
    """A file does not hold what its kind asks for; the message names the file and the line."""


class DatasetNotFoundError(ClewError, FileNotFoundError):
    """No place that clew knows of has the data set; the message says where to put it."""


class MissingDependencyError(ClewError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class TooLargeError(ClewError, MemoryError):
    """The dense form of a result would not fit; the message names the sparse or blocked form."""


class ClewWarning(UserWarning):
    """Base class of every warning that clew gives."""


class DeadEndWarning(ClewWarning):
    """The answers forbid every further merge, so there are more groups than were asked for."""


class FewerGroupsWarning(ClewWarning):
    """Fewer groups than were asked for have rows, mostly because fewer rows differ."""


class IgnoredColumnsWarning(ClewWarning):
    """A table of answers has columns that `Constraints` does not read; the message names them."""
