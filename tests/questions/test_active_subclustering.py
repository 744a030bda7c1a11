"""Active subclustering: it ends in pure subclusters, and withstands wrong answers."""

import numpy as np
import pytest

from clew.datasets import make_face_like
from clew.exceptions import InvalidParameterError
from clew.metrics import subclustering_jaccard
from clew.oracles import SimulatedOracle
from clew.questions import ActiveSubclustering


def small_problem(seed):
    """Overlapping groups of at least as many rows as a subcluster has."""
    random = np.random.RandomState(seed)
    k, size = random.randint(2, 6), random.randint(1, 5)
    y = np.repeat(np.arange(k), size + random.randint(0, 4, k))
    X = random.normal(size=(len(y), 2)) + 2 * random.uniform(size=(k, 2))[y]
    return X, y, k, size


def score(strategy, y):
    return subclustering_jaccard(y, strategy.exemplars())


def asked(strategy, y, n, error=0.0, batch=10):
    people = SimulatedOracle(y, error=error, origin="asked", random_state=0)
    while len(strategy.answers) < n and (questions := strategy.ask(batch)):
        strategy.tell(people.answer_all(questions))
    return strategy


def ends_in_pure_subclusters(seed):
    """Ask until nothing is left, and check that no question is implied and no row used twice."""
    X, y, k, size = small_problem(seed)
    strategy = ActiveSubclustering(k, size=size, error=0.0, random_state=seed).start(X)
    people = SimulatedOracle(y, origin="asked", random_state=0)
    while questions := strategy.ask(4):
        pairs = np.array([question.rows for question in questions])
        assert strategy.known.is_unknown(pairs).all()
        strategy.tell(people.answer_all(questions))
    assert len(np.unique(strategy.exemplars())) == k * size
    return score(strategy, y) == 1.0


@pytest.mark.slow
def test_right_answers_end_in_pure_subclusters_without_a_deadlock():
    assert all(ends_in_pure_subclusters(seed) for seed in range(40))


@pytest.mark.slow
def test_hundreds_of_problems_end_without_a_deadlock():
    assert all(ends_in_pure_subclusters(seed) for seed in range(40, 500))


@pytest.mark.slow
def test_checks_do_not_deadlock_either():
    for seed in range(15):
        X, y, k, size = small_problem(seed)
        strategy = ActiveSubclustering(k, size=size, random_state=seed).start(X)
        assert score(asked(strategy, y, 2000), y) == 1.0, seed


@pytest.fixture(scope="module")
def faces():
    return make_face_like(1500, n_classes=20, class_sizes=(25, 300), noise=1.8, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize(("error", "gain"), [(0.0, 0.15), (0.1, 0.05), (0.2, 0.0)])
def test_answers_raise_the_score_even_if_some_are_wrong(faces, error, gain):
    strategy = ActiveSubclustering(20, random_state=0).start(faces.X)
    before = score(strategy, faces.y)
    assert score(asked(strategy, faces.y, 250, error), faces.y) >= before + gain


@pytest.mark.slow
def test_the_estimated_share_of_wrong_answers_falls_where_all_are_right(faces):
    strategy = ActiveSubclustering(20, random_state=0).start(faces.X)
    before = strategy.error_rate()
    assert asked(strategy, faces.y, 200).error_rate() < before / 2
    assert ActiveSubclustering(20, error=0.3).start(faces.X).error_rate() == 0.3


def test_undo_restores_exemplars_and_questions(faces):
    strategy = ActiveSubclustering(20, random_state=0).start(faces.X)
    exemplars = asked(strategy, faces.y, 70, 0.1).exemplars()
    questions = strategy.ask(5)
    asked(strategy, faces.y, 100, 0.1).undo(30)
    assert np.array_equal(strategy.exemplars(), exemplars)
    assert strategy.ask(5) == questions


def test_only_exemplars_have_labels(faces):
    strategy = ActiveSubclustering(20, size=5, random_state=0).start(faces.X)
    labels = strategy.labels()
    assert np.bincount(labels[labels >= 0]).tolist() == [5] * 20
    assert set(np.flatnonzero(labels >= 0)) == set(strategy.exemplars().ravel())
    assert (np.diff(np.unique(labels, return_index=True)[1][1:]) > 0).all()


def test_sizes_are_checked():
    with pytest.raises(InvalidParameterError, match="size"):
        ActiveSubclustering(2, size=0).start([[0.0], [1.0], [2.0]])
    assert ActiveSubclustering(2).start([[0.0], [1.0], [2.0]]).exemplars().shape == (2, 1)


@pytest.mark.slow
def test_the_whole_set_of_faces():
    faces = make_face_like(random_state=0)
    strategy = ActiveSubclustering(200, random_state=0).start(faces.X)
    assert score(asked(strategy, faces.y, 1500), faces.y) >= 0.92
