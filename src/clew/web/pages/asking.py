"""Pages of whoever answers: the link, practice, the questions, one's own answers."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from clew.answers import BAD_ITEM, NOT_COMPARABLE, Answer, Retraction
from clew.store.base import Logged, Store
from clew.web.accounts import Person, StoreOf, person_of
from clew.web.asking import Presenter, PresenterOf
from clew.web.pages.drawing import AnnotatorAt, draw, signed_out, told
from clew.web.problems import not_found
from clew.web.results import ResultsOf, news_of
from clew.web.words import ask_strings, say, strings_of

router = APIRouter(include_in_schema=False)
#: Pairs of shapes of the practice run: the same, different, hard to tell.
PRACTICE = (("disc-1", "disc-2"), ("disc-1", "square-1"), ("square-1", "blur-1"))
#: Answers on a page of the history.
N_SHOWN = 50


@router.get("/")
def home(request: Request) -> Response:
    """Where to begin."""
    person = person_of(request)
    if person is None:
        return signed_out(request)
    start = "ask" if person.may("annotator") else "groups"
    return RedirectResponse(f"{request.app.state.settings.base_path}/{start}", 303)


@router.get("/a/{secret}")
def invite(
    request: Request, secret: str, store: StoreOf, code: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """Show what a link is for; only its button uses it up."""
    token = store.check_token(secret, "invite")
    if token is None and person_of(request) is not None:  # who came by it opens it again
        return home(request)
    settings = store.settings()
    # The owner's link from the terminal opens the first question at once.
    at_once = bool(token and token.scope.get("at_once"))
    data = {
        "token": secret if token else "",
        "code": code,
        "at_once": at_once,
        "next": "practice" if token and not at_once and token.role == "annotator" else "ask",
    }
    welcome = say("invite.welcome", project=settings.get("name") or "clew")
    return draw(
        request,
        "invite",
        welcome if token else say("invite.gone.title"),
        None,
        200 if token else 404,
        valid=token is not None,
        asks_name=token is not None and token.annotator is None,
        code=code,
        guideline=settings.get("guideline"),
        data=data,
    )


@router.get("/practice")
def practice(request: Request, person: AnnotatorAt, store: StoreOf) -> Response:
    """Three questions that do not count."""
    base = request.app.state.settings.base_path

    def shape(name: str) -> dict[str, str]:
        return {"id": name, "kind": "image", "url": f"{base}/static/practice/{name}.svg"}

    questions = [
        {
            "question_id": f"practice-{n}",
            "kind": "pair",
            "expires": "2100-01-01",
            "parts": [],
            "items": [shape(one) for one in pair],
        }
        for n, pair in enumerate(PRACTICE)
    ]
    settings = {
        "question": say("practice.question"),
        "guideline_short": say("practice.hint"),
        "guideline": store.settings().get("guideline"),
    }
    strings = ask_strings() | strings_of("practice")
    data = {"strings": strings, "settings": settings, "questions": questions}
    return draw(request, "practice", say("practice.heading"), person, data=data)


@router.get("/ask")
def ask(
    request: Request,
    person: AnnotatorAt,
    store: StoreOf,
    results: ResultsOf,
    presenter: PresenterOf,
    again: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """Ask questions; with `again` the question of an own answer first."""
    settings = store.settings()
    guideline = str(settings.get("guideline") or "")
    news = news_of(results, results.newest())
    data = {
        "strings": ask_strings(),
        "base": request.app.state.settings.base_path,
        "project": hashlib.sha256(request.app.state.settings.store.encode()).hexdigest()[:16],
        "me": person.name,
        "mayReview": person.may("reviewer"),
        "settings": {
            "question": settings.get("question") or "",
            "guideline": guideline,
            "guideline_short": guideline.strip().split("\n")[0][:160],
        },
        "progress": news["progress"],
        "answered": news["n_answered"],
        "mine": results.counts().by_annotator.get(person.name, 0),
        "again": _again(store, presenter, again, person) if again else None,
    }
    return draw(request, "ask", say("nav.ask"), person, data=data)


def _again(store: Store, presenter: Presenter, number: str, person: Person) -> dict[str, Any]:
    """Return the question of an own answer, to be answered anew: its answer is replaced."""
    logged = store.entry(number)
    if logged is None or not isinstance(logged.entry, Answer):
        raise not_found()
    if logged.entry.annotator != person.name:
        raise not_found()
    (question,) = presenter.again([logged.entry])
    return {**question, "question_id": f"@{number}", "expires": "2100-01-01", "again": True}


@router.get("/history")
def history(
    request: Request,
    person: AnnotatorAt,
    store: StoreOf,
    presenter: PresenterOf,
    before: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    show: Literal["mine", "all", "notes"] = "mine",
) -> Response:
    """Show answers and edits, the newest first; to reviewers all, or those with notes."""
    if show != "mine" and not person.may("reviewer"):
        raise not_found()
    found = store.log(
        annotator=person.name if show == "mine" else None,
        before=before,
        newest_first=True,
        limit=N_SHOWN if show != "notes" else 40 * N_SHOWN,
    )
    kept = [one for one in found if not isinstance(one.entry, Retraction)]
    if show == "notes":
        kept = [one for one in kept if _has_words(one)][:N_SHOWN]
    answers = [told(one) for one in kept]
    items = presenter.items({one for each in answers for one in each["ids"]}, size=160)
    return draw(
        request,
        "history",
        say("history.heading" if show == "mine" else f"history.heading.{show}"),
        person,
        answers=answers,
        items=items,
        show=show,
        older=found[-1].seq if show != "notes" and len(found) == N_SHOWN else None,
    )


def _has_words(logged: Logged) -> bool:
    """Whether somebody wrote a note, or flagged the question."""
    entry = logged.entry
    flags = (NOT_COMPARABLE, BAD_ITEM)
    return bool(getattr(entry, "note", "")) or (isinstance(entry, Answer) and entry.value in flags)
