"""``/api/v1``: all that the pages, `clew.Client` and other programs can do."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import Field

from clew.answers import Answer, Edit, Kind, Retraction, new_id, now
from clew.exports import doubt_records, doubts_of
from clew.store import warm_up
from clew.store.base import Annotator, Lease, Role, Store
from clew.web.accounts import (
    AnnotatorOf,
    Owner,
    Person,
    Reviewer,
    StoreOf,
    Viewer,
    clean_name,
    make_link,
    set_cookie,
    sign_in,
)
from clew.web.asking import (
    SOURCE,
    AnswerResult,
    AnswersRequest,
    Body,
    LeaseRequest,
    Presenter,
    entries_of,
    logged_json,
    state_of,
    warms_up,
)
from clew.web.problems import Problem, not_found
from clew.web.results import Results, View, remaining_of
from clew.web.security import COOKIE
from clew.web.words import say

router = APIRouter(prefix="/api/v1")
#: Free questions that the web process draws at random while there is no model yet.
N_WARM_UP = 24
#: The worker has this long to answer a preview before the page polls for it.
PREVIEW_SECONDS = 4.0


def _results(request: Request) -> Results:
    results: Results = request.app.state.results
    return results


def _presenter(request: Request) -> Presenter:
    presenter: Presenter = request.app.state.presenter
    return presenter


ResultsOf = Annotated[Results, Depends(_results)]
PresenterOf = Annotated[Presenter, Depends(_presenter)]
ItemId = Annotated[str, Path(max_length=2000)]
EntryId = Annotated[str, Path(max_length=64)]
GroupId = Annotated[int, Path(ge=-1, le=2**31)]


# ------------------------------------------------------------------ signing in


class SignIn(Body):
    """The secret of a link, and the name that a newcomer chose."""

    token: str = Field(min_length=1, max_length=200)
    name: str = Field("", max_length=200)


@router.post("/sign-in", tags=["people"])
def post_sign_in(
    body: SignIn, request: Request, response: Response, store: StoreOf
) -> dict[str, Any]:
    """Use a link up, and open a session in a cookie."""
    person, secret = sign_in(store, body.token, body.name)
    settings = request.app.state.settings
    set_cookie(response, secret, path=settings.base_path, is_https=settings.is_https)
    return {"name": person.name, "role": person.role}


@router.post("/sign-out", tags=["people"], status_code=204)
def post_sign_out(request: Request, person: Viewer, store: StoreOf) -> Response:
    """End the session."""
    store.revoke_token(person.token.id)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path=request.app.state.settings.base_path or "/")
    return response


@router.get("/me", tags=["people"])
def get_me(person: Viewer) -> dict[str, Any]:
    """Who asks."""
    return {"name": person.name, "role": person.role}


# ------------------------------------------------------------------ questions and answers


def _served(
    store: Store,
    leases: tuple[Lease, ...],
    have: list[str],
    person: Person,
    results: Results,
    presenter: Presenter,
) -> dict[str, Any]:
    """Return what a page needs to go on."""
    view, counts, settings = results.newest(), store.counts(), store.settings()
    fresh = [lease for lease in leases if lease.token not in set(have)]
    behind = max(0, counts.last_seq - view.stored.revision) if view else 0
    reply: dict[str, Any] = {
        "questions": presenter.questions(fresh, name=bool(settings.get("show_names"))),
        "held": [lease.token for lease in leases],
        "n_answered": counts.n_answers,
        "progress": remaining_of(view),
        "behind": behind if behind >= 40 else 0,
        "finished": False,
    }
    is_enough = bool(view and view.body.get("stop", {}).get("is_enough"))
    if is_enough and view is not None:
        reply |= {"finished": True, "summary": summary_of(view, counts.n_answers, counts.n_items)}
        reply["doubtful"] = len(doubts_of(store, view.body))
        reply["completion"] = str(person.token.scope.get("completion", ""))
    if not leases:
        reply["state"] = state_of(store, view.stored if view else None, counts.n_items)
    return reply


def summary_of(view: View, n_answers: int, n_items: int) -> dict[str, Any]:
    """Return the values of the sentence on the page "finished"."""
    body = view.body
    jaccard = (body.get("quality") or {}).get("jaccard")
    quality = ""
    if jaccard and all(value is not None for value in jaccard):
        value, low, high = (round(100 * one) for one in jaccard)
        n_checks = body["quality"].get("n_checks", 0)
        quality = say("state.finished.quality", value=value, low=low, high=high, n_checks=n_checks)
    n_groups = sum(1 for group in view.members if group >= 0)
    return {"n_answers": n_answers, "n_items": n_items, "n_groups": n_groups, "quality": quality}


def _kinds(store: Store, kinds: list[Kind] | None) -> list[Kind]:
    allowed: list[Kind] = store.settings()["kinds"]
    return [kind for kind in kinds if kind in allowed] or allowed if kinds else allowed


def _warm(store: Store, leases: tuple[Lease, ...]) -> bool:
    """Whether questions were drawn at random, because there is no model yet."""
    return not leases and warms_up(store) and warm_up(store, N_WARM_UP) > 0


@router.post("/questions:lease", tags=["asking"])
def post_lease(
    body: LeaseRequest,
    person: AnnotatorOf,
    store: StoreOf,
    results: ResultsOf,
    presenter: PresenterOf,
) -> dict[str, Any]:
    """Hold up to `n` questions for two minutes; late answers are taken all the same."""
    kinds = _kinds(store, body.kinds) if body.kinds else None
    leases = store.lease(person.name, body.n, kinds=kinds, keep=body.keep)
    if body.n and _warm(store, leases):
        leases = store.lease(person.name, body.n, kinds=kinds, keep=body.keep)
    return _served(store, leases, body.have, person, results, presenter)


class Tokens(Body):
    """Tokens of questions."""

    tokens: list[str] = Field(max_length=200)


@router.post("/questions:release", tags=["asking"])
def post_release(body: Tokens, person: AnnotatorOf, store: StoreOf) -> dict[str, int]:
    """Give questions back, so that others are asked."""
    return {"released": store.release(person.name, body.tokens)}


@router.post("/answers", tags=["asking"])
def post_answers(
    body: AnswersRequest,
    person: AnnotatorOf,
    store: StoreOf,
    results: ResultsOf,
    presenter: PresenterOf,
) -> dict[str, Any]:
    """Store answers, and hold further questions, in one transaction.

    Sent again, an answer is a duplicate. A wrong one is refused alone; the others are stored.
    """
    entries, refused = entries_of(store, body.answers, person.name)
    kinds = _kinds(store, body.kinds) if body.kinds else None
    statuses, leases = store.answer_and_lease(person.name, entries, body.n or 0, kinds, body.keep)
    if body.n and _warm(store, leases):
        leases = store.lease(person.name, body.n, kinds=kinds, keep=body.keep)
    fates = iter(statuses)
    given = zip(body.answers, refused, strict=True)
    fate = [
        refusal or AnswerResult(submission_id=one.submission_id, status=next(fates))
        for one, refusal in given
    ]
    reply = {"results": [one.model_dump() for one in fate]}
    if body.n is not None:
        reply |= _served(store, leases, body.have, person, results, presenter)
    return reply


@router.get("/answers", tags=["asking"])
def get_answers(
    person: AnnotatorOf,
    store: StoreOf,
    presenter: PresenterOf,
    mine: bool = True,
    standing: bool = True,
    before: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """Return answers, the newest first; those of others for reviewers only."""
    if not mine and not person.may("reviewer"):
        raise not_found()
    found = store.log(
        annotator=person.name if mine else None,
        before=before,
        only_standing=standing,
        newest_first=True,
        limit=limit,
    )
    answers = [one for one in found if isinstance(one.entry, Answer)]
    ids = {
        str(one)
        for a in answers
        if isinstance(a.entry, Answer)
        for one in a.entry.question.ids or ()
    }
    items = presenter.items(ids) if ids else {}
    shown = []
    for one in answers:
        record = logged_json(one)
        names = record["items"]
        kept = {name: items.get(name, {"id": name, "kind": "text", "text": ""}) for name in names}
        question = {
            "kind": record["kind"],
            "items": [kept[name] for name in names],
            "parts": record.get("parts", []),
            "order": [names.index(name) for name in record.get("shown") or names],
        }
        hidden = ("check", "origin", "repeat") if not person.may("reviewer") else ()
        shown.append({**{k: v for k, v in record.items() if k not in hidden}, "question": question})
    return {"answers": shown, "next": found[-1].seq if len(found) == limit else None}


@router.delete("/answers/{entry_id}", tags=["asking"])
def delete_answer(entry_id: EntryId, person: AnnotatorOf, store: StoreOf) -> dict[str, str]:
    """Take an answer or an edit back, by appending that it is; reviewers may take any back."""
    logged = store.entry(entry_id)
    if logged is None or isinstance(logged.entry, Retraction):
        raise not_found()
    if logged.entry.annotator != person.name and not person.may("reviewer"):
        raise not_found()
    if not logged.is_standing:
        return {"status": "duplicate", "id": ""}
    retraction = Retraction(entry_id, person.name, new_id(), now(), SOURCE)
    (status,) = store.append([retraction])
    return {"status": status, "id": retraction.id}


# ------------------------------------------------------------------ results


@router.get("/status", tags=["results"])
def get_status(person: Viewer, store: StoreOf, results: ResultsOf) -> dict[str, Any]:
    """Numbers of items, answers and groups, and what the worker does."""
    counts, view, worker = store.counts(), results.newest(), store.worker()
    return {
        "n_items": counts.n_items,
        "n_set_aside": counts.n_set_aside,
        "n_answers": counts.n_answers,
        "n_edits": counts.n_edits,
        "n_groups": sum(1 for group in view.members if group >= 0) if view else None,
        "n_doubtful_items": len(view.doubtful_items) if view else None,
        "n_doubtful_answers": len(doubts_of(store, view.body)) if view else None,
        "revision": view.stored.revision if view else None,
        "last_seq": counts.last_seq,
        "remaining": remaining_of(view),
        "mine": counts.by_annotator.get(person.name, 0),
        "worker": None
        if worker is None
        else {
            "state": worker.state,
            "detail": worker.detail,
            "alive": worker.is_alive,
        },
    }


def _view(results: Results) -> View:
    view = results.newest()
    if view is None:
        raise Problem(404, "There is no result yet; the worker is still warming up.")
    return view


@router.get("/estimate", tags=["results"])
def get_estimate(_: Viewer, results: ResultsOf) -> dict[str, Any]:
    """How good the groups are, with intervals, and how many questions are left."""
    body = _view(results).body
    names = ("quality", "remaining", "stop", "alternatives", "n_violated", "annotators")
    return {"revision": body.get("revision"), **{name: body.get(name) for name in names}}


@router.get("/result", tags=["results"])
def get_result(_: Reviewer, results: ResultsOf) -> dict[str, Any]:
    """Return the newest result, as the worker published it."""
    return dict(_view(results).body)


@router.get("/groups", tags=["results"])
def get_groups(_: Viewer, store: StoreOf, results: ResultsOf) -> dict[str, Any]:
    """All groups, large ones first, with examples."""
    view, names = _view(results), {group.id: group for group in store.groups()}
    groups = [
        {
            "id": group,
            "name": names[group].name if group in names else "",
            "note": names[group].note if group in names else "",
            "n_items": len(ids),
            "exemplars": view.exemplars.get(group, []),
            "confidence": sum(view.confidence.get(one, 0.0) for one in ids) / len(ids),
        }
        for group, ids in view.members.items()
    ]
    return {"revision": view.stored.revision, "groups": groups}


@router.get("/groups/{group}", tags=["results"])
def get_group(
    group: GroupId,
    _: Viewer,
    results: ResultsOf,
    presenter: PresenterOf,
    after: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> dict[str, Any]:
    """Items of a group: examples, then the surest first. -1: items in no group."""
    view = _view(results)
    ids = view.members.get(group)
    if ids is None:
        raise not_found()
    page = ids[after : after + limit]
    items = presenter.items(page, size=400)
    shown = [
        {**items[one], "line": view.line_of(one), "confidence": view.confidence.get(one)}
        for one in page
        if one in items
    ]
    more = after + limit if after + limit < len(ids) else None
    return {"revision": view.stored.revision, "n_items": len(ids), "items": shown, "next": more}


class GroupWords(Body):
    """A name and a note; null leaves what is there."""

    name: str | None = Field(None, max_length=200)
    note: str | None = Field(None, max_length=4000)


@router.patch("/groups/{group}", tags=["results"])
def patch_group(group: GroupId, body: GroupWords, _: Reviewer, store: StoreOf) -> dict[str, Any]:
    """Name a group. "Nobody" is a name like others; see edits for what it means."""
    if group not in {one.id for one in store.groups(also_gone=True)}:
        raise not_found()
    named = store.name_group(group, name=body.name, note=body.note)
    return {"id": named.id, "name": named.name, "note": named.note}


@router.get("/doubtful", tags=["results"])
def get_doubtful(_: Reviewer, store: StoreOf, results: ResultsOf) -> dict[str, Any]:
    """Answers that look wrong, with the chain of answers that they contradict."""
    view = _view(results)
    return {
        "revision": view.stored.revision,
        "doubtful": doubt_records(doubts_of(store, view.body)),
    }


@router.get("/affinity", tags=["results"])
def get_affinity(_: Viewer, store: StoreOf) -> Response:
    """Return the affinity of the newest result, as the worker keeps it (`.npz`)."""
    found = store.artifact("affinity")
    if found is None:
        raise Problem(404, "The worker has kept no affinity yet.")
    return Response(
        found[1], media_type="application/octet-stream", headers={"X-Revision": str(found[0])}
    )


@router.get("/map", tags=["results"])
def get_map(_: Viewer, store: StoreOf, results: ResultsOf) -> Response:
    """Coordinates of the map, as the worker keeps them (JSON)."""
    found, view = store.artifact("map"), results.newest()
    if found is None or view is None:
        raise Problem(404, "The map is not drawn yet; the worker draws it when people rest.")
    places = json.loads(found[1])
    ids = places["ids"]
    places["groups"] = [view.group_of.get(one, -1) for one in ids]
    places["confidence"] = [round(view.confidence.get(one, 0.0), 3) for one in ids]
    places["lines"] = [view.line_of(one) for one in ids]
    content = json.dumps(places, separators=(",", ":"))
    headers = {"X-Revision": str(found[0])}
    return Response(content, media_type="application/json", headers=headers)


@router.get("/items", tags=["items"])
def get_items(
    _: Viewer,
    store: StoreOf,
    request: Request,
    after: Annotated[int, Query(ge=-1, le=2**31)] = -1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> dict[str, Any]:
    """Items, in the order in which they were added."""
    found = store.items(after=after, limit=limit)
    names = ("id", "kind", "path", "region", "text", "set_aside")
    shown = [
        {name: getattr(one, name) for name in names}
        | {"columns": _plain(one.columns), "meta": _plain(one.meta)}
        for one in found
    ]
    return {"items": shown, "next": after + len(found) if len(found) == limit else None}


def _plain(cells: Any) -> dict[str, Any]:
    return {
        str(k): v if isinstance(v, str | int | bool | None) else str(v) for k, v in cells.items()
    }


# ------------------------------------------------------------------ edits and jobs


class EditRequest(Body):
    """A change of groups by a person."""

    kind: Literal["merge", "split", "move", "lock", "not_in", "set_aside"]
    items: list[str] = Field(min_length=1, max_length=5000)
    target: list[str] = Field([], max_length=5000)
    base_revision: int | None = Field(None, description="Revision that the person saw.")
    preview: bool = False
    note: str = Field("", max_length=4000)
    submission_id: str | None = Field(None, pattern="^[0-9a-f]{32}$")


@router.post("/edits", tags=["edits"])
def post_edit(
    body: EditRequest, person: Reviewer, store: StoreOf, results: ResultsOf, response: Response
) -> dict[str, Any]:
    """Apply an edit, or say what it would do. It survives new groupings; DELETE revokes it."""
    named = dict.fromkeys(body.items + body.target)
    if set(named) - set(store.items_by_id(named)):
        raise not_found()
    edit = Edit(
        body.kind,
        body.items,
        body.target,
        person.name,
        id=body.submission_id or new_id(),
        at=now(),
        source=SOURCE,
        note=body.note,
    )
    view = results.newest()
    if body.preview:
        arguments = {"kind": edit.kind, "items": list(edit.items), "target": list(edit.target)}
        job = store.add_job("preview", arguments, annotator=person.name)
        reply = _job_reply(store, job, wait=PREVIEW_SECONDS)
        response.status_code = 200 if reply["status"] in ("done", "failed") else 202
        return reply
    newest = view.stored.revision if view else 0
    if body.base_revision is not None and body.base_revision < newest:
        raise Problem(
            409, "The groups have changed since you looked. Look again before it is done."
        )
    (status,) = store.append([edit])
    return {"status": status, "id": edit.id}


def _job_reply(store: Store, job: int, *, wait: float = 0.0) -> dict[str, Any]:
    end = time.monotonic() + wait
    found = store.job(job)
    while found is not None and found.status in ("waiting", "running") and time.monotonic() < end:
        time.sleep(0.02)
        found = store.job(job)
    if found is None:
        raise not_found()
    result = found.result
    if found.kind == "preview" and isinstance(result, dict):
        result = {**result, "contradicts": [_against(store, one) for one in result["contradicts"]]}
    return {
        "job": found.id,
        "kind": found.kind,
        "status": found.status,
        "result": result,
        "error": found.error,
    }


def _against(store: Store, contradiction: dict[str, Any]) -> dict[str, Any]:
    """Name who gave the last answer of a chain that an edit contradicts."""
    for number in reversed(contradiction.get("answers") or ()):
        logged = store.entry(number) if isinstance(number, str) else None
        if logged is not None:
            entry = logged.entry
            said = logged_json(logged).get("answer")
            return {**contradiction, "annotator": entry.annotator, "at": entry.at, "said": said}
    return contradiction


@router.get("/jobs/{job}", tags=["edits"])
def get_job(
    job: Annotated[int, Path(ge=0, le=2**53)], _: Reviewer, store: StoreOf
) -> dict[str, Any]:
    """Say what became of work that the worker was asked for."""
    return _job_reply(store, job)


class Recluster(Body):
    """What to compute anew."""

    group: int | None = Field(
        None, ge=0, le=2**31, description="Split this group alone; None: all."
    )
    leave_out: str | None = Field(
        None, max_length=200, description="As if this person had not answered."
    )


@router.post("/recluster", tags=["edits"], status_code=202)
def post_recluster(
    body: Recluster, person: Reviewer, store: StoreOf, results: ResultsOf
) -> dict[str, Any]:
    """Ask the worker to compute groups anew."""
    if body.group is not None:
        if body.group not in _view(results).members:
            raise not_found()
        return _job_reply(
            store, store.add_job("resplit", {"group": body.group}, annotator=person.name)
        )
    if body.leave_out is not None:
        if store.annotator(body.leave_out) is None:
            raise not_found()
        job = store.add_job("leave_out", {"annotator": body.leave_out}, annotator=person.name)
        return _job_reply(store, job)
    return _job_reply(store, store.add_job("recluster", {}, annotator=person.name))


# ------------------------------------------------------------------ people and settings


@router.get("/people", tags=["people"])
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


@router.post("/links", tags=["people"], status_code=201)
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


@router.post("/tokens", tags=["people"], status_code=201)
def post_token(body: ProgramToken, _: Owner, store: StoreOf) -> dict[str, str]:
    """Make a token for a program, such as `clew.Client`. It is shown this once."""
    annotator = store.annotator(body.name)
    if annotator is None:
        raise not_found()
    seconds = body.days * 86400.0
    secret = store.make_token("api", annotator=body.name, role=annotator.role, seconds=seconds)
    return {"token": secret}


@router.delete("/links/{token}", tags=["people"])
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


@router.patch("/people/{name}", tags=["people"])
def patch_person(
    name: Annotated[str, Path(max_length=200)], body: Standing, person: Owner, store: StoreOf
) -> dict[str, Any]:
    """Change what a person may do, or end their sessions for good; their answers stay."""
    from dataclasses import replace

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
