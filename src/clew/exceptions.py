"""The errors and warnings of clew.

All errors are subclasses of `ClewError` and of a built-in exception such as `ValueError`; either
may be caught. All warnings are subclasses of `ClewWarning`.
"""

from __future__ import annotations

__all__ = [
    "ClewError",
    "ClewWarning",
    "ClusterError",
    "DatasetNotFoundError",
    "DeadEndWarning",
    "DistancesAsFeaturesWarning",
    "FewerGroupsWarning",
    "FileFormatError",
    "IgnoredColumnsWarning",
    "InconsistentConstraintsError",
    "InfeasibleConstraintsError",
    "InvalidArgumentError",
    "InvalidConstraintsError",
    "InvalidDataError",
    "InvalidParameterError",
    "LeaseLostError",
    "MissingDependencyError",
    "NoGroupsWarning",
    "ProjectNotFoundError",
    "ReversedAnswersWarning",
    "StoreError",
    "TooLargeError",
    "UnsupportedConstraintError",
]


class ClewError(Exception):
    """Base class of every error that clew raises."""


class InvalidConstraintsError(ClewError, ValueError):
    """An answer is invalid: a row out of range, a repeated row, or an unknown code.

    Also raised if constraints are about another number of rows than the data has.
    """


class InconsistentConstraintsError(InvalidConstraintsError):
    """Answers contradict each other, and the method requires that all of them hold.

    Parameters
    ----------
    message : str
        Which answers contradict each other, and what to do about it.
    chain : tuple of int, default=()
        Rows of the shortest contradictory chain: must-links join successive rows, and a
        cannot-link separates the first from the last. If comparisons of distances contradict each
        other, consecutive pairs of rows: each pair is said to be nearer than the next pair, and the
        last pair is the first.

    Examples
    --------
    >>> from clew.exceptions import InconsistentConstraintsError
    >>> InconsistentConstraintsError("rows 3 and 9 contradict", chain=(3, 5, 9)).chain
    (3, 5, 9)
    """

    def __init__(self, message: str, chain: tuple[int, ...] = ()) -> None:
        # pickle calls the constructor with args.
        super().__init__(message, chain)
        self.chain = chain

    def __str__(self) -> str:
        return str(self.args[0])


class InfeasibleConstraintsError(InvalidConstraintsError):
    """No clustering with this number of groups satisfies all answers.

    Also raised if a search ended without finding one; the message says which of the two happened.

    Parameters
    ----------
    message : str
        Why there is none, and what to do about it.
    rows : tuple of int, default=()
        Rows that must all be in different groups, or some rows for which the search failed.

    Examples
    --------
    >>> from clew.exceptions import InfeasibleConstraintsError
    >>> InfeasibleConstraintsError("3 rows, 2 groups", rows=(0, 4, 7)).rows
    (0, 4, 7)
    """

    def __init__(self, message: str, rows: tuple[int, ...] = ()) -> None:
        # pickle calls the constructor with args.
        super().__init__(message, rows)
        self.rows = rows

    def __str__(self) -> str:
        return str(self.args[0])


class UnsupportedConstraintError(ClewError, ValueError):
    """The method does not honor answers of this kind; it raises rather than ignore them."""


class InvalidArgumentError(ClewError, TypeError):
    """An argument has the wrong type or is in the wrong place, such as answers passed as `y`."""


class InvalidParameterError(ClewError, ValueError):
    """A parameter has a value outside its allowed range."""


class InvalidDataError(ClewError, ValueError):
    """The data cannot be used as given: not finite, of the wrong shape, or too few rows."""


class FileFormatError(ClewError, ValueError):
    """The content of a file is invalid; the message names the file and the line."""


class DatasetNotFoundError(ClewError, FileNotFoundError):
    """The data set was not found; the message says where to put it."""


class StoreError(ClewError, OSError):
    """A store cannot be opened, read or written; the message says why, and what to do."""


class LeaseLostError(ClewError, RuntimeError):
    """Another worker has taken the project over; what this one has learned was not written."""


class ProjectNotFoundError(ClewError, FileNotFoundError):
    """There is no project in the folder, nor above it; the message says how to make one."""


class MissingDependencyError(ClewError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class TooLargeError(ClewError, MemoryError):
    """A dense result would not fit in memory; the message names the sparse form."""


class ClusterError(ClewError, RuntimeError):
    """A Dask cluster was lost, or its workers died; nothing was changed."""


class ClewWarning(UserWarning):
    """Base class of every warning of clew."""


class DeadEndWarning(ClewWarning):
    """Answers forbid further merges, so there are more groups than `n_clusters`."""


class DistancesAsFeaturesWarning(ClewWarning):
    """A method that expects features got what looks like a matrix of distances between rows."""


class FewerGroupsWarning(ClewWarning):
    """There are fewer groups than `n_clusters`, often because there are fewer distinct rows."""


class IgnoredColumnsWarning(ClewWarning):
    """`Constraints` leaves out columns of a table of answers, or lines without an answer."""


class NoGroupsWarning(ClewWarning):
    """Features and answers do not show groups, so the number of groups means little."""


class ReversedAnswersWarning(ClewWarning):
    """Rows that are alike are called "same" less often than others: answers may be swapped."""
