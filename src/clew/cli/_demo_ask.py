"""``clew demo --ask``: the whole loop with the person at the terminal, on pictures of clew."""

from __future__ import annotations

import io
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

from clew.cli._outputs import check_folder
from clew.cli._progress import Words
from clew.cli._projects import add_collection
from clew.cli._words import counted
from clew.collections import Project, read_collection
from clew.datasets import load_pictures
from clew.metrics import adjusted_rand_score

#: The exit status of ``clew ask`` if there is nothing left to ask.
NOTHING_LEFT = 3


def ask_and_group(
    ctx: click.Context, folder: Path, *, n: int, jobs: int, quiet: bool
) -> tuple[int, dict[str, Any]]:
    """Ask a person about the pictures, group them, and write a report.

    Returns the exit status and what ``--json`` prints.
    """
    words = Words(quiet=quiet)
    check_folder(folder)
    pictures = load_pictures()
    project = _project(folder / "pictures", pictures.folder)
    place = project.folder.parent
    words.say(
        f"{len(pictures.ids)} pictures in {place}: say which are the same kind of thing; q ends"
    )
    status = _called(ctx, "ask", "-p", place, "-n", n, "-j", jobs, "-q")
    if status not in (0, NOTHING_LEFT):
        return status, {}
    report = folder / "report.html"
    files = ("-o", folder / "groups.csv", "--report", report)
    with redirect_stdout(io.StringIO()):  # its status, for which there is a line below
        _called(ctx, "group", "-p", place, "-j", jobs, "-q", *files)
    with project.open_store() as store:
        result, n_answers = store.result(), store.counts().n_answers
    assert result is not None
    kind_of = dict(zip(pictures.ids, pictures.y.tolist(), strict=True))
    kinds = [kind_of[name] for name in result.body["ids"]]
    found: dict[str, Any] = {
        "answers": n_answers,
        "groups": len(set(result.body["group_ids"])),
        "kinds": len(pictures.class_names),
        "ari": round(float(adjusted_rand_score(kinds, result.body["labels"])), 4),
        "report": str(report),
    }
    words.say(
        f"{counted(found['groups'], 'group')} after {counted(found['answers'], 'answer')}; "
        f"adjusted Rand index with the {found['kinds']} kinds of the pictures: {found['ari']:.2f}"
    )
    words.say(f"wrote {report}; go on with clew ask -p {place}, or again with clew demo --ask")
    return 0, found


def _called(ctx: click.Context, name: str, *arguments: object) -> int:
    """Run another command of clew, and return its exit status."""
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    command = root.command.commands[name]
    try:
        with command.make_context(name, list(map(str, arguments)), parent=root) as made:
            command.invoke(made)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return 0


def _project(place: Path, source: Path) -> Project:
    """Copy the pictures, and make a project of them, unless an earlier call has done so."""
    if (place / ".clew").is_dir():
        return Project.open(place)
    place.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.suffix == ".webp" or path.name == "LICENSE":
            shutil.copy(path, place / path.name)
    project = Project.create(place, name="pictures")
    with project.open_store() as store:
        add_collection(project, store, read_collection(place, kind="image"))
    return project
