"""``clew add``: put further items into a project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from clew.cli._options import QUIET
from clew.cli._projects import (
    PROJECT,
    add_collection,
    collection_options,
    project_and_store,
    read_for,
    say_added,
)


@click.command()
@click.argument(
    "paths",
    metavar="PATH…",
    type=click.Path(exists=True, path_type=Path),
    nargs=-1,
    required=True,
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
    from clew.cli._progress import Words

    words = Words(quiet=options["quiet"] or options["as_json"])
    if len(paths) > 1 and (options["vectors"] or options["distances"]):
        raise click.UsageError("--vectors and --distances belong to one PATH; add one at a time")
    found = []
    with project_and_store(project) as (opened, store):
        cache = opened.cache / "files.json"
        collections = [
            read_for(path, options, words, root=opened.root, cache=cache) for path in paths
        ]
        for path, collection in zip(paths, collections, strict=True):
            added = add_collection(opened, store, collection, dry_run=dry_run)
            say_added(words, path, collection, added)
            left_out = {each.id: each.reason for each in collection.left_out}
            found.append({"path": str(path)} | added.facts() | {"left_out": left_out})
    if dry_run:
        words.say("nothing was added: --dry-run")
    if options["as_json"]:
        click.echo(json.dumps({"added": found, "dry_run": dry_run}, ensure_ascii=False))
