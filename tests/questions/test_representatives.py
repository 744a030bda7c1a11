"""Rows that stand for others, and strategies that ask about them alone."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from clew import Answer, Question
from clew.exceptions import InvalidParameterError
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle, ask_oracle
from clew.questions import COBRA, ExpectedChange
from clew.questions._pair_order import Representatives

y = np.repeat(np.arange(5), 12)
X = np.random.RandomState(0).normal(size=(60, 5)) * 0.3 + 4 * np.eye(5)[y]
D = squareform(pdist(X))


@pytest.mark.parametrize(("data", "metric"), [(X, "euclidean"), (D, "precomputed")])
def test_every_row_follows_a_near_one(data, metric):
    found = Representatives.of(data, metric, 20, 0)
    assert (np.diff(found.rows) > 0).all()
    assert np.array_equal(found.number[found.rows], np.arange(len(found.rows)))
    assert np.array_equal(found.size, np.bincount(found.number))
    assert (y[found.rows[found.number]] == y).all()


def test_representatives_are_random_rows_if_distances_of_all_pairs_do_not_fit(monkeypatch):
    monkeypatch.setattr("clew.questions._pair_order.ALL_PAIRS_ROWS", 50)
    found = Representatives.of(D, "precomputed", 30, 0)
    assert len(found.rows) == 30
    nearest = D[:, found.rows].min(axis=1)
    assert np.allclose(D[np.arange(60), found.rows[found.number]], nearest)


@pytest.mark.parametrize(
    "strategy", [ExpectedChange(5, n_representatives=20, random_state=0), COBRA(20, random_state=0)]
)
def test_only_representatives_are_asked_about(strategy):
    strategy.start(X)
    for _ in ask_oracle(strategy, SimulatedOracle(y, origin="asked"), 400, batch=5):
        pass
    rows = {row for answer in strategy.answers for row in answer.question.rows}
    assert len(rows) <= 20
    assert strategy.ask() == []
    assert adjusted_rand_score(y, strategy.labels()) == 1


def test_answers_about_other_rows_hold_for_their_representatives():
    strategy = ExpectedChange(5, n_representatives=20, random_state=0).start(X)
    number = strategy._items.number
    follower = next(
        i for i in range(60) if i not in strategy._items.rows and number[i] != number[0]
    )
    strategy.tell(Answer(Question("pair", (0, follower)), "same"))
    labels = strategy.labels()
    assert len(set(labels[(number == number[0]) | (number == number[follower])])) == 1


def test_there_are_enough_representatives():
    with pytest.raises(InvalidParameterError, match="only 3 representatives"):
        ExpectedChange(5, n_representatives=3, random_state=0).start(X)
