"""What clients ask of the worker, beside learning."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clew.answers import Answer, Edit, Entry, entry_from_json
from clew.exceptions import ClewError, InvalidArgumentError
from clew.store import Job
from clew.worker._map import places

if TYPE_CHECKING:
    from clew.worker._worker import Worker


def do(worker: Worker, job: Job) -> Any:
    """Do a job and return its result, as JSON."""
    if job.kind not in JOBS:
        raise InvalidArgumentError(f"unknown job {job.kind!r}; there are {', '.join(JOBS)}")
    return plain(JOBS[job.kind](worker, job.arguments))


def preview(worker: Worker, arguments: Mapping[str, Any]) -> Any:
    """Say what an edit, or an entry, would move and contradict, and make superfluous."""
    entry: Entry
    if "entry" in arguments:
        entry = entry_from_json(arguments["entry"])
    else:
        entry = Edit(arguments["kind"], arguments["items"], arguments.get("target", ()))
    found = worker.session.preview(entry, previous=worker.previous)
    return {"revision": worker.revision, **plain(found)}


def resplit(worker: Worker, arguments: Mapping[str, Any]) -> Any:
    """Cut one group into parts, by features and by the answers about its items.

    Nothing is changed: edits of kind "split" make the parts groups.
    """
    from clew.cluster import GuidedClustering
    from clew.constraints import Constraints

    body = _published(worker)
    ids = [name for name, group in zip(body["ids"], body["group_ids"], strict=True)
           if group == arguments["group"]]  # fmt: skip
    if len(ids) < 2:
        raise InvalidArgumentError(f"a group of {len(ids)} items has no parts; split one with 2")
    if worker.rows.X is None:
        raise InvalidArgumentError("nothing is known of the items; only answers split a group")
    row_of = {name: row for row, name in enumerate(worker.rows.ids)}
    X = worker.rows.X[[row_of[name] for name in ids]]
    inside = set(ids)
    answers = [
        answer for answer in worker.session.answers
        if answer.question.ids is not None and inside.issuperset(answer.question.ids)
    ]  # fmt: skip
    known = Constraints.from_answers(answers, ids=ids)
    labels = GuidedClustering(arguments.get("n"), random_state=0).fit(X, constraints=known).labels_
    if labels.max() == 0:
        labels = GuidedClustering(2, random_state=0).fit(X, constraints=known).labels_
    parts = [[ids[row] for row in np.flatnonzero(labels == part)] for part in np.unique(labels)]
    return {"revision": worker.revision, "parts": sorted(parts, key=len, reverse=True)}


def leave_out(worker: Worker, arguments: Mapping[str, Any]) -> Any:
    """Say which items would move if one annotator had not answered."""
    name = arguments["annotator"]
    entries = [each.entry for each in worker.store.log() if each.entry.annotator != name]
    session, before = worker.new_session(entries), _published(worker)
    after = session.result(previous=worker.previous).to_dict()
    was = dict(zip(before["ids"], before["group_ids"], strict=True))
    moves = [
        {"id": item, "before": was[item], "after": group}
        for item, group in zip(after["ids"], after["group_ids"], strict=True)
        if was.get(item, group) != group
    ]
    return {"revision": worker.revision, "n_moved": len(moves), "moves": moves[:MOST_MOVED]}


def recluster(worker: Worker, arguments: Mapping[str, Any]) -> Any:
    """Publish a result of all that was learned."""
    worker.publish()
    return {"revision": worker.revision}


def draw(worker: Worker, arguments: Mapping[str, Any]) -> Any:
    """Keep the affinity of the newest result, and the places of its items on the map."""
    result = worker.session.result(previous=worker.previous)
    affinity = result.affinity_.tocsr()
    file = io.BytesIO()
    np.savez_compressed(
        file, data=affinity.data.astype(np.float32), indices=affinity.indices,
        indptr=affinity.indptr, shape=affinity.shape, ids=np.array(list(map(str, result.ids))),
    )  # fmt: skip
    worker.put_artifact("affinity", file.getvalue())
    X = worker.rows.X
    if X is None or hasattr(X, "columns"):  # distances, a table, or answers alone
        X = affinity
    xy = places(X, np.asarray(result.labels_), np.asarray(result.confidence_))
    content = {"ids": list(result.ids), "x": np.round(xy[:, 0], 3), "y": np.round(xy[:, 1], 3)}
    worker.put_artifact("map", json.dumps(plain(content), separators=(",", ":")).encode())
    return {"revision": worker.revision}


def thumbnails(worker: Worker, arguments: Mapping[str, Any]) -> Any:
    """Draw what pages show of all items, so that nobody waits for it."""
    if worker.media is None:
        raise InvalidArgumentError("this worker has no media; start it with the project's folder")
    size, n_drawn, failed = arguments.get("size", THUMBNAIL), 0, {}
    for item in worker.store.items():
        if item.kind not in ("image", "sound"):
            continue
        try:
            if item.kind == "image":
                worker.media.thumbnail(item, size)
            else:
                worker.media.spectrogram(item)
            n_drawn += 1
        except (ClewError, OSError) as error:
            failed[item.id] = str(error)
    return {"n_drawn": n_drawn, "failed": failed}


def _published(worker: Worker) -> Mapping[str, Any]:
    """Return the newest result that people see."""
    result = worker.store.result()
    if result is None:
        raise InvalidArgumentError("there is no result yet")
    return result.body


#: Pixels of the longer side of a thumbnail.
THUMBNAIL: Final = 320
#: Items that `leave_out` names.
MOST_MOVED: Final = 500
JOBS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "preview": preview,
    "resplit": resplit,
    "leave_out": leave_out,
    "recluster": recluster,
    "map": draw,
    "thumbnails": thumbnails,
}


def plain(value: Any) -> Any:
    """Return a value as JSON: records as objects, arrays and tuples as lists, answers as ids."""
    if isinstance(value, Answer):
        return value.id or [*map(str, value.question.ids or ()), value.value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return value
