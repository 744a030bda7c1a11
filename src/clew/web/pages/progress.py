"""How much is left, how right it is, and how people answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from clew._limits import LEAST_ANSWERS, LEAST_CHECKS
from clew.answers import DONT_KNOW, Answer
from clew.store.base import Counts, Store
from clew.web import charts
from clew.web.accounts import StoreOf
from clew.web.pages.drawing import ViewerAt, draw, seconds, worker_of
from clew.web.results import (
    Results,
    ResultsOf,
    group_quality,
    quality_words,
    remaining_of,
    title_of,
)
from clew.web.words import say

router = APIRouter(include_in_schema=False)
#: Last answers from whose times a person's median is taken.
N_TIMED = 5000


@router.get("/progress")
def progress(request: Request, person: ViewerAt, store: StoreOf, results: ResultsOf) -> Response:
    """Say how much is left, how right it is, and who agrees with whom."""
    view, counts = results.newest(), store.counts()
    left, quality = remaining_of(view), (view.body.get("quality") or {}) if view else {}
    names, may_see = results.names(), person.may("reviewer")
    people = [one.name for one in store.annotators() if one.kind == "person"]
    rows = people_of(store, results, counts)
    return draw(
        request,
        "progress",
        say("progress.heading"),
        person,
        left=left,
        charts=_charts(left, quality, counts),
        counts=counts,
        mine=counts.by_annotator.get(person.name, 0),
        dont_know=n_dont_know(counts),
        jaccard=quality.get("jaccard"),
        quality_words=quality_words(view),
        n_checks=(view.body.get("n_checks") or 0) if view else 0,
        least_checks=LEAST_CHECKS,
        quality=quality,
        group_quality=[
            (names.get(group) or title_of(group), one) for group, one in group_quality(view).items()
        ],
        people=people if may_see else [],
        shared=agreement(store, people) if may_see and len(people) > 1 else {},
        rows=rows if may_see else [one for one in rows if one["name"] == person.name],
        enough=view is not None and view.is_enough,
        may_see=may_see,
        data={"names": names | {-1: title_of(-1)}},
        **worker_of(request),
    )


def _charts(left: dict[str, Any] | None, quality: dict[str, Any], counts: Counts) -> dict[str, Any]:
    """Draw one figure for each statement that can be made."""
    drawn: dict[str, Any] = {}
    if left:
        answered, low, median, high = (int(left[k]) for k in ("answered", "low", "median", "high"))
        label = say("progress.left.label", **left)
        drawn["remaining"] = charts.remaining_chart(answered, low, median, high, label)
    jaccard = quality.get("jaccard")
    if jaccard and None not in jaccard:
        value, low_q, high_q = (100 * float(one) for one in jaccard)
        label = say("quality.between", low=round(low_q), high=round(high_q))
        drawn["quality"] = charts.interval_chart(value, low_q, high_q, f"{value:.0f}, {label}")
    kinds = Counter[str]()
    for name, n in counts.by_value.items():
        kinds[name.split(" ")[0]] += n
    if kinds:
        named = [(say(f"settings.kind.{kind}"), n) for kind, n in kinds.most_common()]
        drawn["kinds"] = charts.bars_chart(named, say("progress.answers"))
    return drawn


def n_dont_know(counts: Counts) -> int:
    """Count the don't-knows."""
    return sum(n for name, n in counts.by_value.items() if name.endswith(f" {DONT_KNOW}"))


def people_of(store: Store, results: Results, counts: Counts | None = None) -> list[dict[str, Any]]:
    """How everybody answers: errors and repeats of the newest result, times of the last answers."""
    view, counts = results.newest(), counts or store.counts()
    times: dict[str, list[int]] = {}
    for logged in store.log(only_standing=True, newest_first=True, limit=N_TIMED):
        ms = getattr(logged.entry, "ms", None)
        if ms is not None:
            times.setdefault(logged.entry.annotator, []).append(ms)
    estimated = {one["name"]: one for one in (view.body.get("annotators") or ())} if view else {}
    is_early = counts.n_answers - n_dont_know(counts) < LEAST_ANSWERS
    rows = []
    for name in dict.fromkeys([*estimated, *counts.by_annotator]):
        found = estimated.get(name, {})
        # Before, it is what is assumed of everybody.
        error = None if is_early else found.get("error")
        rows.append(
            {
                "name": name,
                "n": counts.by_annotator.get(name, found.get("n", 0)),
                "error": error if error and None not in error else None,
                "twice": _twice(found.get("agreement_with_self"), found.get("n_repeats", 0)),
                "median": seconds(times.get(name, ())),
            }
        )
    return rows


def _twice(share: Sequence[float] | None, n: int) -> str:
    """Say how many repeated questions got the same answer."""
    if not share or not n or share[0] is None:
        return ""
    return say("progress.agreement.of", same=round(share[0] * n), n=n)


def agreement(store: Store, people: Sequence[str]) -> dict[tuple[str, str], tuple[int, int]]:
    """Count for each two people the questions that both answered, and those answered alike."""
    answers: dict[Any, dict[str, Any]] = {}
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
