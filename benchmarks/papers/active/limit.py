"""The information limit: answers that any strategy needs, given what the features leave unknown."""

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.optimize import minimize
from scipy.special import log_softmax

from benchmarks.study.problems import Floats, Ints, classical_scaling
from clew.questions.guided._group_size import feature_scale
from clew.questions.guided._pair_features import N_DIMENSIONS, START_WEIGHTS, pair_features

N_COORDINATES, N_FOLDS = 30, 5
#: Scale of the start weights, and weights of the mean and the maximum over the rows of a group.
FACTOR, OF_MEAN, OF_MAX = 2.0, 0.65, 0.35
#: Penalty of the squared weights that are learned, for standardized features.
PENALTY = 1.0


def unknown_bits(D: Floats, y: Ints) -> tuple[float, float]:
    """Return the entropy of a row's group in bits, given the features and all other groups.

    Each row is compared with the other rows of every true group: the posterior of its group is a
    softmax of scores of the pair features of `questions.Guided`, and the mean of -log2 of the
    posterior of the true groups is what is unknown. It estimates the conditional entropy of the
    groups from above; for groups drawn at random it is log2 of their number. On the other hand, no
    strategy knows the groups of all other rows, so the problem is harder than that.

    Parameters
    ----------
    D : ndarray of shape (n_samples, n_samples)
        Distances.
    y : ndarray of shape (n_samples,)
        Groups.

    Returns
    -------
    start : float
        With the weights that `Guided` starts with, which no answer has changed.
    learned : float
        With weights learned from the true groups of other rows, by 5-fold cross-validation: no
        strategy can learn more about what the features mean.
    """
    coordinates = classical_scaling(D, min(N_COORDINATES, len(D) - 1))
    ward = linkage(coordinates[:, :N_DIMENSIONS], "ward")
    scale = feature_scale(len(y) / len(np.unique(y)))
    features = pair_features(D, coordinates, ward, scale, 0).astype(float)
    means, maxima = of_groups(features @ (FACTOR * START_WEIGHTS), y)
    start = log_softmax(OF_MEAN * means + OF_MAX * maxima, axis=1)
    columns = []
    for k in range(1, features.shape[2]):
        columns += [*of_groups(features[:, :, k], y), of_groups(-features[:, :, k], y)[1]]
    return bits(start, y), bits(_held_out(np.stack(columns, axis=2), y), y)


def limit(bits_of_row: float, error: float) -> float:
    """Return how many answers for each row give the bits, if a share `error` of them is wrong."""
    entropy = -sum(p * np.log2(p) for p in (error, 1 - error) if p > 0)
    return float(bits_of_row / (1 - entropy))


def bits(log_posterior: Floats, y: Ints) -> float:
    """Return the mean of -log2 of the posterior of the true groups."""
    return float(-log_posterior[np.arange(len(y)), y].mean() / np.log(2))


def of_groups(W: Floats, y: Ints) -> tuple[Floats, Floats]:
    """Return mean and maximum of each row's values with the other rows of each group."""
    members = np.eye(y.max() + 1)[y]
    W = W.copy()
    np.fill_diagonal(W, 0.0)
    means = (W @ members) / np.maximum(members.sum(axis=0) - members, 1)
    np.fill_diagonal(W, W.min())
    return means, np.stack([W[:, y == group].max(axis=1) for group in range(y.max() + 1)], axis=1)


def _held_out(scores: Floats, y: Ints) -> Floats:
    """Fit a conditional logistic model to the scores of rows with groups; predict held-out rows."""
    scores = (scores - scores.mean(axis=(0, 1))) / (scores.std(axis=(0, 1)) + 1e-9)
    fold = np.random.RandomState(0).randint(N_FOLDS, size=len(y))
    found = np.empty(scores.shape[:2])
    for k in range(N_FOLDS):
        known, held = scores[fold != k], scores[fold == k]
        start = np.zeros(scores.shape[2])
        weights = minimize(_loss, start, (known, y[fold != k]), "L-BFGS-B", jac=True).x
        found[fold == k] = log_softmax(held @ weights, axis=1)
    return found


def _loss(weights: Floats, scores: Floats, y: Ints) -> tuple[float, Floats]:
    log_posterior, rows = log_softmax(scores @ weights, axis=1), np.arange(len(y))
    expected = np.einsum("ik,ikf->f", np.exp(log_posterior), scores)
    gradient = expected - scores[rows, y].sum(axis=0) + PENALTY * weights
    return float(-log_posterior[rows, y].sum() + PENALTY / 2 * weights @ weights), gradient
