"""Principal components as features of a forest, and distances that do not depend on units."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.similarity import COPRF
from clew.similarity.forests._pca_features import Space

X, y = load_iris(return_X_y=True)
SIGNS = np.array([1.0, -1.0])


def test_components_are_those_of_standardized_features() -> None:
    space = Space.fit(X, 20, "auto", 0)
    widened = space.widened(X)
    assert widened.shape == (150, 8)
    np.testing.assert_array_equal(widened[:, :4], X)
    scores = PCA(4).fit_transform(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(np.abs(widened[:, 4:]), np.abs(scores), atol=1e-8)


@pytest.mark.parametrize(
    ("components", "auto", "width"), [(None, 20, 4), ("auto", 0, 4), (2, 0, 6)]
)
def test_number_of_components(components: int | str | None, auto: int, width: int) -> None:
    assert Space.fit(X, auto, components, 0).widened(X).shape[1] == width


def test_one_feature_and_constant_features_have_no_components() -> None:
    assert Space.fit(X[:, :1], 20, "auto", 0).widened(X[:, :1]).shape[1] == 1
    constant = np.ones((10, 3))
    assert Space.fit(constant, 20, "auto", 0).widened(constant).shape[1] == 3


def test_units_of_features_do_not_matter() -> None:
    answers = Constraints.from_labels(y, 60, error=0.1, random_state=0)
    # Powers of two: the bins, and all that is computed from the ranges, stay the same to the bit.
    rescaled = X * np.array([2.0**20, 2.0**-9, 1.0, 8.0])
    fits = [
        COPRF(n_trees=40, random_state=0).fit(data, constraints=answers) for data in (X, rescaled)
    ]
    np.testing.assert_array_equal(fits[0].doubt_, fits[1].doubt_)
    np.testing.assert_array_equal(fits[0].affinity_matrix_, fits[1].affinity_matrix_)


@pytest.mark.parametrize("mix", [0.0, 0.3, 1.0])
def test_mix_is_a_weighted_mean_of_forest_and_distances(mix: float) -> None:
    answers = Constraints.from_labels(y, 40, random_state=0)
    parts = [
        COPRF(n_trees=30, euclidean=share, random_state=1).fit(X, constraints=answers)
        for share in (0.0, 1.0, mix)
    ]
    forest, distances, mixed = (part.affinity_matrix_ for part in parts)
    np.testing.assert_allclose(mixed, (1 - mix) * forest + mix * distances, atol=1e-6)
    np.testing.assert_allclose(parts[2].transform(X), mixed, atol=1e-5)


def test_graph_holds_entries_of_the_mix() -> None:
    answers = Constraints.from_labels(y, 40, random_state=0)
    model = COPRF(n_trees=60, euclidean=0.5, random_state=0).fit(X, constraints=answers)
    graph = model.kneighbors_graph(10)
    assert graph.shape == (150, 150)
    assert np.diff(graph.indptr).max() <= 10
    assert not graph.diagonal().any()
    rows = np.repeat(np.arange(150), np.diff(graph.indptr))
    assert (y[rows] == y[graph.indices]).mean() > 0.9
    forest = COPRF(n_trees=60, euclidean=0.0, random_state=0).fit(X, constraints=answers)
    at = rows, graph.indices
    assert (graph.data >= 0.5 * forest.kneighbors_graph(30).toarray()[at] - 1e-6).all()


def test_hard_mode_leaves_out_what_is_not_in_the_paper() -> None:
    answers = Constraints.from_labels(y, 40, random_state=0)
    auto = COPRF(n_trees=30, mode="hard", trust="inconsistency", random_state=0)
    plain = COPRF(
        n_trees=30, mode="hard", trust="inconsistency", random_state=0,
        components=None, euclidean=0.0, affinity="leaf", share=0.5,
    )  # fmt: skip
    matrices = [model.fit(X, constraints=answers).affinity_matrix_ for model in (auto, plain)]
    np.testing.assert_array_equal(*matrices)


def test_hard_trees_leave_out_answers_that_are_probably_wrong() -> None:
    answers = Constraints.from_labels(y, 120, error=0.1, random_state=0)
    model = COPRF(n_trees=60, mode="hard", trust="posterior", share=1.0, random_state=0)
    model.fit(X, constraints=answers)
    kept = answers.select(pairs=model.doubt_ < 0.5)
    assert len(kept.pairs) < len(answers.pairs)
    leaf = model.forest_.leaf
    i, j = kept.must_link.T
    assert (leaf[:, i] == leaf[:, j]).all()
    doubted = answers.select(pairs=answers.is_must_link & (model.doubt_ > 0.5)).must_link
    assert len(doubted)
    assert (leaf[:, doubted[:, 0]] != leaf[:, doubted[:, 1]]).any()
