"""``clew annotator``: people who answer, and their links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from clew.cli._options import PROJECT, QUIET, is_given, project_and_store
from clew.cli._words import counted, printable
from clew.exceptions import InvalidParameterError

ROLES = ("annotator", "reviewer", "viewer", "owner")
DAY = 24 * 3600.0
NAME = click.argument("name", metavar="NAME")
ROLE = click.option(
    "--role", type=click.Choice(ROLES), default="annotator", help="What they may do."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.group()
def annotator() -> None:
    """Add people who answer, list them, make their links, or take their access away.

    \b
    clew annotator add ann --role reviewer
    clew annotator link ann --days 30
    clew annotator list
    clew annotator revoke ann
    """  # noqa: D301 - click's mark for lines to keep


@annotator.command()
@NAME
@PROJECT
@ROLE
@click.option(
    "--code",
    default="",
    show_default=False,
    metavar="CODE",
    help="A participant's code, of studies.",
)
@click.option(
    "--note", default="", show_default=False, metavar="TEXT", help="A note about the person."
)
@JSON
@QUIET
def add(name: str, project: Path | None, role: str, code: str, note: str, **options: Any) -> None:
    """Add a person, or change what they may do; what is not given stays.

    \b
    clew annotator add ann --role reviewer
    """  # noqa: D301 - click's mark for lines to keep
    from clew.store import Annotator

    if not name.strip() or name != name.strip() or not name.isprintable():
        raise click.UsageError(f"{name!r} is not a name: letters, without spaces around them")
    with project_and_store(project) as (_, store):
        before = store.annotator(name)
        if before is not None:
            context = click.get_current_context()
            role = role if is_given(context, "role") else before.role
            code = code if is_given(context, "code") else before.code
            note = note if is_given(context, "note") else before.note
        store.put_annotator(Annotator(name, role=role, code=code, note=note))  # type: ignore[arg-type]
    if options["as_json"]:
        click.echo(json.dumps({"name": name, "role": role, "is_new": before is None}))
    elif not options["quiet"]:
        did = "added" if before is None else "changed"
        was = "" if before is None or before.role == role else f" (was {before.role})"
        click.echo(f"{did} {name}, {role}{was}; clew annotator link {name} makes a link", err=True)


@annotator.command("list")
@PROJECT
@JSON
def list_(project: Path | None, as_json: bool) -> None:
    """List people, rules and models, their answers and their links.

    \b
    clew annotator list --json
    """  # noqa: D301 - click's mark for lines to keep
    with project_and_store(project) as (_, store):
        everybody, tokens = store.annotators(), store.tokens()
        n_answers = store.counts().by_annotator
    links: dict[str | None, list[Any]] = {}
    for token in tokens:
        if token.kind == "invite" and not token.is_revoked:
            links.setdefault(token.annotator, []).append(token)
    records: list[dict[str, Any]] = [
        {
            "name": one.name, "kind": one.kind, "role": one.role, "is_active": one.is_active,
            "answers": n_answers.get(one.name, 0), "code": one.code, "note": one.note,
            "links": [{"id": link.id, "expires": link.expires} for link in links.get(one.name, ())],
        }
        for one in everybody
    ]  # fmt: skip
    if as_json:
        click.echo(json.dumps(records, ensure_ascii=False))
        return
    for one in records:
        state = "" if one["is_active"] else ", no access"
        click.echo(
            f"{printable(one['name']) or '(no name)'}: {one['kind']}, {one['role']}{state}; "
            f"{counted(one['answers'], 'answer')}; {counted(len(one['links']), 'link')}"
        )


@annotator.command()
@NAME
@PROJECT
@click.option("--days", type=click.FloatRange(min=0, min_open=True), default=30.0,
              help="Days until the link runs out.")  # fmt: skip
@click.option(
    "--url",
    metavar="URL",
    help="Address under which people reach clew serve.  [default: http://127.0.0.1:8765]",
)
@JSON
def link(name: str, project: Path | None, days: float, url: str | None, as_json: bool) -> None:
    """Make a link by which a person answers in the browser. It is shown this once.

    \b
    clew annotator link ann --days 7 --url https://label.example.org
    """  # noqa: D301 - click's mark for lines to keep
    with project_and_store(project) as (_, store):
        there = store.annotator(name)
        if there is None:
            raise InvalidParameterError(
                f"there is no {name!r}; add them with clew annotator add {name}"
            )
        if not there.is_active:
            raise InvalidParameterError(
                f"{name} has no access any more; clew annotator add {name} restores it"
            )
        secret = store.make_token("invite", annotator=name, role=there.role, seconds=days * DAY)
    address = f"{(url or 'http://127.0.0.1:8765').rstrip('/')}/a/{secret}"
    if url is None and not as_json:
        click.echo(
            "it leads to clew serve --accounts on this machine, at its usual port; --url names "
            "another address, such as the one that clew serve prints",
            err=True,
        )
    click.echo(json.dumps({"name": name, "link": address, "days": days}) if as_json else address)


@annotator.command()
@NAME
@PROJECT
@JSON
@QUIET
def revoke(name: str, project: Path | None, **options: Any) -> None:
    """Take a person's access away; their answers stay.

    \b
    clew annotator revoke ann
    """  # noqa: D301 - click's mark for lines to keep
    from dataclasses import replace

    with project_and_store(project) as (_, store):
        there = store.annotator(name)
        if there is None:
            everybody = ", ".join(one.name for one in store.annotators()) or "nobody"
            raise InvalidParameterError(f"there is no annotator {name!r}; there is {everybody}")
        store.put_annotator(replace(there, is_active=False))
        n = sum(
            store.revoke_token(token.id) for token in store.tokens(name) if not token.is_revoked
        )
    if options["as_json"]:
        click.echo(json.dumps({"name": name, "links_revoked": n}))
    elif not options["quiet"]:
        click.echo(f"{name} has no access any more; {n} links no longer work", err=True)
