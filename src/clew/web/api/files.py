"""Media of items, by the item's id alone, and files that the next program reads."""

from __future__ import annotations

import hashlib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path as InPath, Query, Request, Response
from starlette.convertors import StringConvertor, register_url_convertor

from clew.exceptions import ClewError
from clew.exports import PROGRAMS, files_of, zipped
from clew.items import Item, Media
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


class _Name(StringConvertor):
    """Names of files hold anything, also slashes and line breaks."""

    regex = "(?s:.*)"


register_url_convertor("name", _Name())


@router.get("/media/{item_id:name}", tags=["items"], response_class=Response)
def get_media(
    item_id: Annotated[str, InPath(max_length=2000)],
    _: Viewer,
    request: Request,
    store: StoreOf,
    size: Annotated[Literal["160", "400", "800", "1024", "full", "spectrogram"], Query()] = "400",
) -> Response:
    """Return a picture that was decoded and encoded anew, a spectrogram, or the sound itself."""
    item = store.items_by_id([item_id]).get(item_id)
    if item is None:
        raise not_found()
    tag = f'"{hashlib.sha256(f"{item.hash} {item.region} {size}".encode()).hexdigest()[:20]}"'
    headers = {"Cache-Control": "private, max-age=86400", "ETag": tag}
    if item.hash and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    try:
        return _media(request, item, size, headers)
    except (OSError, ValueError, ClewError) as error:
        raise not_found() from error


def _media(request: Request, item: Item, size: str, headers: dict[str, str]) -> Response:
    media: Media = request.app.state.media
    if item.kind == "image":
        content = media.thumbnail(item, int(size)) if size.isdigit() else media.full(item)
        return Response(content, media_type=media.IMAGE_TYPE, headers=headers)
    if item.kind == "sound" and size == "full":
        return _ranged(request, media.full(item), media.SOUND_TYPE, headers)
    if item.kind == "sound":
        return Response(media.spectrogram(item), media_type=media.IMAGE_TYPE, headers=headers)
    raise not_found()


def _ranged(request: Request, content: bytes, kind: str, headers: dict[str, str]) -> Response:
    """Return a sound, or the part that a player asks for."""
    headers = {**headers, "Accept-Ranges": "bytes"}
    unit, _, span = request.headers.get("range", "").partition("=")
    first, _, last = span.partition("-")
    if unit != "bytes" or not first.isdigit() or int(first) >= len(content):
        return Response(content, media_type=kind, headers=headers)
    end = min(int(last), len(content) - 1) if last.isdigit() else len(content) - 1
    headers["Content-Range"] = f"bytes {first}-{end}/{len(content)}"
    return Response(content[int(first) : end + 1], 206, headers, media_type=kind)
