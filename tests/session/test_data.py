"""The data of a session: features, distances, items alone, and typical mistakes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from tests.session.small import IDS, N, X, Y, oracle, session

from clew import Session
from clew.exceptions import (
    DistancesAsFeaturesWarning,
    InvalidArgumentError,
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.metrics import adjusted_rand_score

pytestmark = pytest.mark.usefixtures("small_search")


def test_sparse_features_ask_the_same_questions_as_dense_ones() -> None:
    sparse = Session(csr_array(X), strategy="most_probable", random_state=0)
    dense = Session(X, strategy="most_probable", random_state=0)
    assert sparse.run(oracle(), 8).answers == dense.run(oracle(), 8).answers


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", [np.ones((N, 3)), np.eye(3)[Y], np.random.RandomState(1).rand(N, 2), X[:2], X * 1e300]
)
def test_unusual_data_give_a_result(data: Any) -> None:
    found = Session(data, random_state=0).run(oracle(), 6).result()
    assert len(found.labels_) == len(data)


def test_integer_ids_are_not_rows() -> None:
    found = session(ids=range(100, 100 + N))
    (question,) = found.ask()
    assert question.ids == tuple(100 + row for row in question.rows)
    assert found.question(100, 123).rows == (0, 23)
    with pytest.raises(InvalidConstraintsError, match="no row with the id 0"):
        found.question(0, 1)


def test_ids_of_a_data_frame() -> None:
    found = Session(pd.DataFrame(X, index=IDS), strategy="random")
    assert found.ids == tuple(IDS)


def test_a_data_frame_with_gaps_and_words() -> None:
    frame = pd.DataFrame({"size": X[:, 0], "color": np.where(Y == 0, "red", "blue")})
    frame.loc[3, "size"] = np.nan
    assert len(Session(frame, strategy="random").labels()) == N


@pytest.mark.slow
def test_distances() -> None:
    distances = np.abs(X[:, None, 0] - X[None, :, 0])
    frame = pd.DataFrame(distances, index=IDS, columns=IDS)
    one = Session(distances=frame, strategy="guided", random_state=0)
    other = Session(distances=distances, strategy="guided", random_state=0)
    assert one.ids == tuple(IDS)
    assert one.ask(3) == other.ask(3)


def test_columns_of_distances_in_another_order() -> None:
    distances = np.abs(X[:, None, 0] - X[None, :, 0])
    frame = pd.DataFrame(distances, index=IDS, columns=IDS[::-1])
    with pytest.raises(InvalidDataError, match="in the same order"):
        Session(distances=frame)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["guided", "random", "most_probable", "uncertain"])
def test_items_alone_are_grouped_by_answers(strategy: str) -> None:
    found = Session(items=IDS, strategy=strategy, random_state=0).run(oracle(), 100, batch=5)
    assert found.ids == tuple(IDS)
    assert adjusted_rand_score(Y, found.labels()) == 1


@pytest.mark.slow
def test_equal_rows() -> None:
    found = Session(np.zeros((N, 2)), random_state=0).run(oracle(), 20)
    assert len(found.result().labels_) == N


def test_distances_as_features_are_reported() -> None:
    with pytest.warns(DistancesAsFeaturesWarning, match=r"Session\(distances=...\)"):
        Session(np.abs(X[:, None, 0] - X[None, :, 0]), strategy="random")


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({}, InvalidArgumentError, "none of them"),
        ({"X": X, "items": IDS}, InvalidArgumentError, "X and items"),
        ({"X": X, "ids": IDS[:-1]}, InvalidConstraintsError, "23 ids"),
        ({"X": X, "ids": [*IDS[:-1], IDS[0]]}, InvalidConstraintsError, "distinct"),
        (
            {"X": np.where(np.arange(2 * N).reshape(N, 2) == 7, np.nan, X)},
            InvalidDataError,
            "row 3, column 1",
        ),
        (
            {"X": pd.DataFrame({"a": [1, 2, 3], "b c": [1, 2, np.inf]})},
            InvalidDataError,
            "row 2, column 'b c'",
        ),
        ({"X": X[:1]}, InvalidDataError, "minimum of 2"),
        ({"X": X[:, 0]}, InvalidDataError, "got 1D array instead. X is a table of numbers"),
        ({"X": ["a", "b"]}, InvalidDataError, "pass items="),
        ({"X": {"a": [1, 2]}}, InvalidDataError, "table of numbers"),
        ({"X": X + 1j}, InvalidDataError, "Complex data not supported"),
        ({"X": pd.DataFrame(index=range(3))}, InvalidDataError, "0 feature"),
        ({"X": np.ma.masked_greater(X, 4)}, InvalidDataError, "X holds NaN in row"),
        ({"X": csr_array((10**6, 10**3))}, InvalidDataError, "TruncatedSVD"),
        ({"X": X, "n_clusters": N + 1}, InvalidParameterError, "there are only 24 items"),
        ({"items": ["a"]}, InvalidDataError, "two items or more, got 1"),
        ({"items": "abc"}, InvalidArgumentError, "sequence"),
    ],
)
def test_mistakes(data: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Session(**data)
