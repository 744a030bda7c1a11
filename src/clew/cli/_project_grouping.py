"""``clew group`` in a project: learn all answers, and keep the groups where everybody sees them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.answers import Answer, Kind, as_table_answers
from clew.cli._explanations import saved_bytes
from clew.cli._grouping import Job, run, summarize
from clew.cli._groups import Doubted, Groups, doubtful_csv
from clew.cli._outputs import check_writable, write_or_keep
from clew.cli._progress import Words
from clew.cli._project_rows import rows_of_items
from clew.cli._projects import project_and_store
from clew.cli._report import Findings, report_page
from clew.cli.status import status_of
from clew.constraints import Constraints
from clew.exports import AGAINST, BETWEEN, doubts_of, files_of, grouped

if TYPE_CHECKING:
    from clew.collections import Project
    from clew.store import Store
    from clew.worker import Worker

#: Seconds between two looks at what another worker has learned.
PAUSE = 0.5


def run_in_project(job: Job) -> dict[str, Any]:
    """Group the items of a project; return its status.

    Files of options are written too. Groups of other methods than guided go to files alone.
    """
    assert job.project is not None
    if job.method != "guided":
        return run(job)
    start = time.perf_counter()
    words = Words(quiet=job.quiet, verbose=job.verbose)
    check_writable(*job.outputs)
    files: dict[Path, str | bytes] = {}
    with project_and_store(job.project) as (project, store):
        if job.n_groups != store.settings()["n_clusters"] and job.n_groups is not None:
            store.set_settings({"n_clusters": job.n_groups})
        worker = learn(project, store, words)
        if worker.rows.note:
            words.say(worker.rows.note)
        elif hasattr(worker.rows.X, "columns"):
            items = store.items_by_id(worker.rows.ids)
            used = [items[name] for name in worker.rows.ids]
            for note in rows_of_items(project, used, worker.rows).notes:
                words.say(note)
        if job.names is not None:
            _name(store, job.names, words)
        facts = status_of(project, store)
        if job.output is not None:
            files[job.output] = files_of("groups", store)["groups.csv"]
        if job.doubtful is not None or job.report is not None or job.save is not None:
            with words.bar("Preparing the report"):
                files |= _about_groups(job, project, store, worker, start)
    write_or_keep(files)
    for path in files:
        words.say(f"wrote {path}")
    return facts


def _name(store: Store, names: Sequence[str], words: Words) -> None:
    """Name the groups, in the order of their numbers."""
    groups = store.groups()
    for group, name in zip(groups, names, strict=False):
        store.name_group(group.id, name=name)
    if len(names) > len(groups):
        words.say(f"there are only {len(groups)} groups for {len(names)} names")


def _about_groups(
    job: Job, project: Project, store: Store, worker: Worker, start: float
) -> dict[Path, str | bytes]:
    """Return the doubtful answers, the report and the saved result: all of the project's groups."""
    session = worker.read()
    members = {member.item.id: member for member in grouped(store)}
    used = [members[name] for name in worker.rows.ids]
    rows = rows_of_items(project, [member.item for member in used], worker.rows)
    evidence = session.strategy.answers
    answers = Constraints.from_answers(evidence, ids=rows.ids)
    model = session.fit_all()
    ids = list(dict.fromkeys(member.group for member in used if member.group is not None))
    place = {group: at for at, group in enumerate(ids)}
    groups = Groups(
        np.array([place.get(member.group, len(ids)) for member in used], np.int64),  # type: ignore[arg-type]
        np.array([member.confidence or 0.0 for member in used]),
        np.array([BETWEEN in member.doubt for member in used]),
        np.array([AGAINST in member.doubt for member in used]),
        np.array([member.n_answers for member in used], np.int64),
        tuple(next(m.name for m in used if m.group == group) for group in ids),
        tuple(_doubted(store, evidence)),
        tuple(ids),
    )
    result = store.result()
    assert result is not None
    n_features = None if rows.is_distances else rows.X.shape[1]
    summary = summarize(model, groups, answers, n_features) | {
        "method": job.method, "violated": result.body["n_violated"],
        "seed": store.settings()["random_state"], "seconds": round(time.perf_counter() - start, 3),
    }  # fmt: skip
    files: dict[Path, str | bytes] = {}
    if job.doubtful is not None:
        files[job.doubtful] = doubtful_csv(rows.ids, answers, groups.doubted)
    if job.report is not None:
        made = {"Project": str(job.project)}
        found = Findings(rows, rows.X, answers, model, groups, summary, job.items, made)
        is_chosen = store.settings()["n_clusters"] is None
        files[job.report] = report_page(found, is_number_chosen=is_chosen)
    if job.save is not None:
        files[job.save] = saved_bytes(model, rows.ids, answers, groups)
    return files


def _doubted(store: Store, evidence: Sequence[Answer]) -> list[Doubted]:
    """Find the doubtful entries of a store among the answers that were learned."""
    p_wrong = {doubt.entry.id: doubt.p_wrong for doubt in doubts_of(store)}
    n_before = Counter[Kind]()
    found = []
    for answer in as_table_answers(evidence):
        kind = answer.question.kind
        name = answer.edit or answer.id
        if name in p_wrong and answer.is_evidence:
            found.append(Doubted(kind, n_before[kind], p_wrong[name]))
        n_before[kind] += 1
    return sorted(found, key=lambda one: -one.p_wrong)


def learn(project: Project, store: Store, words: Words) -> Worker:
    """Learn all entries and publish the groups, or wait until another worker has done so."""
    from clew.worker import Worker, rows_of

    state = store.worker()
    with words.bar("Grouping") as advance:
        worker = Worker(store, rows_of(project, store, callback=advance), cache=project.cache)
        if state is not None and state.is_alive:
            words.say(f"{state.name} is at work on this project: waiting until it has learned all")
            while (state := store.worker()) is not None and state.is_alive:
                if (store.result_revision() or 0) >= store.last_seq():
                    return worker
                time.sleep(PAUSE)
        worker.run(until_rest=True)
    return worker
