"""Subclustering finds pure examples; its settings minimize the costs that they name."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_blobs
from tests.reference import subclusters as reference

from clew.cluster import Subclustering, purest_examples
from clew.cluster.medoids import _distances, _subclusters, subclustering
from clew.cluster.medoids._distances import RowDistances
from clew.cluster.medoids._subclusters import Setting, draw_candidates
from clew.exceptions import (
    FewerGroupsWarning,
    InvalidDataError,
    InvalidParameterError,
    TooLargeError,
)
from clew.metrics import subclustering_jaccard

X, y = make_blobs(160, 3, centers=6, cluster_std=1.5, random_state=2)
D = cdist(X, X)
ALL = ("auto", "shared", "penalty", "both", "silhouette", "rule")


def fitted(data=X, n_clusters=6, size=4, **parameters):
    return Subclustering(n_clusters, size=size, **{"random_state": 0, **parameters}).fit(data)


@pytest.mark.parametrize("overlap", ALL)
def test_rows_are_numbered_center_first_and_nearest_next(overlap):
    model = fitted(overlap=overlap)
    assert model.exemplars_.shape == model.confidence_.shape == (6, 4)
    np.testing.assert_array_equal(model.exemplars_[:, 0], model.centers_)
    apart = D[model.centers_[:, None], model.exemplars_]
    assert (np.diff(apart, axis=1) >= 0).all()
    assert ((model.confidence_ > 0) & (model.confidence_ <= 1)).all()
    assert len(np.unique(model.exemplars_)) == 24  # no row twice
    expected = np.full(160, -1)
    expected[model.exemplars_] = np.arange(6)[:, None]
    np.testing.assert_array_equal(model.labels_, expected)
    assert set(model.centers_) <= set(model.candidates_)


@pytest.mark.parametrize("overlap", ["penalty", "rule"])
@pytest.mark.parametrize("swaps", ["eager", "best"])
def test_the_cost_is_that_of_the_thesis(overlap, swaps):
    model = fitted(overlap=overlap, swaps=swaps, members="nearest", scale=0.5, n_candidates=160)
    nearest = np.sort(D, axis=1)[:, 1:4]
    assert model.scale_ == pytest.approx(0.5 * np.median(nearest[:, -1]))
    own = (nearest / model.scale_).sum(axis=1)
    with np.errstate(divide="ignore"):
        pair = -2 * np.log(-np.expm1(-D / model.scale_))
    lists = np.argsort(D, axis=1)[:, :4]
    has_common = np.array(reference.shared(lists.tolist())) > 0
    rule = has_common.tolist() if overlap == "rule" else []
    pair += 0 if rule else 20 * has_common
    cost = reference.cost(own, pair, model.centers_.tolist())
    assert model.cost_ == pytest.approx(cost, rel=1e-4)
    for at, new in reference.valid_swaps(rule, model.centers_.tolist(), 160):
        swapped = model.centers_.tolist()
        swapped[at] = new
        assert reference.cost(own, pair, swapped) > cost - 1e-3


def test_nearest_members_are_the_nearest_rows():
    model = fitted(overlap="rule", members="nearest")
    np.testing.assert_array_equal(model.exemplars_, np.argsort(D, axis=1)[model.centers_, :4])


def test_compact_members_are_nearer_to_their_center_than_to_others():
    model = fitted()
    apart = D[model.exemplars_[:, :, None], model.centers_]
    np.testing.assert_array_equal(apart.argmin(axis=2), np.repeat(np.arange(6), 4).reshape(6, 4))


def test_smaller_neighborhoods_hold_an_eighth_of_a_mean_group():
    distances = RowDistances(X, "euclidean")
    candidates = draw_candidates(distances, 160, 4, np.random.RandomState(0))
    tables = _subclusters.Tables(distances, candidates, 2, 0, None)
    lists = np.argsort(D, axis=1)
    for near, m in ((tables.near, 40), (tables.nearer, 10)):
        expected = np.array(reference.shared(lists[:, :m].tolist())) / m
        np.testing.assert_allclose(near.shared, expected, rtol=1e-6)
    few = _subclusters.Tables(distances, candidates, 20, 0, None)
    assert few.nearer is few.near  # both hold two subclusters


def test_auto_takes_one_of_four_results_and_leaves_the_first_for_a_clear_gain_only():
    results = [fitted(overlap=o) for o in ("shared", "penalty", "both", "silhouette")]
    model = fitted()
    (chosen,) = (each for each in results if each.overlap_ == model.overlap_)
    np.testing.assert_array_equal(model.exemplars_, chosen.exemplars_)
    tried = [
        _subclusters.Tried(each.exemplars_, None, Setting(each.overlap_, 1.0), s, cut)
        for each, s, cut in zip(results, (0.5, 0.6, 0.53, 0.55), (0.4, 0.5, 0.4, 0.4), strict=True)
    ]
    names = [_subclusters.preferred(tried[:n]).setting.overlap for n in (1, 2, 3, 4)]
    assert names == ["shared", "shared", "both", "silhouette"]
    assert _subclusters.preferred([tried[0], tried[3]._replace(cut=0.42)]) is tried[0]


def test_a_dense_group_gets_one_center_only():
    # Eq. 4.2 prefers several centers in the dense group to one in each other group.
    random = np.random.RandomState(0)
    groups = [random.normal(size=(60, 8)) * (0.3 if g == 0 else 1) for g in range(5)]
    rows = np.concatenate([g + 5 * np.eye(8)[at] for at, g in enumerate(groups)])
    labels = np.repeat(np.arange(5), 60)
    by_overlap = {o: fitted(rows, 5, 5, overlap=o).exemplars_ for o in ("shared", "rule")}
    assert subclustering_jaccard(labels, by_overlap["shared"]) == 1
    assert subclustering_jaccard(labels, by_overlap["rule"]) < 1


def test_most_digits_are_shown():
    digits, labels = load_digits(return_X_y=True)
    assert subclustering_jaccard(labels, fitted(digits, 10, 10).exemplars_) > 0.7


def test_distances_give_the_result_of_features():
    for overlap in ALL:
        given = fitted(D, overlap=overlap, metric="precomputed")
        np.testing.assert_array_equal(given.exemplars_, fitted(overlap=overlap).exemplars_)
    assert fitted(metric="manhattan").scale_ == pytest.approx(
        fitted(cdist(X, X, "cityblock"), metric="precomputed").scale_
    )


def test_units_and_threads_do_not_matter():
    expected = fitted().exemplars_
    np.testing.assert_array_equal(fitted(X * 1e100 + 1e101).exemplars_, expected)
    np.testing.assert_array_equal(fitted(n_jobs=2).exemplars_, expected)


def test_nearest_rows_in_blocks(monkeypatch):
    expected = fitted().exemplars_
    monkeypatch.setattr(_distances, "LISTS_PER_TASK", 7)
    monkeypatch.setattr(_distances, "ROWS_PER_BLOCK", 11)
    np.testing.assert_array_equal(fitted().exemplars_, expected)


def test_rows_too_near_for_single_precision():
    # Groups of a hundred-thousandth of their distance from each other.
    near = np.where(np.arange(160)[:, None] % 2, 1.0, -1.0) + 1e-6 * X
    distances = subclustering.RowDistances(near, "euclidean")
    found, apart = distances.nearest(np.arange(160), 3)
    exact = cdist(near, near)
    np.testing.assert_allclose(apart, np.sort(exact, axis=1)[:, 1:4], rtol=1e-6)
    np.testing.assert_array_equal(found, np.argsort(exact, axis=1)[:, 1:4])


def test_first_centers():
    first = np.arange(0, 60, 10)
    model = fitted(init=first, n_candidates=20)
    assert set(first) <= set(model.candidates_)
    assert len(model.candidates_) == 20
    for wrong in ([0, 0, 1, 2, 3, 4], [0, 1], [0, 1, 2, 3, 4, 160], "k-means++"):
        with pytest.raises(InvalidParameterError, match="different row numbers"):
            fitted(init=wrong)


@pytest.mark.parametrize("overlap", ALL)
@pytest.mark.parametrize(("n_clusters", "size"), [(1, 4), (5, 1), (1, 1), (40, 4), (160, 1)])
def test_extreme_sizes(overlap, n_clusters, size):
    model = fitted(X, n_clusters, size, overlap=overlap)
    assert len(np.unique(model.exemplars_)) == n_clusters * size


def test_equal_rows():
    rows = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 8, axis=0)
    for overlap in ALL:
        model = fitted(rows, 3, 4, overlap=overlap)
        assert subclustering_jaccard(np.repeat([0, 1, 2], 8), model.exemplars_) == 1
    with pytest.warns(FewerGroupsWarning, match="equal rows"):
        assert fitted(rows, 4, 4).exemplars_.shape == (4, 4)
    with pytest.warns(FewerGroupsWarning, match="equal rows"):
        fitted(np.zeros((24, 2)), 3, 4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 27}, "needs 162 rows, but there are only 160"),
        ({"n_candidates": 5}, "at least n_clusters and at most the number of rows"),
        ({"n_candidates": 161}, "at least n_clusters and at most the number of rows"),
        ({"n_candidates": 20_001}, "candidates must be"),
        ({"scale": 0.0}, "scale must be"),
        ({"overlap": "none"}, "overlap must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        fitted(**parameters)


def test_too_many_clusters_for_a_table_of_candidates(monkeypatch):
    monkeypatch.setattr(subclustering, "MAX_DENSE_ROWS", 59)
    with pytest.raises(TooLargeError, match="set n_candidates to at most 59"):
        fitted()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d[:, :5], "square"),
        (lambda d: d + np.triu(d, 1), "symmetric"),
        (lambda d: -d, "Negative"),
        (lambda d: d + np.eye(len(d)), "diagonal"),
        (lambda d: np.where(d > 5, np.nan, d), "NaN"),
    ],
)
def test_bad_distances(change, message):
    with pytest.raises((InvalidDataError, ValueError), match=message):
        fitted(change(D), metric="precomputed")


def test_examples_of_known_groups_are_pure_and_near_each_other():
    wrong = y.copy()
    wrong[:10] = 0  # ten rows with a wrong label, which must not be returned
    found = purest_examples(X, wrong, 4)
    assert found.shape == (6, 4)
    assert (y[found] == np.arange(6)[:, None]).all()
    np.testing.assert_array_equal(found, purest_examples(D, wrong, 4, metric="precomputed"))
    for g, rows in enumerate(found):
        assert D[np.ix_(rows, rows)].mean() < 0.8 * D[np.ix_(y == g, y == g)].mean()


def test_examples_of_certain_rows_come_first():
    confidence = np.where(np.arange(160) % 2, 1.0, 0.0)
    found = purest_examples(X, y, 1, confidence=confidence)
    assert (found % 2 == 1).all()


def test_small_groups_and_rows_without_group():
    labels = np.full(160, -1)
    labels[[3, 5, 9]] = 7
    labels[20] = 2
    found = purest_examples(X, labels, 4)
    assert found[0].tolist() == [20, -1, -1, -1]
    assert sorted(found[1].tolist()) == [-1, 3, 5, 9]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": y[:5]}, "labels must be 160 integers"),
        ({"labels": y.astype(float)}, "labels must be 160 integers"),
        ({"size": 0}, "size must be"),
        ({"confidence": np.full(160, 2.0)}, "confidence must be"),
    ],
)
def test_bad_arguments_of_examples(arguments, message):
    with pytest.raises((InvalidDataError, InvalidParameterError), match=message):
        purest_examples(X, **{"labels": y, **arguments})
