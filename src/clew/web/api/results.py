"""What people and features imply: groups, doubts, estimates, the map, items."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import Field

from clew.exports import doubt_records
from clew.web.accounts import Reviewer, StoreOf, Viewer
from clew.web.asking import Body, PresenterOf
from clew.web.problems import Problem, not_found
from clew.web.results import ResultsOf, ViewOf, Watcher, remaining_of

router = APIRouter(prefix="/api/v1", tags=["results"])
GroupId = Annotated[int, Path(ge=-1, le=2**31)]


@router.get("/status")
def get_status(person: Viewer, store: StoreOf, results: ResultsOf) -> dict[str, Any]:
    """Numbers of items, answers and groups, and what the worker does."""
    counts, view, worker = store.counts(), results.newest(), store.worker()
    return {
        "n_items": counts.n_items,
        "n_set_aside": counts.n_set_aside,
        "n_answers": counts.n_answers,
        "n_edits": counts.n_edits,
        "n_groups": view.n_groups if view else None,
        "n_doubtful_items": len(view.doubtful_items) if view else None,
        "n_doubtful_answers": len(results.doubts()) if view else None,
        "revision": view.stored.revision if view else None,
        "last_seq": counts.last_seq,
        "remaining": remaining_of(view),
        "mine": counts.by_annotator.get(person.name, 0),
        "worker": worker
        and {"state": worker.state, "detail": worker.detail, "alive": worker.is_alive},
    }


@router.get("/events", response_class=StreamingResponse)
async def get_events(request: Request, _: Viewer) -> StreamingResponse:
    """Events `revision`: the number of the newest result, and how far the worker is behind."""
    watcher: Watcher = request.app.state.watcher
    return StreamingResponse(watcher.listen(request), media_type="text/event-stream")


@router.get("/estimate")
def get_estimate(_: Viewer, view: ViewOf) -> dict[str, Any]:
    """How good the groups are, with intervals, and how many questions are left."""
    names = ("quality", "remaining", "stop", "alternatives", "n_violated", "annotators")
    return {"revision": view.stored.revision, **{name: view.body.get(name) for name in names}}


@router.get("/result")
def get_result(_: Reviewer, view: ViewOf) -> dict[str, Any]:
    """Return the newest result, as the worker published it."""
    return dict(view.body)


@router.get("/groups")
def get_groups(_: Viewer, store: StoreOf, view: ViewOf) -> dict[str, Any]:
    """All groups, large ones first, with examples."""
    named = {group.id: group for group in store.groups()}
    groups = [
        {
            "id": group,
            "name": named[group].name if group in named else "",
            "note": named[group].note if group in named else "",
            "n_items": len(ids),
            "exemplars": view.exemplars.get(group, []),
            "confidence": sum(view.confidence.get(one, 0.0) for one in ids) / len(ids),
        }
        for group, ids in view.members.items()
    ]
    return {"revision": view.stored.revision, "groups": groups}


@router.get("/groups/{group}")
def get_group(
    group: GroupId,
    _: Viewer,
    view: ViewOf,
    presenter: PresenterOf,
    after: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> dict[str, Any]:
    """Items of a group: examples, then the surest first. -1: items in no group."""
    ids = view.members.get(group)
    if ids is None:
        raise not_found()
    page = ids[after : after + limit]
    items = presenter.items(page, size=400)
    shown = [
        {**items[one], "line": view.line_of(one), "confidence": view.confidence.get(one)}
        for one in page
        if one in items
    ]
    more = after + limit if after + limit < len(ids) else None
    return {"revision": view.stored.revision, "n_items": len(ids), "items": shown, "next": more}


class GroupWords(Body):
    """A name and a note; null leaves what is there."""

    name: str | None = Field(None, max_length=200)
    note: str | None = Field(None, max_length=4000)


@router.patch("/groups/{group}")
def patch_group(group: GroupId, body: GroupWords, _: Reviewer, store: StoreOf) -> dict[str, Any]:
    """Give a group a name and a note."""
    if group not in {one.id for one in store.groups(also_gone=True)}:
        raise not_found()
    named = store.name_group(group, name=body.name, note=body.note)
    return {"id": named.id, "name": named.name, "note": named.note}


@router.get("/doubtful")
def get_doubtful(_: Reviewer, view: ViewOf, results: ResultsOf) -> dict[str, Any]:
    """Answers that look wrong, with the chain of answers that they contradict."""
    return {"revision": view.stored.revision, "doubtful": doubt_records(results.doubts())}


@router.get("/affinity")
def get_affinity(_: Viewer, store: StoreOf) -> Response:
    """Return the affinity of the newest result, as the worker keeps it (`.npz`)."""
    found = store.artifact("affinity")
    if found is None:
        raise Problem(404, "The worker has kept no affinity yet.")
    revision, content = found
    headers = {"X-Revision": str(revision)}
    return Response(content, media_type="application/octet-stream", headers=headers)


@router.get("/map")
def get_map(_: Viewer, store: StoreOf, results: ResultsOf, request: Request) -> Response:
    """Coordinates of the map as the worker keeps them, in JSON; 202 while it is not drawn yet.

    `lines` has a letter for each item: k knot, s sure, f fairly sure, d in doubt.
    """
    found, view = store.artifact("map"), results.newest()
    if found is None or view is None:
        return JSONResponse({"ids": [], "x": [], "y": []}, 202)
    revision, content = found

    def packed() -> bytes:
        places = json.loads(content)
        ids = places["ids"]
        places["groups"] = [view.group_of.get(one, -1) for one in ids]
        places["confidence"] = [round(view.confidence.get(one, 0.0), 3) for one in ids]
        places["lines"] = "".join(view.line_of(one)[0] for one in ids)
        return gzip.compress(json.dumps(places, separators=(",", ":")).encode(), 1)

    body = results.once("map", (revision, view.stored.revision, view.stored.at), packed)
    headers = {"X-Revision": str(revision), "Content-Encoding": "gzip"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        body = gzip.decompress(body)
        del headers["Content-Encoding"]
    return Response(body, media_type="application/json", headers=headers)


@router.get("/items", tags=["items"])
def get_items(
    _: Viewer,
    store: StoreOf,
    after: Annotated[int, Query(ge=-1, le=2**31)] = -1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> dict[str, Any]:
    """Items, in the order in which they were added."""
    found = store.items(after=after, limit=limit)
    names = ("id", "kind", "path", "region", "text", "set_aside")
    shown = [
        {name: getattr(one, name) for name in names}
        | {"columns": _plain(one.columns), "meta": _plain(one.meta)}
        for one in found
    ]
    return {"items": shown, "next": after + len(found) if len(found) == limit else None}


def _plain(cells: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: cell if isinstance(cell, str | int | bool | None) else str(cell)
        for name, cell in cells.items()
    }
