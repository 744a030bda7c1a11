"""ShortestPaths: distances shortened along must-links."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress
from clew._validation import AllowedValues
from clew.constraints import Constraints
from clew.constraints._support import binding_answers
from clew.graphs import check_dense_size
from clew.kernels.graphs import shorten_through
from clew.similarity.distances._base import (
    METRICS,
    GivenDistances,
    Learned,
    LearnedDistances,
    Links,
    Metric,
)

__all__ = ["ShortestPaths"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ShortestPaths(LearnedDistances):
    """Learn distances as shortest paths: a step between must-linked rows has length 0.

    Rows near either of two must-linked rows come near to each other. Afterwards the distance of
    cannot-linked rows is the largest given distance. Clusterers that compare all rows of two
    groups, such as complete linkage, propagate the cannot-links.

    Parameters
    ----------
    metric : {"precomputed", "euclidean"}, default="precomputed"
        What `fit` is given: distances, or features whose Euclidean distances are used.

    Attributes
    ----------
    distances_ : csr_array of shape (n_samples, n_samples), float64
        Learned distances of the pairs whose distance changed. Symmetric. `dense_distances` returns
        all.
    n_changed_ : int
        Number of pairs whose distance changed by more than a millionth of the largest distance.
    conflicts_ : list of Conflict
        Always empty: contradictions are refused.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32, or csr_array
        Gaussian affinities of the learned distances, see `AdaptiveKNN`; computed at the first
        access. Sparse if a sparse graph was given.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    InvalidDataError
        If distances are not square and symmetric, are negative, or the diagonal is not 0.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InconsistentConstraintsError
        If answers contradict each other; the message has the chain.
    TooLargeError
        Above 20,000 rows.

    See Also
    --------
    DistLQP : Soft constraints; must-links and cannot-links propagate.

    Notes
    -----
    Answers of positive weight are hard constraints: the distance of must-linked rows is 0, also
    through a chain. Answers of weight 0 and don't-knows are ignored. Given distances that violate
    triangle inequalities are allowed; only paths through must-linked rows are followed. In a sparse
    graph, unknown distances count as the largest one.

    Time O(n²·g) for g components of must-linked rows, memory O(n²). Each component takes one step
    of the Floyd-Warshall algorithm.

    References
    ----------
    D. Klein, S. D. Kamvar and C. D. Manning, "From instance-level constraints to space-level
    constraints: making the most of prior knowledge in data clustering", ICML 2002.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.similarity import ShortestPaths
    >>> D = [[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]]
    >>> c = Constraints.from_pairs(must_link=[(1, 2)], n_samples=4)
    >>> ShortestPaths().fit(D, constraints=c).dense_distances()
    array([[0., 1., 1., 2.],
           [1., 0., 0., 1.],
           [1., 0., 0., 1.],
           [2., 1., 1., 0.]])
    """

    _allowed: ClassVar[dict[str, AllowedValues]] = {"metric": METRICS}

    _component: Ints
    _learned: Floats

    def __init__(self, metric: Metric = "precomputed") -> None:
        self.metric = metric

    def _learn(
        self, given: GivenDistances, links: Links, answers: Constraints, callback: Progress | None
    ) -> Learned:
        check_dense_size(given.n_samples)
        self._component = binding_answers(answers).closure().component
        before = given.dense() / given.unit
        learned = before.copy()
        indptr, members = _joined(self._component)
        shorten_through(indptr, members, learned)
        i, j = np.divmod(links.keys[links.cannot > 0], given.n_samples)
        learned[i, j] = learned[j, i] = 1.0
        self._learned = learned
        if callback is not None:
            callback(1, 1)
        i, j = np.nonzero(np.triu(learned != before, 1))
        return Learned(i * given.n_samples + j, learned[i, j])

    def _embed(self, distances: Floats) -> Floats:
        """Shorten by paths that begin with a step to a must-linked row."""
        indptr, members = _joined(self._component)
        for start, stop in pairwise(indptr):
            rows = members[start:stop]
            to_component = distances[:, rows].min(axis=1, keepdims=True)
            np.minimum(distances, to_component + self._learned[rows].min(axis=0), out=distances)
        return distances


def _joined(component: Ints) -> tuple[Ints, Ints]:
    """Return the rows of each component of two rows or more, as in a CSR matrix."""
    size = np.bincount(component)
    order = np.argsort(component, kind="stable")
    members = order[size[component[order]] > 1]
    indptr = np.concatenate([[0], np.cumsum(size[size > 1])])
    return indptr.astype(np.int64), members.astype(np.int64)
