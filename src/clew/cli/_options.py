"""Options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = [
    "INPUT",
    "NAMES",
    "OUTPUT",
    "check_different_files",
    "distance_options",
    "jobs_option",
    "message_options",
    "quiet_option",
    "seed_option",
    "standardize_option",
    "table_options",
]

F = TypeVar("F", bound=Callable[..., Any])

INPUT = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT = click.Path(path_type=Path)


class Names(click.ParamType[list[str]]):
    """Names separated by commas; a name with a comma in it is quoted."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Split the names."""
        if isinstance(value, list):
            return value
        names = [name.strip() for name in next(csv.reader([value], skipinitialspace=True), [])]
        if not all(names) or not names:
            self.fail(f"{value!r} has an empty name in it", param, ctx)
        return names


class Separator(click.ParamType[str]):
    """One character, or the word tab."""

    name = "character"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the character; the word tab is a tab."""
        character = "\t" if value == "tab" else value
        if len(character) != 1 or character in '"\r\n':
            self.fail(f"{value!r} is not one character, such as ; or the word tab", param, ctx)
        return str(character)


NAMES = Names()

TABLE_OPTIONS = (
    click.option(
        "--id-column",
        metavar="NAME",
        help="Column of a table that holds the ids of its rows.  [default: the one named id]",
    ),
    click.option(
        "--columns",
        type=NAMES,
        metavar="NAME,…",
        help="Columns of a table to make features of.  [default: all]",
    ),
    click.option("--drop", type=NAMES, metavar="NAME,…", help="Columns of a table to leave out."),
    click.option(
        "--sep",
        type=Separator(),
        metavar="CHARACTER",
        help="What separates the fields of a table.  [default: recognized]",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal mark of numbers in a table.  [default: recognized]",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a table holds column names.  [default: recognized]",
    ),
    click.option(
        "--encoding", metavar="NAME", help="Encoding of a table, such as latin-1.  [default: UTF-8]"
    ),
)


def table_options(command: F) -> F:
    """Add the options for reading tables."""
    for option in reversed(TABLE_OPTIONS):
        command = option(command)
    return command


DISTANCE_OPTIONS = (
    click.option(
        "--distances/--features",
        default=None,
        help="Whether the file holds features or distances between all pairs of rows: a square "
        "array or table (ids in the header or the column of ids), or a condensed array as SciPy's "
        "pdist returns it.  [default: features; the command asks if they look like distances]",
    ),
    click.option(
        "--ids",
        type=INPUT,
        metavar="IDS.txt",
        help="Ids of the rows of an array: one on each line, or a table with a column id.",
    ),
)


def distance_options(command: F) -> F:
    """Add the options for reading distances, and the ids of arrays."""
    for option in reversed(DISTANCE_OPTIONS):
        command = option(command)
    return command


def _number_of_threads(_: click.Context, __: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter(
            "0 threads are not possible; use 1 or more, or -1 for one per core"
        )
    return value


jobs_option = click.option(
    "-j",
    "--jobs",
    type=int,
    default=-1,
    show_default=True,
    callback=_number_of_threads,
    help="Threads; -1 is one per core.",
)

quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print no messages but errors.")
_verbose_option = click.option("-v", "--verbose", is_flag=True, help="Print each step.")


def message_options(command: F) -> F:
    """Add --quiet and --verbose."""
    return quiet_option(_verbose_option(command))


def seed_option(results: str) -> Callable[[F], F]:
    """Return the option for the seed, on which `results` depend."""
    return click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help=f"The same seed gives the same {results}.",
    )


def standardize_option(exception: str = "") -> Callable[[F], F]:
    """Return the option for standardizing features; `exception` ends its help."""
    return click.option(
        "--standardize",
        type=click.Choice(["auto", "yes", "no"]),
        default="auto",
        show_default=True,
        help="Whether to bring features to mean 0 and variance 1. auto does so where units "
        "seem to differ, and in tables of mixed columns"
        f"{exception}.",
    )


def check_different_files(
    options: Mapping[str, Any], contents: Mapping[str, str], outputs: Iterable[str]
) -> None:
    """Refuse to overwrite an input, and one output with another.

    Parameters
    ----------
    options : mapping
        The options; files are paths or None.
    contents : mapping of str to str
        What the file of each option holds; inputs come before outputs.
    outputs : iterable of str
        The options whose files are written.
    """
    seen: dict[Path, str] = {}
    for name, content in contents.items():
        path = options[name]
        if path is None or str(path) == "-":
            continue
        other = seen.setdefault(path.resolve(), content)
        if other != content and name in outputs:
            raise click.UsageError(
                f"{path} is also the file of {other}; name another file for {content}"
            )
