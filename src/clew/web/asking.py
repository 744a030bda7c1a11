"""Questions out and answers in: records of clew as the JSON of the asking page, and back.

What the page is told of a question is its kind and its items. Why it was chosen, whether it is a
check or a repeat, and what the model expects stay here; they are found again by the lease's token.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from clew.answers import (
    Answer,
    Entry,
    Kind,
    Question,
    Retraction,
    entry_from_json,
    entry_to_json,
    now,
)
from clew.exceptions import ClewError
from clew.items import Item
from clew.store.base import Lease, Logged, Store
from clew.web.problems import Problem, not_found

SOURCE: Final = "clew serve"
#: Pixels of the longer side of a picture that is shown small.
SMALL: Final = 400
#: Longest text of an item that a page is given.
MAX_TEXT: Final = 20_000


class Body(BaseModel):
    """JSON that a request holds; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class LeaseRequest(Body):
    """Ask for questions."""

    n: int = Field(4, ge=0, le=100, description="How many to hold, those on the screen included.")
    kinds: list[Kind] | None = Field(None, description="None: those of the project.")
    keep: list[str] = Field([], max_length=100, description="Tokens that are on the screen.")
    have: list[str] = Field([], max_length=200, description="Tokens whose items are here already.")


class GivenAnswer(Body):
    """One answer, or with `revokes` the retraction of one."""

    submission_id: str = Field(
        pattern="^[0-9a-f]{32}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        description="A UUID made at the key press: sent again, it is the same answer.",
    )
    question_id: str | None = Field(
        None, max_length=200, description="The question's token, or @ and the id of an answer."
    )
    answer: str | int | list[str] | None = Field(
        None,
        description="same, different, dont_know, all_alike, none_of_these, not_comparable, "
        "bad_item; an item by its id or its position among `items`; a group by its number from 0; "
        "the ids of those that do not belong.",
    )
    order: list[str] = Field([], max_length=64, description="Ids in the order shown.")
    ms: int | None = Field(None, ge=0, le=10**9, description="From painted to pressed.")
    note: str = Field("", max_length=4000)
    bad: list[str] = Field([], max_length=64, description="Which items are bad.")
    revokes: str | None = Field(None, max_length=64, description="Id of the answer to take back.")


class AnswersRequest(Body):
    """Answers of one person, and a wish for further questions: one transaction."""

    answers: list[GivenAnswer] = Field(max_length=200)
    n: int | None = Field(None, ge=0, le=100, description="Questions to hold then; None: no more.")
    kinds: list[Kind] | None = None
    keep: list[str] = Field([], max_length=100)
    have: list[str] = Field([], max_length=200)


class AnswerResult(BaseModel):
    """What became of an answer."""

    submission_id: str
    status: str = Field(description="stored, duplicate, superseded, expired, conflict or refused")
    detail: str = ""


# ------------------------------------------------------------------ items and questions


def media_url(base: str, item_id: str, **query: Any) -> str:
    """Return the address of an item's media."""
    more = "&".join(f"{name}={value}" for name, value in query.items())
    return f"{base}/api/v1/media/{quote(item_id, safe='')}" + (f"?{more}" if more else "")


def item_json(item: Item, base: str, *, size: int, text: str | None, name: bool) -> dict[str, Any]:
    """Return what a page may know about an item."""
    shown: dict[str, Any] = {"id": item.id, "kind": item.kind}
    if item.kind == "image":
        shown["url"] = media_url(base, item.id, size=size)
    elif item.kind == "sound":
        shown["url"] = media_url(base, item.id, size="spectrogram")
        shown["sound"] = media_url(base, item.id, size="full")
    elif item.kind == "text":
        shown["text"] = (text if text is not None else item.text or "")[:MAX_TEXT]
    else:
        columns = item.columns or {"id": item.id}
        shown["columns"] = [[str(k), "" if v is None else str(v)] for k, v in columns.items()]
    if name:
        when = item.meta.get("date") or item.meta.get("time") or ""
        shown["name"] = " · ".join(str(one) for one in (item.path or item.id, when) if one)
    return shown


class Presenter:
    """Turns questions into JSON; `text_of` reads the text of an item that lies in a file."""

    def __init__(self, store: Store, text_of: Callable[[Item], str], base: str) -> None:
        self._store, self._text_of, self._base = store, text_of, base

    def items(
        self, ids: Collection[str], *, size: int = 1024, name: bool = False
    ) -> dict[str, Any]:
        """Return items by their ids."""
        found = self._store.items_by_id(ids) if ids else {}
        return {
            one.id: item_json(one, self._base, size=size, text=self._text(one), name=name)
            for one in found.values()
        }

    def _text(self, item: Item) -> str | None:
        if item.kind != "text" or item.text is not None:
            return None
        try:
            return self._text_of(item)
        except (OSError, ClewError):
            return ""

    def questions(self, leases: Sequence[Lease], *, name: bool) -> list[dict[str, Any]]:
        """Return leased questions."""
        drawn = self._drawn([lease.question for lease in leases], name=name)
        return [
            {
                "question_id": lease.token,
                "expires": datetime.fromtimestamp(lease.expires, UTC).isoformat(),
                **question,
            }
            for lease, question in zip(leases, drawn, strict=True)
        ]

    def again(self, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """Return the questions of answers, with their items in the order of before."""
        drawn = self._drawn([answer.question for answer in answers], name=False)
        for answer, question in zip(answers, drawn, strict=True):
            ids = [one["id"] for one in question["items"]]
            question["order"] = [ids.index(str(one)) for one in answer.shown or ids]
        return drawn

    def _drawn(self, questions: Sequence[Question], *, name: bool) -> list[dict[str, Any]]:
        """Return questions; an item that is gone is named only, and an example left out."""
        items = self.items({str(one) for each in questions for one in each.ids or ()}, name=name)
        small = self.items({str(one) for each in questions for one in each.examples}, size=SMALL)
        return [
            {
                "kind": each.kind,
                "items": [
                    items.get(one, {"id": one, "kind": "text", "text": ""})
                    for one in map(str, each.ids or ())
                ],
                "parts": list(each.parts),
                "examples": [small[one] for one in map(str, each.examples) if one in small],
            }
            for each in questions
        ]


async def presenter_of(request: Request) -> Presenter:
    """Return the presenter of the app."""
    presenter: Presenter = request.app.state.presenter
    return presenter


PresenterOf = Annotated[Presenter, Depends(presenter_of)]


def logged_json(logged: Logged) -> dict[str, Any]:
    """Return an entry of the log as its line, with its number."""
    record: dict[str, Any] = json.loads(entry_to_json(logged.entry))
    return {"seq": logged.seq, "standing": logged.is_standing, **record}


# ------------------------------------------------------------------ answers


def entry_of(store: Store, given: GivenAnswer, name: str, batch: Mapping[str, Question]) -> Entry:
    """Return the entry of an answer; refuse one whose question is not this person's."""
    number = given.submission_id.replace("-", "")
    if given.revokes is not None:
        target = given.revokes.replace("-", "")
        if target not in batch:
            _own(store.entry(target), name)
        return Retraction(target, name, number, now(), SOURCE)
    if given.question_id is None or given.answer is None:
        raise Problem(422, "An answer has a question_id and an answer, or it revokes one.")
    question = _question(store, given.question_id, name, batch)
    ids = [str(one) for one in question.ids or ()]
    if given.order and sorted(given.order) != sorted(ids):
        raise Problem(422, "order holds the ids of the question's items, each once.")
    record = {
        "version": 1, "id": number, "kind": question.kind, "items": ids,
        "shown": given.order or ids, "answer": given.answer, "annotator": name, "ms": given.ms,
        "time": now(), "origin": question.origin, "revokes": None, "source": SOURCE,
        "note": given.note, "bad": given.bad, "repeat": question.repeat, "check": question.check,
        "parts": list(question.parts), "examples": list(question.examples),
    }  # fmt: skip
    return entry_from_json(record)


def _question(store: Store, token: str, name: str, batch: Mapping[str, Question]) -> Question:
    if token.startswith("@"):
        number = token[1:].replace("-", "")
        if number in batch:
            return batch[number]
        entry = _own(store.entry(number), name).entry
        if not isinstance(entry, Answer):
            raise not_found()
        return entry.question
    lease = store.find_lease(token)
    if lease is None or lease.annotator != name:
        raise Problem(404, "This question is not yours, or was given out more than a week ago.")
    return lease.question


def _own(logged: Logged | None, name: str) -> Logged:
    if logged is None or logged.entry.annotator != name:
        raise not_found()
    return logged


def entries_of(
    store: Store, answers: Sequence[GivenAnswer], name: str
) -> tuple[list[Entry], list[AnswerResult | None]]:
    """Entries of a request, and why answers are refused: a bad one does not hold the others up."""
    entries: list[Entry] = []
    results: list[AnswerResult | None] = []
    batch: dict[str, Question] = {}
    for given in answers:
        try:
            entry = entry_of(store, given, name, batch)
        except (Problem, ClewError, ValueError) as error:
            detail = str(getattr(error, "detail", error))
            number = given.submission_id
            results.append(AnswerResult(submission_id=number, status="refused", detail=detail))
        else:
            entries.append(entry)
            results.append(None)
            if isinstance(entry, Answer):
                batch[entry.id] = entry.question
    return entries, results
