"""``clew export``: groups, examples, answers or all, as files that the next program reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from clew.cli._options import QUIET, output_option
from clew.cli._projects import PROJECT, project_and_store
from clew.cli._words import INTERRUPTED, counted, printable

if TYPE_CHECKING:
    from clew.cli._progress import Words
    from clew.collections import Project
    from clew.exports import Step
    from clew.items import Item
    from clew.store import Store

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
    from clew.cli._progress import Words

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
        return _all(output, project, store, options, words)
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


def _all(
    output: Path, project: Project, store: Store, options: Mapping[str, Any], words: Words
) -> dict[str, Any]:
    """Write a folder from which the project can be made again."""
    import shutil

    from clew.cli._outputs import check_folder
    from clew.exports import tables_of
    from clew.store import export_all

    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise FileExistsError(f"{output} is there already, and not empty; name another folder")
    if options["dry_run"]:
        words.say(f"would write all of {project.name} to {output}: --dry-run")
        return {"files": [], "dry_run": True}
    check_folder(output)
    files = export_all(store, output)
    for name in ("vectors", "distances.npz"):
        source = project.folder / name
        if source.is_dir():
            shutil.copytree(source, output / name)
            files += sorted((output / name).iterdir())
        elif source.is_file():
            shutil.copy2(source, output / name)
            files.append(output / name)
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
    import os
    from dataclasses import replace

    def path_of(place: Path) -> str:
        return Path(os.path.realpath(place)).relative_to(project.root).as_posix()

    moved = [replace(item, path=path_of(places[item.id])) for item in items if item.id in places]
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
