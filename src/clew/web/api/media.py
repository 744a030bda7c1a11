"""Pictures, spectrograms and sounds of items, by the item's id alone."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.convertors import StringConvertor, register_url_convertor

from clew.exceptions import ClewError
from clew.items import Item, Media
from clew.web.accounts import StoreOf, Viewer
from clew.web.problems import not_found

router = APIRouter(prefix="/api/v1")


class _Name(StringConvertor):
    """Names of files hold anything, also slashes and line breaks."""

    regex = "(?s:.*)"


register_url_convertor("name", _Name())


@router.get("/media/{item_id:name}", tags=["items"], response_class=Response)
def get_media(
    item_id: Annotated[str, Path(max_length=2000)],
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
