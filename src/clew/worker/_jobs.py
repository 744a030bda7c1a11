"""What clients ask of the worker, beside learning: previews, splits, the map."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

from clew.answers import Answer, Edit, Entry, entry_from_json
from clew.exceptions import ClewError, InvalidArgumentError
from clew.store import Job

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
        entry = Edit(
            arguments["kind"], arguments["items"], arguments.get("target", ()),
            arguments.get("annotator", ""),
        )  # fmt: skip
    found = worker.session.preview(entry, previous=worker.previous)
    return {"revision": worker.revision, **plain(found)}


def resplit(worker: Worker, arguments: Mapping[str, Any]) -> Any:
    """Cut a group by features and answers; nothing changes until an edit "split"."""
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


Floats = NDArray[np.float64]
#: Items that t-SNE places; the others are placed among their neighbors.
N_ANCHORS = 1500
#: Dimensions in which neighbors are looked for.
N_DIMENSIONS = 50
#: Anchors among which an item is placed.
N_NEIGHBORS = 5
#: Share of the distance between two items of one group, about which the model is sure.
WITHIN = 0.5
#: Radius of the disk of a group whose items are drawn on one dot, as a share of the distance to the
#: nearest group's median; and the angle between items at one place, of a sunflower.
DISK, GOLDEN_ANGLE = 0.3, np.pi * (3 - np.sqrt(5))


def places(X: Any, labels: NDArray[np.int64], confidence: Floats, seed: int = 0) -> Floats:
    """Coordinates (n, 2) by t-SNE of 1,500 items, of the others by the mean of the nearest.

    Distances of leading components are halved within groups of which the model is sure.
    """
    n = len(labels)
    random = np.random.RandomState(seed)
    reduced = _reduced(X, random)
    anchors = np.sort(random.permutation(n)[:N_ANCHORS])
    if len(anchors) < 4:
        return np.column_stack([np.arange(n, dtype=float), np.zeros(n)])
    squares = (reduced[anchors] ** 2).sum(axis=1)
    gram = reduced[anchors] @ reduced[anchors].T
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * gram, 0))
    np.fill_diagonal(distances, 0)
    own, sure = labels[anchors], confidence[anchors]
    is_same = (own[:, None] == own) & (own >= 0)[:, None]
    distances *= np.where(is_same, 1 - WITHIN * np.minimum(sure[:, None], sure), 1)
    start = PCA(2, random_state=seed).fit_transform(reduced[anchors])
    start *= 1e-4 / max(float(start[:, 0].std()), 1e-12)
    model = TSNE(
        perplexity=min(30.0, (len(anchors) - 1) / 3), metric="precomputed", init=start,
        random_state=seed, max_iter=500, n_jobs=1,
    )  # fmt: skip
    found: Floats = np.asarray(model.fit_transform(distances), np.float64)
    placed = np.empty((n, 2))
    placed[anchors] = found
    others = np.setdiff1d(np.arange(n), anchors)
    if len(others):
        near = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(reduced[anchors])
        _, at = near.kneighbors(reduced[others])
        placed[others] = np.median(found[at], axis=1)
    return _widened(placed, labels)


def _widened(xy: Floats, labels: NDArray[np.int64]) -> Floats:
    """Fill a disk with each group whose rows are drawn on one dot, so that each can be chosen.

    Rows keep the order of their directions from the middle and of their distances; those that are
    all at one place are the seeds of a sunflower.
    """
    groups = [np.flatnonzero(labels == group) for group in np.unique(labels[labels >= 0])]
    xy = xy.copy()
    middles = np.array([np.median(xy[rows], axis=0) for rows in groups])
    for rows, middle in zip(groups, middles, strict=True):
        if len(rows) < 2:
            continue
        gaps = np.hypot(*(middles - middle).T)
        radius = DISK * float(gaps[gaps > 0].min(initial=np.inf))
        offsets = xy[rows] - middle
        far = np.hypot(*offsets.T)
        if not np.isfinite(radius) or np.quantile(far, 0.8) > radius / 2:
            continue
        rank = np.argsort(np.argsort(far, kind="stable"))
        turn = np.argsort(np.argsort(np.arctan2(*offsets.T[::-1]))) / len(rows)
        angle = np.where(far > radius / 1000, 2 * np.pi * turn, GOLDEN_ANGLE * rank)
        ring = radius * np.sqrt((rank + 0.5) / len(rows))
        xy[rows] = middle + ring[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return xy


def _reduced(X: Any, random: np.random.RandomState) -> Floats:
    """Return the leading principal components, (n, at most 50)."""
    n_components = min(N_DIMENSIONS, min(X.shape) - 1)
    if issparse(X) and n_components > 0:
        return np.asarray(TruncatedSVD(n_components, random_state=random).fit_transform(X))
    dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    if X.shape[1] <= 2 or n_components < 1:
        return np.column_stack([dense, np.zeros(len(dense))])
    return np.asarray(PCA(n_components, random_state=random).fit_transform(dense))
