"""Who asks: one-time links, the session's cookie, tokens of programs, and roles.

A link holds a secret of 128 bits. Whoever opens it sees a page; only its button uses the link up,
so that a program that looks at links in messages does not. The session that it opens lives in a
cookie that scripts cannot read; the store keeps hashes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request, Response

from clew.store.base import Annotator, Role, Store, Token
from clew.web.problems import Problem, not_found
from clew.web.settings import WebSettings

#: Each role may do what those after it may.
ROLES: Final[tuple[Role, ...]] = ("owner", "reviewer", "annotator", "viewer")
SESSION_SECONDS: Final = 90 * 24 * 3600.0
INVITE_SECONDS: Final = 14 * 24 * 3600.0
MAX_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Person:
    """Who sends a request."""

    name: str
    role: Role
    token: Token

    def may(self, role: Role) -> bool:
        """Whether they have a role, or one that may more."""
        return ROLES.index(self.role) <= ROLES.index(role)


async def store_of(request: Request) -> Store:
    """Return the store of the app; async, as what does not wait needs no thread of its own."""
    store: Store = request.app.state.store
    return store


StoreOf = Annotated[Store, Depends(store_of)]


def person_of(request: Request) -> Person | None:
    """Return who sends a request, by the cookie or by a program's token; None if nobody known."""
    state = request.app.state
    return person_in(state.store, state.settings, request)


def person_in(store: Store, settings: WebSettings, request: Request) -> Person | None:
    """Return who sends a request, in one of several projects."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    if scheme.casefold() == "bearer" and bearer:
        token = store.check_token(bearer.strip(), "api")
    else:
        secret = request.cookies.get(settings.cookie, "")
        token = store.check_token(secret, "session") if secret else None
    if token is None or token.annotator is None:
        return None
    annotator = store.annotator(token.annotator)
    if annotator is None or not annotator.is_active:
        return None
    return Person(annotator.name, annotator.role, token)


def session_ended() -> Problem:
    """Return the failure for whoever is not signed in."""
    return Problem(401, "Your session has ended. Open your link again, or ask for a new one.")


def needs(
    role: Role, nobody: Callable[[], Exception] = session_ended
) -> Callable[[Request], Person]:
    """Return a dependency: the person, if they have a role; `nobody` makes the other failure."""

    def check(request: Request) -> Person:
        person = person_of(request)
        if person is None:
            raise nobody()
        if not person.may(role):
            raise not_found()
        return person

    return check


Viewer = Annotated[Person, Depends(needs("viewer"))]
AnnotatorOf = Annotated[Person, Depends(needs("annotator"))]
Reviewer = Annotated[Person, Depends(needs("reviewer"))]
Owner = Annotated[Person, Depends(needs("owner"))]


def clean_name(name: str) -> str:
    """Check a name that a person gives themselves."""
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise Problem(422, f"A name has 1 to {MAX_NAME} characters.")
    return name


def make_link(
    store: Store,
    *,
    annotator: str | None,
    role: Role,
    many: bool = False,
    code: str = "",
    completion: str = "",
    seconds: float = INVITE_SECONDS,
) -> str:
    """Make the secret of a link, for one person or for whoever has it."""
    scope = {"many": many, "code": code, "completion": completion}
    return store.make_token("invite", annotator=annotator, role=role, seconds=seconds, scope=scope)


def sign_in(store: Store, secret: str, name: str = "", code: str = "") -> tuple[Person, str]:
    """Use a link, with a participant's `code` if any: return the person and a session's secret."""
    invite = store.check_token(secret, "invite")
    if invite is None:
        raise Problem(
            404, "This link has been used, has run out or was taken back. Ask for a new one."
        )
    if invite.annotator is not None:
        found = store.annotator(invite.annotator)
        annotator = found or Annotator(invite.annotator, role=invite.role)
        if found is None:
            store.put_annotator(annotator)
    else:
        code, name = code or str(invite.scope.get("code", "")), clean_name(name)
        if name.casefold() in {one.name.casefold() for one in store.annotators()}:
            raise Problem(409, f"There is a {name} already; choose another name.")
        annotator = Annotator(name, role=invite.role, code=code)
        store.put_annotator(annotator)
    is_many = bool(invite.scope.get("many"))
    session = store.make_token(
        "session",
        annotator=annotator.name,
        role=annotator.role,
        seconds=SESSION_SECONDS,
        parent=invite.id if is_many else None,
        scope={"invite": invite.id, "completion": invite.scope.get("completion", "")},
    )
    if not is_many:
        store.revoke_token(invite.id)
    token = store.check_token(session, "session")
    if token is None:
        raise Problem(403, f"{annotator.name} may not answer any more.")
    return Person(annotator.name, annotator.role, token), session


def set_cookie(response: Response, secret: str, settings: WebSettings) -> None:
    """Put a session into a cookie that scripts and other sites cannot read."""
    response.set_cookie(
        settings.cookie, secret, max_age=int(SESSION_SECONDS), path=settings.cookie_path,
        secure=settings.is_https, httponly=True, samesite="lax",
    )  # fmt: skip
