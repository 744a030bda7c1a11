"""Delimited text (CSV, TSV) as a data frame, with the line of the file on which each row begins."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clew.exceptions import FileFormatError
from clew.tables._columns import LEADING_ZERO

__all__ = [
    "MISSING",
    "Format",
    "TextTable",
    "are_numbers_between_spaces",
    "decoded",
    "read_delimited",
]

SEPARATORS = (",", ";", "\t", "|")
#: First line that names the separator, in files for Excel.
SEPARATOR_LINE = re.compile(r"sep=(.)(?=[\r\n])")
#: Number of lines from which the separator and the decimal mark are recognized.
N_SAMPLED = 100
#: Number of rows in which leading zeros are looked for.
FIRST_ROWS = 1_000
#: Missing values: those of pandas, and the question mark.
MISSING = (
    *("", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A", "NULL", "null", "None", "?"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
#: Byte order marks of UTF-16, which spreadsheets write at the beginning of a file.
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Format:
    """How delimited text is read; None is recognized from the text."""

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None


class TextTable(NamedTuple):
    """Columns of delimited text."""

    names: list[str]
    """Column names; an unnamed column has an empty one. Numbers from 0 without a header."""
    has_header: bool
    body: str
    """The text below the header."""
    lines: list[int]
    """Line of the file on which each row begins."""
    is_blank: list[bool]
    """Whether all fields of a record of the body are empty. Such records are skipped, so
    ``len(lines)`` is the number of the others."""
    sep: str
    decimal: str
    notes: list[str]
    """What was assumed about the format."""

    def frame(self, columns: Sequence[int], as_text: Sequence[int]) -> pd.DataFrame:
        """Parse some columns, by position; those of `as_text` stay text and keep leading zeros.

        Raises
        ------
        FileFormatError
            If pandas reads another number of records than the csv module.
        """
        wanted = sorted({*columns, *as_text})
        missing: dict[Any, Any] = {at: MISSING for at in columns if at not in as_text}
        frame = pd.read_csv(
            io.StringIO(self.body),
            sep=self.sep,
            decimal=self.decimal,
            header=None,
            names=list(range(len(self.names))),
            usecols=wanted,
            dtype=dict.fromkeys(as_text, "str"),
            na_values=missing,
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
            index_col=False,
        )
        if len(frame) != len(self.is_blank):
            raise FileFormatError(
                f"{len(self.is_blank)} records, of which pandas reads {len(frame)}; is a quote "
                "missing or in the wrong place?"
            )
        return frame[~np.array(self.is_blank, dtype=bool)].reset_index(drop=True)

    def with_leading_zeros(self, columns: Sequence[int]) -> list[int]:
        """Return the columns that hold whole numbers with leading zeros in the first rows."""
        if not columns:
            return []
        frame = pd.read_csv(
            io.StringIO(self.body), sep=self.sep, header=None, names=list(range(len(self.names))),
            usecols=list(columns), dtype="str", keep_default_na=False, skipinitialspace=True,
            nrows=FIRST_ROWS, index_col=False,
        )  # fmt: skip
        return [at for at in columns if frame[at].str.fullmatch(LEADING_ZERO).any()]


@dataclass
class _Lines:
    """Lines of a text, and the number of characters that were read."""

    text: str
    offset: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[str]:
        for line in io.StringIO(self.text, newline=""):
            self.offset += len(line)
            yield line


def read_delimited(content: bytes, form: Format) -> TextTable:
    """Recognize the format of a text, and check that all rows have equally many fields.

    Parameters
    ----------
    content : bytes
        The file.
    form : Format
        What the caller says about its format.

    Returns
    -------
    TextTable

    Raises
    ------
    FileFormatError
        If the text is empty, damaged, ragged or in another encoding. The message begins with the
        line.
    """
    text = decoded(content, form.encoding)
    text, sep = _without_mark(text)
    sample = _sample(text)
    if not sample.strip():
        raise FileFormatError("the file is empty; it needs one line for each row")
    sep = form.sep or sep or _separator(sample)
    records = _records(sample, sep)
    decimal = form.decimal or _decimal(records, sep)
    notes = _notes(form, sep, decimal)
    has_header = form.header
    lacks_name = has_header is not False and _lacks_name(records)
    if lacks_name:
        records[0].insert(0, "")
        has_header = True
        notes.append(
            "the header has one field fewer than the rows; the first column is taken for names of "
            "rows, as R's write.table writes them"
        )
    if has_header is None:
        has_header, note = _has_header(records, decimal)
        notes += note
    lines = _Lines(text)
    reader = csv.reader(lines, delimiter=sep, strict=True, skipinitialspace=True)
    names = [str(at) for at in range(len(records[0]))]
    first_line, body_starts = 1, 0
    if has_header:
        names = [name.strip() for name in records[0]]
        _check_names(names)
        first_line = _skip_header(reader)
        body_starts = lines.offset
    starts, is_blank = _rows(reader, len(names), first_line, has_header=has_header)
    if not starts:
        raise FileFormatError("the file has a header and no rows")
    return TextTable(names, has_header, text[body_starts:], starts, is_blank, sep, decimal, notes)


def decoded(content: bytes, encoding: str | None) -> str:
    """Return the text of a file; errors begin with the line."""
    if encoding is None:
        encoding = "utf-16" if content.startswith(UTF16_MARKS) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except LookupError as error:
        raise FileFormatError(f"there is no encoding {encoding!r}; try utf-8 or latin-1") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise FileFormatError(
            f"line {line}: byte 0x{byte:02x} is not valid {encoding.removesuffix('-sig')}; save "
            "the file as UTF-8, or name its encoding (latin-1 in many older files)"
        ) from error


def _without_mark(text: str) -> tuple[str, str | None]:
    """Return the text without the line ``sep=;`` that Excel reads, and the separator it names."""
    mark = SEPARATOR_LINE.match(text)
    # The line end stays, so that line numbers are those of the file.
    return (text[mark.end() :], mark[1]) if mark else (text, None)


def _sample(text: str) -> str:
    """Return the first lines; a record that continues after them is cut."""
    return "".join(line for line, _ in zip(_Lines(text), range(N_SAMPLED), strict=False))


def _records(sample: str, sep: str) -> list[list[str]]:
    """Return the first records that are not blank."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=sep, skipinitialspace=True)
    try:
        return [fields for fields in reader if any(map(str.strip, fields))]
    except csv.Error as error:
        raise FileFormatError(f"line {reader.line_num}: {error}") from error


def _separator(sample: str) -> str:
    """Return the separator that splits most of the first records into the same number of fields.

    That number is above 1. Among equally good separators, the one that yields more numbers is
    returned. Spaces are a separator only if all fields below the header are numbers.
    """
    best, most = ",", 0.0
    for sep in SEPARATORS:
        records = _records(sample, sep)
        widths = [len(fields) for fields in records]
        width = max(set(widths), key=widths.count)
        fields = [field for fields in records for field in fields]
        n_numbers = sum(_is_number(field, ",") for field in fields)
        # The header has to be split too: a decimal comma does not split it.
        is_split = width > 1 and (widths[0] == width or _lacks_name(records))
        score = is_split * (widths.count(width) / len(widths) + 0.1 * n_numbers / len(fields))
        if score > most:
            best, most = sep, score
    return " " if most == 0 and are_numbers_between_spaces(sample) else best


def _lacks_name(records: list[list[str]]) -> bool:
    """Whether the first of the records has two fields or more, and one fewer than all others.

    One other record is not enough: it may have a field too many.
    """
    width = len(records[0]) + 1
    return len(records) > 2 and width > 2 and all(len(fields) == width for fields in records[1:])


def are_numbers_between_spaces(sample: str) -> bool:
    """Whether the records below the first are numbers, as many in each as the first has fields.

    If the first has one field fewer, the first field of the others may be text.
    """
    records = _records(sample, " ")
    n_names = int(_lacks_name(records))
    width = len(records[0]) + n_names
    return width > 1 and all(
        len(fields) == width
        and all(_is_number(one, ".") or one in MISSING for one in fields[n_names:])
        for fields in records[1:]
    )


def _decimal(records: list[list[str]], sep: str) -> str:
    """Return a comma if some fields have a decimal comma and none a decimal point."""
    if sep == ",":
        return "."
    fields = [one.strip() for fields in records for one in fields]
    with_point = any(re.fullmatch(r"[+-]?\d*\.\d+", one) for one in fields)
    with_comma = any(re.fullmatch(r"[+-]?\d*,\d+", one) for one in fields)
    return "," if with_comma and not with_point else "."


def _notes(form: Format, sep: str, decimal: str) -> list[str]:
    words = {";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
    notes = []
    if form.sep is None and sep != ",":
        notes.append(f"fields are separated by {words.get(sep, repr(sep))}")
    if form.decimal is None and decimal == ",":
        notes.append("numbers have a decimal comma")
    return notes


def _is_number(value: str, decimal: str) -> bool:
    try:
        float(value.replace(decimal, "."))
    except ValueError:
        return False
    return True


def _has_header(records: list[list[str]], decimal: str) -> tuple[bool, list[str]]:
    """Return whether the first record holds names, and notes on that."""
    first = [value.strip() for value in records[0]]
    is_missing = [value in MISSING for value in first]
    if not all(
        missing or _is_number(value, decimal)
        for missing, value in zip(is_missing, first, strict=True)
    ):
        return True, []
    # pandas numbers columns without names, and leaves the name of the index empty.
    counted = first[1:] if first[0] == "" else first
    if counted != [str(at) for at in range(len(counted))] or not counted:
        return False, []
    rest = [value.strip() for fields in records[1:] for value in fields]
    are_whole = all(re.fullmatch(r"[+-]?\d*", value) for value in rest)
    if first[0] == "" or (len(counted) > 1 and not are_whole) or len(counted) > 2:
        return True, [f"the first line, {','.join(first)}, is taken for column names"]
    return False, [f"the first line, {','.join(first)}, is taken for a row"]


def _check_names(names: list[str]) -> None:
    repeated = sorted({name for name in names if name and names.count(name) > 1})
    if repeated:
        raise FileFormatError(
            f"two columns are named {repeated[0]!r}; rename one, or say that there is no header"
        )


def _skip_header(reader: Iterator[list[str]]) -> int:
    """Read past the header; return the number of the line after it."""
    try:
        for fields in reader:
            if any(map(str.strip, fields)):
                break
    except csv.Error as error:
        line = int(reader.line_num)  # type: ignore[attr-defined]
        raise FileFormatError(f"line {line}: {error}") from error
    return int(reader.line_num) + 1  # type: ignore[attr-defined]


def _rows(
    reader: Iterator[list[str]], width: int, line: int, *, has_header: bool
) -> tuple[list[int], list[bool]]:
    """Check the number of fields of every record below the header."""
    starts: list[int] = []
    is_blank: list[bool] = []
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                if len(fields) != width:
                    raise FileFormatError(_ragged(line, len(fields), width, has_header=has_header))
                blank = not any(map(str.strip, fields))
                is_blank.append(blank)
                if not blank:
                    starts.append(line)
            # A record may span lines: the next begins after the last line that was read.
            line = int(reader.line_num) + 1  # type: ignore[attr-defined]
    except csv.Error as error:
        raise FileFormatError(f"line {line}: {error}") from error
    return starts, is_blank


def _ragged(line: int, n_fields: int, width: int, *, has_header: bool) -> str:
    """Return the message for a record with another number of fields than the first."""
    above = "the header" if has_header else "the first line"
    problem = f"line {line}: {n_fields} fields, but {above} has {width}"
    if has_header and width == 1:
        return f"{problem}; remove lines above the column names, such as a title"
    return f"{problem}; quote fields that hold the separator, and leave no field out"
