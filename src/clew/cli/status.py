"""``clew status`` and ``clew doctor``: what a project holds, and whether all is well with it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from clew._files import group_title, read_only_uri
from clew.cli._options import PROJECT, find_project, project_and_store
from clew.cli._words import FAILED, counted, printable, sizes_words
from clew.exceptions import ClewError, StoreError

if TYPE_CHECKING:
    from clew.collections import Project
    from clew.items import Item
    from clew.store import Store

#: Number of answers before which no estimate is shown.
EARLY = 20
#: Number of groups that are named; of more, the smallest and the largest size are said.
MOST_GROUPS = 12


@click.command()
@PROJECT
@click.option("--json", "as_json", is_flag=True, help="Print the status as JSON.")
def status(project: Path | None, as_json: bool) -> None:
    """Say what a project holds, how sure the groups are, and how many questions are left.

    Reads only what is stored, so it is fast, and may be called while people answer.

    \b
    clew status
    clew status --project birds --json
    """  # noqa: D301 - click's mark for lines to keep
    with project_and_store(project) as (opened, store):
        facts = status_of(opened, store)
    click.echo(json.dumps(facts, ensure_ascii=False) if as_json else status_text(facts))


def status_of(project: Project, store: Store) -> dict[str, Any]:
    """Return what is stored about a project, for JSON."""
    from clew.exports import doubts_of

    counts, result, worker = store.counts(), store.result(), store.worker()
    names = {group.id: group.name for group in store.groups()}
    body: Mapping[str, Any] = {} if result is None else result.body
    learned = 0 if result is None else result.revision
    sizes = Counter(group for group in body.get("group_ids", ()) if group >= 0)
    return {
        "name": project.name,
        "folder": str(project.folder),
        "store": store.url,
        "items": counts.n_items,
        "set_aside": counts.n_set_aside,
        "answers": counts.n_answers,
        "edits": counts.n_edits,
        "annotators": dict(counts.by_annotator),
        "revision": None if result is None else result.revision,
        "not_learned": max(0, counts.last_seq - learned),
        "not_grouped": max(0, counts.n_items - len(body["ids"])) if body else 0,
        "groups": [
            {"id": group, "name": names.get(group, ""), "size": size}
            for group, size in sizes.most_common()
        ],
        "doubtful": len(doubts_of(store, body)) if body else 0,
        "violated": body.get("n_violated"),
        "quality": body.get("quality"),
        "remaining": body.get("remaining"),
        "stop": body.get("stop"),
        "regime": body.get("regime"),
        "worker": None
        if worker is None
        else {"alive": worker.is_alive, "state": worker.state, "detail": worker.detail},
    }


def status_text(facts: Mapping[str, Any]) -> str:
    """Return the status as words."""
    lines = [f"{printable(facts['name'])}: {counted(facts['items'], 'item')}"]
    if facts["set_aside"]:
        lines[0] += f", {facts['set_aside']:,} of them set aside"
    people = facts["annotators"]
    answers = counted(facts["answers"], "answer")
    by = ", ".join(
        f"{printable(name) or '(no name)'} {n:,}"
        for name, n in sorted(people.items(), key=lambda pair: -pair[1])[:5]
    )
    more = f", and {len(people) - 5:,} others" if len(people) > 5 else ""
    edits = f"; {counted(facts['edits'], 'edit')}" if facts["edits"] else ""
    lines.append(f"answers: {answers}{f' ({by}{more})' if people else ''}{edits}")
    lines += _groups(facts)
    if facts["not_learned"]:
        entries = counted(facts["not_learned"], "entry").replace("entrys", "entries")
        lines.append(
            f"not learned yet: {entries}; clew group, clew worker or clew serve learns them"
        )
    if facts["not_grouped"]:
        lines.append(
            f"not among these groups: {counted(facts['not_grouped'], 'item')}; clew group learns "
            "new ones, and clew doctor names files that are gone"
        )
    worker = facts["worker"]
    if worker is not None and worker["alive"]:
        lines.append(f"worker: {worker['detail'] or worker['state']}")
    return "\n".join(lines)


def _groups(facts: Mapping[str, Any]) -> list[str]:
    if facts["revision"] is None:
        return ["groups: none yet; clew group makes them"]
    groups = facts["groups"]
    titles = [
        f"{printable(group_title(one['id'], one['name']))} ({one['size']:,})"
        for one in groups
        if one["name"] or len(groups) <= MOST_GROUPS
    ][:MOST_GROUPS]
    sizes = [one["size"] for one in groups]
    of = f" of {sizes_words(sizes, 'item')}" if len(groups) > MOST_GROUPS else ""
    lines = [f"groups: {len(groups):,}{of}{': ' * bool(titles)}{', '.join(titles)}"]
    if facts["answers"] < EARLY:
        return [*lines, "too early to say how sure the groups are: 20 answers are needed"]
    if (regime := facts["regime"] or {}).get("name") == "features":
        lines.append(f"{regime['reason']}: these are groups by features alone")
    if facts["doubtful"]:
        n = counted(facts["doubtful"], "answer")
        lines.append(f"doubtful: {n}; clew review shows what each change would do")
    quality = facts["quality"] or {}
    if quality.get("jaccard"):
        value, low, high = quality["jaccard"]
        n = counted(quality.get("n_checks") or 0, "check")
        lines.append(f"agreement with people: {value:.2f} ({low:.2f} to {high:.2f}), from {n}")
    elif reason := (facts["stop"] or {}).get("reason"):
        lines.append(reason.partition("; ")[0])  # what is left has a line of its own
    left = facts["remaining"] or {}
    if left.get("median") is not None:
        low, median, high = (round(left[name]) for name in ("low", "median", "high"))
        few = f"few more (up to {max(high, 1):,})"
        lines.append(
            f"questions left: {f'about {median:,} ({low:,} to {high:,})' if median else few}"
        )
    stop = facts["stop"] or {}
    if stop.get("is_enough"):
        lines.append(f"this is enough: {stop.get('reason', '')}".rstrip(": "))
    return lines


#: Seconds after which a file that was not finished is nobody's any more.
OLD = 3600.0


class Finding(NamedTuple):
    """Something that was checked."""

    is_well: bool
    what: str
    do: str = ""
    """What to do about it."""


@click.command()
@PROJECT
@click.option(
    "--hashes", is_flag=True, help="Read all files, to see whether their contents changed."
)
@click.option(
    "--fix",
    is_flag=True,
    help="Remove what is left over, and set items aside whose files are gone; both can be undone.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(
    ctx: click.Context, /, project: Path | None, hashes: bool, fix: bool, as_json: bool
) -> None:
    """Check settings, database, files and leftovers of a project, and say what to do.

    The exit status is 1 if something is wrong.

    \b
    clew doctor
    clew doctor --hashes
    clew doctor --fix
    """  # noqa: D301 - click's mark for lines to keep
    opened = find_project(project)
    findings = [Finding(True, f"settings: {opened.folder / 'settings.toml'}")]
    findings += _database(opened)
    if all(finding.is_well for finding in findings):
        try:
            with opened.open_store() as store:
                findings += _contents(opened, store, hashes=hashes, fix=fix)
        except ClewError as error:
            findings.append(Finding(False, f"store: {error}"))
    findings += _leftovers(opened, fix=fix)
    problems = [finding for finding in findings if not finding.is_well]
    if as_json:
        click.echo(json.dumps([finding._asdict() for finding in findings], ensure_ascii=False))
    else:
        for finding in findings:
            click.echo(f"{'ok ' if finding.is_well else 'BAD'} {printable(finding.what)}")
            if finding.do:
                click.echo(f"    {printable(finding.do)}")
    ctx.exit(FAILED if problems else 0)


def _database(project: Project) -> Iterator[Finding]:
    """Check the file of SQLite by its own means; another store is asked when it is opened."""
    if project.store:
        return
    path = Path(project.url)
    if not path.is_file():
        yield Finding(
            False, f"database: {path} is missing",
            "restore a backup, or make a new project and import an export",
        )  # fmt: skip
        return
    try:
        address = read_only_uri(path)
        with closing(
            sqlite3.connect(address or f"{path.resolve().as_uri()}?mode=ro", uri=True)
        ) as db:
            said = [row[0] for row in db.execute("PRAGMA quick_check")]
    except (sqlite3.Error, StoreError) as error:
        if getattr(error, "sqlite_errorname", "") not in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
            yield Finding(
                False, f"database: {path}: {error}",
                "give yourself the right to read it and its folder (ls -l shows who may), or copy "
                "both elsewhere; its contents were not looked at",
            )  # fmt: skip
            return
        said = [str(error)]
    if said != ["ok"]:
        yield Finding(
            False, f"database: {path}: {said[0]}",
            "stop clew serve, keep a copy of the file, and restore a backup; sqlite3 clew.db "
            ".recover saves what can be read",
        )  # fmt: skip
    elif address:
        yield Finding(
            True, f"database: {path}, which you may only read",
            "to answer or to group, give yourself the right to write it and its folder, or copy "
            "the project",
        )  # fmt: skip
    else:
        yield Finding(True, f"database: {path}")


def _contents(project: Project, store: Store, *, hashes: bool, fix: bool) -> Iterator[Finding]:
    counts = store.counts()
    yield Finding(
        True, f"store: {counted(counts.n_items, 'item')}, {counts.n_entries:,} entries; its schema "
        "is of this clew",
    )  # fmt: skip
    items = store.items()
    if not items:
        yield Finding(False, "items: there are none", "clew add PATH")
    if not project.root.is_dir():
        yield Finding(
            False, f"media: there is no folder {project.root}",
            f"correct the line media in {project.folder / 'settings.toml'}",
        )  # fmt: skip
    else:
        yield _files(project, store, items, fix=fix)
        if hashes:
            yield _hashes(project, items)
    yield from _vectors(project, [item.id for item in items])
    worker = store.worker()
    if worker is not None:
        state = worker.detail or worker.state
        is_well = worker.state != "failed"
        alive = "at work" if worker.is_alive else "not running"
        do = "" if is_well else "clew group shows the error; clew worker tries again"
        yield Finding(is_well, f"worker: {alive}, {state}", do)


def _files(project: Project, store: Store, items: list[Item], *, fix: bool) -> Finding:
    """Check that the file of each item is there."""
    from clew.answers import Edit

    exists: dict[str, bool] = {}
    for item in items:
        if item.path is not None and item.path not in exists:
            exists[item.path] = (project.root / item.path).is_file()
    lost = [
        item
        for item in items
        if item.path is not None and not exists[item.path] and item.set_aside is None
    ]
    if not lost:
        return Finding(True, f"files: all {len(exists):,} are there" if exists else "files: none")
    n = f"{counted(len(lost), 'item')} {'has' if len(lost) == 1 else 'have'}"
    what = f"files: {n} no file any more, such as {lost[0].path}"
    if fix:
        ids = tuple(item.id for item in lost)
        try:
            store.append([Edit("set_aside", ids, annotator="clew doctor", note="the file is gone")])
        except StoreError as error:
            return Finding(False, what, f"not set aside: {error}")
        return Finding(True, f"{what}: set aside", "clew add finds them again if they were moved")
    return Finding(
        False, what,
        f"if they were moved, clew add {project.root} finds them by their contents; else clew "
        "doctor --fix sets them aside",
    )  # fmt: skip


def _hashes(project: Project, items: list[Item]) -> Finding:
    """Check that the contents of the files are those that people saw."""
    from clew.collections import read_collection

    found = read_collection(project.root)
    now = {item.path: item.hash for item in found.items}
    changed = [item for item in items if item.path in now and now[item.path] != item.hash]
    if not changed:
        return Finding(True, "hashes: the contents of all files are as they were")
    return Finding(
        False, f"hashes: {counted(len(changed), 'item')} changed, such as {changed[0].path}",
        f"restore them, or take the new contents with clew add {project.root}",
    )  # fmt: skip


def _vectors(project: Project, ids: list[str]) -> Iterator[Finding]:
    for name, read in (("vectors", project.vectors), ("distances", project.distances)):
        try:
            if (found := read(ids)) is not None:
                yield Finding(True, f"{name}: {' by '.join(f'{n:,}' for n in found.shape)}")
        except (ClewError, OSError, ValueError) as error:
            yield Finding(False, f"{name}: {error}", f"add them again: clew add PATH --{name} FILE")


def _leftovers(project: Project, *, fix: bool) -> Iterator[Finding]:
    """Find files that an interrupted command has left."""
    stray = [
        path
        for path in project.folder.rglob("*.tmp")
        if path.is_file() and time.time() - path.stat().st_mtime > OLD
    ]
    stray += [
        path
        for path in (project.folder / "vectors").glob("*.npy")
        if not path.with_suffix(".json").exists() and time.time() - path.stat().st_mtime > OLD
    ]
    if not stray:
        yield Finding(True, "leftovers: none")
        return
    size = sum(path.stat().st_size for path in stray)
    what = f"leftovers: {counted(len(stray), 'file')} of {size:,} bytes, such as {stray[0].name}"
    if fix:
        try:
            for path in stray:
                path.unlink()
        except OSError as error:
            yield Finding(False, what, f"not removed: {error}")
        else:
            yield Finding(True, f"{what}: removed")
    else:
        yield Finding(False, what, "clew doctor --fix removes them")
