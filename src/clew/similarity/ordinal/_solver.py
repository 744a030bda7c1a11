"""Positions of largest posterior probability: L-BFGS, or Adam on blocks of many answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from clew._parallel import blocks, stop_if_abandoned
from clew.kernels.ordinal import comparison_loss, pair_loss
from clew.similarity.ordinal._answers import OPTIONS, DistinctAnswers, OrdinalAnswers
from clew.similarity.ordinal._response import SMOOTHING, THRESHOLD, Response, annotator_slopes
from clew.similarity.ordinal._start import spectral_start

__all__ = ["Fitted", "Settings", "fit_positions"]

Floats = NDArray[np.float64]

#: Prior variances of the part of a row's position that its features explain, and of the rest.
FEATURE_VARIANCE, REST_VARIANCE = 1.0, 0.1
#: Factor of the starting positions in the part of the weights that features do not explain.
REST_OF_START = 0.5
#: Ridge of the regression of the start on features.
START_RIDGE = 0.1
#: Answers in a block of Adam, passes over all answers, and its largest and smallest step.
BLOCK_ANSWERS = 1 << 16
N_PASSES, N_PASSES_AGAIN = 10, 4
LARGEST_STEP, SMALLEST_STEP = 0.1, 0.002
DECAY, SQUARED_DECAY, TINY = 0.9, 0.99, 1e-8


class Settings(NamedTuple):
    """Everything that the fit takes besides answers and features."""

    n_components: int
    response: Response
    penalty: float
    max_iter: int
    max_answers: int
    """Above this number of distinct answers, blocks of answers are used."""
    seed: int


class Fitted(NamedTuple):
    """Result of `fit_positions`."""

    space: Floats
    """Positions of the rows that answers name, (n_rows, n_components)."""
    feature_weights: Floats
    """Weights of the features, (n_features, n_components); no rows without features."""
    slopes: Floats
    """Slope of each annotator, (n_annotators,)."""
    n_iter: int
    """Number of iterations of the last solution."""


@dataclass
class Basis:
    """Map weights w to positions: ``z = √a·features·w₁ + √b·w₂``."""

    features: Floats
    """(n_rows, n_features), scaled by √a; no columns without features."""
    rest: float
    """√b"""

    @classmethod
    def of(cls, features: Floats | None, n_rows: int) -> Basis:
        if features is None:
            return cls(np.zeros((n_rows, 0)), 1.0)
        return cls(np.sqrt(FEATURE_VARIANCE) * features, float(np.sqrt(REST_VARIANCE)))

    def positions(self, weights: Floats) -> Floats:
        n_features = self.features.shape[1]
        rest = self.rest * weights[n_features:]
        return rest + self.features @ weights[:n_features] if n_features else rest

    def pulled_back(self, gradient: Floats) -> Floats:
        """Return the gradient by the weights."""
        return np.vstack([self.features.T @ gradient, self.rest * gradient])

    def weights_near(self, positions: Floats) -> Floats:
        """Return weights whose positions are near the given ones."""
        n_features = self.features.shape[1]
        if not n_features:
            return positions / self.rest
        gram = self.features.T @ self.features + START_RIDGE * np.eye(n_features)
        explained = np.linalg.solve(gram, self.features.T @ positions)
        return np.vstack([explained, REST_OF_START / self.rest * positions])


def fit_positions(
    answers: OrdinalAnswers,
    n_rows: int,
    n_annotators: int,
    features: Floats | None,
    settings: Settings,
) -> Fitted:
    """Find the positions of rows, estimate the slopes of annotators, and find positions again.

    Parameters
    ----------
    answers : OrdinalAnswers
        Answers about rows 0 to ``n_rows - 1``, all of which are named.
    n_rows : int
        Number of rows.
    n_annotators : int
        Number of annotators; slopes are estimated for two or more.
    features : ndarray of shape (n_rows, n_features) or None
        Features that explain a part of the positions.
    settings : Settings
        Parameters of the solver.

    Returns
    -------
    Fitted
    """
    random = np.random.RandomState(settings.seed)
    basis = Basis.of(features, n_rows)
    start = spectral_start(answers, n_rows, settings.n_components, random)
    slopes = np.ones(n_annotators)
    is_large = answers.n_answers > settings.max_answers
    if is_large:
        answers = _shuffled(answers, random)
    solve = _by_blocks if is_large else _at_once
    weights, n_iter = solve(
        basis.weights_near(start), answers, basis, slopes, settings, is_first=True
    )
    if _n_annotators(answers) > 1:
        slopes = annotator_slopes(
            basis.positions(weights), answers, settings.response, n_annotators
        )
        weights, n_iter = solve(weights, answers, basis, slopes, settings, is_first=False)
    n_features = basis.features.shape[1]
    return Fitted(basis.positions(weights), weights[:n_features], slopes, n_iter)


def _n_annotators(answers: OrdinalAnswers) -> int:
    """Return how many annotators gave an answer."""
    return len(np.unique(np.concatenate([table.annotators for table in answers.tables])))


def _loss_and_gradient(
    space: Floats, answers: OrdinalAnswers, slopes: Floats, response: Response
) -> tuple[float, Floats]:
    """Return the summed loss of answers, and its gradient by the positions."""
    gradient = np.zeros_like(space)
    loss = 0.0
    pair = answers.pair
    if len(pair.rows):
        loss += pair_loss(
            space, pair.rows, pair.is_same, slopes[pair.annotators], pair.weights,
            response.lapse, THRESHOLD, gradient,
        )  # fmt: skip
    for kind, options in OPTIONS.items():
        table: DistinctAnswers = getattr(answers, kind)
        if len(table.rows):
            loss += comparison_loss(
                space, table.rows, options, slopes[table.annotators], table.weights,
                response.lapse, response.code, SMOOTHING, gradient,
            )  # fmt: skip
    return loss, gradient


def _at_once(
    weights: Floats,
    answers: OrdinalAnswers,
    basis: Basis,
    slopes: Floats,
    settings: Settings,
    *,
    is_first: bool,
) -> tuple[Floats, int]:
    """Minimize the penalized loss of all answers by L-BFGS."""

    def objective(flat: Floats) -> tuple[float, Floats]:
        stop_if_abandoned()
        w = flat.reshape(weights.shape)
        space = np.ascontiguousarray(basis.positions(w))
        loss, gradient = _loss_and_gradient(space, answers, slopes, settings.response)
        penalty = settings.penalty
        whole = basis.pulled_back(gradient) + penalty * w
        return loss + penalty / 2 * float((w**2).sum()), whole.ravel()

    max_iter = settings.max_iter if is_first else max(1, settings.max_iter // 2)
    found = minimize(
        objective, weights.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter}
    )
    return np.asarray(found.x.reshape(weights.shape)), max(int(found.nit), 1)


def _shuffled(answers: OrdinalAnswers, random: np.random.RandomState) -> OrdinalAnswers:
    return answers.with_tables(
        table.take(random.permutation(len(table.rows))) for table in answers.tables
    )


def _by_blocks(
    weights: Floats,
    answers: OrdinalAnswers,
    basis: Basis,
    slopes: Floats,
    settings: Settings,
    *,
    is_first: bool,
) -> tuple[Floats, int]:
    """Minimize the penalized loss by Adam, on blocks of answers that were shuffled."""
    n_blocks = max(1, len(blocks(answers.n_answers, BLOCK_ANSWERS)))
    parts = [_block(answers, at, n_blocks) for at in range(n_blocks)]
    n_steps = n_blocks * (N_PASSES if is_first else N_PASSES_AGAIN)
    largest = LARGEST_STEP if is_first else LARGEST_STEP / 4
    w = weights.copy()
    mean, square = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, n_steps + 1):
        stop_if_abandoned()
        space = np.ascontiguousarray(basis.positions(w))
        part = parts[step % n_blocks]
        _, gradient = _loss_and_gradient(space, part, slopes, settings.response)
        whole = basis.pulled_back(gradient) * n_blocks + settings.penalty * w
        mean += (1 - DECAY) * (whole - mean)
        square += (1 - SQUARED_DECAY) * (whole**2 - square)
        size = SMALLEST_STEP + (largest - SMALLEST_STEP) * (1 + np.cos(np.pi * step / n_steps)) / 2
        unbiased = mean / (1 - DECAY**step)
        w -= size * unbiased / (np.sqrt(square / (1 - SQUARED_DECAY**step)) + TINY)
    return w, n_steps


def _block(answers: OrdinalAnswers, at: int, n_blocks: int) -> OrdinalAnswers:
    """Return one block, which has the same share of the answers of every kind."""
    tables = []
    for table in answers.tables:
        edges = np.linspace(0, len(table.rows), n_blocks + 1).astype(int)
        tables.append(table.take(slice(edges[at], edges[at + 1])))
    return answers.with_tables(tables)
