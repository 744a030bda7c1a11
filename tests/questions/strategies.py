"""Every strategy, on a small problem."""

import numpy as np
import pytest

from clew.cluster import consensus_probabilities
from clew.questions import (
    CAC1,
    COBRA,
    COBRAS,
    ActiveSpectral,
    ActiveSubclustering,
    CorrelationInformation,
    ExpectedChange,
    ExploreConsolidate,
    Guided,
    Margin,
    MinMax,
    MostProbable,
    RandomPairs,
    Uncertain,
)

K = 4
y = np.random.RandomState(1).permutation(np.repeat(np.arange(K), 6))
X = np.random.RandomState(2).normal(size=(len(y), 2)) + 1.5 * np.eye(K)[y] @ [
    [0, 0], [0, 2], [2, 0], [2, 2],
]  # fmt: skip
D = np.linalg.norm(X[:, None] - X, axis=2)
#: Computed once; `start` would compute them for every test.
P = consensus_probabilities(X, K, n_runs=50, random_state=0)

STRATEGIES = [
    Guided(random_state=0),
    Guided(K, random_state=0, update_every=3),
    ExpectedChange(K, random_state=0),
    MostProbable(K, random_state=0),
    MostProbable(random_state=0),
    RandomPairs(K, random_state=0),
    Uncertain(K, random_state=0),
    ExploreConsolidate(K, random_state=0),
    MinMax(K, random_state=0),
    CAC1(K, random_state=0),
    CAC1(random_state=0),
    COBRA(60, random_state=0),
    COBRAS(random_state=0),
    Margin(K, random_state=0),
    ActiveSpectral(K, random_state=0),
    CorrelationInformation(K, random_state=0),
    ActiveSubclustering(K, size=6, error=0.0, random_state=0),
    ActiveSubclustering(K, size=6, random_state=0),
]

every = pytest.mark.parametrize(
    "strategy", STRATEGIES, ids=[f"{type(s).__name__}-{i}" for i, s in enumerate(STRATEGIES)]
)


def checks_answers(strategy):
    """Whether a strategy checks doubtful answers on purpose, by pairs that other answers imply."""
    may_err = getattr(strategy, "error", None) is None
    is_subclustering = isinstance(strategy, ActiveSubclustering)
    return isinstance(strategy, (Guided, Margin)) or (is_subclustering and may_err)
