"""``clew migrate``: move a project to another store."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from clew.cli._options import QUIET
from clew.cli._projects import PROJECT, project_and_store
from clew.exceptions import InvalidParameterError


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
