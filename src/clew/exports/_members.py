"""The items with their groups, as every export begins, and the answers that are in doubt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from clew._files import group_title
from clew.answers import SAME, Answer, Edit, Entry, entry_to_json, expand, items_of, line_of
from clew.exceptions import InvalidDataError
from clew.items import Item
from clew.store import Logged, Store

#: An item of less confidence lies between groups.
UNSURE = 0.5
#: Reasons to look at an item again.
BETWEEN, AGAINST = "between groups", "goes against an answer"


@dataclass(frozen=True, slots=True)
class Member:
    """An item, its lasting group or None, and its places among examples and parts, from 0."""

    item: Item
    group: int | None
    name: str = ""
    confidence: float | None = None
    exemplar: int | None = None
    doubt: str = ""
    n_answers: int = 0
    subgroup: int | None = None

    @property
    def is_exemplar(self) -> bool:
        """Whether it is an example of its group."""
        return self.exemplar is not None

    @property
    def title(self) -> str:
        """What people call the group."""
        return group_title(self.group, self.name)


def members_of(
    items: Sequence[Item],
    result: Mapping[str, Any] | None,
    names: Mapping[int, str],
    entries: Iterable[Entry],
) -> list[Member]:
    """Each item with its group in `result`, `SessionResult.to_dict()` (None: no groups yet)."""
    told = list(entries)
    n_answers = Counter(
        str(name)
        for answer in told
        if isinstance(answer, Answer)
        for name in dict.fromkeys(answer.question.ids or ())
    )
    body = result or {"ids": (), "group_ids": (), "confidence": ()}
    group_of = {
        name: group if group >= 0 else None
        for name, group in zip(body["ids"], body["group_ids"], strict=True)
    }
    confidence = dict(zip(body["ids"], body["confidence"], strict=True))
    examples = body.get("exemplars", {}).values()
    exemplars = {name: at for ids in examples for at, name in enumerate(ids)}
    doubted = {name for each in body.get("doubtful", ()) for name in (each["id"], each["edit"])}
    against: set[str] = set()
    joined: list[tuple[str, str]] = []
    for first, second, is_same, is_edit in _pairs(told, doubted - {""}):
        groups = group_of.get(first), group_of.get(second)
        if None in groups:
            continue
        if (groups[0] == groups[1]) != is_same:
            against.update(() if is_edit else (first, second))
        elif is_same:
            joined.append((first, second))
    subgroup = _parts(joined, group_of)

    def member(item: Item) -> Member:
        group = group_of.get(item.id)
        share = confidence.get(item.id)
        reasons = [f"set aside: {item.set_aside}"] if item.set_aside is not None else []
        if group is not None and share is not None and share < UNSURE:
            reasons.append(BETWEEN)
        if item.id in against:
            reasons.append(AGAINST)
        if item.id not in group_of and item.set_aside is None and result is not None:
            reasons.append("not grouped yet")
        return Member(
            item, group, names.get(group, "") if group is not None else "", share,
            exemplars.get(item.id), "; ".join(reasons), n_answers[item.id], subgroup.get(item.id),
        )  # fmt: skip

    return [member(item) for item in items]


def _pairs(entries: Iterable[Entry], doubted: set[str]) -> Iterator[tuple[str, str, bool, bool]]:
    """Yield the pairs that entries imply: two ids, whether they are the same, and by an edit."""
    for entry in entries:
        if entry.id in doubted:
            continue
        is_edit = isinstance(entry, Edit)
        answers = entry.answers() if isinstance(entry, Edit) else [entry]
        for answer in answers:
            if not isinstance(answer, Answer) or answer.weight == 0:
                continue
            ids = answer.question.ids or ()
            for first, second, said, _ in expand(answer):
                yield str(ids[first]), str(ids[second]), said == SAME, is_edit


def _parts(joined: Iterable[tuple[str, str]], group_of: Mapping[str, int | None]) -> dict[str, int]:
    """Return for each joined item the number of its part of the group, the largest part first."""
    part_of: dict[str, set[str]] = {}
    for first, second in joined:
        one, other = part_of.get(first) or {first}, part_of.get(second) or {second}
        small, large = sorted((one, other), key=len)
        large |= small
        part_of |= dict.fromkeys(small | {first, second}, large)
    n_parts = Counter[int | None]()
    number_of: dict[str, int] = {}
    for part in sorted({id(part): part for part in part_of.values()}.values(), key=len)[::-1]:
        group = group_of[min(part)]
        number_of |= dict.fromkeys(part, n_parts[group])
        n_parts[group] += 1
    return number_of


DOUBT_COLUMNS: Final = (
    "entry", "kind", "items", "answer", "annotator", "time", "file", "line", "p_wrong", "reason",
    "chain", "chain_entries",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doubt:
    """An answer or edit that stands and looks wrong; `chain`: ids of items that contradict it."""

    logged: Logged
    p_wrong: float
    reason: str
    chain: tuple[str, ...]
    chain_entries: tuple[str, ...]

    @property
    def entry(self) -> Answer | Edit:
        """The answer, or the edit."""
        return cast(Answer | Edit, self.logged.entry)


def doubts_of(store: Store, body: Mapping[str, Any] | None = None) -> list[Doubt]:
    """Doubtful entries that still stand, worst first; an edit once, with its worst answer."""
    if body is None:
        result = store.result()
        if result is None:
            raise InvalidDataError(
                "there are no groups yet; clew group makes them, and finds doubts"
            )
        body = result.body
    worst: dict[str, Mapping[str, Any]] = {}
    for each in sorted(body["doubtful"], key=lambda one: -one["p_wrong"]):
        worst.setdefault(each["edit"] or each["id"], each)
    logged = store.entries_by_id(worst)
    return [
        Doubt(
            logged[id], each["p_wrong"], each["reason"], tuple(map(str, each["chain"])),
            tuple(each["chain_answers"]),
        )
        for id, each in worst.items()
        if id in logged and logged[id].is_standing
    ]  # fmt: skip


def doubt_records(doubts: Iterable[Doubt]) -> list[dict[str, Any]]:
    """Return a record for each doubtful entry."""
    records = []
    for doubt in doubts:
        entry = doubt.entry
        is_answer = isinstance(entry, Answer)
        file, line = line_of(entry)
        row = (
            entry.id, entry.question.kind if isinstance(entry, Answer) else entry.kind,
            list(map(str, items_of(entry))),
            str(json.loads(entry_to_json(entry))["answer"]) if is_answer else "",
            entry.annotator, "" if line else entry.at, file, line or None, doubt.p_wrong,
            doubt.reason, list(doubt.chain), list(doubt.chain_entries),
        )  # fmt: skip
        records.append(dict(zip(DOUBT_COLUMNS, row, strict=True)))
    return records
