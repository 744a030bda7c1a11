"""Methods that the thesis compares with, and that clew does not have: HMRF-com and NPKL."""

import numpy as np
from scipy.special import softmax

from benchmarks.study.problems import Floats, Ints
from clew import Constraints
from clew.graphs import nearest_graph
from clew.similarity import AdaptiveKNN

#: Weight of an answer in the field, weight of a neighbor, and number of neighbors.
ANSWER_WEIGHT, NEIGHBOR_WEIGHT, N_NEIGHBORS = 2.0, 0.1, 10
MAX_ITER = 30
#: Weight of the answers, relative to the Laplacian.
NPKL_PENALTY = 1.0


def hmrf_com(X: Floats, known: Constraints, n_clusters: int, seed: int) -> Ints:
    """Cluster by a mixture of Gaussians in a hidden Markov random field, one start.

    The field joins must-linked rows and neighbors, and separates cannot-linked rows; its state is
    drawn once in each iteration (simulated field). Wu, Zhang, Hu and Ji, "Constrained clustering
    and its application to face clustering in videos", CVPR 2013.
    """
    n, random = len(X), np.random.RandomState(seed)
    field = np.zeros((n, n))
    near = nearest_graph(AdaptiveKNN().fit(X).affinity_matrix_, N_NEIGHBORS).tocoo()
    field[near.coords] = NEIGHBOR_WEIGHT
    for rows, sign in ((known.must_link, 1.0), (known.cannot_link, -1.0)):
        field[rows[:, 0], rows[:, 1]] = field[rows[:, 1], rows[:, 0]] = sign * ANSWER_WEIGHT
    centers = X[random.choice(n, n_clusters, replace=False)]
    variance = np.full((n_clusters, X.shape[1]), X.var(axis=0).mean())
    share = np.full(n_clusters, 1 / n_clusters)
    state = np.zeros((n, n_clusters))
    for _ in range(MAX_ITER):
        score = np.log(share) - 0.5 * np.log(variance).sum(axis=1)
        score = score - 0.5 * ((X**2) @ (1 / variance).T)
        score += X @ (centers / variance).T - 0.5 * (centers**2 / variance).sum(axis=1)
        q = softmax(score + field @ state, axis=1)
        drawn = (q.cumsum(axis=1) < random.uniform(size=(n, 1))).sum(axis=1)
        state = np.eye(n_clusters)[np.minimum(drawn, n_clusters - 1)]
        mass = q.sum(axis=0) + 1e-9
        centers, share = (q.T @ X) / mass[:, None], mass / mass.sum()
        variance = (q.T @ X**2) / mass[:, None] - centers**2
        # Variances are shrunk, because few rows of a group do not determine them.
        variance = 0.9 * np.maximum(variance, 0.0) + 0.1 * X.var(axis=0).mean()
    return np.asarray(q.argmax(axis=1), np.int64)


def npkl_distances(D: Floats, known: Constraints) -> Floats:
    """Learn a kernel without parameters, and return its distances.

    Minimizes ``tr(L K) - c·Σ T_ij K_ij`` over positive semidefinite K of bounded norm, which has a
    closed form. Zhuang, Tsang and Hoi, "SimpleNPKL: simple non-parametric kernel learning", ICML
    2009, for the kernel of Hoi, Jin and Lyu, "Learning nonparametric kernel matrices from pairwise
    constraints", ICML 2007.
    """
    graph = nearest_graph(
        AdaptiveKNN(metric="precomputed").fit(D).affinity_matrix_, N_NEIGHBORS
    ).toarray()
    root = np.sqrt(np.maximum(graph.sum(axis=1), 1e-12))
    gain = graph / root[:, None] / root - np.eye(len(D))
    for rows, sign in ((known.must_link, 1.0), (known.cannot_link, -1.0)):
        gain[rows[:, 0], rows[:, 1]] += sign * NPKL_PENALTY
        gain[rows[:, 1], rows[:, 0]] += sign * NPKL_PENALTY
    value, vector = np.linalg.eigh(gain)
    features = vector * np.sqrt(np.maximum(value, 0.0))
    squares = (features**2).sum(axis=1)
    found = squares[:, None] + squares - 2 * features @ features.T
    np.fill_diagonal(found, 0.0)
    return np.asarray(np.sqrt(np.maximum((found + found.T) / 2, 0.0)))
