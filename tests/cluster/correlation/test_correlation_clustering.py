"""Correlation clustering: exact cases, simulated answers, features, and bad input."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from clew import Constraints
from clew.cluster import CorrelationClustering
from clew.cluster.correlation._search import Evidence, _adjusted_rand, improved, search
from clew.exceptions import (
    DeadEndWarning,
    InvalidConstraintsError,
    InvalidParameterError,
    UnsupportedConstraintError,
)


def asked(y, pairs, error, seed):
    """Answers about pairs, some of them wrong."""
    rng = np.random.default_rng(seed)
    said = (y[pairs[:, 0]] == y[pairs[:, 1]]) ^ (rng.random(len(pairs)) < error)
    return Constraints(len(y), pairs=np.column_stack([pairs, said]))


def random_pairs(n, m, seed):
    rng = np.random.default_rng(seed)
    i = rng.integers(0, n, m)
    return np.stack([i, (i + rng.integers(1, n, m)) % n], axis=1)


def test_all_pairs_answered_rightly_give_the_groups_exactly():
    y = np.random.default_rng(0).integers(0, 8, 40)
    every = np.array(list(combinations(range(40), 2)))
    model = CorrelationClustering(random_state=0).fit(constraints=asked(y, every, 0.0, 0))
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert (model.n_clusters_, model.n_violated_) == (len(np.unique(y)), 0)


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [None, 4])
def test_few_groups_from_random_questions(n_clusters):
    """Greedy merges alone end at an ARI of 0.1 here."""
    y = np.random.default_rng(1).integers(0, 4, 200)
    found = [
        adjusted_rand_score(
            y,
            CorrelationClustering(n_clusters, random_state=seed)
            .fit(constraints=asked(y, random_pairs(200, 2000, seed), 0.05, seed))
            .labels_,
        )
        for seed in range(3)
    ]
    assert np.mean(found) > 0.93


def test_many_small_groups_by_annotators_who_err():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(150), 2)[rng.permutation(300)]
    partner = np.array([np.flatnonzero((y == y[i]) & (np.arange(300) != i))[0] for i in range(300)])
    true = np.unique(np.sort(np.stack([np.arange(300), partner], axis=1), axis=1), axis=0)
    pairs = np.repeat(np.concatenate([true, random_pairs(300, 300, 0)]), 3, axis=0)
    answers = asked(y, pairs, 0.1, 0)
    model = CorrelationClustering(random_state=0).fit(constraints=answers)
    closed = answers.select(pairs=answers.pair_answers == 1).closure().component
    assert adjusted_rand_score(y, model.labels_) > 0.9 > adjusted_rand_score(y, closed)


@pytest.mark.slow
def test_features_decide_where_answers_are_few():
    X, y = make_blobs(200, 5, centers=40, cluster_std=0.8, random_state=0)
    near = kneighbors_graph(X, 8).tocoo()
    answers = asked(y, np.stack([near.row, near.col], axis=1).astype(int), 0.25, 0)
    alone, both = (
        adjusted_rand_score(
            y, CorrelationClustering(random_state=0).fit(f, constraints=answers).labels_
        )
        for f in (None, X)
    )
    assert both > alone + 0.05


def test_number_of_groups_is_reached_by_features_where_answers_end():
    X, y = make_blobs(90, 3, centers=3, cluster_std=0.3, random_state=0)
    none = CorrelationClustering(3).fit(X)
    assert adjusted_rand_score(y, none.labels_) == 1.0
    few = Constraints.from_pairs(must_link=[(0, 1)], n_samples=90)
    with pytest.warns(DeadEndWarning, match="89 groups"):
        assert CorrelationClustering(3).fit(constraints=few).n_clusters_ == 89


@pytest.mark.slow
def test_higher_threshold_merges_more():
    y = np.random.default_rng(0).integers(0, 20, 80)
    answers = asked(y, random_pairs(80, 800, 0), 0.1, 0)
    counts = [
        CorrelationClustering(distance_threshold=t, random_state=0)
        .fit(constraints=answers)
        .n_clusters_
        for t in (-1e6, -1.0, 0.0, 4.0, 1e6)
    ]
    assert counts[0] == len(y)
    assert (np.diff(counts) < 0).all()


def test_pairs_that_were_not_asked_are_evidence_where_questions_were_chosen():
    y = np.repeat(np.arange(60), 3)
    inside = np.array([p for g in range(60) for p in combinations(range(3 * g, 3 * g + 3), 2)])
    chosen = asked(y, np.concatenate([inside, random_pairs(180, 60, 0)]), 0.0, 0)
    random = asked(y, random_pairs(180, 2400, 0), 0.0, 0)
    found = [CorrelationClustering().fit(constraints=c).unasked_log_odds_ for c in (chosen, random)]
    assert found[0] < -1.0
    assert found[1] == pytest.approx(0.0, abs=0.1)


def test_agreement_of_partitions_is_the_adjusted_rand_index():
    random = np.random.RandomState(0)
    for n_groups in (1, 2, 5, 30):
        one = np.unique(random.randint(0, n_groups, 30), return_inverse=True)[1]
        other = np.where(random.rand(30) < 0.3, one.max(), one)
        for pair in ((one, one), (one, other), (other, one)):
            assert _adjusted_rand(*pair) == pytest.approx(adjusted_rand_score(*pair))


@pytest.mark.slow
def test_search_never_lowers_the_objective():
    rng = np.random.default_rng(0)
    for seed in range(10):
        pairs = np.unique(np.sort(random_pairs(40, 160, seed), axis=1), axis=0)
        m = len(pairs)
        evidence = Evidence(40, pairs, rng.normal(0, 2, m), np.full(m, -1.0), -0.1, -1.0)
        start = rng.integers(0, 6, 40)
        start = np.unique(start, return_inverse=True)[1]
        after = improved(evidence, start, None)
        assert evidence.objective(after) >= evidence.objective(start)
        assert evidence.objective(search(evidence, 0.0, None, 0)) >= evidence.objective(after) - 2


def test_order_of_rows_of_a_pair_means_nothing():
    y = np.random.default_rng(0).integers(0, 10, 60)
    pairs = random_pairs(60, 600, 0)
    model = CorrelationClustering(random_state=0)
    first = clone(model).fit(constraints=asked(y, pairs, 0.1, 0))
    second = clone(model).fit(constraints=asked(y, pairs[:, ::-1], 0.1, 0))
    assert first.labels_.tolist() == second.labels_.tolist()


def test_bad_input_is_refused():
    with pytest.raises(InvalidConstraintsError, match="needs answers, or features"):
        CorrelationClustering().fit()
    with pytest.raises(InvalidParameterError, match="distance_threshold"):
        CorrelationClustering(distance_threshold="near").fit(constraints=Constraints(4))
    with pytest.raises(UnsupportedConstraintError):
        CorrelationClustering().fit(constraints=Constraints(4, triplets=[(0, 1, 2, 0)]))


@pytest.mark.parametrize(
    "answers",
    [
        Constraints(6),
        Constraints.from_pairs(dont_know=[(0, 1)], n_samples=6),
        Constraints.from_pairs(cannot_link=list(combinations(range(6), 2)), n_samples=6),
    ],
    ids=["none", "dont_know", "all different"],
)
def test_rows_that_nothing_joins_stay_alone(answers):
    assert CorrelationClustering().fit(constraints=answers).n_clusters_ == 6


@pytest.mark.slow
def test_a_million_answers_about_ten_rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 5)
    pairs = random_pairs(10, 1_000_000, 0)
    said = (y[pairs[:, 0]] == y[pairs[:, 1]]) ^ (rng.random(len(pairs)) < 0.4)
    answers = Constraints(10, pairs=np.column_stack([pairs, said]))
    model = CorrelationClustering(random_state=0).fit(constraints=answers)
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.parametrize("features", [None, np.random.default_rng(0).normal(size=(12, 2))])
def test_one_group_where_all_answers_are_same(features):
    every = list(combinations(range(12), 2))
    answers = Constraints.from_pairs(must_link=every, n_samples=12)
    model = CorrelationClustering(random_state=0).fit(features, constraints=answers)
    assert (model.n_clusters_, model.n_violated_) == (1, 0)


def test_answers_of_annotators_who_contradict_each_other_cancel_out():
    every = np.repeat(list(combinations(range(12), 2)), 2, axis=0)
    said = np.tile([0, 1], len(every) // 2)
    answers = Constraints(
        12, pairs=np.column_stack([every, said]), pair_annotators=["ann", "ben"] * (len(every) // 2)
    )
    model = CorrelationClustering(random_state=0).fit(constraints=answers)
    assert np.isfinite(model.evidence_.data).all()
    assert model.n_violated_ == len(every) // 2


def test_answers_about_another_number_of_rows_are_refused():
    with pytest.raises(InvalidConstraintsError, match="12"):
        CorrelationClustering().fit(np.zeros((9, 2)), constraints=Constraints(12))


@pytest.mark.slow
def test_fits_in_two_threads_have_the_result_of_one():
    X, y = make_blobs(120, 3, centers=12, random_state=0)
    answers = asked(y, random_pairs(120, 900, 0), 0.1, 0)
    model = CorrelationClustering(random_state=0)
    alone = clone(model).fit(X, constraints=answers).labels_
    with ThreadPoolExecutor(2) as pool:
        fits = [pool.submit(clone(model).fit, X, constraints=answers) for _ in range(2)]
    for fit in fits:
        np.testing.assert_array_equal(fit.result().labels_, alone)


def test_callback_is_called_between_stages_and_may_stop():
    y = np.random.default_rng(0).integers(0, 5, 30)
    answers, calls = asked(y, random_pairs(30, 100, 0), 0.0, 0), []
    model = CorrelationClustering(random_state=0)
    model.fit(constraints=answers, callback=lambda *at: calls.append(at))
    assert calls == [(1, 3), (2, 3), (3, 3)]

    def stop(done, n):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        clone(model).fit(constraints=answers, callback=stop)


@pytest.mark.slow
def test_questions_across_two_sides_are_seen_from_paths_of_three_matches():
    """Two rows of each thing on each side: no question joins rows of one side."""
    rng = np.random.default_rng(0)
    y, side = np.repeat(np.arange(40), 4), np.tile([0, 0, 1, 1], 40)
    every = np.array([(i, j) for i in range(160) for j in range(i) if side[i] != side[j]])
    is_same = y[every[:, 0]] == y[every[:, 1]]
    drawn = rng.random(len(every))
    found = [
        CorrelationClustering(random_state=0).fit(constraints=asked(y, every[which], 0.0, 0))
        for which in (is_same | (drawn < 0.05), drawn < 0.5)
    ]
    assert found[0].unasked_log_odds_ < -2.0
    assert found[1].unasked_log_odds_ == pytest.approx(0.0, abs=0.1)


def test_a_mistake_of_all_people_does_not_chain_groups():
    """Everybody calls one pair of two complete groups the same; its other pairs were not asked."""
    y = np.repeat(np.arange(60), 4)
    inside = [p for g in range(60) for p in combinations(range(4 * g, 4 * g + 4), 2)]
    pairs = np.concatenate([inside, random_pairs(240, 400, 0)])
    rows = np.column_stack([pairs, y[pairs[:, 0]] == y[pairs[:, 1]]])
    answers = Constraints(240, pairs=np.repeat(np.concatenate([rows, [(0, 4, 1)]]), 9, axis=0))
    model = CorrelationClustering(random_state=0).fit(constraints=answers)
    assert adjusted_rand_score(y, model.labels_) == 1.0
