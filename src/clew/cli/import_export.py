"""``clew import`` and ``clew export``: answers and groups go into a project, and out of it."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal
from zipfile import ZipFile, is_zipfile

import click

from clew.cli._options import (
    ANSWER_COLUMNS,
    PROJECT,
    QUIET,
    about_row_numbers,
    answer_columns_options,
    check_answer_columns,
    copy_vectors,
    output_option,
    project_and_store,
)
from clew.cli._words import INTERRUPTED, counted, printable
from clew.exceptions import ClewWarning, FileFormatError

if TYPE_CHECKING:
    from clew.answers import Answer, Entry
    from clew.cli._words import Words
    from clew.collections import Project
    from clew.constraints._files import Layout
    from clew.exports import Step
    from clew.items import Item
    from clew.store import Store

#: Ids that clew makes for answers.
MADE_ID = re.compile("[0-9a-f]{32}")


@click.command("import")
@click.argument("what", type=click.Choice(["answers", "all"]))
@click.argument("file", metavar="F", type=click.Path(exists=True, path_type=Path))
@PROJECT
@answer_columns_options
@click.option("--dry-run", is_flag=True, help="Check the file, and import nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was imported as JSON.")
@QUIET
def import_(what: str, file: Path, project: Path | None, dry_run: bool, **options: Any) -> None:
    """Read answers into a project, or all that clew export all has written.

    Answers are JSON lines, as clew ask and clew export answers write them, or a table with the
    columns kind, id_i, id_j, id_k, answer, annotator and weight; other columns are recognized if
    there is one reading. If one of them names an item that
    the project lacks, nothing is imported. The same answers again change nothing.

    \b
    clew import answers answers.jsonl --dry-run
    clew import answers answers.csv
    clew import answers trials.csv --item-columns left,middle,right --answer-column response
    clew import all everything
    clew import all all.zip
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._words import Words

    words = Words(quiet=options["quiet"] or options["as_json"])
    is_zip = what == "all" and is_zipfile(file)
    if (what == "all") != (file.is_dir() or is_zip):
        form = "a folder of clew export all, or its zip" if what == "all" else "a file of answers"
        raise click.UsageError(f"clew import {what} reads {form}, and {file} is none")
    check_answer_columns(
        options, None if what == "all" else file, "clew import answers ANSWERS.csv"
    )
    with ExitStack() as stack:
        opened, store = stack.enter_context(project_and_store(project))
        if what == "all":
            folder = file
            if is_zip:  # what the app's page of exports gives
                folder = Path(stack.enter_context(TemporaryDirectory()))
                stack.enter_context(ZipFile(file)).extractall(folder)
            facts = _import_all(folder, file, opened, store, words, dry_run=dry_run)
        else:
            from clew.constraints._files import Layout

            layout = Layout(*(options[name] for name in ANSWER_COLUMNS))
            facts = _answers(file, layout, store, words, dry_run=dry_run)
    if options["as_json"]:
        click.echo(json.dumps(facts | {"dry_run": dry_run}, ensure_ascii=False))


def _answers(
    file: Path, layout: Layout, store: Store, words: Words, *, dry_run: bool
) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ClewWarning)
        log = {each.entry.id: each.entry for each in store.log()}
        entries = read_entries(file, store.item_ids(), layout, log, words)
    for warning in warned:
        words.say(str(warning.message))
    if note := about_row_numbers(file, layout.encoding):
        words.say(note)
    if dry_run:
        n = sum(not entry.id or entry.id not in log for entry in entries)
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


def read_entries(
    file: Path, ids: Sequence[str], layout: Layout, log: Mapping[str, Entry], words: Words
) -> list[Entry]:
    """Read answers, edits and retractions; refuse them all if one names an unknown item."""
    from clew.answers import items_of, parse_log
    from clew.answers._log import is_log

    if file.suffix.lower() != ".jsonl" or not is_log(file):
        return _of_table(file, ids, layout, log)
    lines, torn = parse_log(file.read_bytes(), file)
    words.say_incomplete(file, torn)
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
    return [
        line.entry if line.entry.at else replace(line.entry, source=_source(file, line.number))
        for line in lines
    ]


def _source(file: Path, line: int) -> str:
    return f"clew import {file.name}, line {line}"


def _of_table(
    file: Path, ids: Sequence[str], layout: Layout, log: Mapping[str, Entry]
) -> list[Entry]:
    """Read a table of answers; the same line gets the same id, so that it is imported once.

    A line that ``clew export answers`` has written is the entry of the log that it was. A column
    "entry" of other tables may count the lines: only ids that clew makes are taken from it.
    """
    from hashlib import sha256

    import numpy as np
    import pandas as pd

    from clew.answers import Answer, Question
    from clew.constraints import Constraints
    from clew.constraints._files import logged_as

    is_json = file.suffix.lower() == ".jsonl"
    read: Any = Constraints.read_jsonl if is_json else Constraints.read_csv
    constraints: Constraints = read(file, ids=ids, **({} if is_json else layout._asdict()))
    frame = constraints.to_frame()
    frame["line"] = np.concatenate([table.lines for table in constraints.tables])
    logged = {} if is_json else logged_as(file, layout)
    seen: Counter[str] = Counter()
    entries: list[Entry] = []
    for row in frame.to_dict("records"):
        cells = (row[name] for name in ("id_i", "id_j", "id_k"))
        names = tuple(str(cell) for cell in cells if not pd.isna(cell) and cell != "")
        key = json.dumps([row["kind"], names, row["answer"], row["annotator"], row["weight"]])
        seen[key] += 1
        made = sha256(f"{key} {seen[key]}".encode()).hexdigest()[:32]
        id_ = logged.get(row["line"], "")
        answer = Answer(
            Question(row["kind"], ids=names, origin="imported"), row["answer"], row["annotator"],
            float(row["weight"]), id=id_ if MADE_ID.fullmatch(id_) else made,
            source=_source(file, row["line"]),
        )  # fmt: skip
        entry = log.get(id_)
        entries.append(entry if entry is not None and _is_same(answer, entry) else answer)
    return entries


def _is_same(answer: Answer, entry: Entry) -> bool:
    """Whether an entry of the log says what a line of its export says."""
    if type(entry) is not type(answer) or entry.question.ids is None:
        return False
    said, logged = (
        (
            one.question.kind, one.value, one.annotator, round(one.weight, 4),
            # The two of a pair may be in any order.
            (sorted if one.question.kind == "pair" else list)(map(str, one.question.ids or ())),
        )
        for one in (answer, entry)
    )  # fmt: skip
    return said == logged


def _import_all(
    folder: Path, file: Path, project: Project, store: Store, words: Words, *, dry_run: bool
) -> dict[str, Any]:
    """Read all that `clew export all` has written into a project without items."""
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
        words.say(f"{file} can be imported; nothing was: --dry-run")
        return {"items": 0, "entries": 0}
    copy_vectors(folder, project.folder)
    import_all(store, folder)
    counts = store.counts()
    words.say(f"{file}: {counted(counts.n_items, 'item')}, {counted(counts.n_answers, 'answer')}")
    return {"items": counts.n_items, "entries": counts.n_entries}


WHATS = ("groups", "exemplars", "doubtful", "affinity", "answers", "all")
AS = ("csv", "jsonl", "parquet", "folders", "coco", "label-studio", "fiftyone", "camtrap-dp")
#: Number of steps of a plan that are printed.
MOST_SHOWN = 20


@click.command()
@click.argument("what", type=click.Choice(WHATS), required=False)
@PROJECT
@output_option("F", "File, or folder, to write.  [default: tables go to the standard output]")
@click.option(
    "--as",
    "as_",
    type=click.Choice(AS),
    help="Form of the file.  [default: csv; jsonl for answers]",
)
@click.option(
    "--how",
    type=click.Choice(["copy", "link", "move"]),
    default="copy",
    help="folders: how files come into the folder of their group. Moves stay in the folder of the "
    "project, and are asked about.",
)
@click.option("--individuals", is_flag=True, help="camtrap-dp: groups are animals, not species.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("-y", "--yes", is_flag=True, help="Move files without asking.")
@click.option(
    "--undo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take back what an earlier export put into a folder: files that were moved go back.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
@QUIET
def export(
    what: str | None, project: Path | None, output: Path | None, as_: str | None, **options: Any
) -> None:
    """Write groups, exemplars, doubtful answers, affinity, answers, or all, for other programs.

    --as folders copies, links or moves each item into a folder for its group; boxes are cut out of
    their photos. Nothing is overwritten, and --undo takes it back. all writes a folder from which
    clew import all makes the same project again.

    \b
    clew export groups -o groups.csv
    clew export groups -o ../sorted --as folders --dry-run
    clew export groups -o groups.json --as coco
    clew export groups -o survey --as camtrap-dp
    clew export answers -o answers.jsonl
    clew export all -o everything
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._words import Words

    words = Words(quiet=options["quiet"] or options["as_json"])
    if options["undo"] is not None:
        if what is not None:
            raise click.UsageError("--undo stands alone: clew export --undo FOLDER")
        facts = _undo(options["undo"], project, words)
    elif what is None:
        raise click.UsageError(f"say what to export: {', '.join(WHATS)}")
    else:
        form = _form(what, as_)
        output = None if str(output) == "-" else output
        if output is None and (form not in ("csv", "jsonl") or options["as_json"]):
            raise click.UsageError(f"name the file or the folder with -o: {what} as {form}")
        with project_and_store(project) as opened:
            facts = _written(what, form, output, opened, options, words)
    if options["as_json"]:
        click.echo(json.dumps(facts, ensure_ascii=False))


def _form(what: str, as_: str | None) -> str:
    from clew.exports import FORMS

    forms = FORMS[what]
    if as_ is None:
        return forms[0]
    if as_ not in forms:
        allowed = [form for form in forms if form not in ("npz", "folder")]
        use = f"use {' or '.join(allowed)}" if allowed else "leave --as out"
        raise click.UsageError(f"{what} cannot be written --as {as_}; {use}")
    return as_


def _written(
    what: str,
    form: str,
    output: Path | None,
    opened: tuple[Project, Store],
    options: Mapping[str, Any],
    words: Words,
) -> dict[str, Any]:
    """Write what is asked for; return what was done."""
    from clew import exports
    from clew.cli._outputs import check_folder, check_writable, write_folder, write_or_keep

    project, store = opened
    if form == "folders":
        assert output is not None
        return _folders(output, project, store, options, words)
    if what == "all":
        assert output is not None
        return _export_all(output, project, store, options, words)
    files = exports.files_of(
        what, store, form, root=project.root, name=project.name, individuals=options["individuals"]
    )
    if output is None:
        (content,) = files.values()
        sys.stdout.write(content.decode())
        return {}
    is_folder = len(files) > 1
    targets = [output / name for name in files] if is_folder else [output]
    if options["dry_run"]:
        words.say(f"would write {', '.join(map(str, targets))}: --dry-run")
    elif is_folder:
        check_folder(output)
        write_folder(output, files)
    else:
        check_writable(output)
        write_or_keep({output: next(iter(files.values()))})
    if not options["dry_run"]:
        words.say(f"wrote {', '.join(map(str, targets))}")
    return {"files": list(map(str, targets)), "dry_run": options["dry_run"]}


def _export_all(
    output: Path, project: Project, store: Store, options: Mapping[str, Any], words: Words
) -> dict[str, Any]:
    """Write a folder from which the project can be made again."""
    from clew.cli._outputs import check_folder
    from clew.exports import tables_of
    from clew.store import export_all

    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise FileExistsError(f"{output} is there already, and not empty; name another folder")
    if options["dry_run"]:
        words.say(f"would write all of {project.name} to {output}: --dry-run")
        return {"files": [], "dry_run": True}
    check_folder(output)
    files = export_all(store, output) + copy_vectors(project.folder, output)
    for name, content in tables_of(store).items():
        (output / name).write_bytes(content)
        files.append(output / name)
    words.say(f"wrote {counted(len(files), 'file')} to {output}; clew import all reads them")
    return {"files": list(map(str, files)), "dry_run": False}


def _folders(
    output: Path, project: Project, store: Store, options: Mapping[str, Any], words: Words
) -> dict[str, Any]:
    """Put each item into a folder for its group."""
    from clew import exports

    how: Literal["copy", "link", "move"] = options["how"]
    members = exports.grouped(store)
    steps = exports.plan(members, project.root, output, how)
    groups = {step.target.partition("/")[0] for step in steps}
    summary = (
        f"{how} {counted(len(steps), 'file')} into {counted(len(groups), 'folder')} in {output}"
    )
    facts = {
        "folder": str(output), "how": how, "files": len(steps), "groups": sorted(groups),
        "dry_run": options["dry_run"],
    }  # fmt: skip
    if options["dry_run"] or how == "move":
        for step in steps[:MOST_SHOWN]:
            words.say(f"  {printable(step.source)} → {printable(step.target)}")
        if len(steps) > MOST_SHOWN:
            words.say(f"  and {len(steps) - MOST_SHOWN:,} more")
    if options["dry_run"]:
        words.say(f"would {summary}: --dry-run")
        return facts
    if how == "move" and not options["yes"]:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise click.UsageError("files are moved only with --yes, where nobody can be asked")
        click.confirm(f"{summary}?", abort=True, err=True)
    moved: list[Step] = []
    try:
        with words.bar("Writing files") as advance:
            for at, step in enumerate(exports.apply(steps, members, project.root, output), start=1):
                moved += [step] * (step.do == "move")
                advance(at, len(steps))
    except KeyboardInterrupt:
        words.say(f"interrupted; clew export --undo {output} takes back what was written")
        raise click.exceptions.Exit(INTERRUPTED) from None
    finally:
        items = [member.item for member in members]
        _follow(store, project, items, {step.id: output / step.target for step in moved})
    words.say(f"done: {summary}; clew export --undo {output} takes it back")
    return facts


def _follow(
    store: Store, project: Project, items: Sequence[Item], places: Mapping[str, Path]
) -> None:
    """Tell the project where files are now."""
    moved = []
    for item in items:
        if item.id in places:
            path = places[item.id].resolve().relative_to(project.root).as_posix()
            moved.append(replace(item, path=path))
    if moved:
        store.add_items(moved)


def _undo(folder: Path, place: Path | None, words: Words) -> dict[str, Any]:
    """Take an export to folders back."""
    from clew import exports

    done, problems = exports.undo(folder)
    moved = {step.id: Path(step.source) for step, is_done in done if is_done and step.do == "move"}
    if moved:
        with project_and_store(place) as (project, store):
            _follow(store, project, store.items(), moved)
    n_done = sum(is_done for _, is_done in done)
    words.say(f"took back {counted(n_done, 'file')} of {folder}")
    for problem in problems:
        words.say(f"  {printable(problem)}")
    return {"folder": str(folder), "undone": n_done, "problems": problems}
