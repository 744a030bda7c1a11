"""Pages about a project: people and links, settings, export, help, and all components."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from clew.exports import FORMS
from clew.web import charts
from clew.web.accounts import StoreOf, person_of
from clew.web.api.files import OF_PEOPLE
from clew.web.api.people import get_people
from clew.web.pages.drawing import AnnotatorAt, OwnerAt, ViewerAt, draw, group_strings
from clew.web.pages.progress import people_of
from clew.web.results import ResultsOf
from clew.web.words import ask_strings, say

router = APIRouter(include_in_schema=False)
#: Keys that may be changed, with what they do.
CHANGEABLE = (
    ("1", "1s"),
    ("2", "2d"),
    ("3", "3"),
    ("4", "4"),
    ("unsure", "0k"),
    ("undo", "u"),
    ("flag", "f"),
    ("note", "n"),
    ("zoom", "z"),
    ("sound", "a "),
    ("guide", "g"),
)
KINDS = ("pair", "odd_one_out", "triplet", "which_of", "confirm")


@router.get("/people")
def people(request: Request, person: OwnerAt, store: StoreOf, results: ResultsOf) -> Response:
    """Show people, how they answer, and links."""
    found = get_people(person, store)
    measured = {one["name"]: one for one in people_of(store, results)}
    return draw(
        request,
        "people",
        say("people.heading"),
        person,
        people=[{**measured.get(one["name"], {}), **one} for one in found["people"]],
        links=found["links"],
    )


@router.get("/settings")
def settings(request: Request, person: AnnotatorAt, store: StoreOf) -> Response:
    """Show settings: the project's to its owner, one's own to everybody."""
    return draw(
        request,
        "settings",
        say("settings.heading"),
        person,
        settings=store.settings(),
        kinds=KINDS,
        keys=CHANGEABLE,
        look=request.cookies.get("clew_theme", ""),
    )


@router.get("/export")
def export(request: Request, person: ViewerAt, results: ResultsOf) -> Response:
    """Show what can be downloaded."""
    files = [
        {
            "what": what,
            "forms": [form for form in forms if form not in ("folder", "folders")],
            "needs_result": what not in ("answers", "all"),
        }
        for what, forms in FORMS.items()
        if what not in OF_PEOPLE or person.may("reviewer")
    ]
    has_result = results.newest() is not None
    return draw(
        request,
        "settings",
        say("export.heading"),
        person,
        template="export.html",
        files=files,
        has_result=has_result,
    )


@router.get("/help")
def help_page(request: Request) -> Response:
    """Explain."""
    keys = (*CHANGEABLE, ("help", "?"))
    return draw(request, "help", say("help.heading"), person_of(request), keys=keys)


@router.get("/patterns")
def patterns(request: Request, person: ViewerAt) -> Response:
    """Show every component in every state."""
    return draw(
        request,
        "patterns",
        say("patterns.heading"),
        person,
        data={"strings": {**ask_strings(), **group_strings()}},
        chart=charts.remaining_chart(312, 90, 140, 220, "312 answered; 140 more"),
        interval=charts.interval_chart(93, 82, 98, "93 of 100"),
        bars=charts.bars_chart([("Pairs", 291), ("Odd one out", 21)], "Answers by kind"),
    )


@router.get("/patterns/ask")
def pattern_of_ask(request: Request, person: ViewerAt) -> Response:
    """Show one kind of question, or one state of the asking page."""
    data = {"strings": ask_strings()}
    return draw(request, "ask", say("patterns.heading"), person, template="pattern.html", data=data)
