"""Implementations with numpy, scipy and scikit-learn, for comparison with clew."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.spatial.distance import pdist
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph

from benchmarks.kernels._problems import Problem
from benchmarks.study.problems import Floats

ALPHA, SCALE_NEIGHBORS, N_NEIGHBORS, SHARE_OF_VOTES = 0.8, 20, 20, 0.15
#: Replicator dynamics: the step size at which they end, the maximum number of steps, and the share
#: below which a row is not in the set.
TOLERANCE, MAX_STEPS, FEWEST = 1e-8, 10_000, 1e-4


def average_linkage(problem: Problem) -> NDArray[np.int64]:
    """SciPy's linkage, which takes no answers."""
    tree = linkage(pdist(problem.X), "average")
    return np.asarray(fcluster(tree, problem.n_clusters, "maxclust"), np.int64)


def e2cp(problem: Problem) -> Floats:
    """E2CP by the equations of the paper, with a dense inverse."""
    W = problem.graph.toarray()
    n = len(W)
    root = np.sqrt(W.sum(axis=1))
    inverse = np.linalg.inv(np.eye(n) - ALPHA * W / root / root[:, None])
    Z = np.zeros((n, n))
    for sign, (i, j) in ((1, problem.answers.must_link.T), (-1, problem.answers.cannot_link.T)):
        Z[i, j] = Z[j, i] = sign
    F = inverse @ Z @ inverse
    F /= np.abs(F).max()
    W /= W.max()
    adjusted = np.where(F >= 0, 1 - (1 - F) * (1 - W), (1 + F) * W)
    np.fill_diagonal(adjusted, 0.0)
    return np.asarray(adjusted)


def spectral_learning(problem: Problem) -> csr_array:
    """Set the affinities of answered pairs, then normalize the graph additively."""
    graph = problem.graph.tolil()
    for value, pairs in ((1.0, problem.answers.must_link), (0.0, problem.answers.cannot_link)):
        for i, j in pairs:
            graph[i, j] = graph[j, i] = value
    linked = graph.tocsr()
    degree = linked.sum(axis=1)
    return csr_array((linked + diags_array(degree.max() - degree)) / degree.max())


def linked_affinity(problem: Problem) -> Floats:
    """Set the affinities of answered pairs in a dense affinity."""
    A = problem.graph.toarray()
    (i, j), (k, m) = problem.answers.must_link.T, problem.answers.cannot_link.T
    low, high = A.min(), A.max()
    A[i, j] = A[j, i] = high
    A[k, m] = A[m, k] = low
    return A


def adaptive_affinity(problem: Problem) -> Floats:
    """Gaussian affinities of all pairs, with local scales."""
    scale = _scale(problem.X)
    distance = pairwise_distances(problem.X)
    return np.asarray(np.exp(-((2 * distance / (scale[:, None] + scale)) ** 2)))


def adaptive_graph(problem: Problem) -> csr_array:
    """Gaussian affinities of the nearest rows, with local scales."""
    scale = _scale(problem.X)
    graph: Any = kneighbors_graph(problem.X, N_NEIGHBORS, mode="distance").tocoo()
    value = np.exp(-((2 * graph.data / (scale[graph.row] + scale[graph.col])) ** 2))
    return csr_array((value, (graph.row, graph.col)), shape=graph.shape)


def dominant_neighbors(problem: Problem) -> csr_array:
    """Find the dominant set of each row by replicator dynamics (Zemene, Pelillo)."""
    graph = problem.graph
    rows, columns = [], []
    for i in range(graph.shape[0]):
        near = problem.lists.indices[problem.lists.indptr[i] : problem.lists.indptr[i + 1]]
        members = np.concatenate([[i], near])
        A = graph[members][:, members].toarray()
        penalty = 1.001 * np.linalg.eigvalsh(A[1:, 1:])[-1]
        A[np.arange(1, len(A)), np.arange(1, len(A))] -= penalty
        share = _replicated(A - A.min())  # adding a constant to all entries changes no set
        kept = members[1:][share[1:] > FEWEST]
        rows += [i] * len(kept)
        columns += kept.tolist()
    kept_graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=graph.shape)
    return csr_array(graph.multiply(kept_graph.maximum(kept_graph.T)))


def _replicated(payoff: Floats) -> Floats:
    share = np.full(len(payoff), 1 / len(payoff))
    for _ in range(MAX_STEPS):
        gain = payoff @ share
        new = share * gain / (share @ gain)
        if np.abs(new - share).max() < TOLERANCE:
            break
        share = new
    return share


def consensus_knn(problem: Problem) -> csr_array:
    """Count in one product how many neighborhoods hold both rows of each edge."""
    is_near = problem.lists.astype(bool).astype(np.int64)
    neighborhood = is_near + eye_array(len(problem.X), dtype=np.int64)
    votes = is_near.maximum(is_near.T).multiply(neighborhood.T @ neighborhood).tocsr()
    kept = votes >= SHARE_OF_VOTES * (N_NEIGHBORS + 1)
    return csr_array(problem.graph.multiply(kept))


def _scale(X: Floats) -> Floats:
    graph = kneighbors_graph(X, SCALE_NEIGHBORS, mode="distance")
    return np.asarray(graph.data.reshape(len(X), SCALE_NEIGHBORS).mean(axis=1))
