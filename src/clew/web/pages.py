"""The pages, drawn here with Jinja; scripts add what moves."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, select_autoescape

from clew.answers import DIFFERENT, SAME, Answer, Edit, Entry, Retraction, new_id, now
from clew.exports import Doubt, doubts_of
from clew.store.base import Logged, Store
from clew.web import charts
from clew.web.accounts import Person, Reviewer, StoreOf, person_of
from clew.web.api import PresenterOf, ResultsOf, get_people
from clew.web.asking import SOURCE, Body, Presenter, logged_json
from clew.web.problems import not_found
from clew.web.results import Results, View, remaining_of, title_of
from clew.web.words import say, strings_of

router = APIRouter(include_in_schema=False)
_pages = Environment(
    loader=FileSystemLoader(FilePath(__file__).parent / "templates"),
    autoescape=select_autoescape(),
    trim_blocks=True,
    lstrip_blocks=True,
)
_pages.globals["t"] = say
#: Pages of each role, in the order of the menu.
NAV = {
    "viewer": ("groups", "map", "progress", "help"),
    "annotator": ("ask", "history", "groups", "progress", "settings", "help"),
    "reviewer": ("ask", "groups", "map", "review", "progress", "history", "settings"),
    "owner": ("ask", "groups", "map", "review", "progress", "history", "settings"),
}
SHELVES = 40


def draw(
    request: Request,
    page: str,
    heading: str,
    person: Person | None,
    status: int = 200,
    **values: Any,
) -> HTMLResponse:
    """Draw a page."""
    state = request.app.state
    theme = request.cookies.get("clew_theme", "")
    view = state.results.newest() if person else None
    values = {
        "page": page,
        "heading": heading,
        "me": person,
        "base": state.settings.base_path,
        "project": state.store.settings().get("name") or "",
        "theme": theme if theme in ("light", "dark") else "",
        "nav": NAV[person.role] if person else (),
        "n_doubtful": len(doubts_of(state.store, view.body)) if view else 0,
        **values,
    }
    template = values.pop("template", f"{page}.html")
    return HTMLResponse(_pages.get_template(template).render(values), status)


class SignedOutError(Exception):
    """Nobody is signed in."""


def who(request: Request, role: Any = "viewer") -> Person:
    """Return who asks, if they have a role."""
    person = person_of(request)
    if person is None:
        raise SignedOutError
    if not person.may(role):
        raise not_found()
    return person


def error_page(request: Request, status: int, detail: str) -> Response:
    """Draw the page of a failure."""
    key = f"error.{status}" if status in (401, 403, 404) else "error.other"
    return draw(request, "error", say(key), person_of(request), status, detail=detail)


# ------------------------------------------------------------------ start


@router.get("/")
def home(request: Request) -> Response:
    """Where to begin."""
    person = person_of(request)
    if person is None:
        return signed_out(request)
    start = "ask" if person.may("annotator") else "groups"
    return RedirectResponse(f"{request.app.state.settings.base_path}/{start}", 303)


def signed_out(request: Request) -> Response:
    """Say how to come in."""
    return draw(request, "start", say("home.signed_out"), None, 401, template="start.html")


@router.get("/a/{secret}")
def invite(request: Request, secret: str, store: StoreOf) -> Response:
    """Show what a link is for; only its button uses it up."""
    token = store.check_token(secret, "invite")
    settings = store.settings()
    asks_name = token is not None and token.annotator is None
    # The owner's link from the terminal opens the first question at once.
    at_once = bool(token and token.scope.get("at_once"))
    heading = (
        say("invite.welcome", project=settings.get("name") or "clew")
        if token
        else say("invite.gone.title")
    )
    data = {
        "token": secret if token else "",
        "at_once": at_once,
        "practice": bool(token and not at_once and token.role == "annotator"),
    }
    return draw(
        request,
        "invite",
        heading,
        None,
        200 if token else 404,
        valid=token is not None,
        asks_name=asks_name,
        guideline=settings.get("guideline"),
        data=data,
    )


@router.get("/practice")
def practice(request: Request, store: StoreOf) -> Response:
    """Three questions that do not count."""
    person = who(request, "annotator")
    base = request.app.state.settings.base_path

    def shape(name: str) -> dict[str, str]:
        return {"id": name, "kind": "image", "url": f"{base}/static/practice/{name}.svg"}

    pairs = [("disc-1", "disc-2"), ("disc-1", "square-1"), ("square-1", "blur-1")]
    data = {
        "strings": _ask_strings(),
        "settings": {
            "question": say("practice.question"),
            "guideline_short": say("practice.hint"),
            "guideline": store.settings().get("guideline"),
        },
        "questions": [
            {
                "question_id": f"practice-{n}",
                "kind": "pair",
                "expires": "2100-01-01",
                "parts": [],
                "items": [shape(one) for one in pair],
            }
            for n, pair in enumerate(pairs)
        ],
    }
    return draw(request, "practice", say("practice.heading"), person, data=data)


def _ask_strings() -> dict[str, Any]:
    return strings_of(
        "cancel",
        "close",
        "undo",
        "saved",
        "question",
        "hint",
        "answer",
        "item",
        "ask",
        "confirm",
        "meter",
        "said",
        "tool",
        "dialog",
        "flag",
        "note",
        "refused",
        "key",
        "strip",
        "state",
    )


@router.get("/ask")
def ask(request: Request, store: StoreOf, results: ResultsOf) -> Response:
    """Ask questions."""
    person = who(request, "annotator")
    settings, view = store.settings(), results.newest()
    guideline = str(settings.get("guideline") or "")
    data = {
        "strings": _ask_strings(),
        "base": request.app.state.settings.base_path,
        "project": settings.get("name") or request.app.state.settings.store,
        "me": person.name,
        "settings": {
            "question": settings.get("question") or "",
            "guideline": guideline,
            "guideline_short": guideline.strip().split("\n")[0][:160],
        },
        "progress": remaining_of(view),
        "answered": store.counts().n_answers,
    }
    return draw(request, "ask", say("nav.ask"), person, data=data)


# ------------------------------------------------------------------ groups


def _strings_of_groups() -> dict[str, Any]:
    return strings_of(
        "cancel",
        "close",
        "undo",
        "and",
        "group",
        "groups",
        "thread",
        "pick",
        "edit",
        "preview",
        "map",
    )


def _group_data(view: View, results: Results, **more: Any) -> dict[str, Any]:
    """Return what the script of the gallery needs."""
    names = results.names()
    named = {group.id: group.name for group in results.groups()}
    groups = [
        {
            "id": group,
            "name": names.get(group) or title_of(group),
            "n": len(ids),
            "named": named.get(group, ""),
            "examples": (view.exemplars.get(group) or ids)[:3],
        }
        for group, ids in view.members.items()
        if group >= 0
    ]
    return {
        "strings": _strings_of_groups(),
        "groups": groups,
        "revision": view.stored.revision,
        **more,
    }


def _strung(view: View, presenter: Presenter, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return items as they hang on a thread."""
    items = presenter.items(ids, size=400)
    return [
        {
            **items[one],
            "line": view.line_of(one),
            "group": view.group_of.get(one, -1),
            "percent": round(100 * view.confidence.get(one, 0.0)),
        }
        for one in ids
        if one in items
    ]


def _sample(view: View, ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the first and the last items of a shelf: the sure ones, and those that fray."""
    if len(ids) <= 9:
        return list(ids), []
    fraying = [one for one in ids if view.line_of(one) in ("fair", "doubt")]
    return list(ids[:5]), fraying[-3:] if fraying else []


@router.get("/groups")
def groups(
    request: Request,
    results: ResultsOf,
    presenter: PresenterOf,
    n: Annotated[int, Query(ge=1, le=2000)] = SHELVES,
) -> Response:
    """Show all groups, each on its thread."""
    person = who(request)
    view = results.newest()
    if view is None:
        return draw(request, "groups", say("groups.heading"), person, shelves=None)
    names, named = results.names(), {group.id: group.name for group in results.groups()}
    shelves: list[dict[str, Any]] = []
    strung = [(group, ids) for group, ids in view.members.items() if group >= 0]
    for group, ids in strung[:n]:
        first, last = _sample(view, ids)
        confidence = [view.confidence.get(one, 0.0) for one in ids]
        shelves.append(
            {
                "id": group,
                "name": names.get(group) or title_of(group),
                "named": bool(named.get(group)),
                "n": len(ids),
                "percent": round(100 * statistics.fmean(confidence)),
                "n_doubt": sum(view.line_of(one) == "doubt" for one in ids),
                "first": first,
                "last": last,
                "more": len(ids) - len(first) - len(last),
            }
        )
    tray, alone = view.doubtful_items[:12], view.members.get(-1, [])[:12]
    wanted = {one for shelf in shelves for one in (*shelf["first"], *shelf["last"])}
    found = {
        one["id"]: one for one in _strung(view, presenter, sorted(wanted | set(tray) | set(alone)))
    }
    for shelf in shelves:
        for part in ("first", "last"):
            shelf[part] = [found[one] for one in shelf[part] if one in found]
    return draw(
        request,
        "groups",
        say("groups.heading"),
        person,
        bar=person.may("reviewer"),
        shelves=shelves,
        n_groups=len(strung),
        n_items=len(view.ids),
        further=len(strung) - len(shelves),
        step=n + SHELVES,
        tray=[found[one] for one in tray if one in found],
        n_tray=len(view.doubtful_items),
        alone=[found[one] for one in alone if one in found],
        n_alone=len(view.members.get(-1, [])),
        names=names,
        data=_group_data(view, results),
    )


@router.get("/groups/{group}")
def group(request: Request, group: int, results: ResultsOf, presenter: PresenterOf) -> Response:
    """Show one group: examples, the rest, what is in doubt."""
    person = who(request)
    view = results.newest()
    if view is None or group not in view.members:
        raise not_found()
    ids, names = view.members[group], results.names()
    examples = [one for one in ids if view.line_of(one) == "knot"]
    rest = [one for one in ids[: len(examples) + 60] if view.line_of(one) != "knot"]
    shown = len(examples) + len(rest)
    doubt = [one for one in ids[shown:] if view.line_of(one) == "doubt"][:12]
    confidence = [view.confidence.get(one, 0.0) for one in ids]
    others = [one for one in view.members if one >= 0 and one != group][:6]
    faces = [view.exemplars.get(one, view.members[one])[0] for one in others]
    nearest = zip(others, _strung(view, presenter, faces), strict=False)
    return draw(
        request,
        "groups",
        (names.get(group) or title_of(group)) if group >= 0 else say("groups.alone"),
        person,
        template="group.html",
        bar=person.may("reviewer"),
        group=group,
        n=len(ids),
        percent=round(100 * statistics.fmean(confidence)),
        examples=_strung(view, presenter, examples),
        rest=_strung(view, presenter, rest),
        doubt=_strung(view, presenter, doubt),
        more=len(ids) - shown,
        after=shown,
        nearest=[(one, names.get(one) or title_of(one), face) for one, face in nearest],
        data=_group_data(view, results, group=group, members=ids[:5000]),
    )


@router.get("/map")
def the_map(request: Request, store: StoreOf, results: ResultsOf) -> Response:
    """Show the map, and the same points as a table."""
    person, view = who(request), results.newest()
    if view is None:
        return draw(request, "groups", say("map.heading"), person, shelves=None)
    return draw(
        request,
        "map",
        say("map.heading"),
        person,
        bar=person.may("reviewer"),
        n_items=len(view.ids),
        data=_group_data(view, results),
    )


# ------------------------------------------------------------------ review


def _said(logged: Logged, names: dict[int, str] | None = None) -> str:
    """Say an answer in words."""
    entry = logged.entry
    if isinstance(entry, Edit):
        return say("history.edit", kind=entry.kind, n=len(entry.items))
    value = logged_json(logged).get("answer")
    if isinstance(value, list):
        n = len(value)
        return say("history.said.strangers", n=n) if n else say("history.said.all_belong")
    if isinstance(value, int) and isinstance(entry, Answer):
        value = (
            str((entry.question.ids or ())[value]) if entry.question.kind != "which_of" else value
        )
    key = f"history.said.{value}"
    try:
        return say(key)
    except KeyError:
        return say("history.said.pick", id=value)


def _when(at: str) -> str:
    try:
        stamp = datetime.fromisoformat(at)
    except ValueError:
        return ""
    return f"{stamp.day} {stamp:%b}"


def _told(logged: Logged, presenter: Presenter) -> dict[str, Any]:
    """Return an answer with who, when and how fast."""
    entry = logged.entry
    ids = [str(one) for one in (entry.question.ids or ())] if isinstance(entry, Answer) else []
    if isinstance(entry, Edit):
        ids = [str(one) for one in (*entry.items, *entry.target)][:6]
    ms = getattr(entry, "ms", None)
    return {
        "id": entry.id,
        "seq": logged.seq,
        "who": entry.annotator or "–",
        "when": _when(entry.at),
        "seconds": f"{ms / 1000:.1f} s" if ms is not None else "",
        "said": _said(logged),
        "ids": ids,
        "is_same": isinstance(entry, Answer)
        and entry.value == SAME
        and entry.question.kind == "pair",
        "is_pair": isinstance(entry, Answer) and entry.question.kind == "pair",
        "note": getattr(entry, "note", ""),
        "standing": logged.is_standing,
    }


def _reason(doubt: Doubt) -> str:
    return say("review.contradiction" if doubt.chain else "review.unlikely")


@router.get("/review")
def review(
    request: Request,
    store: StoreOf,
    results: ResultsOf,
    presenter: PresenterOf,
    case: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """Show doubtful answers, each with the chain that it contradicts."""
    person, view = who(request, "reviewer"), results.newest()
    doubtful = doubts_of(store, view.body) if view else []
    if not doubtful:
        return draw(request, "review", say("review.heading"), person, cases=[], case=None)
    one = next((doubt for doubt in doubtful if doubt.entry.id == case), doubtful[0])
    cases = [
        {
            **_told(doubt.logged, presenter),
            "reason": _reason(doubt),
            "p": round(100 * doubt.p_wrong),
        }
        for doubt in doubtful[:60]
    ]
    told = _told(one.logged, presenter)
    chain_ids = one.chain or told["ids"]
    links = [store.entry(entry) for entry in one.chain_entries]
    items = presenter.items(dict.fromkeys([*chain_ids, *told["ids"]]), size=400)
    is_pair = told["is_pair"]
    return draw(
        request,
        "review",
        _reason(one),
        person,
        cases=cases,
        case=told,
        p=round(100 * one.p_wrong),
        chain=[items[item] for item in chain_ids if item in items],
        links=[_told(link, presenter) for link in links if link is not None],
        fixes=[
            {
                "name": name,
                "title": say(f"review.fix.{name}"),
                "go": say(f"review.go.{name}"),
                "text": say(f"review.fix.{name}.text", who=told["who"], said=_fixed(told, name)),
            }
            for name in (
                ("opposite", "same", "retract", "aside")
                if is_pair
                else ("retract", "aside")
                if isinstance(one.entry, Answer)
                else ("retract",)
            )
        ],
    )


def _fixed(told: dict[str, Any], name: str) -> str:
    is_same = told["is_same"] if name == "same" else not told["is_same"]
    return say("history.said.same" if is_same else "history.said.different")


class Fix(Body):
    """What should happen with a doubtful answer."""

    entry: str
    fix: Literal["retract", "opposite", "same", "aside"]


@router.post("/api/v1/review", include_in_schema=True, tags=["edits"])
def post_review(body: Fix, person: Reviewer, store: StoreOf) -> dict[str, Any]:
    """Take a doubtful answer back, correct it, keep it, or set its items aside."""
    logged = store.entry(body.entry)
    if logged is None or not isinstance(logged.entry, Answer | Edit):
        raise not_found()
    answer = logged.entry
    entries: list[Entry] = []
    if body.fix in ("retract", "opposite", "aside") and logged.is_standing:
        entries.append(Retraction(answer.id, person.name, new_id(), now(), SOURCE))
    if isinstance(answer, Edit):
        if body.fix != "retract":
            raise not_found()
    elif body.fix in ("opposite", "same"):
        if answer.question.kind != "pair":
            raise not_found()
        value = answer.value if body.fix == "same" else DIFFERENT if answer.value == SAME else SAME
        entries.append(
            Answer(
                answer.question,
                value,
                person.name,
                origin="imported",
                id=new_id(),
                at=now(),
                source=SOURCE,
            )
        )
    elif body.fix == "aside":
        ids = [str(one) for one in answer.question.ids or ()]
        entries.append(
            Edit("set_aside", ids, (), person.name, id=new_id(), at=now(), source=SOURCE)
        )
    statuses = store.append(entries)
    return {"statuses": list(statuses)}


# ------------------------------------------------------------------ progress


def agreement(store: Store, people: Sequence[str]) -> dict[tuple[str, str], tuple[int, int]]:
    """Count for each two people the questions that both answered, and those answered alike."""
    answers: dict[Any, dict[str, int]] = {}
    for logged in store.log(only_standing=True):
        entry = logged.entry
        if isinstance(entry, Answer) and entry.annotator in people and entry.is_evidence:
            key = entry.question.kind, tuple(sorted(map(str, entry.question.ids or ())))
            answers.setdefault(key, {})[entry.annotator] = _value(entry)
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for given in answers.values():
        for a in given:
            for b in given:
                if a != b:
                    same, n = counts.get((a, b), (0, 0))
                    counts[a, b] = same + (given[a] == given[b]), n + 1
    return counts


def _value(entry: Answer) -> Any:
    """Return an answer that does not depend on the order of the items."""
    ids = entry.question.ids or ()
    if entry.question.kind == "odd_one_out" and entry.value >= 0:
        return str(ids[entry.value])
    return str(ids[1 + entry.value]) if entry.question.kind == "triplet" else entry.value


@router.get("/progress")
def progress(request: Request, store: StoreOf, results: ResultsOf) -> Response:
    """Say how much is left, how right it is, and who agrees with whom."""
    person, view = who(request), results.newest()
    counts, left = store.counts(), remaining_of(view)
    body = view.body if view else {}
    quality = body.get("quality") or {}
    jaccard = quality.get("jaccard")
    charted: dict[str, Any] = {}
    if left:
        answered, low, median, high = (int(left[k]) for k in ("answered", "low", "median", "high"))
        label = say("progress.left.label", answered=answered, median=median, low=low, high=high)
        charted["remaining"] = charts.remaining_chart(answered, low, median, high, label)
    if jaccard and None not in jaccard:
        value, low_q, high_q = (100 * float(one) for one in jaccard)
        label = say("progress.quality.pairs", low=round(low_q), high=round(high_q))
        charted["quality"] = charts.interval_chart(value, low_q, high_q, f"{value:.0f}, {label}")
    people = [one.name for one in store.annotators() if one.kind == "person"]
    kinds: dict[str, int] = {}
    for name, n in counts.by_value.items():
        kind = name.split(" ")[0]
        kinds[kind] = kinds.get(kind, 0) + n
    if kinds:
        label = say("progress.answers")
        named = [(say(f"settings.kind.{kind}"), n) for kind, n in kinds.items()]
        charted["kinds"] = charts.bars_chart(named, label)
    may_see = person.may("reviewer")
    medians: dict[str, list[int]] = {}
    for logged in store.log(only_standing=True, newest_first=True, limit=5000):
        ms = getattr(logged.entry, "ms", None)
        if ms is not None:
            medians.setdefault(logged.entry.annotator, []).append(ms)
    rows = []
    for one in body.get("annotators") or ():
        error = one.get("error")
        twice = one.get("agreement_with_self"), one.get("n_repeats", 0)
        rows.append(
            {
                "name": one.get("name", ""),
                "n": counts.by_annotator.get(one.get("name", ""), one.get("n", 0)),
                "error": error if error and None not in error else None,
                "twice": _twice(twice),
                "median": _seconds(medians.get(one.get("name", ""))),
            }
        )
    if not rows:
        rows = [
            {
                "name": name,
                "n": n,
                "error": None,
                "twice": "",
                "median": _seconds(medians.get(name)),
            }
            for name, n in counts.by_annotator.items()
            if name in people
        ]
    names = results.names()
    return draw(
        request,
        "progress",
        say("progress.heading"),
        person,
        left=left,
        charts=charted,
        counts=counts,
        mine=counts.by_annotator.get(person.name, 0),
        jaccard=jaccard,
        quality=quality,
        group_quality=[
            (names.get(int(g)) or title_of(int(g)), one)
            for g, one in (quality.get("groups") or {}).items()
        ],
        people=people if may_see else [],
        shared=agreement(store, people) if may_see and len(people) > 1 else {},
        rows=rows if may_see else [one for one in rows if one["name"] == person.name],
        enough=bool(body.get("stop", {}).get("is_enough")),
        may_see=may_see,
        dont_know=sum(n for name, n in counts.by_value.items() if name.endswith(" -2")),
    )


def _twice(agreement: tuple[Sequence[float] | None, int]) -> str:
    """Say how many repeated questions got the same answer."""
    share, n = agreement
    if not share or not n or share[0] is None:
        return ""
    return say("progress.agreement.of", same=round(share[0] * n), n=n)


def _seconds(times: list[int] | None) -> str:
    return f"{statistics.median(times) / 1000:.1f} s" if times else ""


# ------------------------------------------------------------------ history, people, settings


@router.get("/history")
def history(
    request: Request,
    store: StoreOf,
    presenter: PresenterOf,
    before: Annotated[int | None, Query(ge=0, le=2**53)] = None,
) -> Response:
    """Show a person's own answers and edits, the newest first."""
    person = who(request, "annotator")
    found = store.log(annotator=person.name, before=before, newest_first=True, limit=50)
    shown = [_told(one, presenter) for one in found if not isinstance(one.entry, Retraction)]
    items = presenter.items({one for told in shown for one in told["ids"]}, size=160)
    return draw(
        request,
        "history",
        say("history.heading"),
        person,
        answers=shown,
        items=items,
        older=found[-1].seq if len(found) == 50 else None,
        first=before is None,
    )


@router.get("/people")
def people(request: Request, store: StoreOf) -> Response:
    """Show people and links."""
    person = who(request, "owner")
    return draw(request, "people", say("people.heading"), person, **get_people(person, store))


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


@router.get("/settings")
def settings(request: Request, store: StoreOf) -> Response:
    """Show settings: the project's to its owner, one's own to everybody."""
    person = who(request, "annotator")
    theme = request.cookies.get("clew_theme", "")
    return draw(
        request,
        "settings",
        say("settings.heading"),
        person,
        settings=store.settings(),
        kinds=("pair", "odd_one_out", "triplet", "which_of", "confirm"),
        keys=CHANGEABLE,
        look=theme,
    )


@router.get("/export")
def export(request: Request, results: ResultsOf) -> Response:
    """Show what can be downloaded."""
    person = who(request)
    names = ["groups", "exemplars", "doubtful"]
    names += ["answers", "answers_csv", "all"] if person.may("reviewer") else []
    return draw(
        request,
        "settings",
        say("export.heading"),
        person,
        template="export.html",
        files=names,
        has_result=results.newest() is not None,
    )


@router.get("/help")
def help_page(request: Request) -> Response:
    """Explain."""
    return draw(
        request, "help", say("help.heading"), person_of(request), keys=(*CHANGEABLE, ("help", "?"))
    )


@router.get("/patterns")
def patterns(request: Request) -> Response:
    """Show every component in every state."""
    person = who(request)
    strings = {**_ask_strings(), **_strings_of_groups()}
    return draw(
        request,
        "patterns",
        say("patterns.heading"),
        person,
        data={"strings": strings},
        chart=charts.remaining_chart(312, 90, 140, 220, "312 answered; 140 more"),
        interval=charts.interval_chart(93, 82, 98, "93 of 100"),
        bars=charts.bars_chart([("Pairs", 291), ("Odd one out", 21)], "Answers by kind"),
    )


@router.get("/patterns/ask")
def pattern_of_ask(request: Request) -> Response:
    """Show one kind of question, or one state of the asking page."""
    person = who(request)
    data = {"strings": _ask_strings()}
    return draw(request, "ask", say("patterns.heading"), person, template="pattern.html", data=data)
