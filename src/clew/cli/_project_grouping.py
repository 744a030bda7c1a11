"""``clew group`` in a project: learn all answers, and keep the groups where everybody sees them."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

from clew.cli._grouping import Job, run
from clew.cli._outputs import check_writable, write_or_keep
from clew.cli._progress import Words
from clew.cli._projects import project_and_store
from clew.cli.status import status_of
from clew.exports import files_of

if TYPE_CHECKING:
    from clew.collections import Project
    from clew.store import Store

#: Seconds between two looks at what another worker has learned.
PAUSE = 0.5


def run_in_project(job: Job) -> dict[str, Any]:
    """Group the items of a project; return its status.

    Files of options are written too. Groups of other methods than guided go to files alone.
    """
    assert job.project is not None
    if job.method != "guided":
        return run(job)
    words = Words(quiet=job.quiet, verbose=job.verbose)
    check_writable(*job.outputs)
    with project_and_store(job.project) as (project, store):
        if job.n_groups != store.settings()["n_clusters"] and job.n_groups is not None:
            store.set_settings({"n_clusters": job.n_groups})
        learn(project, store, words)
        facts = status_of(project, store)
        table = files_of("groups", store)["groups.csv"]
    if job.output is not None:
        write_or_keep({job.output: table})
        words.say(f"wrote {job.output}")
    if job.report is not None or job.save is not None or job.doubtful is not None:
        run(dataclasses.replace(job, output=None, quiet=True))
        for path in (job.doubtful, job.report, job.save):
            if path is not None:
                words.say(f"wrote {path}")
    return facts


def learn(project: Project, store: Store, words: Words) -> None:
    """Learn all entries and publish the groups, or wait until another worker has done so."""
    from clew.worker import Worker, rows_of

    state = store.worker()
    if state is not None and state.is_alive:
        words.say(f"{state.name} is at work on this project: waiting until it has learned all")
        while (state := store.worker()) is not None and state.is_alive:
            if (store.result_revision() or 0) >= store.last_seq():
                return
            time.sleep(PAUSE)
    with words.bar("Grouping") as advance:
        rows = rows_of(project, callback=advance)
        Worker(store, rows, cache=project.cache).run(until_rest=True)
