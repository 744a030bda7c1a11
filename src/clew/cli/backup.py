"""``clew backup``: a copy of a project, also while people answer."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import click

from clew.cli._options import OUTPUT, QUIET
from clew.cli._projects import PROJECT, project_and_store


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
            for name in ("vectors", "distances.npz"):
                source = opened.folder / name
                if source.is_dir():
                    shutil.copytree(source, copy.folder / name)
                elif source.is_file():
                    shutil.copy2(source, copy.folder / name)
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
