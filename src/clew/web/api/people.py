"""Who may come in, by which link, and the settings of a project."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field

from clew.answers import Kind
from clew.store.base import Annotator, Role
from clew.web.accounts import Owner, StoreOf, Viewer, clean_name, make_link, set_cookie, sign_in
from clew.web.asking import Body
from clew.web.problems import Problem, not_found

router = APIRouter(prefix="/api/v1", tags=["people"])


# ------------------------------------------------------------------ signing in


class SignIn(Body):
    """The secret of a link, and the name that a newcomer chose."""

    token: str = Field(min_length=1, max_length=200)
    name: str = Field("", max_length=200)
    code: str = Field("", max_length=100, description="A participant's code, of a study.")


@router.post("/sign-in")
def post_sign_in(
    body: SignIn, request: Request, response: Response, store: StoreOf
) -> dict[str, Any]:
    """Use a link up, and open a session in a cookie."""
    person, secret = sign_in(store, body.token, body.name, body.code)
    set_cookie(response, secret, request.app.state.settings)
    return {"name": person.name, "role": person.role}


@router.post("/sign-out", status_code=204)
def post_sign_out(request: Request, person: Viewer, store: StoreOf) -> Response:
    """End the session."""
    store.revoke_token(person.token.id)
    response = Response(status_code=204)
    settings = request.app.state.settings
    response.delete_cookie(settings.cookie, path=settings.cookie_path)
    return response


@router.get("/me")
def get_me(person: Viewer) -> dict[str, Any]:
    """Who asks."""
    return {"name": person.name, "role": person.role}


# ------------------------------------------------------------------ people and settings


@router.get("/people")
def get_people(_: Owner, store: StoreOf) -> dict[str, Any]:
    """Everybody who answers, with their links and sessions."""
    counts = store.counts().by_annotator
    people = [
        {
            "name": one.name,
            "kind": one.kind,
            "role": one.role,
            "is_active": one.is_active,
            "code": one.code,
            "n_answers": counts.get(one.name, 0),
        }
        for one in store.annotators()
    ]
    links = [
        {
            "id": one.id,
            "annotator": one.annotator,
            "role": one.role,
            "expires": one.expires,
            "many": bool(one.scope.get("many")),
            "code": one.scope.get("code", ""),
            "from_terminal": bool(one.scope.get("at_once")),
        }
        for one in store.tokens()
        if one.kind == "invite" and not one.is_revoked and (one.expires or 1e18) > time.time()
    ]
    return {"people": people, "links": links}


class Link(Body):
    """A link to make."""

    name: str = Field("", max_length=200, description="Whose; empty: whoever opens it says.")
    role: Role = "annotator"
    many: bool = Field(False, description="For many people, each with a name of their own.")
    code: str = Field("", max_length=100, description="A participant's code, of a study.")
    completion: str = Field(
        "", max_length=100, description="Shown when there is nothing left to ask."
    )


@router.post("/links", status_code=201)
def post_link(body: Link, request: Request, _: Owner, store: StoreOf) -> dict[str, Any]:
    """Make a link. It is shown this once; the store keeps its hash."""
    name = clean_name(body.name) if body.name else None
    if name and body.many:
        raise Problem(422, "A link for many people has no name: each chooses their own.")
    if name and store.annotator(name) is None:
        store.put_annotator(Annotator(name, role=body.role, code=body.code))
    secret = make_link(
        store,
        annotator=name,
        role=body.role,
        many=body.many,
        code=body.code,
        completion=body.completion,
    )
    base = str(request.base_url).rstrip("/")
    prefix = request.app.state.settings.base_path
    return {"url": f"{base.removesuffix(prefix)}{prefix}/a/{secret}"}


class ProgramToken(Body):
    """For which person a program answers."""

    name: str = Field(min_length=1, max_length=200)
    days: int = Field(90, ge=1, le=3650)


@router.post("/tokens", status_code=201)
def post_token(body: ProgramToken, _: Owner, store: StoreOf) -> dict[str, str]:
    """Make a token for a program, such as `clew.Client`. It is shown this once."""
    annotator = store.annotator(body.name)
    if annotator is None:
        raise not_found()
    seconds = body.days * 86400.0
    secret = store.make_token("api", annotator=body.name, role=annotator.role, seconds=seconds)
    return {"token": secret}


@router.delete("/links/{token}")
def delete_link(
    token: Annotated[str, Path(max_length=200)], _: Owner, store: StoreOf
) -> dict[str, bool]:
    """Take a link back, and end the sessions that came from it."""
    if not store.revoke_token(token):
        raise not_found()
    return {"revoked": True}


class Standing(Body):
    """What a person may do."""

    role: Role | None = None
    is_active: bool | None = None


@router.patch("/people/{name}")
def patch_person(
    name: Annotated[str, Path(max_length=200)], body: Standing, person: Owner, store: StoreOf
) -> dict[str, Any]:
    """Change what a person may do, or end their sessions for good; their answers stay."""
    found = store.annotator(name)
    if found is None:
        raise not_found()
    if name == person.name:
        raise Problem(409, "You cannot take your own rights away; ask another owner.")
    changed = replace(
        found,
        role=body.role or found.role,
        is_active=found.is_active if body.is_active is None else body.is_active,
    )
    store.put_annotator(changed)
    return {"name": changed.name, "role": changed.role, "is_active": changed.is_active}


class Settings(Body):
    """Settings of a project; null leaves what is there."""

    name: str | None = Field(None, max_length=200)
    question: str | None = Field(None, max_length=200)
    guideline: str | None = Field(None, max_length=10_000)
    kinds: list[Kind] | None = Field(None, min_length=1, max_length=5)
    overlap: int | None = Field(None, ge=1, le=20)
    show_names: bool | None = None
    n_examples: int | None = Field(
        None, ge=0, le=3, description="Most examples of its group beside one item; 0: none."
    )


@router.get("/settings", tags=["settings"])
def get_settings(_: Viewer, store: StoreOf) -> dict[str, Any]:
    """Return what people are asked, and how."""
    found = store.settings()
    return {name: found.get(name) for name in Settings.model_fields}


@router.put("/settings", tags=["settings"])
def put_settings(body: Settings, _: Owner, store: StoreOf) -> dict[str, Any]:
    """Change settings."""
    store.set_settings(body.model_dump(exclude_none=True))
    found = store.settings()
    return {name: found.get(name) for name in Settings.model_fields}
