"""answers.jsonl: every answer is on disk before the next question is asked."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from clew._files import check_regular, sync_folder
from clew.answers import Answer
from clew.constraints._log import (
    LogEntry,
    check_content_of_log,
    check_ids_of_log,
    parse_log,
    standing,
)
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
    entries : list of LogEntry
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
    >>> len(again.entries), [entry.items for entry in again.standing]
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
        self.entries: list[LogEntry] = []
        self.torn: list[int] = []
        self._seen: set[str] = set()
        self._offset, self._n_lines = 0, 0
        self.read_new()

    @property
    def standing(self) -> list[LogEntry]:
        """The answers that were not taken back, in order."""
        return standing(self.entries)

    def read_new(self) -> list[LogEntry]:
        """Read what other processes have appended.

        Returns
        -------
        list of LogEntry

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

    def append(
        self,
        answer: Answer,
        *,
        shown: Sequence[int] = (),
        ms: int | None = None,
        revokes: str | None = None,
    ) -> LogEntry:
        """Append an answer, and return when it is on disk.

        Parameters
        ----------
        answer : Answer
            About rows of `ids`.
        shown : sequence of int, default=()
            Its rows in the order in which they were shown. Empty: the order of the question.
        ms : int, default=None
            Milliseconds that the answer took.
        revokes : str, default=None
            Id of an entry that it replaces.

        Returns
        -------
        LogEntry

        Raises
        ------
        OSError
            If it cannot be written. The file is as it was.
        """
        names = tuple(self.ids[row] for row in answer.question.rows)
        order = tuple(self.ids[row] for row in shown) or names
        return self._write(
            answer.question.kind, names, order, answer.value, answer.annotator, ms, answer.origin,
            revokes,
        )  # fmt: skip

    def revoke(self, entry: LogEntry, *, annotator: str) -> LogEntry:
        """Take an answer back, by appending a line that says so.

        Parameters
        ----------
        entry : LogEntry
            The answer.
        annotator : str
            Who takes it back.

        Returns
        -------
        LogEntry
            The new line.

        Raises
        ------
        OSError
            If it cannot be written. The file is as it was.
        """
        return self._write(
            entry.kind, entry.items, entry.shown, None, annotator, None, entry.origin, entry.id
        )

    def _write(
        self,
        kind: Any,
        names: tuple[str, ...],
        shown: tuple[str, ...],
        code: int | None,
        annotator: str,
        ms: int | None,
        origin: str,
        revokes: str | None,
    ) -> LogEntry:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        source = f"clew {version('clew')}"
        content = tuple(map(self._content_of, names)) if self._content_of else ()
        entry = LogEntry(
            uuid.uuid4().hex, kind, names, shown, code, annotator, ms, now, origin, revokes, source,
            content,
        )  # fmt: skip
        size, new_size = _append_line(self.path, entry.to_json().encode(), self._offset)
        if size == self._offset:  # else others have appended: `read_new` reads their lines and this
            self._offset, self._n_lines = new_size, self._n_lines + 1
        self.entries.append(entry)
        self._seen.add(entry.id)
        return entry

    def _take(self, content: bytes) -> list[LogEntry]:
        """Take lines that were not read yet; all of them or, on an error, none."""
        parsed = parse_log(content, self.path, self._n_lines + 1)
        new = [entry for entry in parsed.entries if entry.id not in self._seen]
        check_ids_of_log(self.path, standing([*self.entries, *new]), self.ids)
        if self._content_of is not None:
            check_content_of_log(self.path, standing(new), self._content_of)
        self.entries += new
        self.torn += [line for line in parsed.torn if line not in self.torn]
        self._seen.update(entry.id for entry in new)
        # A line without its end is read again, with what the next line adds to it.
        whole = content.rfind(b"\n") + 1
        self._n_lines += content.count(b"\n")
        self._offset += whole
        return new


def _append_line(path: Path, line: bytes, least_size: int) -> tuple[int, int]:
    """Append a line to a file and flush it to disk; on an error the file is as it was.

    Return the size of the file before and after.
    """
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
