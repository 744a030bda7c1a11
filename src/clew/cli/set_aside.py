"""``clew set-aside``: items that are in no group, and that nobody is asked about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli._options import QUIET
from clew.cli._projects import PROJECT, login_name, project_and_store
from clew.cli._words import counted, printable
from clew.exceptions import InvalidDataError

if TYPE_CHECKING:
    from clew.items import Item
    from clew.store import Store

SOURCE = "clew set-aside"


@click.command("set-aside")
@click.argument("ids", metavar="[ID…]", nargs=-1)
@PROJECT
@click.option("--back", is_flag=True, help="Bring the items back in place of setting them aside.")
@click.option("--note", default="", metavar="TEXT", help="Why; kept with the items.")
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
    changed = [name for name in dict.fromkeys(ids) if _is_aside(items[name]) == back]
    if dry_run or not changed:
        return changed
    if back:
        log = (each.entry for each in store.log(items=changed, only_standing=True))
        store.append(brought_back(log, changed, annotator, SOURCE))
    else:
        edit = Edit("set_aside", changed, (), annotator, new_id(), now(), SOURCE, note)
        store.append([edit])
    after = store.items_by_id(changed)
    return [name for name in changed if _is_aside(after[name]) != back]


def _is_aside(item: Item) -> bool:
    return item.set_aside is not None
