"""Probability that two rows are in the same group, from a strategy or from its groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.graphs import NeighborSearch
from clew.questions import Guided, Strategy
from clew.session._items import Items

__all__ = ["Evidence", "evidence_of", "near_pairs", "probabilities_of"]

Singles = NDArray[np.float32]

#: With more rows than this, probabilities are computed for a random sample of this many rows.
MOST_ROWS, SAMPLE_SEED = 3000, 0
#: For strategies without probabilities: the probability that a row is in one group with one of its
#: nearest rows, and the number of nearest rows. Other pairs between groups have probability 0.
P_NEAR, N_NEAR = 0.25, 10
#: For strategies without probabilities: the probability that a pair within a group belongs
#: together.
P_WITHIN = 0.8


class Evidence(NamedTuple):
    """Probability that two rows are in the same group."""

    labels: Singles
    """The probabilities from which groups are made, (n, n), symmetric."""
    is_estimated: bool
    """Whether the strategy estimates them from the answers."""
    rows: NDArray[np.int64]
    """Numbers of the n rows, ascending: all rows, or a random sample."""
    near: csr_array | None = None
    """See `near_pairs`; of all rows."""


def evidence_of(strategy: Strategy, labels: NDArray[np.int64], near: csr_array | None) -> Evidence:
    """Read the probabilities of a strategy, or derive them from its groups.

    Parameters
    ----------
    strategy : Strategy
        A strategy that was started.
    labels : ndarray of shape (n,), int64
        Its groups.
    near : csr_array or None
        What `near_pairs` returns; not needed with `Guided`.

    Returns
    -------
    Evidence
        Of all rows, or of a sample of 3,000. For strategies other than `Guided`: 1 or 0 where
        answers imply that two rows are the same or different; else 0.8 within groups; else 0.25 for
        nearest rows and 0 for all others, or a small number for all if no features are known.
    """
    n = len(labels)
    rows = np.arange(n)
    if n > MOST_ROWS:
        drawn = np.random.RandomState(SAMPLE_SEED).choice(n, MOST_ROWS, replace=False)
        rows = np.sort(drawn).astype(np.int64)
    if isinstance(strategy, Guided):
        return Evidence(_of_guided(strategy, rows), is_estimated=True, rows=rows, near=None)
    found = _of_groups(strategy, labels, near, rows)
    return Evidence(found, is_estimated=False, rows=rows, near=near)


def probabilities_of(
    strategy: Strategy,
    labels: NDArray[np.int64],
    near: csr_array | None,
    pairs: NDArray[np.int64],
) -> Singles:
    """Return entries of `Evidence.labels` for some pairs of rows, (n_pairs, 2)."""
    if isinstance(strategy, Guided):
        return strategy.probabilities(pairs)
    i, j = pairs.T
    others = _p_between_groups(len(labels), near)
    between = others if isinstance(others, np.float32) else np.asarray(others[i, j]).ravel()
    found = np.where(labels[i] == labels[j], np.float32(P_WITHIN), between)
    found[strategy.known.closure.is_different(i, j)] = 0
    found[strategy.known.closure.is_same(i, j)] = 1
    return np.asarray(found, np.float32)


def _of_groups(
    strategy: Strategy,
    labels: NDArray[np.int64],
    near: csr_array | None,
    rows: NDArray[np.int64],
) -> Singles:
    """Derive probabilities of the pairs of some rows from the groups and from answers."""
    others = _p_between_groups(len(labels), near)
    between = others if isinstance(others, np.float32) else others[rows][:, rows].toarray()
    own = labels[rows]
    found = np.where(own[:, None] == own[None, :], np.float32(P_WITHIN), between)
    closure = strategy.known.closure
    components, component = np.unique(closure.component[rows], return_inverse=True)
    place = np.full(closure.n_components, -1)
    place[components] = np.arange(len(components))
    links = place[closure.cannot_link_components]
    i, j = links[(links >= 0).all(axis=1)].T
    apart = np.zeros((len(components), len(components)), np.bool_)
    apart[i, j] = apart[j, i] = True
    found[apart[np.ix_(component, component)]] = 0
    found[component[:, None] == component[None, :]] = 1
    return np.asarray(found, np.float32)


def _p_between_groups(n: int, near: csr_array | None) -> csr_array | np.float32:
    """Return the probability that rows of different groups are the same, if answers leave it open.

    A sparse symmetric matrix, or one number for all pairs.
    """
    if near is None:
        return np.float32(P_NEAR * min(1.0, N_NEAR / n))
    return csr_array(near.maximum(near.T) * np.float32(P_NEAR))


def _of_guided(strategy: Guided, rows: NDArray[np.int64]) -> Singles:
    n = len(rows)
    if n == strategy.n_samples_:
        return strategy.probabilities()
    pairs = np.column_stack([np.repeat(rows, n), np.tile(rows, n)])
    return strategy.probabilities(pairs).reshape(n, n)


def near_pairs(items: Items) -> csr_array | None:
    """Return the graph of each row and its ten nearest rows.

    Parameters
    ----------
    items : Items
        Features or distances.

    Returns
    -------
    csr_array of shape (n, n), float32, or None
        1 for each of the nearest rows of a row, in general not symmetric; None if neither features
        nor distances are known.
    """
    if not items.is_known:
        return None
    n = len(items.X)
    search = NeighborSearch(items.X, is_distance=items.is_distances)
    _, nearest = search.nearest_others(min(N_NEAR, n - 1))
    starts = np.arange(n + 1) * nearest.shape[1]
    return csr_array((np.ones(nearest.size, np.float32), nearest.ravel(), starts), shape=(n, n))
