"""The newest result, read once for each revision, with the names that people gave its groups."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clew.store.base import Group, Store, StoredResult
from clew.web.words import say

#: From this probability on the thread is solid; from the second on dashed; below it dotted.
SURE = 0.9
FAIRLY_SURE = 0.6


@dataclass(frozen=True)
class View:
    """A result as pages need it: rows by group, the surest first."""

    stored: StoredResult

    @property
    def body(self) -> Mapping[str, Any]:
        """The result as JSON."""
        return self.stored.body

    @cached_property
    def ids(self) -> Sequence[str]:
        """Ids of the items, one a row."""
        return list(map(str, self.body.get("ids", ())))

    @cached_property
    def group_of(self) -> dict[str, int]:
        """The group of each item; -1 for none."""
        return dict(
            zip(
                self.ids,
                (-1 if v is None else int(v) for v in self.body.get("group_ids", ())),
                strict=False,
            )
        )

    @cached_property
    def confidence(self) -> dict[str, float]:
        """How sure each item's group is."""
        values = self.body.get("confidence") or ()
        return {
            one: float(v if v is not None else 0) for one, v in zip(self.ids, values, strict=False)
        }

    @cached_property
    def exemplars(self) -> dict[int, list[str]]:
        """Examples of each group, the most typical first."""
        found = self.body.get("exemplars") or {}
        return {int(group): [str(one) for one in ids] for group, ids in found.items()}

    @cached_property
    def members(self) -> dict[int, list[str]]:
        """Items of each group, examples first, then the surest first; large groups first."""
        groups: dict[int, list[str]] = {}
        for one, group in self.group_of.items():
            groups.setdefault(group, []).append(one)
        for group, ids in groups.items():
            first = {one: at for at, one in enumerate(self.exemplars.get(group, ()))}
            ids.sort(key=lambda one: (first.get(one, len(first)), -self.confidence.get(one, 0.0)))
        return dict(sorted(groups.items(), key=lambda pair: (pair[0] < 0, -len(pair[1]), pair[0])))

    def line_of(self, item: str) -> str:
        """How the thread of an item looks: knot, sure, fair or doubt."""
        group = self.group_of.get(item, -1)
        if item in self.exemplars.get(group, ()):
            return "knot"
        p = self.confidence.get(item, 0.0)
        return "sure" if p >= SURE else "fair" if p >= FAIRLY_SURE else "doubt"

    @cached_property
    def doubtful_items(self) -> list[str]:
        """Items whose group is in doubt, the least sure first."""
        found = [one for one in self.ids if self.line_of(one) == "doubt"]
        return sorted(found, key=lambda one: self.confidence.get(one, 0.0))


class Results:
    """Keeps the newest result of a store.

    Parameters
    ----------
    store : Store
        Where results are published.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._view: View | None = None

    def newest(self) -> View | None:
        """Return the newest result; None if there is none."""
        revision = self._store.result_revision()
        if revision is None:
            return None
        with self._lock:
            if self._view is None or self._view.stored.revision != revision:
                stored = self._store.result()
                self._view = View(stored) if stored else None
            return self._view

    def groups(self) -> list[Group]:
        """Return the groups of the newest result."""
        return self._store.groups()

    def names(self) -> dict[int, str]:
        """Return the title of each group."""
        return {group.id: title_of(group.id, group.name) for group in self.groups()}


def title_of(group: int, name: str = "") -> str:
    """Return the name of a group, or "Group 1" for the one whose id is 0: people count from 1."""
    return name or say("group.unnamed", n=group + 1)


def remaining_of(view: View | None) -> dict[str, Any] | None:
    """Return how many questions are left, with the number answered when it was estimated."""
    left = view.body.get("remaining") if view else None
    if not left or left.get("median") is None:
        return None
    return {**left, "answered": view.body.get("n_answers", 0) if view else 0}
