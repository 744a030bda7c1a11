"""Files that the next program reads, of `clew.exports`."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from clew.exports import files_of, zipped
from clew.web.accounts import StoreOf, Viewer
from clew.web.problems import not_found

router = APIRouter(prefix="/api/v1")
What = Literal["groups", "exemplars", "doubtful", "affinity", "answers", "all"]
Form = Literal["", "csv", "jsonl", "parquet", "coco", "label-studio", "fiftyone", "camtrap-dp"]
#: What says who answered what: for reviewers.
OF_PEOPLE = ("doubtful", "answers", "all")
TYPES = {
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
    "json": "application/json",
    "zip": "application/zip",
}


@router.get("/export/{what}", tags=["results"], response_class=Response)
def get_export(
    what: What,
    person: Viewer,
    store: StoreOf,
    request: Request,
    form: Annotated[Form, Query(alias="as", description="Empty: the first form.")] = "",
) -> Response:
    """Return what `clew export` writes: a file, or a zip of several."""
    if what in OF_PEOPLE and not person.may("reviewer"):
        raise not_found()
    project = str(store.settings().get("name") or "")
    files = files_of(what, store, form, root=request.app.state.settings.root, name=project)
    if len(files) > 1:
        name, content = f"{what}-{form}.zip" if form else f"{what}.zip", zipped(files)
    else:
        ((name, content),) = files.items()
    kind = TYPES.get(name.rpartition(".")[2], "application/octet-stream")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)
