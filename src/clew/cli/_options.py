"""Options that several commands share, and the project that a command is about."""

from __future__ import annotations

import csv
import getpass
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from clew.answers import AUTO_KINDS, QUESTION_KINDS, Kind, as_kind
from clew.cli._words import counted, printable
from clew.exceptions import InvalidConstraintsError, InvalidDataError, ProjectNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.cli._words import Words
    from clew.collections import Additions, Collection, Project
    from clew.store import Store

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
        "--encoding", metavar="NAME", help="Encoding of a table, such as cp1252.  [default: UTF-8]"
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

    return together(*DISTANCE_OPTIONS, *TABLE_OPTIONS, *how_to_work)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds several options, which help lists in this order."""

    def decorated(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


#: Options about a table of answers, in the order of `Layout`.
ANSWER_COLUMNS = ("item_columns", "answer_column", "annotator_column", "kind", "answer_encoding")
answer_columns_options = together(
    click.option(
        "--item-columns",
        type=Names(),
        metavar="NAME,NAME[,NAME]",
        help="Columns of ANSWERS.csv with the ids of the items of a question.  [default: "
        "id_i,id_j,id_k; others are recognized if there is one reading]",
    ),
    click.option(
        "--answer-column",
        metavar="NAME",
        help="Column of ANSWERS.csv with the answer: a word, the id of the item that was chosen, "
        "or the name of its column.",
    ),
    click.option(
        "--annotator-column", metavar="NAME", help="Column of ANSWERS.csv with who answered."
    ),
    click.option(
        "--kind",
        metavar="KIND",
        help="What was asked: pair, triplet, odd-one-out or most-central.  [default: a column "
        "kind, or pair if there are two items]",
    ),
    click.option(
        "--answer-encoding",
        metavar="NAME",
        help="Encoding of ANSWERS.csv, such as cp1252.  [default: UTF-8]",
    ),
)


def check_answer_columns(options: dict[str, Any], path: Path | None, table: str) -> None:
    """Refuse options about a table of answers where none is read."""
    for name in ANSWER_COLUMNS:
        if options[name] is not None and (path is None or path.suffix.lower() == ".jsonl"):
            raise click.UsageError(
                f"--{name.replace('_', '-')} is about a table of answers, {table}"
            )


def about_row_numbers(path: Path, encoding: str | None = None) -> str:
    """Say so if the first line of a file of answers, a header or a record, has row numbers alone.

    Empty if not.
    """
    from clew._files import text_of

    first = text_of(path, encoding).lstrip().partition("\n")[0]
    words = set(re.findall(r"\w+", first.lower()))
    if "i" not in words or "id_i" in words or first.startswith('{"version"'):  # a log has ids
        return ""
    return (
        f"{path}: i, j and k are row numbers from 0; if they are ids, rename the columns to id_i, "
        "id_j and id_k"
    )


def n_groups_option(words: str) -> Callable[[F], F]:
    """Return the option for the number of groups."""
    return click.option("-k", "--n-groups", type=click.IntRange(min=1), help=words)


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

    Options with what each file holds, in words; of ``table``, - is the standard output.
    """
    if table and str(options["output"]) == "-":
        options["output"] = None
    for name in outputs:
        if str(options[name]) == "-":
            hint = "; - works only for -o" if table else ""
            raise click.UsageError(f"--{name} needs the name of a file{hint}")
    report = options.get("report")
    if report is not None and report.suffix.lower() not in ("", ".html", ".htm", ".xhtml"):
        raise click.UsageError(f"--report writes a web page: name it {report.with_suffix('.html')}")
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


PROJECT = click.option(
    "-p",
    "--project",
    type=click.Path(path_type=Path),
    envvar="CLEW_PROJECT",
    metavar="FOLDER",
    help="Folder of the project.  [default: the nearest one with a folder .clew, upwards]",
)
#: What ``--kind`` calls the kinds of items.
KINDS = {
    "image": "image", "audio": "sound", "text": "text", "table": "row", "vectors": "vector",
    "distances": "distances",
}  # fmt: skip
#: Largest number of files that cannot be read, or were moved, which a message names.
MOST_NAMED = 10


#: Options of commands that read a collection.
collection_options = together(
    click.option(
        "--kind",
        type=click.Choice(list(KINDS)),
        help="What the items are.  [default: the most frequent kind of file in a folder; what "
        "the columns of a table say]",
    ),
    click.option(
        "--vectors",
        type=INPUT,
        metavar="X.npy|X.npz|X.parquet",
        help="Vectors of the items, which are used in place of clew's own features.",
    ),
    click.option(
        "--distances",
        type=INPUT,
        metavar="D.npy|D.npz",
        help="Distances between the items, which are used in place of features.",
    ),
    click.option(
        "--ids",
        type=INPUT,
        metavar="IDS.txt",
        help="Ids of the rows of vectors or distances: one on each line, or a table with a "
        "column id.",
    ),
    *TABLE_OPTIONS,
)


def login_name() -> str:
    """Return the name of the user, or none where the system has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def find_project(place: Path | None) -> Project:
    """Open the project that is named, or the nearest one."""
    from clew.collections import Project

    return Project.find() if place is None else Project.open(place)


#: Options about files of rows, which a project has read already.
OF_FILES = ("distances", "ids", "id_column", "columns", "sep", "decimal", "header", "encoding")


def take_project(ctx: click.Context, options: dict[str, Any], what: str) -> bool:
    """Take the items from a project if no file is named; return whether that is so."""
    if options["items"] is not None:
        if options["project"] is not None and is_given(ctx, "project"):
            raise click.UsageError(f"name either {options['items']} or --project, not both")
        options["project"] = None
        return False
    try:
        project = find_project(options["project"])
    except ProjectNotFoundError as error:
        if options["project"] is not None:
            raise
        raise click.UsageError(f"name {what}; or work in a project: {error}") from error
    for name in OF_FILES:
        if name in options and is_given(ctx, name):
            raise click.UsageError(
                f"--{name.replace('_', '-')} is about a file, which clew init and clew add read; "
                "leave it out in a project"
            )
    options["project"] = options["items"] = project.folder.parent
    return True


@contextmanager
def project_and_store(place: Path | None) -> Iterator[tuple[Project, Store]]:
    """Open a project and its store within a ``with`` block."""
    project = find_project(place)
    with project.open_store() as store:
        yield project, store


def read_for(
    path: Path, options: Mapping[str, Any], words: Words, *, root: Path | None, cache: Path | None
) -> Collection:
    """Read a collection as the options say, with a progress bar."""
    from clew.collections import read_collection

    given = {name: options[name] for name in ("vectors", *OF_FILES)}
    given["kind"] = None if options["kind"] is None else KINDS[options["kind"]]
    given["drop"] = options["drop"] or ()
    if given["kind"] == "distances":
        if given["distances"] is not None:
            raise click.UsageError("--kind distances says that the file holds distances; leave out "
                                   "--distances")  # fmt: skip
        given |= {"kind": "vector", "distances": path}
    with words.bar("Reading files") as advance:
        found = read_collection(path, root=root, cache=cache, callback=advance, **given)
    if given["kind"] is None and found.vectors is not None:
        _refuse_distances(found.vectors, given["vectors"], path)
    return found


def _refuse_distances(values: Any, vectors: Path | None, path: Path) -> None:
    """Refuse to take what looks like distances for vectors, of a file of items or beside them."""
    from clew._validation import seems_distances  # loads scikit-learn
    from clew.cli._reading import LOOK

    if seems_distances(values):
        of_items = vectors is None
        raise InvalidDataError(
            f"{vectors or path} {LOOK}: if these are distances between the items, "
            f"{'add --kind distances' if of_items else 'name it with --distances'}; if they are "
            f"features, {'--kind vectors' if of_items else 'say with --kind what the items are'}"
        )


def add_collection(
    project: Project, store: Store, collection: Collection, *, dry_run: bool = False
) -> Additions:
    """Put the items of a collection into a store, and their vectors into the project."""
    from clew.collections import compare

    made = compare(store.items(), collection)
    ids = [made.ids.get(item.id, item.id) for item in collection.items]
    lacking = set() if collection.distances is None else set(store.item_ids()) - set(ids)
    if lacking:
        raise InvalidDataError(
            f"{counted(len(lacking), 'item')} of the project, such as {min(lacking)!r}, have no "
            "distances in this file; distances are between all items, so add them all at once"
        )
    if dry_run:
        return made
    if collection.vectors is not None:
        # Keep vectors, unless they are there already.
        import numpy as np

        try:
            before = project.vectors(ids)
        except InvalidDataError:  # some of the items are new
            before = None
        if (
            before is None
            or before.shape != collection.vectors.shape
            or not np.array_equal(before, collection.vectors)
        ):
            project.add_vectors(ids, collection.vectors)
    if collection.distances is not None:
        project.set_distances(ids, collection.distances)
    if changed := [*made.new, *made.changed, *(item for item, _ in made.moved)]:
        store.add_items(changed)
    return made


def copy_vectors(source: Path, target: Path) -> list[Path]:
    """Copy the vectors and distances that people gave; return the files."""
    files = [*sorted((source / "vectors").glob("*")), source / "distances.npz"]
    copies = []
    for path in files:
        if path.is_file():
            copies.append(target / path.relative_to(source))
            copies[-1].parent.mkdir(exist_ok=True)
            shutil.copy2(path, copies[-1])
    return copies


def say_some(words: Words, lines: Sequence[str], more: str = "") -> None:
    """Say up to ten lines, and how many more there are."""
    for line in lines[:MOST_NAMED]:
        words.say(f"  {printable(line)}")
    if len(lines) > MOST_NAMED:
        words.say(f"  and {len(lines) - MOST_NAMED:,} more{more}")


def say_added(words: Words, path: Path, collection: Collection, made: Additions) -> dict[str, Any]:
    """Say what was found, what was added, and what cannot be used; return it for ``--json``."""
    for note in collection.notes:
        words.say(f"{path}: {note}")
    parts = [f"{len(made.new):,} new"]
    parts += [f"{made.n_same:,} there already"] * bool(made.n_same)
    parts += [f"{len(made.changed):,} changed"] * bool(made.changed)
    parts += [f"{len(made.moved):,} moved"] * bool(made.moved)
    words.say(f"{path}: {counted(len(collection.items), 'item')}: {', '.join(parts)}")

    say_some(words, [f"{before} is now {item.path}" for item, before in made.moved])
    changed = "has another content than before; its answers stay"
    say_some(words, [f"{item.id} {changed}" for item in made.changed])
    say_some(words, [f"{new} has the same content as {old}" for new, old in made.copies])
    if collection.left_out:
        n = len(collection.left_out)
        words.say(f"{counted(n, 'file')} cannot be used and {'is' if n == 1 else 'are'} left out:")
        say_some(
            words,
            [f"{each.id}: {each.reason}" for each in collection.left_out],
            "; --json lists all",
        )
    return {
        "new": len(made.new),
        "changed": len(made.changed),
        "moved": len(made.moved),
        "same": made.n_same,
        "copies": len(made.copies),
        "left_out": {each.id: each.reason for each in collection.left_out},
    }
