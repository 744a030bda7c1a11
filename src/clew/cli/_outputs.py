"""Files that are written together or not at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

import click

from clew._files import atomic_write
from clew.cli._words import uninterrupted
from clew.exceptions import InvalidParameterError

STDOUT = "the standard output"
#: Where results are kept if their file cannot be written; None is the system's temporary folder.
FALLBACKS = (None, Path("~"), Path("/dev/shm"), Path())


def check_writable(*paths: Path | None) -> None:
    """Check before the work begins that its results can be written."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file in it")
        if path.exists() and not path.is_file():
            continue  # A pipe or a device: its folder does not matter.
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"cannot write {path}: there is no folder {path.parent}; make it, or name another"
            )
        _try_to_write(path, path.parent)


def check_folder(folder: Path) -> None:
    """Check before the work begins that a folder can be made, or written to."""
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"cannot write to {folder}: {there} is a file; name a folder")
    _try_to_write(folder, there)


def _try_to_write(target: Path, folder: Path) -> None:
    """Write a file without a name, which leaves no trace, to a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"cannot write {target}: {error.strerror}; name a folder that can be written to"
        ) from error


def write_together(files: Mapping[Path, str | bytes]) -> None:
    """Write several files; a failure or Ctrl-C leaves all of them as they were."""
    if len({os.path.realpath(path) for path in files}) < len(files):
        raise InvalidParameterError(
            f"two results cannot share a file: {', '.join(map(str, files))}"
        )
    with uninterrupted(), ExitStack() as stack:
        for path, content in files.items():
            file = stack.enter_context(_named(path, "w" if isinstance(content, str) else "wb"))
            file.write(content)
            # All contents are written before the first file is renamed.
            file.flush()


@contextmanager
def _named(path: Path, mode: Literal["w", "wb"]) -> Iterator[IO[Any]]:
    """Open a file as `atomic_write` does; an error names the file, not the temporary one."""
    try:
        with atomic_write(path, mode) as file:
            yield file
    except OSError as error:
        is_named = error.filename is not None and not str(error.filename).endswith(".tmp")
        if error.errno is None or is_named:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_or_keep(files: Mapping[Path, str | bytes], last_resort: str = "") -> None:
    """Write files like `write_together`; if that fails, keep the results in another folder."""
    try:
        write_together(files)
    except OSError as error:
        folder = _keep(files)
        if folder is None and last_resort:
            click.echo(last_resort, nl=False)
            where = f"no other folder has room: the groups went to {STDOUT}"
        else:
            where = _where(folder)
        raise OSError(f"{_failed(error)}; {where}") from error


def write_with_table(
    files: Mapping[Path, str | bytes], output: Path | None, table: str, name: str
) -> None:
    """Write a table and other files together; if no file is named for the table, print it."""
    if output is not None:
        write_or_keep({output: table, **files}, last_resort=table)
        return
    try:
        write_or_keep(files)
    finally:
        print_or_keep(table, name)


def print_or_keep(text: str, name: str) -> None:
    """Print a result; if the standard output takes no more, keep it in a file of this name."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in the buffer would fail again when Python ends.
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        error.filename = STDOUT
        raise OSError(f"{_failed(error)}; {_where(_keep({Path(name): text}))}") from error


def _failed(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _where(folder: Path | None) -> str:
    if folder is None:
        return "no other folder has room: the results are lost"
    return f"the results are kept in {folder}"


def _keep(files: Mapping[Path, str | bytes]) -> Path | None:
    """Write results to a new folder where there is room; return it, None if there is none."""
    for parent in FALLBACKS:
        try:
            folder = Path(tempfile.mkdtemp(prefix="clew-", dir=parent and parent.expanduser()))
        except OSError:
            continue
        try:
            write_together({folder / path.name: content for path, content in files.items()})
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            continue
        return folder
    return None


def write_folder(
    folder: Path, files: Mapping[str, str | bytes], images: Mapping[str, bytes] | None = None
) -> None:
    """Write files to a folder, and images to a folder in it; what is made is removed on failure."""
    inner = folder if images is None else folder / "images"
    with uninterrupted():
        every = dict.fromkeys((inner, folder, *folder.parents))
        made = [each for each in every if not each.exists()]
        try:
            inner.mkdir(parents=True, exist_ok=True)
            # Without the care for files of results: the images can be made again.
            for name, content in (images or {}).items():
                (inner / name).write_bytes(content)
            write_together({folder / name: content for name, content in files.items()})
        except OSError:
            if inner in made:
                shutil.rmtree(inner, ignore_errors=True)
            for each in made[1:]:
                with suppress(OSError):
                    each.rmdir()
            raise
