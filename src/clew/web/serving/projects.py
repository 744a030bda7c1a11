"""Several projects that one process serves, each below its own path, and their list at ``/``.

Each project is an app of its own, with its own store, people and cookie. The list shows a visitor
the projects whose cookie they have; of one only, it goes there.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any
from unicodedata import normalize

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from starlette.types import Receive, Scope, Send

from clew.web import charts
from clew.web.accounts import Person, person_in, set_cookie, sign_in
from clew.web.api.people import SignIn
from clew.web.pages.drawing import draw, signed_out, when
from clew.web.problems import Problem
from clew.web.results import remaining_of
from clew.web.serving.app import create_app, shell
from clew.web.settings import WebSettings
from clew.web.words import say

router = APIRouter(include_in_schema=False)


def paths_of(names: Iterable[str]) -> list[str]:
    """Return the paths of projects, made of their names; no two are equal."""
    paths: list[str] = []
    for name in names:
        plain = re.sub(r"[\u0300-\u036f]", "", normalize("NFKD", name.casefold()))
        word = re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "project"
        same = [word, *(f"{word}-{n}" for n in range(2, len(paths) + 3))]
        paths.append(next(f"/p/{one}" for one in same if f"/p/{one}" not in paths))
    return paths


class Projects:
    """An ASGI app of projects below `home`; `invites` has a link of each, used as one link."""

    def __init__(self, projects: Sequence[WebSettings], invites: Sequence[str] = ()) -> None:
        first = projects[0]
        self._base = first.home or ""
        self.home = shell(replace(first, base_path=self._base, home=None), router)
        self.apps = [create_app(settings) for settings in projects]
        self.secret = secrets.token_hex(16)
        self.home.state.store, self.home.state.projects = None, self.apps
        self.home.state.links = {self.secret: list(invites)} if invites else {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to the project below whose path it is, or else to the list."""
        if scope["type"] == "lifespan":
            await FastAPI(lifespan=self._life)(scope, receive, send)
            return
        path = scope["path"]
        if self._base and path != self._base and not path.startswith(f"{self._base}/"):
            path = self._base + path  # a proxy has cut it off
        for app in self.apps:
            base = app.state.settings.base_path
            if path == base or path.startswith(f"{base}/"):
                await app({**scope, "path": path}, receive, send)
                return
        await self.home(scope, receive, send)

    @asynccontextmanager
    async def _life(self, _: FastAPI) -> Any:
        """Open all stores, and close them at the end."""
        async with AsyncExitStack() as stack:
            for app in self.apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield


@router.get("/")
def projects(request: Request) -> Response:
    """List the projects that a visitor may see; of one, go there."""
    found = [(app, person) for app in request.app.state.projects if (person := seen(app, request))]
    if not found:
        return signed_out(request)
    if len(found) == 1:
        return RedirectResponse(f"{found[0][0].state.settings.base_path}/", 303)
    told = [told_of(app, person) for app, person in found]
    return draw(request, "projects", say("projects.heading"), None, projects=told)


def seen(app: FastAPI, request: Request) -> Person | None:
    """Return who a visitor is in a project."""
    return person_in(app.state.store, app.state.settings, request)


def told_of(app: FastAPI, person: Person) -> Mapping[str, Any]:
    """Return what the list says of a project."""
    state = app.state
    counts, view = state.results.counts(), state.results.newest()
    left, last = remaining_of(view), state.store.log(newest_first=True, limit=1)
    chart = ""
    if left:
        numbers = {key: int(left[key]) for key in ("answered", "low", "median", "high")}
        chart = charts.remaining_chart(**numbers, label=say("progress.left.label", **left))
    return {
        "name": state.store.settings().get("name") or "clew",
        "path": state.settings.base_path,
        "n_items": counts.n_items,
        "n_answers": counts.n_answers,
        "left": left,
        "is_enough": bool(view and view.is_enough),
        "chart": chart,
        "when": when(last[0].entry.at) if last else "",
        "asks": person.may("annotator"),
    }


@router.get("/a/{secret}")
def invite(request: Request, secret: str) -> Response:
    """Show what the link from the terminal is for; its page uses it up at once."""
    valid = secret in request.app.state.links
    if not valid and any(seen(app, request) for app in request.app.state.projects):
        return projects(request)
    return draw(
        request,
        "invite",
        say("invite.welcome", project="clew") if valid else say("invite.gone.title"),
        None,
        200 if valid else 404,
        valid=valid,
        data={"token": secret if valid else "", "code": "", "at_once": valid, "next": ""},
    )


@router.post("/api/v1/sign-in")
def post_sign_in(body: SignIn, request: Request, response: Response) -> dict[str, int]:
    """Use the link from the terminal up, and open a session in each project."""
    state = request.app.state
    invites = state.links.pop(body.token, None)
    if invites is None:
        raise Problem(404, say("invite.gone"))
    for app, secret in zip(state.projects, invites, strict=True):
        _, session = sign_in(app.state.store, secret)
        set_cookie(response, session, app.state.settings)
    return {"n_projects": len(invites)}
