"""How a page is drawn: the template, what every page is given, who may see it, and log entries."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, select_autoescape

from clew.answers import SAME, Answer, Edit, items_of, line_of
from clew.store.base import Logged
from clew.web.accounts import Person, needs, person_of
from clew.web.asking import logged_json
from clew.web.results import model_of
from clew.web.words import say, strings_of

_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parents[1] / "templates"),
    autoescape=select_autoescape(),
    trim_blocks=True,
    lstrip_blocks=True,
)
_pages.globals["t"] = say
#: Pages of each role, in the order of the menu.
NAV = {
    "viewer": ("groups", "map", "progress", "help"),
    "annotator": ("ask", "history", "groups", "progress", "settings", "help"),
    "reviewer": ("ask", "groups", "map", "review", "progress", "history", "settings", "help"),
    "owner": ("ask", "groups", "map", "review", "progress", "history", "settings", "help"),
}


def draw(
    request: Request,
    page: str,
    heading: str,
    person: Person | None,
    status: int = 200,
    template: str = "",
    **values: Any,
) -> HTMLResponse:
    """Draw a page: `page` is its place in the menu, and its template if none is named."""
    state = request.app.state
    settings, store = state.settings, state.store  # the list of projects has no store
    theme = request.cookies.get("clew_theme", "")
    shared = {
        "page": page,
        "heading": heading,
        "me": person,
        "base": settings.base_path,
        "home": settings.base_path if settings.home is None else settings.home,
        "project": store.settings().get("name") or "" if store else "",
        "theme": theme if theme in ("light", "dark") else "",
        "nav": NAV[person.role] if person else (),
        "n_doubtful": len(state.results.doubts()) if person and person.may("reviewer") else 0,
    }
    text = _pages.get_template(template or f"{page}.html").render(shared | values)
    return HTMLResponse(text, status)


class SignedOutError(Exception):
    """Nobody is signed in."""


OwnerAt = Annotated[Person, Depends(needs("owner", SignedOutError))]
ReviewerAt = Annotated[Person, Depends(needs("reviewer", SignedOutError))]
AnnotatorAt = Annotated[Person, Depends(needs("annotator", SignedOutError))]
ViewerAt = Annotated[Person, Depends(needs("viewer", SignedOutError))]


def error_page(request: Request, status: int, detail: str) -> Response:
    """Draw the page of a failure."""
    key = f"error.{status}" if status in (401, 403, 404) else "error.other"
    person = person_of(request) if request.app.state.store else None
    return draw(request, "error", say(key), person, status, detail=detail)


def signed_out(request: Request) -> Response:
    """Say how to come in."""
    return draw(request, "start", say("home.signed_out"), None, 401)


def worker_of(request: Request) -> dict[str, Any]:
    """Return how the model is, for pages that wait for it."""
    results = request.app.state.results
    worker = results.worker()
    return {"model": model_of(results), "detail": worker.detail if worker else ""}


def group_strings() -> dict[str, Any]:
    """Return the texts of the gallery and of the map."""
    return strings_of(
        "cancel", "close", "undo", "and", "group", "groups", "thread", "pick", "edit", "preview",
        "map",
    )  # fmt: skip


def said(logged: Logged) -> str:
    """Say an answer or an edit in words."""
    entry = logged.entry
    if isinstance(entry, Edit):
        return say("history.edit", kind=say(f"history.edit.{entry.kind}"), n=len(entry.items))
    value = logged_json(logged).get("answer")
    if isinstance(value, list):
        n = len(value)
        return say("history.said.strangers", n=n) if n else say("history.said.all_belong")
    if not isinstance(entry, Answer) or entry.question.kind == "pair" or entry.value < 0:
        return say(f"history.said.{value}")
    kind = entry.question.kind
    first = 2 if kind == "triplet" else 1  # as the items stand on the page, not as cards were mixed
    return say(f"history.said.{kind}", n=entry.value + first)


def when(at: str) -> str:
    """Say a day: "3 May"."""
    try:
        stamp = datetime.fromisoformat(at)
    except ValueError:
        return ""
    return f"{stamp.day} {stamp:%b}"


def seconds(times: Iterable[int]) -> str:
    """Say the median of times in milliseconds."""
    known = list(times)
    return f"{statistics.median(known) / 1000:.1f} s" if known else ""


def told(logged: Logged) -> dict[str, Any]:
    """Return an entry with who, when and how fast, as pages show it."""
    entry = logged.entry
    is_pair = isinstance(entry, Answer) and entry.question.kind == "pair"
    ms, (file, line) = getattr(entry, "ms", None), line_of(entry)
    return {
        "id": entry.id,
        "who": entry.annotator or "–",
        "when": say("history.line", file=file, line=line) if line else when(entry.at),
        "seconds": seconds([ms] if ms is not None else []),
        "said": said(logged),
        "ids": [str(one) for one in items_of(entry)][:12],
        "is_answer": isinstance(entry, Answer),
        "is_pair": is_pair,
        "is_same": is_pair and isinstance(entry, Answer) and entry.value == SAME,
        "note": getattr(entry, "note", ""),
        "standing": logged.is_standing,
    }
