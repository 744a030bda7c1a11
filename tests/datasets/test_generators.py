from __future__ import annotations

import numpy as np
import pytest

from clew.datasets import make_leaf_like
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
