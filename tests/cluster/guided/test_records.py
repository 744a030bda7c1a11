"""Many small groups of near copies: recognition, groups, answers, and the fitted model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import OneHotEncoder, scale

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._records import (
    NearRows,
    answers_join_far_rows,
    are_groups_tiny,
    tiny_groups,
)

pytestmark = pytest.mark.usefixtures("small_search")

N_GROUPS = 150


def _vectors(seed: int, noise: float = 0.4) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return groups of one to five vectors each."""
    random = np.random.RandomState(seed)
    y = random.permutation(np.repeat(np.arange(N_GROUPS), random.randint(1, 6, N_GROUPS)))
    centers = random.normal(size=(N_GROUPS, 48))
    return centers[y] + noise * random.normal(size=(len(y), 48)), y


def _names(seed: int) -> tuple[object, NDArray[np.int64]]:
    """Return n-grams of names with a typing error in every second row."""
    random = np.random.RandomState(seed)
    letters = np.array(list("abcdefghiklmnoprstuvw"))
    names = ["".join(random.choice(letters, 14)) for _ in range(N_GROUPS)]
    y = random.permutation(np.repeat(np.arange(N_GROUPS), random.randint(1, 4, N_GROUPS)))
    rows = []
    for group in y.tolist():
        at, name = random.randint(14), names[group]
        rows.append(name if random.rand() < 0.5 else name[:at] + name[at + 1 :])
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(rows), y


def _balanced_answers(y: NDArray[np.int64], n: int, error: float = 0.0) -> Constraints:
    random = np.random.RandomState(0)
    same = np.argwhere(np.triu(y[:, None] == y, 1))
    different = np.argwhere(np.triu(y[:, None] != y, 1))
    must = same[random.choice(len(same), n // 2, replace=False)]
    cannot = different[random.choice(len(different), n // 2, replace=False)]
    n_wrong = round(error * n / 2)
    return Constraints.from_pairs(
        must_link=np.concatenate([must[n_wrong:], cannot[:n_wrong]]),
        cannot_link=np.concatenate([cannot[n_wrong:], must[:n_wrong]]),
        n_samples=len(y),
    )


def _ordinary() -> dict[str, NDArray[np.float64]]:
    random = np.random.RandomState(0)
    uneven = make_blobs([5, 10, 20, 40, 80, 160, 320], n_features=6, random_state=0)[0]
    return {
        "digits": load_digits().data,
        "iris": scale(load_iris().data),
        "wine": scale(load_wine().data),
        "cancer": scale(load_breast_cancer().data),
        "blobs": make_blobs(600, 8, centers=12, random_state=0)[0],
        "groups of 12": make_blobs([12] * 50, n_features=20, random_state=0)[0],
        "uneven": uneven,
        "one large group": make_blobs([300] + [5] * 20, n_features=10, random_state=0)[0],
        "normal": random.normal(size=(500, 30)),
        "heavy tails": random.standard_t(2, size=(500, 10)),
        "skewed": np.exp(random.normal(size=(500, 8))),
        "uniform": random.uniform(size=(500, 2)),
        "whole numbers": random.randint(0, 5, (600, 6)).astype(float),
        "categories": OneHotEncoder(sparse_output=False).fit_transform(
            random.randint(0, 8, (500, 5))
        ),
        "copies": np.repeat(random.normal(size=(300, 5)), 2, axis=0),
        "few rows": random.normal(size=(20, 3)),
        "phrases beside numbers": np.concatenate(
            [random.normal(size=(60, 20))[np.arange(300) // 5], scale(uneven[:300])], axis=1
        ),
    }


@pytest.mark.parametrize("name", _ordinary())
def test_ordinary_rows_are_not_taken_for_records(name):
    assert not are_groups_tiny(_ordinary()[name])


@pytest.mark.parametrize("make", [_vectors, _names])
@pytest.mark.parametrize("seed", range(3))
def test_many_small_groups_are_recognized_and_found_without_answers(make, seed):
    rows, y = make(seed)
    assert are_groups_tiny(rows)
    found = tiny_groups(rows, Constraints(len(y)))
    assert adjusted_rand_score(y, found.labels) > 0.95


@pytest.mark.slow
def test_answers_that_join_far_rows_show_that_groups_are_not_small():
    rows, y = _vectors(0)
    near = NearRows.of(rows)
    coarse = Constraints.from_labels(y % 4, 800, random_state=0)
    assert answers_join_far_rows(near, coarse)
    assert not answers_join_far_rows(
        near, Constraints.from_labels(y, 200, error=0.1, random_state=0)
    )
    assert GuidedClustering(random_state=0).fit(rows, constraints=coarse).regime_ != "identities"


def test_the_order_of_rows_does_not_matter():
    rows, y = _vectors(1)
    order = np.random.RandomState(0).permutation(len(y))
    found = tiny_groups(rows, Constraints(len(y))).labels
    permuted = tiny_groups(rows[order], Constraints(len(y))).labels
    assert adjusted_rand_score(found[order], permuted) == 1


def test_answers_improve_groups_that_are_hard_to_tell_apart():
    rows, y = _vectors(2, noise=0.9)
    alone = tiny_groups(rows, Constraints(len(y))).labels
    found = tiny_groups(rows, _balanced_answers(y, 100, error=0.05)).labels
    assert adjusted_rand_score(y, found) > adjusted_rand_score(y, alone)


def test_people_who_agree_outvote_features():
    rows, y = _vectors(3)
    first, second = np.flatnonzero(y == y[0])[0], np.flatnonzero(y != y[0])[0]
    together = np.argwhere(np.triu(y[:, None] == y, 1))[0]
    for answer in ("same", "different"):
        pair = (first, second) if answer == "same" else tuple(together.tolist())
        asked = {"must_link" if answer == "same" else "cannot_link": [pair] * 4}
        known = _balanced_answers(y, 80) + Constraints.from_pairs(**asked, n_samples=len(y))
        labels = tiny_groups(rows, known).labels
        assert (labels[pair[0]] == labels[pair[1]]) == (answer == "same")


@pytest.fixture(scope="module")
def fitted() -> tuple[GuidedClustering, NDArray[np.float64], NDArray[np.int64]]:
    rows, y = _vectors(4)
    answers = _balanced_answers(y, 80, error=0.1)
    return GuidedClustering(random_state=0).fit(rows, constraints=answers), rows, y


def test_guided_clustering_says_that_groups_are_small(fitted):
    model, _, y = fitted
    assert model.regime_ == "identities"
    assert "many small groups: records of the same thing?" in model.regime_.reason
    assert model.regime_.reason in model.summary()
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.n_clusters_ == len(np.unique(model.labels_))
    assert model.tree_.shape == (len(y) - 1, 4)


def test_probabilities_add_up_and_agree_with_labels(fitted):
    model, rows, _ = fitted
    dense = model.probabilities_.toarray()
    np.testing.assert_allclose(dense.sum(axis=1), 1)
    np.testing.assert_array_equal(dense.argmax(axis=1), model.labels_)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_wrong_answers_are_doubted(fitted):
    model, _, y = fitted
    known = model.result_.constraints
    is_wrong = (y[known.pairs[:, 0]] == y[known.pairs[:, 1]]) != known.is_must_link
    is_doubted = model.answer_posterior_.pairs > 0.5
    assert is_wrong[is_doubted].mean() > 0.8
    assert is_doubted[is_wrong].mean() > 0.7
    low, high = model.error_interval_
    assert low <= is_wrong.mean() <= high


def test_further_answers_give_the_groups_of_one_fit(fitted):
    model, rows, _ = fitted
    known = model.result_.constraints
    half = np.arange(len(known.pairs)) % 2 == 0
    first, rest = known.select(pairs=half), known.select(pairs=~half)
    step = GuidedClustering(random_state=0).fit(rows, constraints=first)
    step.partial_fit(rows, constraints=rest)
    at_once = GuidedClustering(random_state=0).fit(rows, constraints=first + rest)
    np.testing.assert_array_equal(step.labels_, at_once.labels_)
    assert len(step.result_.constraints.pairs) == len(known.pairs)


@pytest.mark.slow
def test_a_given_number_of_groups_is_kept(fitted):
    _, rows, _ = fitted
    assert "No answers\nDecided by" in GuidedClustering(random_state=0).fit(rows).summary()
    assert GuidedClustering(N_GROUPS, random_state=0).fit(rows).n_clusters_ == N_GROUPS
    few = GuidedClustering(4, random_state=0).fit(rows)
    assert few.regime_ != "identities"
    assert few.n_clusters_ == 4
