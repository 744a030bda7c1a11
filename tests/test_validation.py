"""Allowed ranges, and the messages made from them."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from clew._validation import Allowed, check_features, check_matrix, check_parameters, derived_seeds
from clew.cluster import DCRC, COPKMeans, KMedoids, SpectralClustering
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.similarity import E2CP


class Example(BaseEstimator):
    def __init__(self, size=3):
        self.size = size


SHARE = Allowed(kind=float, low=0, high=1, low_open=True)


@pytest.mark.parametrize(
    ("allowed", "value", "holds"),
    [
        (Allowed(kind=int, low=1), 1, True),
        (Allowed(kind=int, low=1), np.int64(7), True),
        (Allowed(kind=int, low=1), 0, False),
        (Allowed(kind=int, low=1), 1.0, False),
        (Allowed(kind=int, low=1), True, False),
        (Allowed(kind=int, low=1), None, False),
        (Allowed(kind=int, low=1, none=True), None, True),
        (SHARE, 1, True),
        (SHARE, np.float32(0.5), True),
        (SHARE, 0.0, False),
        (SHARE, 1.01, False),
        (SHARE, float("nan"), False),
        (Allowed(names=("a", "b")), "a", True),
        (Allowed(names=("a", "b")), "c", False),
        (Allowed(names=("a", "b")), 1, False),
        (Allowed(names=("a",)), ["a"], False),
        (Allowed(kind=float, low=0), float("inf"), True),
        (Allowed(kind=float, low=0, high_open=True), float("inf"), False),
        (Allowed(kind=bool), False, True),
        (Allowed(kind=bool), np.True_, True),
        (Allowed(kind=bool), 1, False),
        (Allowed(kind=bool), "no", False),
        (Allowed(kind=bool), None, False),
    ],
)
def test_ranges(allowed, value, holds):
    assert allowed.holds(value) is holds


def test_ranges_are_put_in_words():
    assert str(Allowed(kind=int, low=1)) == "an integer in [1, inf)"
    assert str(SHARE) == "a number in (0, 1]"
    assert str(Allowed(kind=bool, none=True)) == "True or False or None"
    assert str(Allowed(names=("a", "b"), none=True)) == "'a' or 'b' or None"


def test_message_names_class_parameter_value_and_range():
    with pytest.raises(InvalidParameterError) as caught:
        check_parameters(Example(size=-2), {"size": Allowed(kind=int, low=1)})
    assert str(caught.value) == "Example(size=-2): size must be an integer in [1, inf)"


def test_any_of_several_ranges_is_enough():
    ranges = {"size": (Allowed(names=("all",)), Allowed(kind=int, low=1), SHARE)}
    for size in ("all", 2, 0.5):
        check_parameters(Example(size=size), ranges)
    with pytest.raises(InvalidParameterError, match=r"'all' or an integer .* or a number"):
        check_parameters(Example(size=1.5), ranges)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_are_finite(bad):
    X = np.ones((4, 2))
    X[2, 1] = bad
    for check in (check_matrix, lambda X: check_features(Example(), X)):
        with pytest.raises(ValueError, match=r"NaN|inf"):
            check(X)


def test_features_have_two_dimensions_and_two_rows():
    for check in (check_matrix, lambda X: check_features(Example(), X)):
        with pytest.raises(ValueError, match="minimum of 2"):
            check(np.ones((1, 2)))
        with pytest.raises(ValueError, match="2D"):
            check(np.ones(3))
        assert check(np.ones((3, 2), np.int32)).dtype == np.float64


def test_new_rows_may_be_one_but_keep_the_width():
    example = Example()
    check_features(example, np.ones((3, 2)))
    assert example.n_features_in_ == 2
    assert check_features(example, np.ones((1, 2)), reset=False).shape == (1, 2)
    with pytest.raises(ValueError, match="expecting 2 features"):
        check_features(example, np.ones((1, 3)), reset=False)


def test_seeds_follow_the_random_state():
    assert derived_seeds(5, 3) == derived_seeds(5, 3) == derived_seeds(np.random.RandomState(5), 3)
    assert derived_seeds(5, 3)[:2] == derived_seeds(5, 2)
    state = np.random.RandomState(0)
    assert derived_seeds(state, 2) != derived_seeds(state, 2)
    assert derived_seeds(None, 4) != derived_seeds(None, 4)
    assert all(0 <= seed < 2**31 for seed in derived_seeds(0, 100))


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_the_first_value_that_is_not_finite_is_named_by_row_and_column(value, word):
    X = np.arange(1.0, 13.0).reshape(4, 3)
    X[2, 1] = X[3, 0] = value
    frame = pd.DataFrame(X, columns=["a", "b c", "d"])
    for given, column in ((X, "1"), (csr_array(X), "1"), (frame, "'b c'")):
        with pytest.raises(InvalidDataError, match=f"^X holds {word} in row 2, column {column}: "):
            check_matrix(given, accept_sparse="csr")
    with pytest.raises(InvalidDataError, match=f"^X holds {word} in row 2, column 'b c': "):
        KMedoids(2).fit(frame)


def test_columns_of_one_name_are_refused():
    frame = pd.DataFrame(np.eye(4, 3), columns=["a", "b", "a"])
    with pytest.raises(InvalidDataError, match="two columns are named 'a'"):
        KMedoids(2).fit(frame)


class LazyFrame:
    """What is needed of a query of polars."""

    columns: ClassVar = ["a"]
    dtypes: ClassVar = [float]


FRAME = pd.DataFrame({"a": [0.0, 1.0, 2.0], "t": ["red", "gray", "red"]})


@pytest.mark.parametrize("estimator", [COPKMeans(2), SpectralClustering(2), E2CP(), DCRC(2)])
def test_what_no_method_can_read_is_refused_with_what_to_do(estimator):
    """Text and dates, a query, a data frame without columns."""
    with pytest.raises(InvalidDataError, match=r"column 't' does not: .*'red'\. tables\.TableF"):
        estimator.fit(FRAME)
    dates = FRAME[["a"]].assign(day=pd.Timestamp("2024-05-01"))
    with pytest.raises(InvalidDataError, match=r"column 'day' does not\. tables\.TableFeatures"):
        estimator.fit(dates)
    with pytest.raises(InvalidDataError, match=r"LazyFrame .* collect\(\)"):
        estimator.fit(LazyFrame())
    with pytest.raises(InvalidDataError, match="data frame without columns"):
        estimator.fit(FRAME[[]])


def test_infinities_of_both_signs_are_refused_without_a_warning():
    with pytest.raises(InvalidDataError, match="X holds inf in row 0, column 1"):
        COPKMeans(2).fit(np.array([[0.0, np.inf], [1.0, -np.inf], [2.0, 0.0]]))
