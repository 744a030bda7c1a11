"""The methods that take `Constraints` to files and data frames and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from clew.constraints._columns import AnswerColumns
from clew.constraints._frames import read_frame, write_frame
from clew.constraints._text_files import read_csv, read_jsonl, write_csv, write_jsonl
from clew.constraints._validation import as_n_samples

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Exchange"]


class Exchange(AnswerColumns):
    """Ways to write `Constraints` and to read them back, all of which lose nothing.

    Each kind of answer keeps its order; how answers of different kinds interleave is not kept.
    """

    __slots__ = ()

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write ``kind,i,j,k,answer,annotator,weight``, one line an answer.

        Kinds are pair (same, different, dont_know), triplet (first, second, dont_know) and odd
        (first, second, third, none, dont_know). k is empty for pairs. An annotator's name that
        a spreadsheet would take for a formula gets an apostrophe in front, which `read_csv`
        takes off.

        Parameters
        ----------
        path : str or path-like
            Where to write, in UTF-8. The file appears, or replaces an older one, only once
            complete.

        Raises
        ------
        OSError
            If the file cannot be written; an older one stays as it was.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1)], n_samples=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "constraints.csv"
        ...     c.to_csv(path)
        ...     print(path.read_text().strip())
        ...     Constraints.read_csv(path, n_samples=3) == c
        kind,i,j,k,answer,annotator,weight
        pair,0,1,,same,,1.0
        True
        """
        write_csv(self, path)

    @classmethod
    def read_csv(cls, path: str | os.PathLike[str], *, n_samples: int) -> Self:
        """Read a file in the form that `to_csv` writes.

        Columns may come in any order. annotator and weight may be left out, as columns or line
        by line, and k where there are pairs alone. A byte-order mark, Windows line ends and
        empty lines do no harm.

        Parameters
        ----------
        path : str or path-like
            A CSV file in UTF-8.
        n_samples : int
            Number of rows of the data.

        Returns
        -------
        Constraints

        Raises
        ------
        FileFormatError
            If the file is empty or a line is wrong: an unknown kind, answer or column, a row
            number out of range or repeated, k given for a pair, a weight outside [0, 1]. The
            message names the file and the line. Nothing is read by halves.
        OSError
            If the file cannot be read.
        """
        n_samples = as_n_samples(n_samples)
        return cls(n_samples, **read_csv(path, n_samples))

    def to_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Write one JSON object a line and answer, with the fields and words of `to_csv`.

        Parameters
        ----------
        path : str or path-like
            Where to write, in UTF-8. The file appears, or replaces an older one, only once
            complete.

        Raises
        ------
        OSError
            If the file cannot be written; an older one stays as it was.
        """
        write_jsonl(self, path)

    @classmethod
    def read_jsonl(cls, path: str | os.PathLike[str], *, n_samples: int) -> Self:
        """Read a file in the form that `to_jsonl` writes.

        Parameters
        ----------
        path : str or path-like
            A file in UTF-8 of one JSON object a line. An empty file holds no answers.
        n_samples : int
            Number of rows of the data.

        Returns
        -------
        Constraints

        Raises
        ------
        FileFormatError
            If a line is wrong. The message names the file and the line.
        OSError
            If the file cannot be read.
        """
        n_samples = as_n_samples(n_samples)
        return cls(n_samples, **read_jsonl(path, n_samples))

    def to_frame(self) -> pd.DataFrame:
        """Make a pandas data frame of one row an answer, with the columns of `to_csv`.

        Returns
        -------
        pandas.DataFrame
            k is missing for pairs.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.

        Examples
        --------
        >>> from clew import Constraints
        >>> frame = Constraints.from_pairs(must_link=[(0, 1)], n_samples=3).to_frame()
        >>> frame.loc[0, "answer"]
        'same'
        >>> len(Constraints.from_frame(frame, n_samples=3))
        1
        """
        return write_frame(self)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, n_samples: int) -> Self:
        """Take the answers out of a data frame in the form that `to_frame` makes.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns kind, i, j and answer, and k, annotator and weight where needed. The index
            plays no part.
        n_samples : int
            Number of rows of the data.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If a column is missing or unknown, or a row is wrong; the message names it.
        """
        n_samples = as_n_samples(n_samples)
        return cls(n_samples, **read_frame(frame, n_samples))
