"""Guided clustering of few rows, of bad input, with a user's own pool, and interrupted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.cluster import GuidedClustering, PCKMeans
from clew.cluster.guided._errors import without_copies, without_many_repeats
from clew.exceptions import (
    FewerGroupsWarning,
    InvalidParameterError,
    NoGroupsWarning,
    ReversedAnswersWarning,
)

pytestmark = pytest.mark.usefixtures("small_search")


@pytest.mark.slow
def test_same_seed_same_result_in_one_thread_and_in_two(fitted, blobs):
    model, known = blobs.model, blobs.known
    for n_jobs in (1, 2):
        other = fitted(blobs.X, known, n_jobs=n_jobs)
        np.testing.assert_array_equal(model.probabilities_, other.probabilities_)
        assert model.scores_ == other.scores_
        assert model.error_interval_ == other.error_interval_


@pytest.mark.slow
def test_the_order_of_values_in_memory_does_not_matter(fitted, blobs):
    X = np.random.default_rng(0).normal(size=(60, 40)) + np.repeat(blobs.X, 20, axis=1)
    of_rows = fitted(X, blobs.known)
    for other in (np.asfortranarray(X), pd.DataFrame(X), csr_array(X)):
        found = fitted(other, blobs.known)
        np.testing.assert_array_equal(found.probabilities_, of_rows.probabilities_)


@pytest.mark.slow
@pytest.mark.parametrize("with_answers", [False, True])
def test_the_number_of_groups_is_found(fitted, with_answers):
    X, y = make_blobs(60, centers=3, cluster_std=0.3, random_state=0)
    known = Constraints.from_labels(y, 60, random_state=0) if with_answers else None
    model = fitted(X, known, n_clusters=None)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.slow
def test_one_group(fitted, blobs):
    known = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(2, 3)], n_samples=60)
    for answers in (None, known):
        model = fitted(blobs.X, answers, n_clusters=1)
        assert set(model.labels_) == {0}
        np.testing.assert_array_equal(model.predict(blobs.X[:3]), 0)
        np.testing.assert_allclose(model.probabilities_, 1.0)


@pytest.mark.parametrize("n_clusters", [None, 1, 2, 3])
def test_three_rows(fitted, n_clusters):
    X = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0]])
    known = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(1, 2)], n_samples=3)
    for answers in (None, known):
        model = fitted(X, answers, n_clusters=n_clusters)
        assert model.labels_.shape == (3,)
        if n_clusters == 2:
            assert model.labels_[0] == model.labels_[1] != model.labels_[2]


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_fewer_different_rows_than_groups(fitted, n_clusters):
    known = Constraints.from_labels(np.repeat([0, 1], 10), 20, random_state=0)
    X = np.repeat([[0.0], [n_clusters - 2.0]], 10, axis=0)
    n_different = n_clusters - 1
    for answers in (None, known):
        few = "all rows are equal" if n_different == 1 else "only 2 different rows"
        with pytest.warns(FewerGroupsWarning, match=few):
            model = fitted(X, answers, n_clusters=n_clusters)
        assert model.n_clusters_ <= (n_different if answers is None else n_clusters)
        assert np.isfinite(model.probabilities_).all()
        # Groups may be split, but hold no rows of both kinds.
        for group in np.unique(model.labels_):
            assert len(np.unique(X[model.labels_ == group])) == 1
        assert set(model.predict(X)) <= set(range(n_clusters))


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [2, 10])
def test_noise_has_few_groups_of_low_probability(fitted, n_features):
    X = np.random.default_rng(0).uniform(size=(200, n_features))
    with pytest.warns(NoGroupsWarning, match="look like data without groups"):
        model = fitted(X, n_clusters=None)
    assert model.n_clusters_ == 2
    assert len(np.unique(model.labels_)) == 2
    assert model.probabilities_.max(axis=1).mean() < 0.75
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1)


def test_equal_rows_are_one_group(fitted):
    with pytest.warns(NoGroupsWarning, match="all rows are equal"):
        model = fitted(np.ones((60, 3)), n_clusters=None)
    assert model.n_clusters_ == 1
    assert set(model.labels_) == {0}


@pytest.mark.slow
def test_units_of_features_do_not_matter(fitted, blobs):
    model, known = blobs.model, blobs.known
    rows = np.column_stack([blobs.X, np.random.default_rng(0).normal(size=60)])
    scaled = rows * [1.0, 1000.0, 30.0]
    first, other = (fitted(X, known, standardize=True) for X in (rows, scaled))
    np.testing.assert_array_equal(first.labels_, other.labels_)
    million = fitted(blobs.X * 1e6, known)
    assert adjusted_rand_score(million.labels_, model.labels_) > 0.9  # rounding differs


@pytest.mark.slow
def test_a_pool_of_ones_own(fitted, blobs):
    known = blobs.known
    pool = [
        ("k-means", KMeans(3, n_init=1, random_state=0)),
        ("pck-means", PCKMeans(3, random_state=0)),
    ]
    model = fitted(blobs.X, known, pool=pool)
    assert adjusted_rand_score(blobs.y, model.labels_) > 0.4
    # Members that honor answers are left out where there are none.
    assert fitted(blobs.X, pool=pool).weights_ == {"k-means": 1.0}
    assert adjusted_rand_score(blobs.y, fitted(blobs.X, known, pool=pool[1:]).labels_) > 0.4


def test_a_pipeline_in_a_pool_is_seeded(fitted, blobs):
    known = Constraints.from_labels(blobs.y, 40, random_state=0)
    steps = make_pipeline(StandardScaler(), KMeans(9, n_init=1, init="random"))
    pool = [("steps", steps), ("ward", AgglomerativeClustering(3))]
    first, again = fitted(blobs.X, known, pool=pool), fitted(blobs.X, known, pool=pool)
    assert np.array_equal(first.labels_, again.labels_)
    assert np.array_equal(first.probabilities_, again.probabilities_)
    # Without a seed these groups would differ from run to run.
    assert len({tuple(steps.fit_predict(blobs.X)) for _ in range(5)}) > 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"pool": []}, "pool must be"),
        ({"pool": "best"}, "pool must be"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 61}, "n_clusters"),
        ({"standardize": "yes"}, "standardize"),
    ],
)
def test_bad_parameters_are_refused(fitted, blobs, given, words):
    with pytest.raises(InvalidParameterError, match=words):
        fitted(blobs.X, **given)


def test_missing_values_are_refused(fitted, blobs):
    rows = blobs.X.copy()
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted(rows)


@pytest.mark.parametrize("at", [1, 30])
def test_an_interrupted_fit_leaves_the_model_from_before(fitted, blobs, at):
    before, known = blobs.model, blobs.known
    model = fitted(blobs.X, known)
    state = {name: model.__dict__[name] for name in model.__dict__}

    def stop(done, n):
        if done >= at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(random_state=1).fit(blobs.X + 100, constraints=known, callback=stop)
    model.set_params(random_state=0)
    np.testing.assert_array_equal(before.probabilities_, model.probabilities_)
    assert model.__dict__.keys() == state.keys()
    np.testing.assert_array_equal(model.predict(blobs.X), before.predict(blobs.X))
    assert model.scores_ == before.scores_


@pytest.mark.filterwarnings("ignore::clew.exceptions.NoGroupsWarning")
@pytest.mark.parametrize("n_clusters", [None, 3])
@pytest.mark.parametrize("n_answers", [0, 40])
def test_progress_goes_through_all_steps_to_the_end(blobs, n_clusters, n_answers):
    known = Constraints.from_labels(blobs.y, n_answers, random_state=0)
    calls = []
    model = GuidedClustering(n_clusters, random_state=0)
    model.fit(blobs.X, constraints=known, callback=lambda *at: calls.append(at))
    done, n = zip(*calls, strict=True)
    assert set(n) == {n[0]}
    assert list(done[:-1]) == list(range(1, len(done)))
    assert done[-2] < done[-1] == n[0]
    # Progress is reported step by step; at the end, steps that were not needed are skipped, and a
    # small search needs few.
    assert len(done) > n[0] / 8


@pytest.mark.slow
def test_questions_that_were_answered_very_often(fitted, blobs):
    """A fit uses 100 answers of each annotator to each question, in their proportions."""
    i, j = np.triu_indices(10, 1)
    is_same = (blobs.y[i] == blobs.y[j]).astype(int)
    pairs = np.column_stack([i, j, is_same])
    wrong = np.column_stack([j, i, 1 - is_same])
    every = np.concatenate([*[pairs] * 300, *[wrong] * 100])
    names = ["ann", "ben"] * (len(every) // 2)
    known = Constraints(60, pairs=every, pair_annotators=names)
    used = without_many_repeats(known)
    assert len(used) == 45 * 2 * 100
    first, second = used.pairs.T
    share = (used.is_must_link == (blobs.y[first] == blobs.y[second])).mean()
    assert share == pytest.approx(0.75, abs=0.01)
    few = known.select(pairs=np.arange(len(every)) < 45 * 100)
    assert len(without_many_repeats(few)) == len(few)
    pool = [("ward", AgglomerativeClustering(3)), ("pck-means", PCKMeans(3))]
    model = fitted(blobs.X, known, pool=pool)
    assert model.answer_posterior_.pairs.shape == (len(every),)
    assert model.confusion_.error_rates_ == pytest.approx([0.25, 0.25], abs=0.05)


def test_answers_that_all_contradict_the_features(fitted, blobs):
    known = Constraints.from_labels(blobs.y, 200, error=1.0, random_state=0)
    with pytest.warns(ReversedAnswersWarning, match='Are "same" and "different" swapped'):
        model = fitted(blobs.X, known)
    assert model.labels_.shape == (60,)


@pytest.mark.slow
def test_equal_rows_are_grouped_by_answers_alone() -> None:
    y = np.arange(30) % 3
    answers = Constraints.from_labels(y, 60, random_state=1)
    alone = GuidedClustering(random_state=0).fit(None, constraints=answers)
    with pytest.warns(FewerGroupsWarning, match="follow the answers alone"):
        found = GuidedClustering(random_state=0).fit(np.ones((30, 3)), constraints=answers)
    np.testing.assert_array_equal(found.labels_, alone.labels_)
    assert found.predict(np.ones((2, 3))).shape == (2,)


@pytest.mark.slow
def test_a_common_factor_a_constant_and_a_repeated_column_change_nothing() -> None:
    X, y = load_iris(return_X_y=True)
    answers = Constraints.from_labels(y, 80, error=0.1, random_state=2)
    found = GuidedClustering(random_state=0).fit(X, constraints=answers)
    for other in (1e-9 * X, np.c_[X, np.full(len(y), 3.0)], np.c_[X, X[:, 1]]):
        same = GuidedClustering(random_state=0).fit(other, constraints=answers)
        np.testing.assert_array_equal(same.labels_, found.labels_)


def test_a_broken_row_does_not_set_the_units() -> None:
    X, y = load_wine(return_X_y=True)
    X[7] = 1e6
    found = GuidedClustering(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, found.labels_) > 0.85  # .36 without limits


@pytest.mark.parametrize("value", [1e4, -999.0])
def test_a_broken_value_leaves_the_number_of_groups(value):
    y = np.arange(90) % 3
    X = (
        np.random.default_rng(1).normal(size=(90, 3))
        + np.array([[0, 0, 0], [5, 5, 5], [10, 0, 5]])[y]
    )
    X[7, 0] = value
    found = GuidedClustering(random_state=0).fit(X)
    assert found.n_clusters_ == 3
    assert adjusted_rand_score(y, found.labels_) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "Ann"])
def test_answers_that_were_read_twice_count_once(name):
    X, y = (of[:150] for of in load_digits(return_X_y=True))
    drawn = Constraints.from_labels(y, 150, error=0.1, random_state=0)
    links = {"must_link": drawn.must_link, "cannot_link": drawn.cannot_link}
    once = Constraints.from_pairs(**links, n_samples=150, annotators=name)
    one, two = (GuidedClustering(random_state=0).fit(X, constraints=c) for c in (once, once + once))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
    assert two.error_rate_ == pytest.approx(one.error_rate_)
    assert two.answer_posterior_.pairs.shape == (300,)


def test_repeats_of_several_people_are_no_copies():
    votes = [(0, 1, 1), (1, 0, 1), (2, 3, 0), (3, 2, 1), (3, 2, 1)] * 10
    crowd = Constraints(4, pairs=votes)
    assert len(without_copies(crowd)) == 50
    assert len(without_copies(Constraints(4, pairs=votes[:2] * 3))) == 6
    others = [(i, j, 0) for i in range(4, 20) for j in range(i)][:60]
    assert len(without_copies(Constraints(20, pairs=votes[:2] * 10 + others))) == 80
    agreed = Constraints(4, pairs=votes[:2] * 20)
    assert len(without_copies(agreed)) == 1
    ann = Constraints(4, pairs=votes, pair_annotators=["Ann"] * 50)
    assert len(without_copies(ann)) == 31  # the pair that Ann answers both ways keeps all answers
