"""The project that a command works on, and collections that are added to it."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clew.cli._options import INPUT, TABLE_OPTIONS, is_given
from clew.cli._words import counted, printable
from clew.exceptions import InvalidDataError, ProjectNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from clew.cli._words import Words
    from clew.collections import Additions, Collection, Project
    from clew.store import Store

F = TypeVar("F", bound=Callable[..., Any])

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


def collection_options(command: F) -> F:
    """Add the options of commands that read a collection."""
    options = (
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
    for option in reversed(options):
        command = option(command)
    return command


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

    kind = None if options["kind"] is None else KINDS[options["kind"]]
    distances = options["distances"]
    if kind == "distances":
        if distances is not None:
            raise click.UsageError("--kind distances says that the file holds distances; leave out "
                                   "--distances")  # fmt: skip
        kind, distances = "vector", path
    names = (
        "vectors",
        "ids",
        "id_column",
        "columns",
        "drop",
        "sep",
        "decimal",
        "header",
        "encoding",
    )
    given = {name: options[name] for name in names}
    with words.bar("Reading files") as advance:
        return read_collection(
            path, root=root, kind=kind, distances=distances,  # type: ignore[arg-type]
            cache=cache, callback=advance, **given | {"drop": given["drop"] or ()},
        )  # fmt: skip


@dataclass(frozen=True)
class Added:
    """What a collection changed in a project."""

    additions: Additions
    n_left_out: int

    def facts(self) -> dict[str, Any]:
        """Return the numbers for ``--json``."""
        made = self.additions
        return {
            "new": len(made.new),
            "changed": len(made.changed),
            "moved": len(made.moved),
            "same": made.n_same,
            "copies": len(made.copies),
            "left_out": self.n_left_out,
        }


def add_collection(
    project: Project, store: Store, collection: Collection, *, dry_run: bool = False
) -> Added:
    """Put the items of a collection into a store, and their vectors into the project."""
    from clew.collections import compare

    additions = compare(store.items(), collection)
    added = Added(additions, len(collection.left_out))
    ids = [additions.ids.get(item.id, item.id) for item in collection.items]
    if collection.distances is not None:
        _check_all_have_distances(store, ids)
    if dry_run:
        return added
    changed = [*additions.new, *additions.changed, *(item for item, _ in additions.moved)]
    if collection.vectors is not None:
        _add_vectors(project, ids, collection.vectors)
    if collection.distances is not None:
        project.set_distances(ids, collection.distances)
    if changed:
        store.add_items(changed)
    return added


def _check_all_have_distances(store: Store, ids: Sequence[str]) -> None:
    lacking = set(store.item_ids()) - set(ids)
    if lacking:
        raise InvalidDataError(
            f"{counted(len(lacking), 'item')} of the project, such as {min(lacking)!r}, have no "
            "distances in this file; distances are between all items, so add them all at once"
        )


def _add_vectors(project: Project, ids: Sequence[str], X: NDArray[np.floating[Any]]) -> None:
    """Keep vectors, unless they are there already."""
    import numpy as np

    try:
        before = project.vectors(ids)
    except InvalidDataError:  # some of the items are new
        before = None
    if before is None or before.shape != X.shape or not np.array_equal(before, X):
        project.add_vectors(ids, X)


def say_added(words: Words, path: Path, collection: Collection, added: Added) -> None:
    """Say what was found, what was added, and what cannot be used."""
    for note in collection.notes:
        words.say(f"{path}: {note}")
    made = added.additions
    parts = [f"{len(made.new):,} new"]
    parts += [f"{made.n_same:,} there already"] * bool(made.n_same)
    parts += [f"{len(made.changed):,} changed"] * bool(made.changed)
    parts += [f"{len(made.moved):,} moved"] * bool(made.moved)
    words.say(f"{path}: {counted(len(collection.items), 'item')}: {', '.join(parts)}")
    for item, before in made.moved[:MOST_NAMED]:
        words.say(f"  {printable(before)} is now {printable(str(item.path))}")
    for item in made.changed[:MOST_NAMED]:
        words.say(f"  {printable(item.id)} has another content than before; its answers stay")
    for new, old in made.copies[:MOST_NAMED]:
        words.say(f"  {printable(new)} has the same content as {printable(old)}")
    if collection.left_out:
        n = len(collection.left_out)
        words.say(f"{counted(n, 'file')} cannot be used and {'is' if n == 1 else 'are'} left out:")
        for each in collection.left_out[:MOST_NAMED]:
            words.say(f"  {printable(each.id)}: {printable(each.reason)}")
        if n > MOST_NAMED:
            words.say(f"  and {n - MOST_NAMED:,} more; --json lists all")
