"""answers.jsonl: every answer is on disk before the next question is asked."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from clew._files import check_regular, sync_folder
from clew.answers import (
    Answer,
    Edit,
    Entry,
    Retraction,
    entry_to_json,
    items_of,
    new_id,
    now,
    standing,
)
from clew.answers._log import check_content_of_log, check_ids_of_log, parse_log
from clew.exceptions import FileFormatError

__all__ = ["AnswerFile"]

#: Signals that wait until the whole line is written.
HELD: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class AnswerFile:
    """A log of answers in a file, to which several processes may append at once.

    Parameters
    ----------
    path : str or path-like
        The file; it is made with the first answer.
    ids : sequence of str
        Ids of the items.
    content_of : callable, default=None
        Of items without ids of their own, which are named by row number: returns a checksum of the
        content of the item with an id. It is kept with each answer, so that a file is refused if
        the rows were sorted or changed since.

    Attributes
    ----------
    entries : list of Answer, Edit or Retraction
        All lines, in order.
    torn : list of int
        Numbers of lines that a crash has cut off; they are skipped.

    Raises
    ------
    FileFormatError
        If a line is invalid, or names items that are not among `ids`, or whose content is another
        one; if the file is a pipe or a device, in UTF-16, or compressed. Nothing is read then.
    OSError
        If the file cannot be read.

    Notes
    -----
    A line is appended by one write to a file opened for appending, under a lock, and flushed to
    disk before `append` returns. If that fails, for example because the disk is full, the file is
    as it was. If a crash has cut off the last line, the next `append` ends it; readers skip it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clew import Answer, Question
    >>> from clew.store import AnswerFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.jsonl"
    ...     file = AnswerFile(path, ["wren", "robin", "heron"])
    ...     first = file.append(Answer(Question("pair", (0, 2)), "same", annotator="ann"))
    ...     _ = file.revoke(first, annotator="ann")
    ...     _ = file.append(Answer(Question("pair", (0, 1)), "same", annotator="ann"))
    ...     again = AnswerFile(path, ["wren", "robin", "heron"])
    >>> len(again.entries), [answer.question.ids for answer in again.standing]
    (3, [('wren', 'robin')])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        ids: Sequence[str],
        content_of: Callable[[str], str] | None = None,
    ) -> None:
        check_regular(path)
        self.path = Path(path)
        self.ids = list(ids)
        self._content_of = content_of
        self.entries: list[Entry] = []
        self.torn: list[int] = []
        self._seen: set[str] = set()
        self._offset, self._n_lines = 0, 0
        self.read_new()

    @property
    def standing(self) -> list[Answer | Edit]:
        """The answers and edits that were not taken back, in order."""
        return standing(self.entries)

    def read_new(self) -> list[Entry]:
        """Read what other processes have appended.

        Returns
        -------
        list of Answer, Edit or Retraction

        Raises
        ------
        FileFormatError
            If a line is invalid, names an unknown item, or the file has become shorter.
        """
        if not self.path.exists() and self._offset == 0:
            return []
        with self.path.open("rb") as file, _locked(file.fileno(), exclusive=False):
            size = os.fstat(file.fileno()).st_size
            if size < self._offset:
                raise FileFormatError(
                    f"{self.path} has become shorter since it was read: another program has "
                    "changed it; start again to read it anew"
                )
            file.seek(self._offset)
            content = file.read()
        if not content:
            return []
        return self._take(content)

    def append(self, entry: Entry) -> Entry:
        """Append an answer, an edit or a retraction, and return when it is on disk.

        Parameters
        ----------
        entry : Answer, Edit or Retraction
            About `ids`; an answer may name rows of these. An id, the time and the name of this
            program are filled in where they are missing.

        Returns
        -------
        Answer, Edit or Retraction
            The entry as it was written.

        Raises
        ------
        FileFormatError
            If the file has become shorter.
        OSError
            If it cannot be written. The file is as it was.
        """
        entry = self._completed(entry)
        names = map(str, items_of(entry))
        content = tuple(map(self._content_of, names)) if self._content_of else ()
        line = entry_to_json(entry, content)
        size, new_size = _append_line(self.path, line.encode(), self._offset)
        if size == self._offset:  # else others have appended: `read_new` reads their lines and this
            self._offset, self._n_lines = new_size, self._n_lines + 1
        self.entries.append(entry)
        self._seen.add(entry.id)
        return entry

    def revoke(self, entry: Entry, *, annotator: str) -> Entry:
        """Take an answer or an edit back, by appending a line that says so.

        Parameters
        ----------
        entry : Answer, Edit or Retraction
            An entry of the file.
        annotator : str
            Who takes it back.

        Returns
        -------
        Retraction
            The new line.

        Raises
        ------
        FileFormatError
            If the file has become shorter.
        OSError
            If it cannot be written. The file is as it was.
        """
        return self.append(Retraction(entry.id, annotator))

    def _completed(self, entry: Entry) -> Entry:
        """Fill in what is missing; ids of items become those of the file, which are text."""
        if isinstance(entry, Answer) and entry.question.rows:
            question, rows = entry.question, entry.question.rows
            names = tuple(self.ids[row] for row in rows)
            entry = replace(entry, question=replace(question, rows=(), ids=names))
        return replace(
            entry,
            id=entry.id or new_id(),
            at=entry.at or now(),
            source=entry.source or f"clew {version('clew')}",
        )

    def _take(self, content: bytes) -> list[Entry]:
        """Take lines that were not read yet; all of them or, on an error, none."""
        parsed = parse_log(content, self.path, self._n_lines + 1)
        lines = [line for line in parsed.lines if line.entry.id not in self._seen]
        new = [line.entry for line in lines]
        check_ids_of_log(self.path, standing([*self.entries, *new]), self.ids)
        if self._content_of is not None:
            kept = {entry.id for entry in standing(new)}
            lines = [line for line in lines if line.entry.id in kept]
            check_content_of_log(self.path, lines, self._content_of)
        self.entries += new
        self.torn += [line for line in parsed.torn if line not in self.torn]
        self._seen.update(entry.id for entry in new)
        # A line without its end is read again, with what the next line adds to it.
        whole = content.rfind(b"\n") + 1
        self._n_lines += content.count(b"\n")
        self._offset += whole
        return new


def _append_line(path: Path, line: bytes, least_size: int) -> tuple[int, int]:
    """Append and flush a line, undone on errors; return the size before and after."""
    is_new = not path.exists()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    with _signals_held():
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o644)
        try:
            with _locked(descriptor, exclusive=True):
                size = os.fstat(descriptor).st_size
                if size < least_size:
                    raise FileFormatError(
                        f"{path} has become shorter since it was read: another program has "
                        "changed it; nothing was written"
                    )
                new_size = size + _write_whole(descriptor, line, size, path)
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(path.absolute().parent)
    return size, new_size


def _write_whole(descriptor: int, line: bytes, size: int, path: Path) -> int:
    """Write a line, after the end of a torn one; return the number of bytes."""
    is_torn = size > 0 and _last_byte(descriptor, size) != b"\n"
    data = (b"\n" if is_torn else b"") + line + b"\n"
    try:
        written = os.write(descriptor, data)
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.fsync(descriptor)
    except OSError as error:
        os.ftruncate(descriptor, size)
        raise OSError(error.errno, error.strerror, str(path)) from error
    return len(data)


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


@contextmanager
def _locked(descriptor: int, *, exclusive: bool) -> Iterator[None]:
    """Lock a file for the block; do nothing on a file system without locks."""
    try:
        import fcntl
    except ImportError:  # Windows: other writes cannot split a write to a file opened for appending
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let signals that end the program wait until the block is done."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
