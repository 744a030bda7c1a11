"""What DCRC sees of the data: features around their mean, or those of a kernel; and which rows."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from clew._units import Units
from clew.cluster.dcrc._answers import AnsweredRows
from clew.cluster.dcrc._objective import Seen, log_chances
from clew.constraints import Constraints

__all__ = ["GivenFeatures", "Lengthened", "Transform", "View", "chances_of", "rows_seen", "seen_by"]

BLOCK_OF_ROWS = 65_536
N_FEATURES_OF_KERNEL = 32
#: Fewer answers than these weigh less than in the paper: a handful of must-links would else be
#: worth having one group alone.
MIN_MASS = 50


class Transform(Protocol):
    """Features that groups are told apart by."""

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give them for any rows."""


class GivenFeatures:
    """The features themselves, centered and divided by one number, see `Units.of_mean_variance`.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows to learn the mean and the number from.
    """

    def __init__(self, X: NDArray[np.float64]) -> None:
        self._units = Units.of_mean_variance(X)

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring rows into the units that are computed in."""
        return self._units.inside(X)


class Lengthened:
    """Features of a kernel, as long as those of so many standardised features.

    Rows have length 1 in a kernel: the same price of weights would hold the model back more.

    Parameters
    ----------
    map_ : object with ``transform``
        Gives the features of the kernel.
    """

    def __init__(self, map_: Transform) -> None:
        self._map = map_

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the features of rows."""
        return np.asarray(self._map.transform(X) * N_FEATURES_OF_KERNEL**0.5)


class View(NamedTuple):
    """The rows that a fit looks at, numbered from 0."""

    features: NDArray[np.float64]
    """(n_seen, n_features + 1), the last one 1."""
    known: Constraints
    """The answers, about these rows."""
    n_samples: int
    """How many rows they stand for."""


def rows_seen(known: Constraints, max_unanswered: int, seed: int) -> NDArray[np.int64]:
    """Choose the rows to look at: all that answers speak of, and so many others at random."""
    rows = (known.pairs.ravel(), known.triplets.ravel(), known.odd_one_out.ravel())
    lone = np.ones(known.n_samples, bool)
    lone[np.concatenate(rows)] = False
    others = np.flatnonzero(lone)
    if len(others) > max_unanswered:
        random = np.random.RandomState(seed)
        others = random.choice(others, max_unanswered, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(~lone), others]))


def seen_by(view: View, answers: AnsweredRows, max_unanswered: int, seed: int) -> Seen:
    """Put the rows with answers first, and others, or a sample of them, behind.

    Parameters
    ----------
    view : View
        What a fit looks at.
    answers : AnsweredRows
        The answers that are learned from.
    max_unanswered : int
        How many rows without answers are taken at most.
    seed : int
        Draws them, if there are more.

    Returns
    -------
    Seen
    """
    n = len(view.features)
    lone = np.setdiff1d(np.arange(n), answers.rows, assume_unique=True)
    if len(lone) > max_unanswered:
        random = np.random.RandomState(seed)
        lone = np.sort(random.choice(lone, max_unanswered, replace=False))
    order = np.concatenate([answers.rows, lone])
    share = np.full(len(order), 1.0 / view.n_samples)
    share[len(answers.rows) :] = (1.0 - len(answers.rows) / view.n_samples) / max(len(lone), 1)
    features = np.ascontiguousarray(view.features[order].T)
    return Seen(features, len(answers.rows), share, max(answers.n_answers, MIN_MASS))


def chances_of(
    X: NDArray[np.float64], map_: Transform, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give the chance of each group for any rows, block by block, (n_rows, n_groups)."""
    chances = np.empty((len(X), len(weights)))
    for start in range(0, len(X), BLOCK_OF_ROWS):
        block = with_ones(map_.transform(X[start : start + BLOCK_OF_ROWS]))
        chances[start : start + BLOCK_OF_ROWS] = np.exp(log_chances(weights, block.T)).T
    return chances


def with_ones(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a feature that is 1: its weight is the bias."""
    return np.column_stack([features, np.ones(len(features))])
