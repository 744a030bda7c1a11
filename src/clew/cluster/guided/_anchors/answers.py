"""Answers in a fit to anchors: held out, moved to anchors, and ties between answered rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._anchors.rows import Memberships
from clew.cluster.guided._ensemble.ensemble import Fold
from clew.cluster.guided._refinement.refinement import TiedRows
from clew.constraints import AnswerTable, Constraints
from clew.constraints._folds import fold_numbers
from clew.constraints._tables import PARAMETER
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import informative_tables

__all__ = ["AnsweredRows", "HeldOutMemberships", "hold_out", "moved_answers", "places_of_ends"]

#: One answer in five is held out, at most `MAX_HELD` in all.
N_PARTS: Final = 5
MAX_HELD: Final = 200_000
#: Maximum number of answers that are moved to anchors.
MAX_MOVED: Final = 10_000


class HeldOutMemberships(NamedTuple):
    """Memberships that were fitted without some answers, as `answer_errors` reads them."""

    memberships: Memberships

    def held_out_association(self, pairs: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return the probabilities that the rows of pairs share a group, all folds concatenated."""
        return np.concatenate([self.memberships.shared(of_fold)[:, 1] for of_fold in pairs])


class AnsweredRows:
    """The rows that answers name, and the answers as ties between them.

    Parameters
    ----------
    known : Constraints
        Answers about all rows.
    confusion : ConfusionMatrices
        Error rates of the annotators.
    """

    def __init__(self, known: Constraints, confusion: ConfusionMatrices) -> None:
        tables = informative_tables(known, with_dont_know_pairs=False)
        named = np.zeros(known.n_samples, np.bool_)
        for table in tables:
            named[table.rows] = True
        self.rows = np.flatnonzero(named)
        # Not `Constraints.subset`: ids of many rows take long to select.
        number = np.full(known.n_samples, -1)
        number[self.rows] = np.arange(len(self.rows))
        numbered = [table.renumbered(number) for table in tables]
        self.known = Constraints(max(len(self.rows), 1)).with_tables(numbered, known.annotators)
        self.tied = TiedRows(self.known, confusion)
        self._must_link = self.known.as_pairs().must_link

    def suggested(self, memberships: Memberships) -> NDArray[np.int32]:
        """Return the group that most must-linked rows are in, for each answered row.

        Parameters
        ----------
        memberships : Memberships
            Memberships of the answered rows.

        Returns
        -------
        ndarray of shape (n_rows,), int32
            -1 for rows without must-links.
        """
        labels, found = memberships.labels, np.full(len(self.rows), -1, np.int32)
        both = np.concatenate([self._must_link, self._must_link[:, ::-1]])
        key = both[:, 0] * memberships.n_clusters + labels[both[:, 1]]
        each, count = np.unique(key, return_counts=True)
        row, group = np.divmod(each, memberships.n_clusters)
        # The group with the largest count is written last, and stays.
        order = np.lexsort((group, count))
        found[row[order]] = group[order]
        return found


def places_of_ends(tables: Sequence[AnswerTable]) -> list[NDArray[np.int64]]:
    """Return the positions of the rows of each answer among the ends that `TiedRows` has sorted."""
    columns = [table.rows[:, at] for table in tables for at in range(table.rows.shape[1])]
    order = np.argsort(np.concatenate(columns), kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    parts = np.split(place, np.cumsum([table.rows.size for table in tables])[:-1])
    return [
        np.ascontiguousarray(part.reshape(table.rows.shape[::-1]).T)
        for part, table in zip(parts, tables, strict=True)
    ]


def hold_out(known: Constraints, seed: int) -> Fold | None:
    """Hold out a fifth of the questions; None if no pair would be held out.

    Parameters
    ----------
    known : Constraints
        All answers.
    seed : int
        Seed of the choice.

    Returns
    -------
    Fold or None
        Training and held-out answers, 200,000 of these at most; the rest of the fifth is left out.
    """
    parts = fold_numbers(known, N_PARTS, seed)
    kept = known.select(**{kind: part != 0 for kind, part in parts.items()})
    held = known.select(**{kind: part == 0 for kind, part in parts.items()})
    held = at_most(held, MAX_HELD, np.random.RandomState(seed))
    pairs = held.as_pairs()
    is_scored = (pairs.pair_weights > 0) & ~pairs.is_dont_know
    return Fold(kept, held) if is_scored.any() else None


def at_most(known: Constraints, n: int, random: np.random.RandomState) -> Constraints:
    """Choose up to n answers of all kinds at random."""
    sizes = [len(table) for table in known.tables]
    if sum(sizes) <= n:
        return known
    is_chosen = np.zeros(sum(sizes), np.bool_)
    is_chosen[random.choice(len(is_chosen), n, replace=False)] = True
    parts = np.split(is_chosen, np.cumsum(sizes)[:-1])
    names = [PARAMETER[table.kind] for table in known.tables]
    return known.select(**dict(zip(names, parts, strict=True)))


def moved_answers(
    known: Constraints, nearest: NDArray[np.int32], n_anchors: int, seed: int
) -> Constraints:
    """Turn answers about rows into answers about their nearest anchors.

    Parameters
    ----------
    known : Constraints
        Answers about all rows.
    nearest : ndarray of shape (n_samples,), int32
        Nearest anchor of each row.
    n_anchors : int
        Number of anchors.
    seed : int
        Seed of the choice.

    Returns
    -------
    Constraints
        Up to 10,000 answers, chosen at random: choosing those whose rows are near their anchors
        would favor dense groups. Answers that name an anchor twice are left out.
    """
    number = nearest.astype(np.int64)
    tables = []
    for table in informative_tables(known, with_dont_know_pairs=False):
        moved = table.renumbered(number)
        rows = np.sort(moved.rows, axis=1)
        tables.append(moved.take((rows[:, 1:] != rows[:, :-1]).all(axis=1)))
    every = Constraints(n_anchors).with_tables(tables, known.annotators)
    return at_most(every, MAX_MOVED, np.random.RandomState(seed))
