"""`Constraints` from files and data frames, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Self

from clew._files import needs
from clew.constraints._files import (
    FilePath,
    Layout,
    read_csv,
    read_frame,
    read_jsonl,
    write_csv,
    write_jsonl,
)
from clew.constraints._records import AnswerColumns, column_names, records

if TYPE_CHECKING:
    import pandas as pd


class ExchangedAnswers(AnswerColumns):
    """Methods that read and write CSV, JSON lines and data frames; `_files` does the work."""

    __slots__ = ()

    @classmethod
    def read_csv(
        cls,
        path: FilePath,
        *,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
        columns: Sequence[str] | None = None,
        answer: str | None = None,
        annotator: str | None = None,
        kind: str | None = None,
        encoding: str | None = None,
    ) -> Self:
        r"""Read answers from a file in the form that `to_csv` writes, or that an experiment wrote.

        A further kind is most_central: which of i, j and k is the most central one (first, second,
        third, dont_know)? Such answers become triplets, see `Constraints.from_most_central`.

        The columns i, j and k hold row numbers; id_i, id_j and id_k hold ids. Columns may be in any
        order, in upper or lower case, and separated by commas, semicolons, tabs or bars. annotator,
        weight and origin may be omitted, or empty in some lines, and k and kind may be omitted if
        there are only pairs. An index column that pandas wrote is skipped; other columns that are
        not read cause a warning.

        Columns of other names are recognized if there is one reading, such as
        ``trial,participant,left,middle,right,response``: then the answer may also be the item that
        was chosen, the name of its column, or its position, from 1 or from 0. A column same,
        is_same, match or is_match may hold true and false, yes and no, or 1 and 0.

        Parameters
        ----------
        path : str or path-like
            A text file, which may be compressed by gzip.
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given. If neither is given, the
            rows are those that the answers name: by id, in the order in which they are named, or by
            number, from 0 to the largest.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows. If the file has both ids and
            row numbers, they must name the same rows.
        columns : sequence of str, default=None
            Columns of the two or three items of a question, if they have names of their own.
        answer, annotator : str, default=None
            Columns of the answer and of who answered, if they have names of their own.
        kind : {"pair", "triplet", "odd_one_out", "most_central"}, default=None
            What was asked, if no column says it. None: "pair" for two items, "odd_one_out" for
            three if the first of them is chosen anywhere.
        encoding : str, default=None
            Encoding of the file, as Python names it, such as "cp1252". None: UTF-8 or UTF-16.

        Returns
        -------
        Constraints
            The answers, with `ids` if given.

        Raises
        ------
        FileFormatError
            If the file is empty or a line is invalid: an unknown kind or answer, a row number out
            of range, an unknown id, a repeated row in one answer, k given for a pair, a weight
            outside [0, 1], or an unknown origin. The message has the file and the line. Also if
            columns have other names and there is more than one reading.
        InvalidConstraintsError
            If `n_samples` or `ids` is invalid; for example, if an id is repeated.
        OSError
            If the file cannot be read.

        Warns
        -----
        IgnoredColumnsWarning
            If there are columns that are not read, or lines without an answer in a table without a
            column kind: these are skipped, and counted.

        Notes
        -----
        Linear in time. Of a file with the columns of `to_csv`, at most 10,000 lines are held in
        memory as text.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from clew import Constraints
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "trials.csv"
        ...     _ = path.write_text("who,left,middle,right,response\nann,wren,owl,robin,owl\n")
        ...     c = Constraints.read_csv(path, annotator="who", kind="odd_one_out")
        >>> c.ids, c.odd_one_out_answers
        (('wren', 'owl', 'robin'), array([1]))
        """
        layout = Layout(columns, answer, annotator, kind, encoding)
        return cls._from_tables(*read_csv(path, n_samples, ids, layout))

    def to_csv(self, path: FilePath) -> None:
        """Write a CSV file: one answer a line, in ``kind,i,j,k,answer,annotator,weight``.

        Kinds are pair (same, different, dont_know), triplet (first, second, dont_know) and
        odd_one_out (first, second, third, all_alike, dont_know). k is empty for pairs. A column
        origin is added if the origin of any answer is not "imported". If the ids of the rows are
        known, the columns are id_i, id_j and id_k and hold ids. A name or id that a spreadsheet
        would interpret as a formula gets an apostrophe in front, which `read_csv` removes.

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
        >>> c = Constraints.from_pairs(must_link=[("ann", "bob")], ids=["ann", "bob", "cy"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "constraints.csv"
        ...     c.to_csv(path)
        ...     print(path.read_text().strip())
        ...     Constraints.read_csv(path, ids=["ann", "bob", "cy"]) == c
        kind,id_i,id_j,id_k,answer,annotator,weight
        pair,ann,bob,,same,,1.0
        True
        """
        write_csv(path, self)

    @classmethod
    def read_jsonl(
        cls, path: FilePath, *, n_samples: int | None = None, ids: Iterable[object] | None = None
    ) -> Self:
        """Read answers from a file in the form that `to_jsonl` or ``clew ask`` writes.

        Parameters
        ----------
        path : str or path-like
            A text file with one JSON object per line, in UTF-8 or UTF-16. An empty file
            holds no answers. In a log of ``clew ask``, answers that were taken back and lines that
            a crash has cut off are skipped. Of one person's answers to a question the last one
            counts; of a repeated question, the first one that is evidence.
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows. If neither is given, the rows
            are those that the answers name; see `read_csv`.

        Returns
        -------
        Constraints
            The answers, with `ids` if they are known.

        Raises
        ------
        FileFormatError
            If a line is invalid. The message has the file and the line.
        InvalidConstraintsError
            If `n_samples` or `ids` is invalid.
        OSError
            If the file cannot be read.

        Warns
        -----
        IgnoredColumnsWarning
            If there are fields that are not read.
        """
        return cls._from_tables(*read_jsonl(path, n_samples, ids))

    def to_jsonl(self, path: FilePath) -> None:
        """Write one line for each answer, a JSON object with the fields and words of `to_csv`.

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
        write_jsonl(path, self)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
        columns: Sequence[str] | None = None,
        answer: str | None = None,
        annotator: str | None = None,
        kind: str | None = None,
    ) -> Self:
        """Read answers from a data frame in the form that `to_frame` makes, or of your own.

        Parameters
        ----------
        frame : DataFrame of pandas or polars
            Its columns are those of `to_csv`; annotator, weight and origin may be omitted,
            and kind and k or id_k if there are only pairs. Its index is not used. Columns of other
            names are recognized as by `read_csv`.
        n_samples : int, default=None
            Number of rows of the data. If neither it nor `ids` is given, the rows are those that
            the answers name; see `read_csv`.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows: for example, the index of the
            data frame of the features. See `read_csv`.
        columns, answer, annotator, kind : default=None
            Columns that have names of their own, and what was asked; see `read_csv`.

        Returns
        -------
        Constraints
            The answers, with `ids` if given.

        Raises
        ------
        InvalidConstraintsError
            If a column is missing or a row is invalid; the message has its number.

        Warns
        -----
        IgnoredColumnsWarning
            If there are columns that are not read.

        Examples
        --------
        >>> import pandas as pd
        >>> from clew import Constraints
        >>> X = pd.DataFrame({"length": [5.1, 4.9, 7.0]}, index=["a", "b", "c"])
        >>> answers = pd.DataFrame(
        ...     {
        ...         "kind": "pair",
        ...         "id_i": ["a", "c"],
        ...         "id_j": ["b", "a"],
        ...         "answer": ["same", "different"],
        ...     }
        ... )
        >>> Constraints.from_frame(answers, ids=X.index).pairs
        array([[0, 1],
               [0, 2]])
        """
        layout = Layout(columns, answer, annotator, kind)
        return cls._from_tables(*read_frame(frame, n_samples, ids, layout))

    def to_frame(self) -> pd.DataFrame:
        """Make a pandas data frame with one row per answer and the columns of `to_csv`.

        Returns
        -------
        pandas.DataFrame
            The column k, or id_k, is missing (NA) for pairs.

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
        with needs("to_frame needs pandas, which is not installed: pip install pandas"):
            import pandas as pd
        names = column_names(self)
        columns = list(zip(*records(self), strict=True)) or [()] * len(names)
        types = {"i": "int64", "j": "int64", "k": "Int64", "weight": "float64"}
        types |= dict.fromkeys(("id_i", "id_j", "id_k"), _type_of(self.ids or ()))
        return pd.DataFrame({
            name: pd.Series(values, dtype=types.get(name, "str"))
            for name, values in zip(names, columns, strict=True)
        })  # fmt: skip


def _type_of(ids: Sequence[object]) -> str:
    kinds = set(map(type, ids))
    if kinds == {int} and all(-(2**53) < number < 2**53 for number in ids):  # type: ignore[operator]
        return "Int64"
    return "str" if kinds <= {str} else "object"
