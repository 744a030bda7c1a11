"""Views: each is computed once, and unconstrained ones are shared by all folds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clew import Constraints
from clew._composition import graph_of
from clew.cluster.guided._features import views as module
from clew.cluster.guided._features.views import CONSTRAINED_VIEWS, VIEWS, Views
from clew.cluster.guided._members.members import default_members
from clew.exceptions import InvalidParameterError
from clew.similarity import COPRF, AdaptiveKNN, ClustRF
from clew.similarity.graphs import Propagation

X, Y = make_blobs(50, 15, centers=3, cluster_std=3.0, random_state=0)
KNOWN = Constraints.from_labels(Y, 60, random_state=0)
UNCONSTRAINED_VIEWS = [view for view in VIEWS if view not in CONSTRAINED_VIEWS]


@pytest.fixture
def fits(monkeypatch):
    """List the similarities that are fitted, with their answers; forests have ten trees."""
    counts = []

    def counted(similarity):
        class Counted(similarity):
            def fit(self, X, y=None, **given):
                counts.append((similarity.__name__, given.get("constraints")))
                return super().fit(X, **given)

        Counted.__name__ = similarity.__name__
        return Counted

    for similarity in (COPRF, AdaptiveKNN, ClustRF):
        monkeypatch.setattr(module, similarity.__name__, counted(similarity))
    monkeypatch.setattr(module, "N_TREES", 10)
    return counts


def test_each_similarity_is_fitted_once(fits):
    views = Views(X, 0)
    constrained = views.constrained_by(KNOWN)
    for _ in range(2):
        for n_neighbors in (5, 10):
            for view in VIEWS:
                constrained.read(view, n_neighbors)
            for view in UNCONSTRAINED_VIEWS:
                views.read(view, n_neighbors)
    assert sorted(fits, key=str) == sorted(
        [("AdaptiveKNN", None), ("ClustRF", None), ("COPRF", None), ("COPRF", KNOWN)], key=str
    )


@pytest.mark.parametrize("view", ["forest", "constrained forest", "constrained trees"])
def test_forests_of_answers_share_their_gaussian_affinities(view):
    constrained = Views(X, 0).constrained_by(KNOWN)
    forest = COPRF(
        module.N_TREES, euclidean=0.0 if view == "constrained trees" else 0.5, trust=None,
        random_state=0,
    ).fit(X, constraints=None if view == "forest" else KNOWN)  # fmt: skip
    found = constrained.read(view, 5)
    assert (found != graph_of(forest, len(X), 5)).nnz == 0


@pytest.mark.parametrize("view", UNCONSTRAINED_VIEWS)
def test_views_without_answers_are_shared(fits, view):
    views = Views(X, 0)
    first, second = views.constrained_by(KNOWN), views.constrained_by(Constraints(50))
    assert first.read(view, 5) is second.read(view, 5)
    assert first.read(view, 5) is views.read(view, 5)
    assert first.answers is KNOWN
    assert views.answers is None


@pytest.mark.parametrize("view", CONSTRAINED_VIEWS)
def test_views_with_answers_are_not_shared(fits, view):
    views = Views(X, 0)
    first = views.constrained_by(KNOWN)
    second = views.constrained_by(Constraints.from_labels(Y[::-1], 60, random_state=1))
    assert first.read(view, 5) is first.read(view, 5)
    assert np.abs((first.read(view, 5) - second.read(view, 5)).toarray()).max() > 0.01


def test_graphs_are_of_neighbors(fits):
    views = Views(X, 0)
    for view in ("neighbors", "trees", "forest"):
        graph = views.read(view, 5)
        assert graph.shape == (50, 50)
        assert not graph.diagonal().any()
        assert np.diff(graph.indptr).min() >= 1
        assert graph.data.min() >= 0
        assert abs(graph - graph.T).max() < 1e-12
        assert views.read(view, 10).nnz > graph.nnz


def test_features_and_their_components():
    views = Views(X, 0)
    assert views.read("features") is views.X
    assert views.read("components").shape == (50, 10)
    assert views.read("components").std() == pytest.approx(1.0)
    assert Views(X[:4, :3], 0).read("components").shape == (4, 3)
    assert not Views(np.ones((5, 2)), 0).read("components").any()


@pytest.mark.parametrize(
    ("view", "n_neighbors", "words"),
    [
        ("foo", 10, "one of features, components"),
        ("neighbors", None, "give n_neighbors"),
        ("constrained forest", 10, "needs answers"),
    ],
)
def test_unknown_views_are_refused(view, n_neighbors, words):
    with pytest.raises(InvalidParameterError, match=words):
        Views(np.arange(20.0).reshape(10, 2), 0).read(view, n_neighbors)


def test_a_fit_factorizes_each_unconstrained_graph_once_for_all_folds(monkeypatch):
    graphs = Counter()
    original = Propagation._single_system

    def counted(self):
        graphs[self.alpha, self.graph.data.tobytes()] += 1
        return original(self)

    monkeypatch.setattr(Propagation, "_single_system", counted)
    views = Views(X, 0)
    parts = [views.constrained_by(part) for part in (KNOWN, KNOWN, KNOWN, KNOWN)]
    for part in parts:
        for member in default_members(3, len(X)):
            if member.alpha is not None and member.view not in CONSTRAINED_VIEWS:
                member.partition(part)
    assert len(graphs) == 4  # neighbors with 20 and with 10, trees, forest
    assert set(graphs.values()) == {1}
