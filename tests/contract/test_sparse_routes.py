"""Large data: similarities with a sparse form do not compute the affinities of all pairs."""

from unittest.mock import PropertyMock, patch

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

from clew import Constraints, _composition
from clew.graphs import _distances
from clew.similarity import (
    COPRF,
    E2CP,
    ITML,
    KISSME,
    LSML,
    MMC,
    SKLR,
    SKMS,
    AdaptiveKNN,
    ClustRF,
    ConsensusKNN,
    DistLQP,
    DominantNeighbors,
    LinkedAffinity,
    OrdinalEmbedding,
    SparseLP,
    SpectralLearning,
)
from clew.similarity._embedding import LearnedSpace
from clew.similarity.clustrf import ForestSimilarity
from clew.similarity.distances._base import LearnedDistances

pytestmark = pytest.mark.usefixtures("small_search")

#: Similarities that compute affinities of all pairs on request.
DENSE = (AdaptiveKNN, ForestSimilarity, LearnedDistances, LearnedSpace, LinkedAffinity)
FROM_PAIRS = [
    E2CP(form="sparse"),
    E2CP(LinkedAffinity(), form="sparse"),
    E2CP(ConsensusKNN(), n_neighbors=None),
    E2CP(COPRF(n_trees=20, random_state=0)),
    SpectralLearning(),
    LinkedAffinity(),
    ConsensusKNN(),
    DominantNeighbors(),
    COPRF(n_trees=20, random_state=0),
    COPRF(n_trees=20, mode="hard", random_state=0),
    ITML(random_state=0),
    KISSME(),
    MMC(),
    SKMS(random_state=0),
    SKLR(random_state=0),
    OrdinalEmbedding(features="ridge", random_state=0),
    DistLQP(metric="euclidean"),
]
WITHOUT_ANSWERS = [AdaptiveKNN(), ClustRF(n_trees=20, random_state=0)]
FROM_TRIPLETS = [LSML(), SparseLP()]
EVERY = FROM_PAIRS + WITHOUT_ANSWERS + FROM_TRIPLETS


def answers_to(similarity, truth):
    """Answers of a kind that a similarity honors, as keywords of `fit`; empty if it takes none."""
    if any(isinstance(similarity, type(method)) for method in WITHOUT_ANSWERS):
        return {}
    if any(isinstance(similarity, type(method)) for method in FROM_TRIPLETS):
        known = Constraints.from_labels(truth, 0, n_triplets=200, random_state=0)
    elif isinstance(similarity, ConsensusKNN | DominantNeighbors):
        return {}
    else:
        known = Constraints.from_labels(truth, 200, random_state=0)
    return {"constraints": known}


def fit_sparsely(similarity, n_rows):
    """Fit to many rows and read the neighbor graph, while dense affinities raise."""
    points, truth = make_blobs(n_rows, 6, centers=4, random_state=0)
    dense = PropertyMock(side_effect=AssertionError("a dense affinity was computed"))
    patches = [patch.object(cls, "affinity_matrix_", dense) for cls in DENSE]
    for one in patches:
        one.start()
    try:
        model = clone(similarity).fit(points, **answers_to(similarity, truth))
        graph = model.kneighbors_graph(10)
    finally:
        for one in patches:
            one.stop()
    return model, graph, truth


def check(graph, truth):
    """Most neighbors are of the row's own blob."""
    assert issparse(graph)
    assert graph.shape == (len(truth), len(truth))
    row = np.repeat(np.arange(len(truth)), np.diff(graph.indptr))
    assert (truth[row] == truth[graph.indices]).mean() > 0.8


ids = [str(similarity).replace("\n", " ")[:60] for similarity in EVERY]


@pytest.mark.slow
@pytest.mark.parametrize("similarity", EVERY, ids=ids)
def test_no_dense_affinity_is_computed_past_the_limit(similarity, monkeypatch):
    for module in (_composition, _distances):
        monkeypatch.setattr(module, "ALL_PAIRS_ROWS", 1_000)
    _, graph, truth = fit_sparsely(similarity, 1_050)
    check(graph, truth)


@pytest.mark.slow
@pytest.mark.parametrize("similarity", EVERY, ids=ids)
def test_thirty_thousand_rows(similarity):
    model, graph, truth = fit_sparsely(similarity, 30_000)
    check(graph, truth)
    if isinstance(model, E2CP | SpectralLearning | ConsensusKNN | DominantNeighbors):
        assert issparse(model.affinity_matrix_)


def test_the_sparse_form_accepts_a_graph_as_it_is():
    points, truth = make_blobs(300, 6, centers=4, random_state=0)
    known = Constraints.from_labels(truth, 60, random_state=0)
    method = E2CP(ConsensusKNN(), n_neighbors=None, form="sparse")
    assert issparse(method.fit(points, constraints=known).affinity_matrix_)
