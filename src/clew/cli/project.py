"""Projects: ``clew init``, ``add``, ``set-aside``, ``backup`` and ``migrate``."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli._options import (
    OUTPUT,
    PROJECT,
    QUIET,
    add_collection,
    collection_options,
    copy_vectors,
    login_name,
    project_and_store,
    read_for,
    say_added,
    say_some,
)
from clew.cli._words import counted, printable
from clew.exceptions import InvalidDataError, InvalidParameterError

if TYPE_CHECKING:
    from clew.cli._words import Words
    from clew.collections import Collection
    from clew.items import Item
    from clew.store import Store


@click.command()
@click.argument("project", metavar="PROJECT", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Folder of media, table, boxes of COCO, texts, vectors or distances.  [default: PROJECT]",
)
@click.option(
    "--name", default="", show_default="the folder's", metavar="NAME", help="Name of the project."
)
@click.option(
    "--store",
    default="",
    show_default="a database in the folder",
    metavar="URL",
    help="Where answers are kept: postgresql://…",
)
@click.option(
    "--features",
    default="auto",
    show_default="by what the items are",
    metavar="MODEL",
    help="What describes images, sounds and texts: efficientnet-lite0, shapes, log-mel, tf-idf, "
    "minilm, or a network of yours: onnx:FILE, timm:NAME, open_clip:NAME@WEIGHTS, "
    "sentence-transformers:NAME. Nothing is downloaded.",
)
@click.option("--empty", is_flag=True, help="Make a project without items, for clew import all.")
@collection_options
@click.option("--json", "as_json", is_flag=True, help="Print what was added as JSON.")
@click.option("--to-serve", is_flag=True, hidden=True, help="Do not say what to do next.")
@QUIET
def init(
    project: Path,
    source: Path | None,
    name: str,
    store: str,
    features: str,
    empty: bool,
    to_serve: bool,
    **options: Any,
) -> None:
    """Make a project, which keeps items, answers and groups in a folder .clew.

    All commands then find the project from its folder, or from --project. A project is not needed
    for one person and one file: clew ask and clew group read files directly.

    \b
    clew init photos
    clew init birds --from birds.csv
    clew init whales --from boxes.json
    clew init faces --from photos --vectors X.npy --ids ids.txt
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._words import Words
    from clew.collections import Collection, Project

    words = Words(quiet=options["quiet"] or options["as_json"])
    if features != "auto":
        from clew.features import extractor

        extractor(features)  # refuses an unknown name
    place = project if source is None else source
    if source is None and not empty and not project.exists():
        place, options = _of_vectors(project, options)
    if not place.exists() and not empty:
        raise click.UsageError(f"there is no folder {project}; name one, or a file with --from")
    if (project / ".clew" / "settings.toml").exists():
        raise FileExistsError(f"{project} has a project already; clew add puts further items in it")
    folder = project / ".clew"
    is_new, is_new_folder = not folder.exists(), not project.exists()
    try:
        if empty:
            collection = Collection([], place.resolve())
        else:
            cache = folder / "cache" / "files.json"
            collection = read_for(place, options, words, root=None, cache=cache)
        made = Project.create(
            project, media=collection.root, store=store, name=name, features=features,
            id_column=options["id_column"] or "",
        )  # fmt: skip
        with made.open_store() as opened:
            additions = add_collection(made, opened, collection)
            opened.set_settings({"name": made.name})
    except BaseException:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        if is_new_folder:
            shutil.rmtree(project, ignore_errors=True)
        raise
    facts = say_added(Words(quiet=True) if empty else words, place, collection, additions)
    named = shlex.quote(str(project))
    then = "" if to_serve else f"; next: clew ask -p {named}, or clew serve -p {named}"
    words.say(f"made {folder}{then}")
    if options["as_json"]:
        click.echo(json.dumps(facts | {"project": str(project)}, ensure_ascii=False))


def _of_vectors(project: Path, options: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Take the rows of vectors or distances for items where there is no folder of them."""
    if options["vectors"] is not None:
        return options["vectors"], {**options, "vectors": None}
    if options["distances"] is not None:
        return options["distances"], {**options, "distances": None, "kind": "distances"}
    return project, dict(options)


@click.command()
@click.argument(
    "paths", metavar="PATH…", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True
)
@PROJECT
@collection_options
@click.option("--dry-run", is_flag=True, help="Say what would be added, and add nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was added as JSON.")
@QUIET
def add(paths: tuple[Path, ...], project: Path | None, dry_run: bool, **options: Any) -> None:
    """Add items to a project; the same item again changes nothing.

    A file that was moved or renamed is known by its content, and keeps its id and its answers.
    Files that cannot be read are listed, and left out. New items join the groups that are there,
    which keep their names.

    \b
    clew add photos
    clew add photos --vectors X.npy --ids ids.txt
    clew add more.csv --project birds
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._words import Words

    words = Words(quiet=options["quiet"] or options["as_json"])
    if len(paths) > 1 and (options["vectors"] or options["distances"]):
        raise click.UsageError("--vectors and --distances belong to one PATH; add one at a time")
    found = []
    with project_and_store(project) as (opened, store):
        cache = opened.cache / "files.json"
        if options["id_column"] is None:
            options["id_column"] = opened.id_column or None
        elif not opened.id_column and not dry_run:
            replace(opened, id_column=options["id_column"]).write()
        try:
            collections = [
                read_for(path, options, words, root=opened.root, cache=cache) for path in paths
            ]
        except InvalidParameterError as error:
            if opened.id_column and f"no column {opened.id_column!r}" in str(error):
                why = "clew init took the ids from it; --id-column names another one"
                raise InvalidParameterError(f"{error}; {why}") from error
            raise
        moved: set[str] = set()
        for path, collection in zip(paths, collections, strict=True):
            _say_columns(words, path, store.items(), collection)
            made = add_collection(opened, store, collection, dry_run=dry_run)
            moved |= {item.id for item, _ in made.moved}
            found.append({"path": str(path)} | say_added(words, path, collection, made))
        gone = [item.id for item in store.items() if _is_gone(item, opened.root)]
        gone = [name for name in gone if name not in moved]
    _say_gone(words, gone)
    if dry_run:
        words.say("nothing was added: --dry-run")
    if options["as_json"]:
        said = {"added": found, "gone": gone, "dry_run": dry_run}
        click.echo(json.dumps(said, ensure_ascii=False))


def _is_gone(item: Item, root: Path) -> bool:
    """Whether an item's file is no longer there, and nobody has set the item aside."""
    return item.path is not None and item.set_aside is None and not (root / item.path).is_file()


def _say_gone(words: Words, ids: Sequence[str]) -> None:
    if not ids:
        return
    it = "it" if len(ids) == 1 else "them"
    words.say(
        f"{counted(len(ids), 'item')} whose file is gone; answers about {it} stay, and "
        f"clew set-aside ID leaves {it} out:"
    )
    say_some(words, ids, "; --json lists all")


def _say_columns(words: Words, path: Path, before: Sequence[Item], collection: Collection) -> None:
    """Say if the rows of a table have other columns than those that are there."""
    known = {name for item in before for name in item.columns}
    new = {name for item in collection.items for name in item.columns}
    for names, what in ((known - new, "lacks"), (new - known, "is the first table with")):
        if known and new and names:
            listed = ", ".join(repr(name) for name in sorted(names)[:5])
            noun = "column" if len(names) == 1 else "columns"
            words.say(f"{path} {what} the {noun} {printable(listed)}")


SOURCE = "clew set-aside"


@click.command("set-aside")
@click.argument("ids", metavar="[ID…]", nargs=-1)
@PROJECT
@click.option("--back", is_flag=True, help="Bring the items back in place of setting them aside.")
@click.option(
    "--note", default="", show_default=False, metavar="TEXT", help="Why; kept with the items."
)
@click.option(
    "--annotator",
    default=login_name,
    show_default="your login name",
    metavar="NAME",
    help="Who does it; kept in the log.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the items that are set aside as JSON.")
@QUIET
def set_aside(
    ids: tuple[str, ...],
    project: Path | None,
    back: bool,
    note: str,
    annotator: str,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Set items of a project aside, bring them back, or list those that are.

    Items that are set aside are in no group, and nobody is asked about them; their answers stay,
    and count again when they are brought back. If an ID is unknown, nothing is done. Without an ID,
    the items that are set aside are printed, with the reason.

    \b
    clew set-aside sea/blurred.jpg sea/empty.jpg --note "nothing to see"
    clew set-aside sea/empty.jpg --back
    clew set-aside
    """  # noqa: D301 - click's mark for lines to keep
    if not ids and (back or note):
        raise click.UsageError("name the items: clew set-aside ID…")
    with project_and_store(project) as (_, store):
        changed = _change(store, ids, note, annotator, back=back, dry_run=dry_run)
        aside = [item for item in store.items() if item.set_aside is not None]
    if ids and not quiet and not as_json:
        did = "brought back" if back else "set aside"
        end = ": --dry-run" if dry_run else "; clew group learns it"
        click.echo(f"{'would have ' * dry_run}{did} {counted(len(changed), 'item')}{end}", err=True)
    if as_json:
        items = {item.id: item.set_aside for item in aside}
        facts = {"changed": changed, "set_aside": items, "dry_run": dry_run}
        click.echo(json.dumps(facts, ensure_ascii=False))
    elif not ids:
        for item in aside:
            click.echo(f"{printable(item.id)}: {printable(item.set_aside or '')}")


def _change(
    store: Store, ids: Sequence[str], note: str, annotator: str, *, back: bool, dry_run: bool
) -> list[str]:
    """Set items aside or bring them back; return those that were not so before."""
    from clew.answers import Edit, brought_back, new_id, now

    items = store.items_by_id(ids)
    unknown = [name for name in ids if name not in items]
    if unknown:
        named = ", ".join(repr(name)[:80] for name in unknown[:5])
        raise InvalidDataError(
            f"the project has no items {named}; nothing was done. Ids are in the first column of "
            "clew export groups"
        )
    changed = [name for name in dict.fromkeys(ids) if (items[name].set_aside is None) != back]
    if dry_run or not changed:
        return changed
    if back:
        log = (each.entry for each in store.log(items=changed, only_standing=True))
        store.append(brought_back(log, changed, annotator, SOURCE))
    else:
        edit = Edit("set_aside", changed, (), annotator, new_id(), now(), SOURCE, note)
        store.append([edit])
    after = store.items_by_id(changed)
    return [name for name in changed if (after[name].set_aside is None) == back]


@click.command()
@PROJECT
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="FOLDER",
    help="Where to write the copy.  [default: NAME-backup-DATE in the current folder]",
)
@click.option("--json", "as_json", is_flag=True, help="Print where the copy is as JSON.")
@QUIET
def backup(project: Path | None, output: Path | None, as_json: bool, quiet: bool) -> None:
    """Copy a project: items, answers, people, groups, and vectors. Media are not copied.

    The copy is consistent, also while people answer and a worker learns, and is a project itself:
    clew status -p COPY shows it. Whatever the project's store is, the copy has one in its folder.

    \b
    clew backup
    clew backup -o /mnt/safe/birds-monday
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._outputs import check_folder
    from clew.collections import Project
    from clew.exports import safe_name

    with project_and_store(project) as (opened, store):
        if output is None:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
            output = Path(f"{safe_name(opened.name)}-backup-{now}")
        if output.exists():
            raise FileExistsError(f"{output} is there already; name another folder")
        check_folder(output)
        try:
            copy = Project.create(output, media=opened.root, name=opened.name)
            store.copy_to(copy.url)
            copy_vectors(opened.folder, copy.folder)
            with copy.open_store() as made:
                counts = made.counts()
        except BaseException:
            shutil.rmtree(output, ignore_errors=True)
            raise
    if as_json:
        facts = {"folder": str(output), "items": counts.n_items, "entries": counts.n_entries}
        click.echo(json.dumps(facts))
    elif not quiet:
        click.echo(
            f"wrote {output}: {counts.n_items:,} items, {counts.n_entries:,} entries; media are "
            "not copied",
            err=True,
        )


@click.command()
@PROJECT
@click.option(
    "--to",
    "url",
    required=True,
    metavar="URL",
    help="postgresql://user@host/database, which must be empty; or a file of SQLite.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was moved as JSON.")
@QUIET
def migrate(project: Path | None, url: str, as_json: bool, quiet: bool) -> None:
    """Copy everything to another store, and use that one from now on.

    End clew serve and clew worker first. The old database stays as it is, in case you want to go
    back: the line store of .clew/settings.toml names the one in use.

    \b
    clew migrate --to postgresql://clew@db.example.org/birds
    """  # noqa: D301 - click's mark for lines to keep
    from clew.store import open_store

    with project_and_store(project) as (opened, store):
        if url == opened.url:
            raise InvalidParameterError(f"the project is at {store.url} already")
        worker = store.worker()
        if worker is not None and worker.is_alive:
            raise InvalidParameterError(
                f"the worker {worker.name} is at work on this project; end clew serve and clew "
                "worker first"
            )
        store.copy_to(url)
        before = store.counts()
        with open_store(url, create=False) as other:
            after = other.counts()
        if after != before:
            raise InvalidParameterError(
                "answers came in during the copy: the project stays where it is. End clew serve, "
                "empty the new store, and try again"
            )
        replace(opened, store=url).write()
        where = store.url
    if as_json:
        click.echo(json.dumps({"from": where, "items": after.n_items, "entries": after.n_entries}))
    elif not quiet:
        click.echo(
            f"moved {after.n_items:,} items and {after.n_entries:,} entries; {where} stays as it "
            "was",
            err=True,
        )
