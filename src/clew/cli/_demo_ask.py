"""``clew demo --ask``: the whole loop with the person at the terminal, on pictures of clew."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from clew.cli._grouping import Job
from clew.cli._outputs import check_folder
from clew.cli._progress import Words
from clew.cli._project_grouping import run_in_project
from clew.cli._projects import add_collection, login_name
from clew.cli._words import counted
from clew.cli.asking._loop import AskJob
from clew.cli.asking._run import NOTHING_LEFT, run
from clew.cli.asking.ask import ask
from clew.cli.group import group
from clew.collections import Project, read_collection
from clew.datasets import load_pictures
from clew.metrics import adjusted_rand_score


def ask_and_group(folder: Path, *, n: int, jobs: int, quiet: bool) -> tuple[int, dict[str, Any]]:
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
    shared = {"items": place, "project": place, "jobs": jobs, "quiet": True}
    mine = {"answers": project.folder, "n_questions": n, "annotator": login_name()}
    status = run(AskJob.of(_defaults(ask) | shared | mine))
    if status not in (0, NOTHING_LEFT):
        return status, {}
    report = folder / "report.html"
    files = {"output": folder / "groups.csv", "report": report}
    facts = run_in_project(Job.of(_defaults(group) | shared | files | {"answers_alone": False}))
    with project.open_store() as store:
        result = store.result()
    assert result is not None
    kind_of = dict(zip(pictures.ids, pictures.y.tolist(), strict=True))
    kinds = [kind_of[name] for name in result.body["ids"]]
    found = {
        "answers": facts["answers"],
        "groups": len(facts["groups"]),
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


def _defaults(command: click.Command) -> dict[str, Any]:
    """Return the options of a command as if none were given."""
    return dict(command.make_context(command.name, [], resilient_parsing=True).params)


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
