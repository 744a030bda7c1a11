"""Files that the next program reads, of `clew.exports`."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from clew.exports import PROGRAMS, files_of, zipped
from clew.store import open_store
from clew.web.accounts import StoreOf, Viewer
from clew.web.problems import not_found
from clew.web.settings import WebSettings

router = APIRouter(prefix="/api/v1")
What = Literal["groups", "exemplars", "doubtful", "affinity", "answers", "all"]
Form = Literal[
    "", "csv", "jsonl", "parquet", "npz", "coco", "label-studio", "fiftyone", "camtrap-dp"
]
#: What says who answered what: for reviewers.
OF_PEOPLE = ("doubtful", "answers", "all")
TYPES = {
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
    "json": "application/json",
    "zip": "application/zip",
}


def _files(url: str, what: What, form: Form, root: Path, name: str) -> dict[str, bytes]:
    with open_store(url, create=False) as store:
        return files_of(what, store, form, root=root, name=name)


def _in_child(*arguments: Any) -> dict[str, bytes]:
    """Make files in a process of its own, so that this one stays small."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_files, *arguments).result()


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
    settings: WebSettings = request.app.state.settings
    if form in ("parquet", *PROGRAMS):
        files = _in_child(settings.store, what, form, settings.root, project)
    else:
        files = files_of(what, store, form)
    if len(files) > 1:
        name, content = f"{what}-{form}.zip" if form else f"{what}.zip", zipped(files)
    else:
        ((name, content),) = files.items()
    kind = TYPES.get(name.rpartition(".")[2], "application/octet-stream")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)
