"""The doubtful entries of a project, as every reader of them has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from clew.answers import Answer, Edit, entry_to_json, items_of
from clew.exceptions import InvalidDataError
from clew.store import Logged, Store

DOUBT_COLUMNS: Final = (
    "entry", "kind", "items", "answer", "annotator", "time", "p_wrong", "reason", "chain",
    "chain_entries",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doubt:
    """An answer or an edit that looks wrong, and that nobody has taken back since.

    Parameters
    ----------
    logged : Logged
        The entry of the log.
    p_wrong : float
        Probability that it is wrong.
    reason : str
        Why it looks wrong.
    chain : tuple of str
        Ids of a path of items over which other answers contradict it; empty if none does.
    chain_entries : tuple of str
        Ids of the entries of that path.
    """

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
    """Return the doubtful entries of the newest result that still stand, the worst first.

    Parameters
    ----------
    store : Store
        The store of the project.
    body : mapping, default=None
        The newest result, if it was read already.

    Returns
    -------
    list of Doubt
        An edit is in it once, with the most doubtful of the answers that it implies.

    Raises
    ------
    InvalidDataError
        If there is no result yet.
    """
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
        row = (
            entry.id, entry.question.kind if isinstance(entry, Answer) else entry.kind,
            list(map(str, items_of(entry))),
            str(json.loads(entry_to_json(entry))["answer"]) if is_answer else "",
            entry.annotator, entry.at, doubt.p_wrong, doubt.reason, list(doubt.chain),
            list(doubt.chain_entries),
        )  # fmt: skip
        records.append(dict(zip(DOUBT_COLUMNS, row, strict=True)))
    return records
