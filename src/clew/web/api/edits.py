"""Changes that people make to groups and to answers, and what each would do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Response
from pydantic import Field

from clew.answers import (
    DIFFERENT,
    SAME,
    Answer,
    Edit,
    Entry,
    Retraction,
    brought_back,
    entry_to_json,
    new_id,
    now,
)
from clew.store.base import Store
from clew.web.accounts import Person, Reviewer, StoreOf
from clew.web.asking import SOURCE, Body, logged_json
from clew.web.problems import Problem, not_found
from clew.web.results import Results, ResultsOf, View

router = APIRouter(prefix="/api/v1", tags=["edits"])
#: The worker has this long to answer a preview before the page polls for it.
PREVIEW_SECONDS = 4.0


class OneEdit(Body):
    """A change of groups."""

    kind: Literal["merge", "split", "move", "lock", "not_in", "set_aside"]
    items: list[str] = Field(min_length=1, max_length=5000)
    target: list[str] = Field([], max_length=5000)
    note: str = Field("", max_length=4000)
    submission_id: str | None = Field(None, pattern="^[0-9a-f]{32}$")


class EditRequest(OneEdit):
    """A change of groups by a person."""

    base_revision: int | None = Field(None, description="Revision that the person saw.")
    preview: bool = False


class Edits(Body):
    """Changes of groups that belong together, such as a merge of several."""

    edits: list[OneEdit] = Field(min_length=1, max_length=200)
    base_revision: int | None = Field(None, description="Revision that the person saw.")


@router.post("/edits")
def post_edit(
    body: EditRequest, person: Reviewer, store: StoreOf, results: ResultsOf, response: Response
) -> dict[str, Any]:
    """Apply an edit, or say what it would do. It survives new groupings; DELETE revokes it."""
    if body.preview:
        _check_items(store, [body])
        arguments = {
            "kind": body.kind, "items": body.items, "target": body.target,
            "annotator": person.name,  # whose errors are known, and with them the weight
        }  # fmt: skip
        return _asked(store, "preview", arguments, person, response)
    return _applied(store, results, person, [body], body.base_revision)[0]


@router.post("/edits:all")
def post_edits(
    body: Edits, person: Reviewer, store: StoreOf, results: ResultsOf
) -> dict[str, list[dict[str, str]]]:
    """Apply several edits: all of them or none."""
    return {"edits": _applied(store, results, person, body.edits, body.base_revision)}


def _applied(
    store: Store, results: Results, person: Person, asked: Sequence[OneEdit], base: int | None
) -> list[dict[str, str]]:
    """Append edits in one transaction; return what became of each."""
    _check_items(store, asked)
    view = results.newest()
    if view is not None and base is not None and base < view.stored.revision:
        seen = store.result(base)  # the last ten results are kept
        if seen is None or _has_changed(asked, View(seen), view):
            raise Problem(
                409, "These groups have changed since you looked. Look again before it is done."
            )
    known = store.entries_by_id([one.submission_id for one in asked if one.submission_id])
    if 0 < len(known) < len(asked):
        raise Problem(409, "Some of these edits are in the log already, and others are not.")
    edits = [
        Edit(
            one.kind, one.items, one.target, person.name, id=one.submission_id or new_id(),
            at=now(), source=SOURCE, note=one.note,
        )
        for one in asked
    ]  # fmt: skip
    statuses = store.append(edits)
    return [{"status": one, "id": edit.id} for one, edit in zip(statuses, edits, strict=True)]


def _has_changed(edits: Sequence[OneEdit], seen: View, now: View) -> bool:
    """Whether an item of an edit has another group, or a group that is merged other items."""
    for edit in edits:
        names = [*edit.items, *edit.target]
        groups = {seen.group_of.get(name) for name in names}
        if any(seen.group_of.get(name) != now.group_of.get(name) for name in names) or (
            edit.kind == "merge"
            and any(
                set(seen.members.get(one, ())) != set(now.members.get(one, ()))
                for one in groups
                if one is not None
            )
        ):
            return True
    return False


def _check_items(store: Store, edits: Sequence[OneEdit]) -> None:
    """Refuse edits of unknown items."""
    named = dict.fromkeys(name for one in edits for name in (*one.items, *one.target))
    if set(named) - set(store.items_by_id(named)):
        raise not_found()


class Ids(Body):
    """Ids of entries."""

    ids: list[str] = Field(min_length=1, max_length=200)


@router.post("/edits:revoke")
def post_revoke(body: Ids, person: Reviewer, store: StoreOf) -> dict[str, list[str]]:
    """Take edits or answers back: all of them or none. Those that do not stand stay as they are."""
    found = store.entries_by_id(body.ids)
    if set(body.ids) - set(found):
        raise not_found()
    standing = [one for one in dict.fromkeys(body.ids) if found[one].is_standing]
    entries = [Retraction(one, person.name, new_id(), now(), SOURCE) for one in standing]
    return {"statuses": list(store.append(entries))}


class Items(Body):
    """Items by their ids."""

    items: list[str] = Field(min_length=1, max_length=5000)


@router.post("/items:restore", tags=["edits"])
def post_restore(body: Items, person: Reviewer, store: StoreOf) -> dict[str, list[str]]:
    """Bring items back that were set aside; what was set aside with them stays so."""
    log = (logged.entry for logged in store.log(items=body.items, only_standing=True))
    entries = brought_back(log, body.items, person.name, SOURCE)
    return {"statuses": list(store.append(entries))}


# ------------------------------------------------------------------ doubtful answers


class Fix(Body):
    """What should happen with a doubtful answer, or with the edit that it came from."""

    entry: str = Field(max_length=64)
    fix: Literal["retract", "opposite", "same", "aside", "ask"]
    who: str = Field("", max_length=200, description="Whom to ask, for the fix ask.")
    preview: bool = False


@router.post("/review")
def post_review(body: Fix, person: Reviewer, store: StoreOf, response: Response) -> dict[str, Any]:
    """Take an answer back, correct it, keep it, ask somebody else, or set its items aside."""
    logged = store.entry(body.entry)
    if logged is None or isinstance(logged.entry, Retraction):
        raise not_found()
    if body.fix == "ask":
        return _asked_else(store, logged.entry, body.who)
    entry = _fixed(logged.entry, body.fix, person.name)
    if body.preview:
        return _asked(store, "preview", {"entry": entry_to_json(entry)}, person, response)
    return {"statuses": list(store.append([entry]))}


def _asked_else(store: Store, entry: Entry, who: str) -> dict[str, Any]:
    """Have somebody else answer the same question next."""
    annotator = store.annotator(who)
    if not isinstance(entry, Answer) or annotator is None or not annotator.is_active:
        raise not_found()
    if who == entry.annotator:
        raise Problem(422, f"{who} has answered this question; ask somebody else.")
    return {"statuses": ["asked" if store.ask_of(who, entry.question) else "duplicate"]}


def _fixed(entry: Answer | Edit, fix: str, name: str) -> Entry:
    """Return the entry that mends a doubtful one; all but "same" take that one back."""
    number, at = new_id(), now()
    if fix == "retract":
        return Retraction(entry.id, name, number, at, SOURCE)
    if not isinstance(entry, Answer):
        raise Problem(422, f"An edit is taken back, or left; {fix} is for answers.")
    if fix == "aside":
        ids = list(map(str, entry.question.ids or ()))
        return Edit("set_aside", ids, (), name, id=number, at=at, source=SOURCE, revokes=entry.id)
    if entry.question.kind != "pair":
        raise Problem(422, f"Only an answer about a pair has an opposite; {fix} is for pairs.")
    is_same = (entry.value == SAME) == (fix == "same")
    return Answer(
        entry.question, SAME if is_same else DIFFERENT, name, origin="imported", id=number, at=at,
        source=SOURCE, revokes=None if fix == "same" else entry.id,
    )  # fmt: skip


# ------------------------------------------------------------------ jobs of the worker


def _asked(
    store: Store, kind: str, arguments: dict[str, Any], person: Person, response: Response
) -> dict[str, Any]:
    """Ask the worker, and wait for a while; 202 if it has not answered by then."""
    job = store.add_job(kind, arguments, annotator=person.name)
    reply = _reply_of(store, job, wait=PREVIEW_SECONDS)
    response.status_code = 200 if reply["status"] in ("done", "failed") else 202
    return reply


def _reply_of(store: Store, number: int, *, wait: float = 0.0) -> dict[str, Any]:
    end = time.monotonic() + wait
    job = store.job(number)
    while job is not None and job.status in ("waiting", "running") and time.monotonic() < end:
        time.sleep(0.02)
        job = store.job(number)
    if job is None:
        raise not_found()
    result = job.result
    if job.kind == "preview" and isinstance(result, dict):
        result = {**result, "contradicts": [_against(store, one) for one in result["contradicts"]]}
    reply = {"job": job.id, "kind": job.kind, "status": job.status}
    return {**reply, "result": result, "error": job.error}


def _against(store: Store, contradiction: dict[str, Any]) -> dict[str, Any]:
    """Name who gave the last answer of a chain that an edit contradicts."""
    answers: Sequence[Any] = contradiction.get("answers") or ()
    for number in reversed(answers):
        logged = store.entry(number) if isinstance(number, str) else None
        if logged is not None:
            said = logged_json(logged).get("answer")
            who = {"annotator": logged.entry.annotator, "at": logged.entry.at, "said": said}
            return {**contradiction, **who}
    return contradiction


@router.get("/jobs/{job}")
def get_job(
    job: Annotated[int, Path(ge=0, le=2**53)], _: Reviewer, store: StoreOf
) -> dict[str, Any]:
    """Say what became of work that the worker was asked for."""
    return _reply_of(store, job)


class Recluster(Body):
    """What to compute anew."""

    group: int | None = Field(
        None, ge=0, le=2**31, description="Split this group alone; None: all."
    )
    leave_out: str | None = Field(
        None, max_length=200, description="As if this person had not answered."
    )


@router.post("/recluster", status_code=202)
def post_recluster(
    body: Recluster, person: Reviewer, store: StoreOf, results: ResultsOf
) -> dict[str, Any]:
    """Ask the worker to compute groups anew."""
    kind, arguments = "recluster", dict[str, Any]()
    if body.group is not None:
        view = results.newest()
        if view is None or body.group not in view.members:
            raise not_found()
        kind, arguments = "resplit", {"group": body.group}
    elif body.leave_out is not None:
        if store.annotator(body.leave_out) is None:
            raise not_found()
        kind, arguments = "leave_out", {"annotator": body.leave_out}
    return _reply_of(store, store.add_job(kind, arguments, annotator=person.name))
