"""Memberships of rows in a few candidate groups, computed from those of anchors, and conversely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._parallel import blocks, in_threads
from clew.cluster.guided._anchors.anchors import BLOCK_ROWS, Links
from clew.kernels.sparse_belief_propagation import shared_probabilities
from clew.kernels.sparse_memberships import add_to_anchors, largest_shares, mix_memberships

__all__ = [
    "Memberships",
    "all_anchor_memberships",
    "all_row_memberships",
    "anchor_sums",
    "row_memberships",
]

#: Candidate groups of a row and of an anchor.
N_OF_ROW, N_OF_ANCHOR = 8, 16
#: Added to each share of a row, which is then raised to the power of `STRENGTH`.
FLOOR: Final = 0.03
STRENGTH: Final = 3.0


class Memberships(NamedTuple):
    """Candidate groups and their probabilities, the most probable groups of each row or anchor."""

    groups: NDArray[np.int32]
    """Groups, (n_rows, n_candidates); rows with fewer candidates end in -1."""
    shares: NDArray[np.float32]
    """Their probabilities; each row sums to 1."""
    n_clusters: int
    """Number of all groups."""

    @classmethod
    def largest_of(cls, dense: Any, n_kept: int) -> Memberships:
        """Keep the largest entries of each row of a matrix.

        Parameters
        ----------
        dense : ndarray or csr_array of shape (n_rows, n_clusters)
            Nonnegative, with a positive entry in each row.
        n_kept : int
            Number of candidates, fewer where there are fewer groups.

        Returns
        -------
        Memberships
        """
        sparse = csr_array(dense)
        shape = sparse.shape[0], min(n_kept, sparse.shape[1])
        groups, shares = np.empty(shape, np.int32), np.empty(shape, np.float32)
        largest_shares(
            sparse.indptr.astype(np.int32),
            sparse.indices.astype(np.int32),
            sparse.data.astype(np.float32),
            groups,
            shares,
        )
        return cls(groups, shares, sparse.shape[1])

    @classmethod
    def stacked(cls, parts: Sequence[Memberships]) -> Memberships:
        """Concatenate blocks of rows."""
        groups = np.concatenate([part.groups for part in parts])
        shares = np.concatenate([part.shares for part in parts])
        return cls(groups, shares, parts[0].n_clusters)

    @property
    def labels(self) -> NDArray[np.int64]:
        """Most probable group of each row."""
        best = self.shares.argmax(axis=1)
        return np.asarray(self.groups[np.arange(len(best)), best], dtype=np.int64)

    def at(self, rows: Any) -> Memberships:
        """Select rows."""
        return self._replace(groups=self.groups[rows], shares=self.shares[rows])

    def with_rows(self, rows: NDArray[Any], others: Memberships) -> Memberships:
        """Replace the memberships of some rows."""
        groups, shares = self.groups.copy(), self.shares.copy()
        groups[rows], shares[rows] = others.groups, others.shares
        return self._replace(groups=groups, shares=shares)

    def shared(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute the probabilities that rows of questions share a group.

        Parameters
        ----------
        rows : ndarray of shape (n_questions, 2) or (n_questions, 3)
            Row numbers.

        Returns
        -------
        ndarray of shape (n_questions, 5)
            See `clew.trust._outcomes.co_membership`.
        """
        found = np.empty((len(rows), 5))
        rows = np.ascontiguousarray(rows, np.int64)
        shared_probabilities(rows, self.groups, rows, self.shares, found)
        return found

    def as_sparse(self) -> csr_array:
        """Return the probabilities as a sparse matrix, (n_rows, n_clusters)."""
        is_group = self.groups >= 0
        start = np.concatenate([[0], is_group.sum(axis=1).cumsum()])
        shape = len(self.groups), self.n_clusters
        entries = self.shares[is_group].astype(np.float64), self.groups[is_group], start
        matrix = csr_array(entries, shape=shape)
        matrix.sort_indices()
        return matrix


def row_memberships(
    links: Links, anchors: Memberships, suggested: NDArray[np.int32] | None = None
) -> Memberships:
    """Predict the memberships of rows from those of their anchors.

    Parameters
    ----------
    links : Links
        Anchors of a block of rows.
    anchors : Memberships
        Memberships of all anchors.
    suggested : ndarray of shape (n_rows,), int32, default=None
        A group that stays a candidate of each row; -1 for none.

    Returns
    -------
    Memberships
        Up to eight candidates a row: the weighted means of its anchors' probabilities, plus .03, to
        the power of 3.
    """
    n = len(links.nearest)
    if suggested is None:
        suggested = np.full(n, -1, np.int32)
    shape = n, min(N_OF_ROW, anchors.n_clusters)
    groups, shares = np.empty(shape, np.int32), np.empty(shape, np.float32)
    total = np.zeros(anchors.n_clusters, np.float32)
    mix_memberships(
        *links, anchors.groups, anchors.shares, suggested, FLOOR, STRENGTH, total, groups, shares
    )
    return Memberships(groups, shares, anchors.n_clusters)


def anchor_sums(links: Links, rows: Memberships, n_anchors: int) -> csr_array:
    """Sum the memberships of a block of rows for each anchor, by the weights of the links.

    Parameters
    ----------
    links : Links
        Anchors of a block of rows.
    rows : Memberships
        Memberships of these rows.
    n_anchors : int
        Number of all anchors.

    Returns
    -------
    csr_array of shape (n_anchors, n_clusters)
        Sums of blocks add up to those of all rows.
    """
    sums = np.zeros((n_anchors, rows.n_clusters), np.float32)
    add_to_anchors(*links, rows.groups, rows.shares, sums)
    return csr_array(sums)


def all_row_memberships(links: Links, anchors: Memberships, n_jobs: int | None) -> Memberships:
    """Apply `row_memberships` to all blocks of rows."""
    parts = in_threads(
        lambda part: row_memberships(links.at(slice(*part)), anchors),
        blocks(len(links.nearest), BLOCK_ROWS),
        n_jobs=n_jobs,
    )
    return Memberships.stacked(parts)


def all_anchor_memberships(
    links: Links, rows: Memberships, before: Memberships, n_jobs: int | None
) -> Memberships:
    """Average the memberships of all rows for each anchor.

    Parameters
    ----------
    links : Links
        Anchors of all rows.
    rows : Memberships
        Memberships of all rows.
    before : Memberships
        Memberships of anchors, for those without rows.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Memberships
        Up to 16 candidates an anchor.
    """
    n_anchors = len(before.groups)
    parts = in_threads(
        lambda part: anchor_sums(links.at(slice(*part)), rows.at(slice(*part)), n_anchors),
        blocks(len(links.nearest), BLOCK_ROWS),
        n_jobs=n_jobs,
    )
    found = Memberships.largest_of(sum(parts[1:], parts[0]), N_OF_ANCHOR)
    has_none = found.groups[:, 0] < 0
    return found.with_rows(has_none, before.at(has_none))
