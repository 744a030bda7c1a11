"""Groups on their threads, one group, and the map."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from clew.web.asking import Presenter, PresenterOf
from clew.web.pages.drawing import ViewerAt, draw, group_strings, worker_of
from clew.web.problems import not_found
from clew.web.results import Results, ResultsOf, View, group_quality, title_of
from clew.web.words import say

router = APIRouter(include_in_schema=False)
#: Groups on the first page, and items of one group on its page.
N_SHELVES, N_ITEMS = 40, 60
#: Items on a shelf: from the sure end, and from the end that frays.
N_SURE, N_FRAYING = 5, 3
#: Items in the trays below: in doubt, in no group.
N_TRAY = 12


def _data(view: View, results: Results, **more: Any) -> dict[str, Any]:
    """Return what the script of the gallery needs."""
    named = {group.id: group.name for group in results.groups()}
    groups = [
        {
            "id": group,
            "name": title_of(group, named.get(group, "")),
            "n": len(ids),
            "named": named.get(group, ""),
            "examples": (view.exemplars.get(group) or ids)[:3],
        }
        for group, ids in view.members.items()
        if group >= 0
    ]
    revision = view.stored.revision
    return {"strings": group_strings(), "groups": groups, "revision": revision, **more}


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


def _ends(view: View, ids: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the items at the sure end of a shelf, and those where it frays."""
    if len(ids) <= N_SURE + N_FRAYING + 1:
        return ids, []
    fraying = [one for one in ids[N_SURE:] if view.line_of(one) in ("fair", "doubt")]
    return ids[:N_SURE], fraying[-N_FRAYING:]


def _shelf(view: View, group: int, name: str, ids: Sequence[str]) -> dict[str, Any]:
    """Return a group as it lies on the first page; its items are still ids."""
    first, last = _ends(view, ids)
    return {
        "id": group,
        "name": title_of(group, name),
        "named": bool(name),
        "n": len(ids),
        "percent": round(100 * statistics.fmean(view.confidence.get(one, 0.0) for one in ids)),
        "n_doubt": sum(view.line_of(one) == "doubt" for one in ids),
        "first": first,
        "last": last,
        "more": len(ids) - len(first) - len(last),
    }


@router.get("/groups")
def groups(
    request: Request,
    person: ViewerAt,
    results: ResultsOf,
    presenter: PresenterOf,
    n: Annotated[int, Query(ge=1, le=2000)] = N_SHELVES,
) -> Response:
    """Show all groups, each on its thread."""
    view = results.newest()
    if view is None:
        return _none_yet(request, person, say("groups.heading"))
    named = {group.id: group.name for group in results.groups()}
    lasting = [(group, ids) for group, ids in view.members.items() if group >= 0]
    shelves = [_shelf(view, group, named.get(group, ""), ids) for group, ids in lasting[:n]]
    tray, nobody = view.doubtful_items, view.members.get(-1, [])
    shown = [one for shelf in shelves for one in (*shelf["first"], *shelf["last"])]
    shown += [*tray[:N_TRAY], *nobody[:N_TRAY]]
    found = {one["id"]: one for one in _strung(view, presenter, list(dict.fromkeys(shown)))}

    def hung(ids: Sequence[str]) -> list[dict[str, Any]]:
        return [found[one] for one in ids if one in found]

    for shelf in shelves:
        shelf |= {"first": hung(shelf["first"]), "last": hung(shelf["last"])}
    return draw(
        request,
        "groups",
        say("groups.heading"),
        person,
        bar=person.may("reviewer"),
        shelves=shelves,
        n_groups=len(lasting),
        n_items=len(view.ids),
        further=len(lasting) - len(shelves),
        step=n + N_SHELVES,
        tray=hung(tray[:N_TRAY]),
        n_tray=len(tray),
        nobody=hung(nobody[:N_TRAY]),
        n_nobody=len(nobody),
        names={group: title_of(group, name) for group, name in named.items()},
        data=_data(view, results),
        **worker_of(request),
    )


def _none_yet(request: Request, person: Any, heading: str) -> Response:
    return draw(request, "groups", heading, person, template="none_yet.html", **worker_of(request))


@router.get("/groups/{group}")
def group(
    request: Request, person: ViewerAt, group: int, results: ResultsOf, presenter: PresenterOf
) -> Response:
    """Show one group: examples, the rest, what is in doubt."""
    view = results.newest()
    if view is None or group not in view.members:
        raise not_found()
    ids, names = view.members[group], results.names()
    examples = [one for one in ids if view.line_of(one) == "knot"]
    n_shown = len(examples) + N_ITEMS
    rest = ids[len(examples) : n_shown]
    doubt = [one for one in ids[n_shown:] if view.line_of(one) == "doubt"][:N_TRAY]
    others = [one for one in view.members if one >= 0 and one != group][:6]
    faces = [(view.exemplars.get(one) or view.members[one])[0] for one in others]
    nearest = zip(others, _strung(view, presenter, faces), strict=False)
    return draw(
        request,
        "groups",
        title_of(group) if group < 0 else names.get(group) or title_of(group),
        person,
        template="group.html",
        bar=person.may("reviewer"),
        group=group,
        n=len(ids),
        percent=round(100 * statistics.fmean(view.confidence.get(one, 0.0) for one in ids)),
        quality=group_quality(view).get(group) or {},
        examples=_strung(view, presenter, examples),
        rest=_strung(view, presenter, rest),
        doubt=_strung(view, presenter, doubt),
        more=len(ids) - len(examples) - len(rest),
        after=len(examples) + len(rest),
        nearest=[(one, names.get(one) or title_of(one), face) for one, face in nearest],
        data=_data(view, results, group=group, members=ids[:5000]),
    )


@router.get("/map")
def the_map(request: Request, person: ViewerAt, results: ResultsOf) -> Response:
    """Show the map, and the same points as a table."""
    view = results.newest()
    if view is None:
        return _none_yet(request, person, say("map.heading"))
    return draw(
        request,
        "map",
        say("map.heading"),
        person,
        bar=person.may("reviewer"),
        n_items=len(view.ids),
        data=_data(view, results),
    )
