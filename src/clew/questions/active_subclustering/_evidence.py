"""Answers as votes: about pairs of rows, of subclusters, and of a row and a subcluster."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Evidence", "Votes"]


class Votes(NamedTuple):
    """What was answered about one subcluster."""

    rows: dict[int, tuple[float, int]]
    """For rows of no subcluster: "same" minus "different", weighted, and the number of answers."""
    subclusters: dict[int, tuple[float, int]]
    """The same for other subclusters."""
    members: dict[int, tuple[float, int]]
    """The same for its own rows."""


class Evidence:
    """All answers, by row."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, int, float]] = []
        self.of_row: dict[int, list[tuple[int, float]]] = defaultdict(list)

    def add(self, i: int, j: int, vote: float) -> None:
        """Add an answer about two rows: a vote for "same", negative for "different"."""
        self.pairs.append((i, j, vote))
        self.of_row[i].append((j, vote))
        self.of_row[j].append((i, vote))

    def votes(self, subcluster: int, members: list[int], owner: NDArray[np.int64]) -> Votes:
        """Sum the votes about a subcluster.

        Parameters
        ----------
        subcluster : int
            Its number.
        members : list of int
            Its rows.
        owner : ndarray of shape (n_samples,), int64
            The subcluster of each row, or -1.

        Returns
        -------
        Votes
        """
        found = Votes({}, {}, {})
        for row in members:
            for other, vote in self.of_row.get(row, ()):
                group = int(owner[other])
                if group == -1:
                    _add(found.rows, other, vote)
                elif group == subcluster:
                    _add(found.members, other, vote)
                else:
                    _add(found.subclusters, group, vote)
        return found


def _add(votes: dict[int, tuple[float, int]], key: int, vote: float) -> None:
    total, n = votes.get(key, (0.0, 0))
    votes[key] = total + vote, n + 1
