"""Doubtful answers, each with the chain that it contradicts and what may be done about it."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from clew.answers import SAME, Answer, expand
from clew.exports import Doubt
from clew.store.base import Logged, Store
from clew.web.accounts import StoreOf
from clew.web.asking import PresenterOf
from clew.web.pages.drawing import ReviewerAt, draw, told
from clew.web.results import ResultsOf, title_of
from clew.web.words import say

router = APIRouter(include_in_schema=False)
#: Cases in the list.
N_CASES = 60
#: What is said otherwise of one's own answers.
OWN = ("opposite", "same", "retract")


@router.get("/review")
def review(
    request: Request,
    person: ReviewerAt,
    store: StoreOf,
    results: ResultsOf,
    presenter: PresenterOf,
    case: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """Show doubtful answers, each with the chain that it contradicts."""
    doubts = results.doubts()[:N_CASES]
    if not doubts:
        return draw(request, "review", say("review.heading"), person, cases=[], case=None)
    at = next((i for i, one in enumerate(doubts) if one.entry.id == case), 0)
    doubt, answer = doubts[at], _case(doubts[at])
    chain = list(doubt.chain or answer["ids"])
    links = [store.entry(number) for number in doubt.chain_entries]
    items = presenter.items(list(dict.fromkeys(chain)), size=400)
    return draw(
        request,
        "review",
        say("review.contradiction" if doubt.chain else "review.unlikely"),
        person,
        cases=[_case(one) for one in doubts],
        case=answer | (_of_pair(doubt.logged, chain[0], chain[-1]) if doubt.chain else {}),
        chain=[items[one] for one in chain if one in items],
        links=[
            told(link) | _of_pair(link, one, other)
            for link, (one, other) in zip(links, pairwise(chain), strict=False)
            if link is not None
        ],
        fixes=_fixes(answer, person.name),
        is_own=answer["who"] == person.name,
        others=_others(store, doubt),
        wanted=_asked(store, doubt),
        names=results.names() | {-1: title_of(-1)},
        later=doubts[(at + 1) % len(doubts)].entry.id,
    )


def _of_pair(logged: Logged, one: str, other: str) -> dict[str, Any]:
    """Return what an answer of any kind says of two items of a chain; nothing of an edit."""
    entry = logged.entry
    if not isinstance(entry, Answer):
        return {}
    ids = entry.question.ids or ()
    for i, j, value, _ in expand(entry):
        if {str(ids[i]), str(ids[j])} == {one, other}:
            name = "same" if value == SAME else "different"
            return {"is_same": value == SAME, "said": say(f"history.said.{name}")}
    return {}


def _case(doubt: Doubt) -> dict[str, Any]:
    answer = told(doubt.logged)
    kind = "contradiction" if doubt.chain else "unlikely"
    return {
        **answer,
        "reason": say(f"review.{kind}.short"),
        "p": min(round(100 * doubt.p_wrong), 99),
    }


def _fixes(answer: dict[str, Any], reviewer: str) -> list[dict[str, str]]:
    """Return what may be done: an answer about a pair has an opposite, an edit has no question."""
    own = ".own" if answer["who"] == reviewer else ""
    names = ["opposite", "same"] if answer["is_pair"] else []
    names += ["retract", "aside", "ask"] if answer["is_answer"] else ["retract"]
    values = {
        "who": answer["who"],
        "same": answer["said"],
        "other": say("history.said.different" if answer["is_same"] else "history.said.same"),
    }
    return [
        {
            "name": name,
            "title": say(f"review.fix.{name}"),
            "go": say(f"review.go.{name}", who=""),
            "text": say(f"review.fix.{name}.text{own * (name in OWN)}", **values),
        }
        for name in names
    ]


def _others(store: Store, doubt: Doubt) -> list[str]:
    """Return who else may be asked, those with most answers first."""
    counts = store.counts().by_annotator
    others = [
        one.name
        for one in store.annotators()
        if one.kind == "person" and one.is_active and one.role != "viewer"
        and one.name != doubt.entry.annotator
    ]  # fmt: skip
    return sorted(others, key=lambda name: -counts.get(name, 0))


def _asked(store: Store, doubt: Doubt) -> list[str]:
    """Return who was asked the same question, and has not answered yet."""
    if not isinstance(doubt.entry, Answer):
        return []
    question = doubt.entry.question
    return [
        lease.annotator
        for lease in store.wanted()
        if (lease.question.kind, lease.question.ids) == (question.kind, question.ids)
    ]
