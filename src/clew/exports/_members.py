"""The items with their groups, as every export begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.answers import SAME, Answer, expand
from clew.items import Item

#: An item of less confidence lies between groups.
UNSURE = 0.5


@dataclass(frozen=True, slots=True)
class Member:
    """An item and its group.

    Parameters
    ----------
    item : Item
        The item.
    group : int or None
        Lasting id of its group; None if it is in none.
    name : str
        Name of the group; empty if it has none.
    confidence : float or None
        Probability of the group.
    is_exemplar : bool
        Whether it is an example of its group.
    doubt : str
        Why somebody should look at the item again; empty if there is no reason.
    n_answers : int
        Number of answers about it.
    """

    item: Item
    group: int | None
    name: str = ""
    confidence: float | None = None
    is_exemplar: bool = False
    doubt: str = ""
    n_answers: int = 0

    @property
    def title(self) -> str:
        """Name of the group, or its number."""
        return self.name or ("no group" if self.group is None else f"group {self.group}")


def members_of(
    items: Sequence[Item],
    result: Mapping[str, Any] | None,
    names: Mapping[int, str],
    answers: Iterable[Answer],
) -> list[Member]:
    """Return each item with its group.

    Parameters
    ----------
    items : sequence of Item
        All items of a project.
    result : dict or None
        `SessionResult.to_dict()` of its newest result; None: no groups yet.
    names : dict of int to str
        Names of groups by their ids.
    answers : iterable of Answer
        The answers that stand.

    Returns
    -------
    list of Member
        In the order of the items.
    """
    told = list(answers)
    n_answers = Counter(
        str(name) for answer in told for name in dict.fromkeys(answer.question.ids or ())
    )
    body = result or {"ids": (), "group_ids": (), "confidence": ()}
    group_of = {
        name: group if group >= 0 else None
        for name, group in zip(body["ids"], body["group_ids"], strict=True)
    }
    confidence = dict(zip(body["ids"], body["confidence"], strict=True))
    exemplars = {name for ids in body.get("exemplars", {}).values() for name in ids}
    doubted = {str(each.get("id", each.get("entry"))) for each in body.get("doubtful", ())}
    against = _contradicted(told, group_of, doubted)

    def member(item: Item) -> Member:
        group = group_of.get(item.id)
        share = confidence.get(item.id)
        reasons = [f"set aside: {item.set_aside}"] if item.set_aside is not None else []
        if group is not None and share is not None and share < UNSURE:
            reasons.append("between groups")
        if item.id in against:
            reasons.append("goes against an answer")
        if item.id not in group_of and item.set_aside is None and result is not None:
            reasons.append("not grouped yet")
        return Member(
            item, group, names.get(group, "") if group is not None else "", share,
            item.id in exemplars, "; ".join(reasons), n_answers[item.id],
        )  # fmt: skip

    return [member(item) for item in items]


def _contradicted(
    answers: Iterable[Answer], group_of: Mapping[str, int | None], doubted: set[str]
) -> set[str]:
    """Return the items of answers that the groups violate, and that are not doubted."""
    found: set[str] = set()
    for answer in answers:
        if answer.id in doubted or answer.weight == 0:
            continue
        ids = answer.question.ids or ()
        for first, second, said, _ in expand(answer):
            ends = str(ids[first]), str(ids[second])
            groups = [group_of.get(name) for name in ends]
            if None not in groups and (groups[0] == groups[1]) != (said == SAME):
                found.update(ends)
    return found
