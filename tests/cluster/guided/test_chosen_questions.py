"""Answers about three rows without a don't-know: questions chosen to have an answer, or random."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._answer_model import AnswerModel
from clew.metrics import adjusted_rand_score

X, y = make_blobs(160, 8, centers=10, cluster_std=3.2, random_state=0)
ALONE = adjusted_rand_score(y, GuidedClustering(random_state=0).fit(X).labels_)


def triplets(n, wrong, are_chosen, seed=0):
    """Triplets of random rows, or only those of two rows of one group and one of another."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < n:
        a, b, c = rng.choice(len(y), 3, replace=False)
        answer = int(y[a] == y[c])
        if (y[a] == y[b]) == (y[a] == y[c]):
            if are_chosen:
                continue
            answer = int(rng.integers(2))
        found.append((a, b, c, answer ^ int(rng.random() < wrong)))
    return Constraints(len(y), triplets=np.array(found))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n", [80, pytest.param(320, marks=pytest.mark.slow)])
def test_wrong_answers_about_chosen_triplets_are_outvoted(n, seed):
    model = GuidedClustering(random_state=0).fit(X, constraints=triplets(n, 0.2, True, seed))
    found = adjusted_rand_score(y, model.labels_)
    assert found >= (0.95 if n > len(y) else ALONE - 0.05), found
    low, high = model.error_interval_
    assert low <= 0.2 <= high


@pytest.mark.slow
def test_random_triplets_are_not_taken_for_chosen_ones():
    model = GuidedClustering(random_state=0).fit(X, constraints=triplets(320, 0.1, False))
    assert adjusted_rand_score(y, model.labels_) >= ALONE - 0.05
    assert model.regime_ == "both"


@pytest.mark.slow
def test_an_odd_one_that_nobody_may_refuse_to_name():
    rng, found = np.random.default_rng(0), []
    while len(found) < 320:
        rows = rng.choice(len(y), 3, replace=False)
        groups = y[rows]
        is_odd = (groups[:, None] == groups).sum(axis=1) == 1
        if is_odd.sum() == 1:
            wrong = rng.random() < 0.2
            found.append((*rows, int(rng.integers(3)) if wrong else int(is_odd.argmax())))
    answers = Constraints(len(y), odd_one_out=np.array(found))
    model = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(y, model.labels_) >= 0.95


@pytest.mark.parametrize("error", [0.05, 0.2, 0.4])
def test_a_wrong_answer_is_as_probable_as_the_error_rate_says(error):
    answers = triplets(40, 0.0, True)
    (likelihood,) = (
        of
        for of, table in zip(
            AnswerModel(answers).likelihoods(np.array([error])), answers.tables, strict=True
        )
        if table.kind == "triplet"
    )
    right = likelihood[np.arange(40), answers.triplet_answers]
    wrong = likelihood[np.arange(40), 1 - answers.triplet_answers]
    np.testing.assert_allclose(wrong / (wrong + right), error)
    np.testing.assert_allclose(likelihood[:, 2], 0.5, rtol=0.02)


@pytest.mark.slow
def test_graded_answers_do_not_outweigh_features():
    """Spaces of a few answers about degrees of likeness lost groups that features show."""
    rng = np.random.default_rng(0)
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    rows = np.array([rng.choice(len(y), 3, replace=False) for _ in range(160)])
    noise = rng.logistic(size=len(rows)) * 0.1 * distance.std()
    a, b, c = rows.T
    is_second = distance[a, b] + noise > distance[a, c]
    answers = Constraints(len(y), triplets=np.column_stack([rows, is_second]))
    model = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(y, model.labels_) >= 0.7
