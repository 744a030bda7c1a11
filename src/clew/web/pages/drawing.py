"""How a page is drawn: the template, what every page is given, and who may see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, select_autoescape

from clew.store.base import Role
from clew.web.accounts import Person, person_of
from clew.web.problems import not_found
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


def visitor(role: Role) -> Callable[[Request], Person]:
    """Return a dependency: who asks for a page, if they have a role."""

    def check(request: Request) -> Person:
        person = person_of(request)
        if person is None:
            raise SignedOutError
        if not person.may(role):
            raise not_found()
        return person

    return check


OwnerAt = Annotated[Person, Depends(visitor("owner"))]
ReviewerAt = Annotated[Person, Depends(visitor("reviewer"))]
AnnotatorAt = Annotated[Person, Depends(visitor("annotator"))]
ViewerAt = Annotated[Person, Depends(visitor("viewer"))]


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
