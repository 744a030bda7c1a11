"""``clew import``: answers of other people and programs into a project; or a whole project."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli._options import QUIET
from clew.cli._projects import PROJECT, project_and_store
from clew.cli._words import counted
from clew.exceptions import FileFormatError

if TYPE_CHECKING:
    from clew.answers import Entry
    from clew.cli._progress import Words
    from clew.collections import Project
    from clew.store import Store


@click.command("import")
@click.argument("what", type=click.Choice(["answers", "all"]))
@click.argument("file", metavar="F", type=click.Path(exists=True, path_type=Path))
@PROJECT
@click.option("--dry-run", is_flag=True, help="Check the file, and import nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was imported as JSON.")
@QUIET
def import_(what: str, file: Path, project: Path | None, dry_run: bool, **options: Any) -> None:
    """Read answers into a project, or all that clew export all has written.

    Answers are JSON lines, as clew ask and clew export answers write them, or a table with the
    columns kind, id_i, id_j, id_k, answer, annotator and weight. If one of them names an item that
    the project lacks, nothing is imported. The same answers again change nothing.

    \b
    clew import answers answers.jsonl --dry-run
    clew import answers answers.csv
    clew import all everything
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._progress import Words

    words = Words(quiet=options["quiet"] or options["as_json"])
    if (what == "all") != file.is_dir():
        form = "a folder of clew export all" if what == "all" else "a file of answers"
        raise click.UsageError(f"clew import {what} reads {form}, and {file} is none")
    with project_and_store(project) as (opened, store):
        if what == "all":
            facts = _all(file, opened, store, words, dry_run=dry_run)
        else:
            facts = _answers(file, store, words, dry_run=dry_run)
    if options["as_json"]:
        click.echo(json.dumps(facts | {"dry_run": dry_run}, ensure_ascii=False))


def _answers(file: Path, store: Store, words: Words, *, dry_run: bool) -> dict[str, Any]:
    entries = read_entries(file, store.item_ids())
    if dry_run:
        there = {each.entry.id for each in store.log()}
        n = sum(not entry.id or entry.id not in there for entry in entries)
        words.say(
            f"{file}: {counted(len(entries), 'line')}, {n:,} of them new; nothing was imported: "
            "--dry-run"
        )
        return {"lines": len(entries), "new": n, "statuses": {}}
    # One transaction, so that nothing is half-imported.
    statuses = Counter(store.append(entries))
    n_new = statuses["stored"] + statuses["superseded"] + statuses["expired"]
    words.say(f"{file}: {counted(len(entries), 'line')}, {n_new:,} imported")
    if statuses["duplicate"]:
        words.say(f"  {statuses['duplicate']:,} were there already")
    if statuses["superseded"]:
        words.say(f"  {statuses['superseded']:,} replace an earlier answer of the same person")
    if statuses["conflict"]:
        words.say(f"  {statuses['conflict']:,} are refused: the log has another entry of that id")
    return {"lines": len(entries), "new": n_new, "statuses": dict(statuses)}


def read_entries(file: Path, ids: Sequence[str]) -> list[Entry]:
    """Read answers, edits and retractions; refuse them all if one names an unknown item."""
    from clew.answers import items_of, parse_log

    if file.suffix.lower() != ".jsonl":
        return _of_table(file, ids)
    lines = parse_log(file.read_bytes(), file).lines
    known = set(ids)
    unknown: Counter[str] = Counter()
    for line in lines:
        unknown.update(name for name in map(str, items_of(line.entry)) if name not in known)
    if unknown:
        n = sum(any(str(name) in unknown for name in items_of(line.entry)) for line in lines)
        named = ", ".join(repr(name)[:80] for name in list(unknown)[:5])
        more = f" and {len(unknown) - 5:,} more" if len(unknown) > 5 else ""
        raise FileFormatError(
            f"{file}: {n:,} of {len(lines):,} lines name items that the project lacks: {named}"
            f"{more}; nothing was imported. Add the items first, with clew add"
        )
    return [line.entry for line in lines]


def _of_table(file: Path, ids: Sequence[str]) -> list[Entry]:
    """Read a table of answers; the same line gets the same id, so that it is imported once."""
    from hashlib import sha256

    from clew.answers import Answer, Question
    from clew.constraints import Constraints

    frame = Constraints.read_csv(file, ids=ids).to_frame()
    seen: Counter[str] = Counter()
    entries: list[Entry] = []
    for row in frame.to_dict("records"):
        names = tuple(str(row[name]) for name in ("id_i", "id_j", "id_k") if _is_there(row[name]))
        key = json.dumps([row["kind"], names, row["answer"], row["annotator"], row["weight"]])
        seen[key] += 1
        made = sha256(f"{key} {seen[key]}".encode()).hexdigest()[:32]
        entries.append(
            Answer(
                Question(row["kind"], ids=names, origin="imported"), row["answer"],
                row["annotator"], float(row["weight"]), id=made, source="clew import",
            )
        )  # fmt: skip
    return entries


def _is_there(value: object) -> bool:
    return value is not None and value == value and value != ""


def _all(
    folder: Path, project: Project, store: Store, words: Words, *, dry_run: bool
) -> dict[str, Any]:
    """Read all that `clew export all` has written into a project without items."""
    import shutil

    from clew.collections import read_collection
    from clew.exceptions import InvalidDataError
    from clew.store import import_all

    if store.item_ids():
        raise InvalidDataError(
            f"{project.folder.parent} has items already; make a new project with clew init "
            "--empty, and import into that"
        )
    read_collection(folder / "items.jsonl", root=project.root)
    if dry_run:
        words.say(f"{folder} can be imported; nothing was: --dry-run")
        return {"items": 0, "entries": 0}
    for name in ("vectors", "distances.npz"):
        source = folder / name
        if source.is_dir():
            shutil.copytree(source, project.folder / name, dirs_exist_ok=True)
        elif source.is_file():
            shutil.copy2(source, project.folder / name)
    import_all(store, folder)
    counts = store.counts()
    words.say(f"{folder}: {counted(counts.n_items, 'item')}, {counted(counts.n_answers, 'answer')}")
    return {"items": counts.n_items, "entries": counts.n_entries}
