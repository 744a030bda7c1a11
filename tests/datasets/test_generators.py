"""Generated leaves and faces: their sizes, their difficulty, and their seeds."""

import numpy as np
import pytest

from clew.datasets import make_face_like, make_leaf_like
from clew.exceptions import InvalidParameterError


def test_leaf_like_has_many_uneven_classes_and_symmetric_distances():
    leaves = make_leaf_like(300, class_size=15, random_state=0)
    sizes = np.bincount(leaves.y)
    assert leaves.n_classes == len(sizes) == 20
    assert sizes.sum() == 300
    assert sizes.min() >= 3
    assert sizes.max() > 2 * sizes.min()
    np.testing.assert_array_equal(leaves.D, leaves.D.T)
    assert (leaves.D.diagonal() == 0).all()
    # Leaving out features can only shorten a distance.
    full = np.sqrt(np.square(leaves.X[:, None] - leaves.X).sum(axis=2))
    assert (full + 1e-12 >= leaves.D).all()
    same = leaves.y[:, None] == leaves.y
    assert np.median(leaves.D[same]) < np.median(leaves.D[~same])


def test_results_depend_on_the_seed():
    a, b, c = (make_leaf_like(60, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.D, b.D)
    assert (a.X != c.X).any()


def test_six_rows_of_one_feature_have_two_classes():
    assert make_leaf_like(6, n_features=1, random_state=0).n_classes == 2


@pytest.mark.parametrize(
    "arguments",
    [{"n_samples": 5}, {"n_features": 0}, {"class_size": 2}, {"noise": -1}, {"noise": np.nan}],
)
def test_bad_parameters(arguments):
    with pytest.raises(InvalidParameterError, match=f"{next(iter(arguments))} must be at least"):
        make_leaf_like(**arguments)


def test_the_sizes_are_those_of_the_thesis():
    faces = make_face_like(n_features=1, random_state=0)
    sizes = np.bincount(faces.y)
    assert faces.n_samples == 51_418
    assert (len(sizes), sizes.min(), sizes.max()) == (200, 56, 1434)


def test_items_differ_in_difficulty():
    faces = make_face_like(3000, n_classes=2, class_sizes=(1000, 2000), random_state=0)
    deviation = (faces.X - np.array([faces.X[faces.y == c].mean(0) for c in (0, 1)])[faces.y]).std(
        1
    )
    assert np.quantile(deviation, 0.95) > 3 * np.quantile(deviation, 0.05)
    assert deviation.mean() == pytest.approx(1.1, rel=0.1)


def test_faces_depend_on_the_seed():
    a, b, c = (
        make_face_like(200, n_classes=9, class_sizes=(5, 60), random_state=seed)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(a.X, b.X)
    assert (a.X != c.X).any()


@pytest.mark.parametrize("n_samples", [18, 25, 45, 72])
def test_sizes_always_add_up(n_samples):
    faces = make_face_like(n_samples, n_classes=9, class_sizes=(1, 10), random_state=0)
    assert np.bincount(faces.y).max() == 10


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_samples": 17},
        {"n_samples": 83},
        {"n_classes": 1},
        {"n_features": 0},
        {"class_sizes": (5, 4)},
        {"noise": -1},
    ],
)
def test_bad_arguments(arguments):
    with pytest.raises(InvalidParameterError):
        make_face_like(**{"n_samples": 50, "n_classes": 9, "class_sizes": (1, 10), **arguments})
