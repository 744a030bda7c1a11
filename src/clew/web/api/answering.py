"""Questions out, answers in, and answers taken back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field

from clew.answers import Answer, Kind, Retraction, new_id, now
from clew.store import warm_up
from clew.store.base import Lease, Store
from clew.web.accounts import AnnotatorOf, Person, StoreOf
from clew.web.asking import (
    SOURCE,
    AnswerResult,
    AnswersRequest,
    Body,
    LeaseRequest,
    Presenter,
    PresenterOf,
    entries_of,
    logged_json,
)
from clew.web.problems import not_found
from clew.web.results import (
    Results,
    ResultsOf,
    View,
    behind_of,
    has_no_model,
    news_of,
    quality_words,
)
from clew.web.words import say

router = APIRouter(prefix="/api/v1", tags=["asking"])
#: Free questions that the web process draws at random while there is no model yet.
N_WARM_UP = 24
EntryId = Annotated[str, Path(max_length=64)]


@router.post("/questions:lease")
def post_lease(
    body: LeaseRequest,
    person: AnnotatorOf,
    store: StoreOf,
    results: ResultsOf,
    presenter: PresenterOf,
) -> dict[str, Any]:
    """Hold up to `n` questions for two minutes; late answers are taken all the same."""
    kinds = _kinds(store, body.kinds)
    leases = store.lease(person.name, body.n, kinds=kinds, keep=body.keep)
    if body.n and not leases and _has_warmed_up(store):
        leases = store.lease(person.name, body.n, kinds=kinds, keep=body.keep)
    return _served(leases, body.have, person, store, results, presenter)


class Tokens(Body):
    """Tokens of questions."""

    tokens: list[str] = Field(max_length=200)


@router.post("/questions:release")
def post_release(body: Tokens, person: AnnotatorOf, store: StoreOf) -> dict[str, int]:
    """Give questions back, so that others are asked."""
    return {"released": store.release(person.name, body.tokens)}


@router.post("/answers")
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
    kinds, began = _kinds(store, body.kinds), time.monotonic()
    statuses, leases = store.answer_and_lease(person.name, entries, body.n or 0, kinds, body.keep)
    if body.n and not leases and _has_warmed_up(store):
        leases = store.lease(person.name, body.n, kinds=kinds, keep=body.keep)
    new = [one for one, status in zip(entries, statuses, strict=True) if status in IN_LOG]
    n_new = sum(
        (status != "superseded") * (1 if isinstance(one, Answer) else -1)
        for one, status in zip(entries, statuses, strict=True)
        if status in IN_LOG
    )
    results.add(person.name, n_new, len(new), began)
    fates = iter(statuses)
    reply: dict[str, Any] = {
        "results": [
            (
                refusal or AnswerResult(submission_id=one.submission_id, status=next(fates))
            ).model_dump()
            for one, refusal in zip(body.answers, refused, strict=True)
        ]
    }
    if body.n is not None:
        reply |= _served(leases, body.have, person, store, results, presenter)
    return reply


#: Fates of entries that are new in the log.
IN_LOG = ("stored", "superseded", "expired")


def _kinds(store: Store, kinds: Sequence[Kind] | None) -> list[Kind] | None:
    """Return those kinds that the project asks; None: the person's or the project's own."""
    if not kinds:
        return None
    allowed: list[Kind] = store.settings()["kinds"]
    return [kind for kind in kinds if kind in allowed] or allowed


def _has_warmed_up(store: Store) -> bool:
    """Whether questions were drawn at random, because there is no model yet."""
    return has_no_model(store.worker()) and warm_up(store, N_WARM_UP) > 0


def _served(
    leases: tuple[Lease, ...],
    have: Sequence[str],
    person: Person,
    store: Store,
    results: Results,
    presenter: Presenter,
) -> dict[str, Any]:
    """Return what a page needs to go on."""
    view, has = results.newest(), set(have)
    fresh = [lease for lease in leases if lease.token not in has]
    reply: dict[str, Any] = {
        "questions": presenter.questions(fresh, name=bool(store.settings().get("show_names"))),
        "held": [lease.token for lease in leases],
        "finished": bool(view and view.is_enough),
        "n_mine": results.counts().by_annotator.get(person.name, 0),
        **news_of(results, view),
    }
    if not leases:
        reply["state"] = state_of(store, results)
    if reply["finished"] or reply.get("state") in ("nothing", "all_asked"):
        reply["completion"] = str(person.token.scope.get("completion", ""))
    if view and (view.is_enough or reply.get("state") == "all_asked"):
        reply |= {"summary": summary_of(view, results), "doubtful": len(results.doubts())}
    elif reply.get("state") == "no_items":
        reply["summary"] = {"n": results.counts().n_items}
    return reply


def state_of(store: Store, results: Results) -> str:
    """Say why there is no question."""
    counts, view, worker = store.counts(), results.newest(), store.worker()
    if counts.n_items - counts.n_set_aside < 2:
        return "no_items"
    is_behind = behind_of(worker, counts.last_seq) > 0
    is_up = view is not None and not is_behind and not has_no_model(worker)
    if is_up and not store.pool() and not store.leases():
        return "all_asked"
    if view is not None and view.is_enough:
        return "finished"
    if is_behind:
        return "learning"
    return "warming_up" if view is None and has_no_model(worker) else "nothing"


def summary_of(view: View, results: Results) -> dict[str, Any]:
    """Return the values of the sentence on the page "finished"."""
    value, between = quality_words(view)
    quality = ""
    if value:
        n = (view.body.get("quality") or {}).get("n_checks", 0)
        quality = say("state.finished.quality", value=value, between=between, n=n)
    return {
        "n_answers": view.body.get("n_answers", 0),
        "n_items": results.counts().n_items,
        "n_groups": view.n_groups,
        "quality": quality,
    }


@router.get("/answers")
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
    logged = [one for one in found if isinstance(one.entry, Answer)]
    questions = presenter.again([one.entry for one in logged if isinstance(one.entry, Answer)])
    hidden = () if person.may("reviewer") else ("check", "origin", "repeat")
    answers = [
        {
            **{name: value for name, value in logged_json(one).items() if name not in hidden},
            "question": question,
        }
        for one, question in zip(logged, questions, strict=True)
    ]
    return {"answers": answers, "next": found[-1].seq if len(found) == limit else None}


@router.delete("/answers/{entry_id}")
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
