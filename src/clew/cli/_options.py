"""Options that several commands share, each defined once, and checks of their values."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from clew.answers import AUTO_KINDS, QUESTION_KINDS, Kind, as_kind
from clew.exceptions import InvalidConstraintsError

F = TypeVar("F", bound=Callable[..., Any])

INPUT = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT = click.Path(path_type=Path)


class Kinds(click.ParamType[tuple[Kind, ...]]):
    """Kinds of questions, separated by commas."""

    name = "kinds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Kind, ...]:
        """Split and check the kinds."""
        if isinstance(value, tuple):
            return value
        try:
            if value.strip().casefold() == "auto":
                return AUTO_KINDS
            names = value.split(",")
            return tuple(dict.fromkeys(as_kind(name, QUESTION_KINDS) for name in names))
        except InvalidConstraintsError as error:
            self.fail(str(error), param, ctx)


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


class NamesOrFile(Names):
    """Names separated by commas, or a file with one on each line."""

    name = "names or file"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Read the file if there is one of that name, otherwise split the names."""
        if isinstance(value, list) or not Path(value).is_file():
            if isinstance(value, str) and value.endswith((".txt", ".csv")):
                self.fail(f"there is no file {value}", param, ctx)
            return super().convert(value, param, ctx)
        try:
            text = Path(value).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"{value} cannot be read: {error}", param, ctx)
        names = [line.strip() for line in text.rstrip().splitlines()]
        if not all(names) or not names:
            self.fail(f"{value} has an empty line; each line is the name of a group", param, ctx)
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


def _number_of_threads(_: click.Context, __: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter(
            "0 threads are not possible; use 1 or more, or -1 for one per core"
        )
    return value


DISTANCE_OPTIONS = (
    click.option(
        "--distances/--no-distances",
        default=None,
        help="Whether the file holds features or distances between all pairs of rows: a square "
        "array or table (ids in the header or the column of ids), or a condensed array as SciPy's "
        "pdist returns it.  [default: features; the command asks if they look like distances]",
    ),
    click.option(
        "--features",
        "model",
        default="auto",
        show_default="by what the items are",
        metavar="MODEL",
        help="What describes images and texts: efficientnet-lite0, shapes, tf-idf, minilm, or a "
        "network of yours: onnx:FILE, timm:NAME, open_clip:NAME@WEIGHTS, "
        "sentence-transformers:NAME. Nothing is downloaded.",
    ),
    click.option(
        "--media",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="Images, sounds or texts that show the rows of an array: their ids are paths in this "
        "folder, or --ids is a table with columns id, path and, for parts of files, x, y, width "
        "and height, or start and end.",
    ),
    click.option(
        "--ids",
        type=INPUT,
        metavar="IDS.txt",
        help="Ids of the rows of an array: one on each line, or a table with a column id.",
    ),
)
TABLE_OPTIONS = (
    click.option(
        "--id-column",
        metavar="NAME",
        help="Column of a table that holds the ids of its rows.  [default: the one named id]",
    ),
    click.option(
        "--columns",
        type=Names(),
        metavar="NAME,…",
        help="Columns of a table to make features of.  [default: all]",
    ),
    click.option("--drop", type=Names(), metavar="NAME,…", help="Columns of a table to leave out."),
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
JOBS = click.option(
    "-j",
    "--jobs",
    type=int,
    default=-1,
    callback=_number_of_threads,
    help="Threads; -1 is one per core.",
)
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print no messages but errors.")
VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Print each step.")


def rows_options(results: str, *, json: str, standardize: str | None = "") -> Callable[[F], F]:
    """Add the options of all commands that read rows; some end with what differs."""
    how_to_work = [
        click.option(
            "--seed",
            type=click.IntRange(0, 2**32 - 1),
            default=0,
            help=f"The same seed gives the same {results}.",
        ),
        JOBS,
        click.option("--json", "as_json", is_flag=True, help=json),
        QUIET,
        VERBOSE,
    ]
    if standardize is not None:
        how_to_work.insert(
            0,
            click.option(
                "--standardize",
                type=click.Choice(["auto", "yes", "no"]),
                default="auto",
                help="Whether to bring features to mean 0 and variance 1. auto does so where units "
                f"seem to differ, and in tables of mixed columns{standardize}.",
            ),
        )

    def decorated(command: F) -> F:
        for option in reversed((*DISTANCE_OPTIONS, *TABLE_OPTIONS, *how_to_work)):
            command = option(command)
        return command

    return decorated


def n_groups_option(words: str, *, required: bool = False) -> Callable[[F], F]:
    """Return the option for the number of groups."""
    return click.option(
        "-k", "--n-groups", type=click.IntRange(min=1), required=required, help=words
    )


def output_option(file: str, words: str) -> Callable[[F], F]:
    """Return the option for the file of results."""
    return click.option("-o", "--output", type=OUTPUT, metavar=file, help=words)


def report_option(words: str) -> Callable[[F], F]:
    """Return the option for the file of the report."""
    return click.option("--report", type=OUTPUT, metavar="REPORT.html", help=words)


def is_given(ctx: click.Context, name: str) -> bool:
    """Whether an option is on the command line; the environment sets only its default."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def check_outputs(
    options: dict[str, Any], inputs: Mapping[str, str], outputs: Mapping[str, str], table: str = ""
) -> None:
    """Refuse to overwrite an input, one output with another, and - where a file is needed.

    `inputs` and `outputs` are the options for files, with what each file holds, in words. With
    `table`, the option output may be -, the standard output; with ``--json`` it is then that file.
    """
    if table and str(options["output"]) == "-":
        options["output"] = None
    for name in outputs:
        if str(options[name]) == "-":
            hint = "; - works only for -o" if table else ""
            raise click.UsageError(f"--{name} needs the name of a file{hint}")
    if table and options["as_json"] and options["output"] is None:
        options["output"] = Path(table)
    check_different_files(options, {**inputs, **outputs}, outputs)


def check_different_files(
    options: Mapping[str, Any], contents: Mapping[str, str], outputs: Iterable[str]
) -> None:
    """Refuse an output that is another file of `contents`, what the file of each option holds."""
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


def check_standardize(ctx: click.Context) -> None:
    """Refuse to standardize distances."""
    if ctx.params["distances"] and is_given(ctx, "standardize"):
        raise click.UsageError("--standardize has no effect with --distances; leave it out")
