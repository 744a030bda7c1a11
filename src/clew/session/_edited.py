"""Groups with people's edits: an edit that no answer contradicts is done, whatever features say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import Answer
from clew.session._groups import Evidence

Labels = NDArray[np.int64]
Rows = NDArray[np.int64]


class RowEdit(NamedTuple):
    """An edit, with rows in place of ids."""

    kind: str
    items: tuple[int, ...]
    target: tuple[int, ...]


def edited(labels: Labels, edits: Sequence[RowEdit], answers: Iterable[Answer]) -> Labels:
    """Return the groups after edits, in their order; an edit that answers contradict changes none.

    The answers that count are those with which the groups agree: of the others, answers that
    contradict them are more likely right. An edit is learned like answers in any case.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int64
        Groups; -1 for none.
    edits : sequence of RowEdit
        Edits that stand.
    answers : iterable of Answer
        People's answers. Those that edits stand for are ignored: the last edit holds.
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


class _Part(NamedTuple):
    """Rows that go to a group together, or do not."""

    rows: Rows
    to: int
    """-1: to a new group."""


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
