"""Lasting groups: ids that are never used again, items that stay, what moved, people's edits."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from clew._files import group_title
from clew.answers import SAME, Answer, expand
from clew.constraints._validation import RowIds
from clew.exceptions import InvalidArgumentError

Labels = NDArray[np.int64]
Rows = NDArray[np.int64]


class RowEdit(NamedTuple):
    """An edit, with rows in place of ids."""

    kind: str
    items: tuple[int, ...]
    target: tuple[int, ...]


class _Part(NamedTuple):
    """Rows that go to a group together, or do not."""

    rows: Rows
    to: int
    """-1: to a new group."""


class Change(NamedTuple):
    """An item that is in another group than in the result before."""

    id: Hashable
    """The item."""
    before: int | None
    """Id of its group before; None if it was in no group."""
    after: int | None
    """Id of its group; None if it is in no group."""
    answer: Answer | None
    """The answer that moved it: the former groups violate it, and the new ones do not. None if no
    answer about the item's former group is such a one; then the item was not confirmed."""

    def __str__(self) -> str:
        why = "" if self.answer is None else f": {self.answer.annotator or 'somebody'}'s answer"
        return f"{self.id} moved from {group_title(self.before)} to {group_title(self.after)}{why}"


class Before(NamedTuple):
    """The groups of the result before, for the items of now."""

    groups: Labels
    """Id of the group of each row; -1 for none."""
    is_old: NDArray[np.bool_]
    """Whether the result before had the row."""
    next_id: int
    """Smallest id that was never used."""


def groups_before(previous: Any, ids: RowIds) -> Before:
    """Read the groups of an earlier result: a `SessionResult`, or what its `to_dict` returned."""
    n = len(ids)
    if previous is None:
        return Before(np.full(n, -1), np.zeros(n, np.bool_), 0)
    try:
        if isinstance(previous, Mapping):
            names = previous["ids"]
            groups, next_id = previous["group_ids"], previous["next_group_id"]
        else:
            names = previous.ids
            groups, next_id = previous.group_ids_, previous.next_group_id_
        old = dict(zip(map(str, names), np.asarray(groups, np.int64).tolist(), strict=True))
        next_id = int(next_id)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            "previous must be a SessionResult or what its to_dict() returned, got "
            f"{type(previous).__name__}: {error}"
        ) from error
    texts = [str(name) for name in ids.names]
    found = np.array([old.get(text, -1) for text in texts], np.int64)
    return Before(found, np.array([text in old for text in texts]), next_id)


def matched(labels: Labels, before: Before) -> tuple[Labels, int]:
    """Lasting ids, kept by most items, and the first unused one; O(n + k³) for k groups."""
    is_in = labels >= 0
    n_groups = int(labels.max(initial=-1)) + 1
    name = np.full(n_groups, -1, np.int64)
    both = is_in & (before.groups >= 0)
    if both.any():
        old, at = np.unique(before.groups[both], return_inverse=True)
        shape = (len(old), n_groups)
        table = coo_array((np.ones(len(at)), (at, labels[both])), shape=shape).tocsr()
        overlap = table.tocoo()
        i, j = overlap.coords
        square = coo_array((np.ones(len(i)), (i, j + len(old))), shape=(len(old) + n_groups,) * 2)
        _, part = connected_components(square, directed=False)
        for k in np.unique(part[: len(old)]):
            rows = np.flatnonzero(part[: len(old)] == k)
            columns = np.flatnonzero(part[len(old) :] == k)
            block = table[rows][:, columns].toarray()
            for r, c in zip(*linear_sum_assignment(-block), strict=True):
                if block[r, c] > 0:
                    name[columns[c]] = old[rows[r]]
    new = np.flatnonzero(name < 0)
    name[new] = before.next_id + np.arange(len(new))
    groups = np.full(len(labels), -1, np.int64)
    groups[is_in] = name[labels[is_in]]
    return groups, max(before.next_id + len(new), int(before.groups.max(initial=-1)) + 1)


class Evidence(NamedTuple):
    """The pairs that answers imply."""

    pairs: Labels
    """Rows, (n_pairs, 2)."""
    is_same: NDArray[np.bool_]
    answers: list[Answer]

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> Evidence:
        """Collect the pairs of people's answers of positive weight, in their order."""
        found = [
            (answer.question.rows[i], answer.question.rows[j], said == SAME, answer)
            for answer in answers
            if answer.weight > 0 and answer.origin != "rule"
            for i, j, said, _ in expand(answer)
        ]
        pairs = np.array([each[:2] for each in found], np.int64).reshape(-1, 2)
        is_same = np.array([each[2] for each in found], np.bool_)
        return cls(pairs, is_same, [each[3] for each in found])

    def holds(self, groups: Labels) -> NDArray[np.bool_]:
        """Return whether groups agree with each pair; false where a row is in no group."""
        i, j = groups[self.pairs.T]
        return np.asarray((i >= 0) & (j >= 0) & ((i == j) == self.is_same))

    def moving(self, before: Labels, after: Labels) -> NDArray[np.intp]:
        """Return the pairs that the former groups violate and the new ones do not."""
        i, j = before[self.pairs.T]
        violated = (i >= 0) & (j >= 0) & ((i == j) != self.is_same)
        return np.flatnonzero(violated & self.holds(after))


def held(before: Before, after: Labels, evidence: Evidence) -> Labels:
    """Return new groups; answers move an item from those of its group that it was called the same.

    Items that were called the same only as others that move with them are not kept.
    """
    old, kept = before.groups, after.copy()
    agrees = evidence.is_same & evidence.holds(old) & (after[evidence.pairs] >= 0).all(axis=1)
    pairs, ways = evidence.pairs[agrees], set[tuple[int, int]]()
    for at in evidence.moving(old, after).tolist():
        pair = evidence.pairs[at]
        ways |= {(int(g), int(t)) for g in old[pair] for t in after[pair]}
    while True:
        parted = np.unique(pairs[kept[pairs[:, 0]] != kept[pairs[:, 1]]])
        stays = [
            row
            for row in parted[kept[parted] != old[parted]].tolist()
            if (int(old[row]), int(after[row])) not in ways
        ]
        if not stays:
            return kept
        kept[stays] = old[stays]


def changes_of(
    ids: Sequence[Hashable], before: Before, after: Labels, evidence: Evidence
) -> tuple[Change, ...]:
    """Items in another group than before, each with the last answer that moved it."""
    old = before.groups
    moved = np.flatnonzero(before.is_old & (old != after))
    if not len(moved):
        return ()
    own: dict[int, Answer] = {}
    ways: dict[tuple[int, int], Answer] = {}
    for at in evidence.moving(old, after).tolist():
        pair, answer = evidence.pairs[at].tolist(), evidence.answers[at]
        own |= dict.fromkeys(pair, answer)
        ways |= {(int(old[i]), int(after[j])): answer for i in pair for j in pair}
    return tuple(
        Change(
            ids[row],
            int(old[row]) if old[row] >= 0 else None,
            int(after[row]) if after[row] >= 0 else None,
            own.get(row) or ways.get((int(old[row]), int(after[row]))),
        )
        for row in moved.tolist()
    )


def edited(labels: Labels, edits: Sequence[RowEdit], answers: Iterable[Answer]) -> Labels:
    """Return groups (n_rows,) after edits, in order; one that answers contradict does nothing.

    Only answers with which the groups agree count: the others are more likely wrong.
    """
    groups = labels.copy()
    known = Evidence.of(answer for answer in answers if answer.origin != "edit") if edits else None
    for edit in edits:
        assert known is not None
        for part in _parts(edit, groups):
            if not _contradicting(part, groups, known).any():
                groups[part.rows] = groups.max() + 1 if part.to < 0 else part.to
    return groups


def contradicting(
    labels: Labels, edit: RowEdit, answers: Iterable[Answer]
) -> list[tuple[int, int, Answer]]:
    """Return the pairs and their answers for which an edit, or a part of it, is not done."""
    known = Evidence.of(answer for answer in answers if answer.origin != "edit")
    found = np.zeros(len(known.answers), np.bool_)
    for part in _parts(edit, labels):
        found |= _contradicting(part, labels, known)
    return [(*known.pairs[at].tolist(), known.answers[at]) for at in np.flatnonzero(found)]


def _parts(edit: RowEdit, groups: Labels) -> Iterator[_Part]:
    items, target = (np.array([r for r in rows if groups[r] >= 0], np.int64) for rows in edit[1:])
    if edit.kind == "lock":
        target = items
    if not len(items) or not len(target):
        return
    to = int(np.bincount(groups[target]).argmax())
    if edit.kind == "merge":
        whole = groups == np.bincount(groups[items]).argmax()
        whole[items] = whole[target] = True
        yield _Part(np.flatnonzero(whole & (groups != to)), to)
    elif edit.kind == "split":
        yield _Part(items[groups[items] == to], -1)
        yield _Part(target[np.isin(groups[target], groups[items])], to)
        yield _Part(target[np.isin(groups[target], groups[items])], -1)
    elif edit.kind == "not_in":
        yield from (_Part(item[None], -1) for item in items if groups[item] == to)
        yield _Part(items[groups[items] == to], -1)  # answers hold those that are left together
    else:
        yield _Part(items[groups[items] != to], to)
        yield from (_Part(item[None], to) for item in items if groups[item] != to)


def _contradicting(part: _Part, groups: Labels, known: Evidence) -> NDArray[np.bool_]:
    """Mark the answers that the groups agree with, and would not after a part of an edit."""
    after = groups.copy()
    after[part.rows] = groups.max() + 1 if part.to < 0 else part.to
    return known.holds(groups) & ~known.holds(after)
