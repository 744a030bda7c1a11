"""Files: text as people have it, packed, encoded and delimited in several ways; whole when written.

All files that clew reads as text are unpacked and decoded here, and all delimited ones are split
here: tables, answers, ids, classes and lists of texts. What is delimited is quoted here too.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
import re
import secrets
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Literal

from clew.exceptions import FileFormatError, MissingDependencyError, StoreError

#: Missing values in tables: those of pandas, and the question mark.
MISSING: Final = (
    *("", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A", "NULL", "null", "None", "?"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
SEPARATORS: Final = (",", ";", "\t", "|")
#: First line that names the separator, in files for Excel.
SEPARATOR_LINE: Final = re.compile(r"sep=(.)(?=[\r\n])")
#: Number of lines from which the separator and the decimal mark are recognized.
N_SAMPLED: Final = 100
#: How UTF-16 begins: with a mark, as spreadsheets write it, or with two plain letters.
UTF16: Final = {
    "utf-16": re.compile(rb"\xff\xfe|\xfe\xff"),
    "utf-16-le": re.compile(rb"[^\0]\0[^\0]\0"),
    "utf-16-be": re.compile(rb"\0[^\0]\0[^\0]"),
}
#: What users can do besides, where a parameter names the encoding.
NAME_ENCODING: Final = (
    ", or name its encoding (cp1252 in many files of Windows; --encoding in commands)"
)
#: What to do if columns of answers have other names.
OTHER_NAMES: Final = "Name them, as in columns=['left', 'right'], answer='same'"
#: Bytes that latin-1 has no characters for; in cp1252 some are €, dashes and quotation marks.
NOT_LATIN1: Final = re.compile(rb"[\x80-\x9f]")
GZIP: Final = b"\x1f\x8b"
#: How files begin that are often taken for text.
NOT_TEXT: Final = {b"PAR1": "a Parquet file", b"PK\x03\x04": "a spreadsheet or zip file"}
#: A spreadsheet interprets a field that begins with one of these as a formula, if it is no number.
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def content_of(path: str | os.PathLike[str]) -> bytes:
    """Read a file, or the standard input if the path is "-"; unpack gzip."""
    content = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    if not content.startswith(GZIP):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise FileFormatError(f"{path} cannot be unpacked as gzip: {error}") from error


def decoded(
    content: bytes, encoding: str | None, advice: str = NAME_ENCODING, *, is_cut: bool = False
) -> str:
    """Return the text of a file, by default UTF-8 or UTF-16; errors begin with the line.

    `is_cut`: the file goes on, and its last character may be cut in two.
    """
    if encoding is None:
        encoding = utf16_of(content) or "utf-8-sig"
    try:
        name = codecs.lookup(encoding).name
        if is_cut:
            text = codecs.getincrementaldecoder(encoding)().decode(content)
        else:
            text = content.decode(encoding)
    except UnicodeDecodeError as error:
        for mark, form in NOT_TEXT.items():
            if content.startswith(mark):
                raise FileFormatError(f"this is {form}, not text; save it as CSV") from error
        read = error.object  # without a byte order mark
        raise FileFormatError(
            f"line {_line_at(read, error.start)}: byte 0x{read[error.start]:02x} is not "
            f"valid {encoding.removesuffix('-sig')}; save the file as UTF-8{advice}"
        ) from error
    except (LookupError, ValueError) as error:
        raise FileFormatError(f"there is no encoding {encoding!r}; try utf-8 or cp1252") from error
    if name == "iso8859-1" and (other := NOT_LATIN1.search(content)):
        raise FileFormatError(
            f"line {_line_at(content, other.start())}: byte 0x{other[0][0]:02x} is no character "
            f"of {encoding}; cp1252 is likely, the encoding of Windows"
        )
    return text


def _line_at(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1


def utf16_of(content: bytes) -> str | None:
    """Return the name of the kind of UTF-16 in which a file is, or None."""
    return next((name for name, start in UTF16.items() if start.match(content)), None)


def text_of(path: str | os.PathLike[str], encoding: str | None = None, advice: str = "") -> str:
    """Return the text of a file; errors begin with the path."""
    try:
        return decoded(content_of(path), encoding, advice)
    except FileFormatError as error:
        raise FileFormatError(at_path(path, error)) from error


def json_objects(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not empty."""
    # str.splitlines would also split at characters that JSON strings may contain.
    for line, text in enumerate(text_of(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"{path}, line {line}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise FileFormatError(
                f"{path}, line {line}: expected an object such as {{...}}, got {text[:40]!r}"
            )
        yield line, record


def of_spreadsheet(ending: str) -> str:
    """Return what to do with a file of a spreadsheet; nothing for other endings."""
    return "; save the sheet as CSV" if ending in (".xlsx", ".xls", ".ods") else ""


@contextmanager
def needs(why: str) -> Iterator[None]:
    """Around imports of what may not be installed: `why` says what needs it, and what to do."""
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(why) from error


@contextmanager
def array_errors(path: object) -> Iterator[None]:
    """Name the file of arrays that cannot be read."""
    try:
        yield
    # A damaged file raises many kinds of errors, for example of the zip archive or of a header.
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError) as error:
        why = "it holds Python objects; save X.astype(float)" if "pickle" in str(error) else error
        raise FileFormatError(f"{path} cannot be read as a NumPy file of numbers: {why}") from error


def at_path(path: object, error: Exception) -> str:
    """Put the path in front of a message that begins with the line, or with what is wrong."""
    message = str(error)
    if message.startswith(str(path)):
        return message
    return f"{path}{', ' if message.startswith('line ') else ': '}{message}"


def check_plain_text(path: object, content: bytes) -> None:
    """Refuse text in UTF-16, or packed by gzip, where lines are to be appended to the file."""
    if content.startswith(GZIP):
        raise FileFormatError(f"{path} is compressed by gzip: unpack it first")
    if utf16_of(content):
        raise FileFormatError(f"{path} is text in UTF-16: save it as UTF-8")


def without_mark(text: str) -> tuple[str, str | None]:
    """Return the text without the line ``sep=;`` that Excel reads, and the separator it names."""
    mark = SEPARATOR_LINE.match(text)
    # The line end stays, so that line numbers are those of the file.
    return (text[mark.end() :], mark[1]) if mark else (text, None)


def first_lines(text: str) -> str:
    """Return the lines from which the format is recognized; a record after them is cut."""
    lines = io.StringIO(text, newline="")
    return "".join(line for line, _ in zip(lines, range(N_SAMPLED), strict=False))


def numbered_records(text: str, sep: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not blank, with the line on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)
    line = 1
    try:
        for fields in reader:
            if fields and (fields[0].strip() or any(map(str.strip, fields))):
                yield line, fields
            # A record may span several lines; line_num is the number of lines read so far.
            line = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f"line {line}: {error}") from error


def first_records(sample: str, sep: str) -> list[list[str]]:
    """Return the records of the first lines that are not blank."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=sep, skipinitialspace=True)
    try:
        return [fields for fields in reader if any(map(str.strip, fields))]
    except csv.Error as error:
        raise FileFormatError(f"line {reader.line_num}: {error}") from error


def separator(sample: str, default: str = ",") -> str:
    """Return the separator that splits most of the first records into the same number of fields."""
    best, most = default, 0.0
    for sep in SEPARATORS:
        if not (records := first_records(sample, sep)):
            return sep  # nothing but separators
        widths = [len(fields) for fields in records]
        width = max(widths, key=widths.count)
        fields = [field for fields in records for field in fields]
        n_numbers = sum(is_number(field, ",") for field in fields)
        # The header has to be split too: a decimal comma does not split it.
        is_split = width > 1 and (widths[0] == width or lacks_name(records))
        score = is_split * (widths.count(width) / len(widths) + 0.1 * n_numbers / len(fields))
        if score > most:
            best, most = sep, score
    return " " if most == 0 and are_numbers_between_spaces(sample) else best


def lacks_name(records: list[list[str]]) -> bool:
    """Whether the first of three records or more has at least two fields, one fewer than others."""
    width = len(records[0]) + 1
    return len(records) > 2 and width > 2 and all(len(fields) == width for fields in records[1:])


def are_numbers_between_spaces(sample: str) -> bool:
    """Whether later records are as many numbers as the first has fields, or text and as many."""
    records = first_records(sample, " ")
    n_names = int(lacks_name(records))
    width = len(records[0]) + n_names
    return width > 1 and all(
        len(fields) == width
        and all(is_number(one, ".") or one in MISSING for one in fields[n_names:])
        for fields in records[1:]
    )


def is_number(value: str, decimal: str) -> bool:
    """Whether a field is a number with this decimal mark."""
    try:
        float(value.replace(decimal, "."))
    except ValueError:
        return False
    return True


def group_title(group: int | None, name: str = "") -> str:
    """Return what people call a group: its name, or "group 1" for the one that files number 0."""
    return name or ("no group" if group is None or group < 0 else f"group {group + 1}")


def quoted(value: object) -> str:
    """Quote a field of a CSV file, and put an apostrophe before what looks like a formula."""
    # csv.writer does not quote a lone carriage return before Python 3.13.
    text = str(value)
    if _is_formula(text):
        text = f"'{text}"
    is_plain = text == text.strip() and not any(mark in text for mark in '",;\t\r\n')
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Format a table as CSV: true and false as words, floats with four decimals, lists as JSON."""
    lines = [",".join(header)]
    lines += [",".join(map(_field, row)) for row in rows]
    return "\n".join(lines) + "\n"


def _field(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4f}"
    return quoted(json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value)


def unquoted(text: str) -> str:
    """Remove the apostrophe that `quoted` put in front."""
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    plain = text.lstrip("'")
    return plain.startswith(FORMULA_STARTS) and not NUMBER.fullmatch(plain)


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Open a file that gets its name only when it is complete; on an error nothing is left."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {target.parent} does not exist")
    if target.exists() and not target.is_file():
        # Renaming over a device or a pipe would destroy it.
        with _open(target, mode) as file:
            yield file
        return
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")
    try:
        with _open(temporary, "x" + mode[1:]) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe or a device, where a file is read more than once or appended to."""
    there = Path(path)
    if there.exists() and not (there.is_file() or there.is_dir()):
        raise FileFormatError(
            f"{path} is a pipe or a device; answers are kept in a file, so name one"
        )


def read_only_uri(path: str | os.PathLike[str]) -> str:
    """Return by which URI SQLite reads a database in WAL mode that may not be written.

    Empty if it may be written, or is not there. Without a ``-wal`` file nobody has it open for
    writing and it is whole: it is immutable, and SQLite needs no further files. With one, SQLite
    reads both through the ``-shm`` file, which it can make only in a folder that may be written.
    """
    file = Path(os.path.realpath(path))
    if not file.exists() or (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        return ""
    wal, shm = (file.with_name(file.name + end) for end in ("-wal", "-shm"))
    is_whole = not wal.exists() or not (shm.exists() or wal.stat().st_size)
    if not is_whole and not shm.exists() and not os.access(file.parent, os.W_OK):
        raise StoreError(
            f"{wal} holds the last entries of {file.name}, and they cannot be read in a folder "
            "that may not be written. Copy both files to one that may be"
        )
    return f"{file.as_uri()}?{'immutable=1' if is_whole else 'mode=ro'}"


def _open(path: Path, mode: str) -> IO[Any]:
    if "b" in mode:
        return open(path, mode)
    return open(path, mode, encoding="utf-8", newline="")


def sync_folder(folder: Path) -> None:
    """Flush a folder, so that new names in it survive a power cut, if the system supports it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
