"""Guided clustering on anchors: what a fit finds, and unusual input."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from clew import Constraints
from clew._limits import ANCHOR_ROWS
from clew.cluster import GuidedClustering
from clew.exceptions import FewerGroupsWarning, InvalidParameterError, NoGroupsWarning

pytestmark = pytest.mark.usefixtures("small_search")

N_ROWS, N_ANCHORS = 900, 60
X, Y = make_blobs(N_ROWS, n_features=6, centers=4, cluster_std=3.5, random_state=0)
#: A small pool: these tests are about anchors, not about members.
POOL = [("k-means", KMeans(4, n_init=2, random_state=0))]


def model(n_clusters=4, **given):
    given = {"scale": "anchors", "n_anchors": N_ANCHORS, "pool": POOL, "random_state": 0} | given
    return GuidedClustering(n_clusters, **given)


@pytest.fixture(scope="module")
def known():
    return Constraints.from_labels(
        Y, 900, n_triplets=200, n_odd_one_out=200, error=0.15, dont_know=0.02, random_state=0
    )


@pytest.fixture(scope="module")
def fitted(known):
    return model().fit(X, constraints=known)


@pytest.mark.slow
def test_answers_refine_the_groups_of_rows(fitted):
    without = model().fit(X)
    assert adjusted_rand_score(Y, fitted.labels_) > adjusted_rand_score(Y, without.labels_) + 0.05
    assert fitted.weights_["anchors, refined"] == 1
    low, high = fitted.error_interval_
    assert low < 0.15 < high


def test_attributes(fitted):
    assert fitted.labels_.shape == (N_ROWS,)
    assert fitted.labels_.dtype == np.int64
    assert issparse(fitted.probabilities_)
    assert fitted.probabilities_.shape == (N_ROWS, 4)
    np.testing.assert_allclose(fitted.probabilities_.sum(axis=1), 1, atol=1e-6)
    dense = fitted.probabilities_.toarray()
    assert (dense[np.arange(N_ROWS), fitted.labels_] == dense.max(axis=1)).all()
    assert fitted.n_clusters_ == 4
    assert fitted.n_features_in_ == 6
    assert fitted.confusion_.annotators_ == ("",)
    frame = fitted.answer_posterior_.to_frame()
    assert len(frame) == 1300
    assert 100 < (frame["p_wrong"] > 0.5).sum() < 350
    assert np.isfinite(fitted.scores_["anchors"])


def test_doubted_answers_are_mostly_wrong(fitted, known):
    is_same = Y[known.pairs[:, 0]] == Y[known.pairs[:, 1]]
    is_wrong = (is_same != known.is_must_link) & ~known.is_dont_know
    doubted = fitted.answer_posterior_.pairs > 0.5
    assert is_wrong[doubted].mean() > 0.7


def test_predictions(fitted):
    assert adjusted_rand_score(Y, fitted.predict(X)) > 0.7
    few = fitted.predict_proba(X[:7])
    assert issparse(few)
    np.testing.assert_allclose(few.sum(axis=1), 1, atol=1e-6)
    assert (fitted.predict(X[:7]) == fitted.predict(X)[:7]).all()


def test_summary_and_explanation(fitted, known):
    text = fitted.summary()
    assert text.startswith("GuidedClustering: 900 rows in 4 groups (number given)")
    assert "anchors" in text
    i, j = known.pairs[0].tolist()
    found = fitted.explain(i, j)
    assert found.answers
    assert len(found.neighbors[0]) == 10
    assert i not in found.neighbors[0]
    graph = fitted._neighbors(np.arange(N_ROWS))
    assert set(graph[[i]].indices.tolist()) == set(found.neighbors[0])
    row, column = graph.tocoo().coords
    assert (Y[row] == Y[column]).mean() > 0.7


@pytest.mark.slow
def test_threads_do_not_change_the_result(fitted, known):
    other = model(n_jobs=2).fit(X, constraints=known)
    assert (other.labels_ == fitted.labels_).all()
    assert (other.probabilities_ != fitted.probabilities_).nnz == 0


@pytest.mark.slow
def test_the_order_in_which_answers_name_rows_does_not_matter(fitted, known):
    def turned(codes, last):
        return np.where(codes >= 0, last - codes, codes)

    a, b, c = known.triplets.T
    i, j, k = known.odd_one_out.T
    swapped = Constraints(
        N_ROWS,
        pairs=np.column_stack([known.pairs[:, ::-1], known.pair_answers]),
        triplets=np.column_stack([a, c, b, turned(known.triplet_answers, 1)]),
        odd_one_out=np.column_stack([k, j, i, turned(known.odd_one_out_answers, 2)]),
    )
    found = model().fit(X, constraints=swapped)
    assert adjusted_rand_score(found.labels_, fitted.labels_) > 0.99
    for one, two in zip(found.answer_posterior_, fitted.answer_posterior_, strict=True):
        np.testing.assert_allclose(one, two, atol=0.02)


@pytest.mark.slow
def test_sparse_features_and_cosine(known):
    wide = np.maximum(X - X.min(axis=0), 0)
    one, two = (model(metric="cosine").fit(of, constraints=known) for of in (wide, csr_array(wide)))
    assert adjusted_rand_score(one.labels_, two.labels_) > 0.95
    assert (two.predict(csr_array(wide[:9])) == two.predict(csr_array(wide))[:9]).all()


def test_auto_takes_anchors_for_many_rows_only():
    assert not GuidedClustering()._takes_anchors(ANCHOR_ROWS)
    assert GuidedClustering()._takes_anchors(ANCHOR_ROWS + 1)
    assert not GuidedClustering(scale="exact")._takes_anchors(10**6)


def test_an_exact_fit_after_one_on_anchors_predicts_by_itself():
    both = model().fit(X[:200])
    both.set_params(scale="exact").fit(X[:200])
    assert both.predict_proba(X[:5]).shape == (5, 4)
    assert isinstance(both.predict_proba(X[:5]), np.ndarray)
    assert isinstance(both.probabilities_, np.ndarray)


def test_wrong_parameters_are_refused():
    with pytest.raises(InvalidParameterError, match="n_anchors=3 must not be less than n_clusters"):
        model(n_anchors=3).fit(X)
    with pytest.raises(InvalidParameterError, match="n_anchors"):
        model(n_anchors=1).fit(X)
    with pytest.raises(InvalidParameterError, match="scale"):
        model(scale="anchor").fit(X)


@pytest.mark.slow
def test_ward_on_anchors_is_an_alternative_to_their_consensus():
    some, y = make_blobs(400, n_features=4, centers=5, cluster_std=1.2, random_state=0)
    known = Constraints.from_labels(y, 400, error=0.1, random_state=0)
    found = model(5, pool="default").fit(some, constraints=known)
    assert {"anchors", "Ward on anchors"} <= set(found.weights_)
    assert (
        sum(found.weights_[name] for name in found.weights_ if "anchors" in name or "Ward" in name)
        == 1
    )
    assert adjusted_rand_score(y, found.labels_) > 0.9


@pytest.mark.slow
def test_somebody_who_contradicts_everybody():
    right = Constraints.from_labels(Y, 900, random_state=0)
    wrong = Constraints.from_labels(Y, 300, error=1.0, random_state=1)
    both = np.column_stack(
        [np.vstack([right.pairs, wrong.pairs]), [*right.pair_answers, *wrong.pair_answers]]
    )
    names = ["ann"] * 450 + ["ben"] * 450 + ["eve"] * 300
    found = model().fit(X, constraints=Constraints(N_ROWS, pairs=both, pair_annotators=names))
    rates = dict(zip(found.confusion_.annotators_, found.confusion_.error_rates_, strict=True))
    assert rates["eve"] > 0.8
    assert max(rates["ann"], rates["ben"]) < 0.15
    assert adjusted_rand_score(Y, found.labels_) > 0.85


@pytest.mark.slow
def test_all_answers_about_ten_rows():
    i, j = (part.ravel() for part in np.meshgrid(np.arange(10), np.arange(10)))
    pairs = np.tile(np.column_stack([i, j])[i < j], (50, 1))
    is_same = Y[pairs[:, 0]] == Y[pairs[:, 1]]
    known = Constraints(N_ROWS, pairs=np.column_stack([pairs, is_same.astype(int)]))
    found = model().fit(X, constraints=known)
    # No other question shows whether these answers are right.
    assert found.n_violated_ == 0
    assert found.weights_["anchors, refined"] == 1


@pytest.mark.parametrize("n_answers", [0, 1, 3])
def test_few_answers(n_answers):
    found = model().fit(X, constraints=Constraints.from_labels(Y, n_answers, random_state=0))
    assert found.answer_posterior_.pairs.shape == (n_answers,)
    assert found.summary()
    if not n_answers:
        assert np.isnan(found.error_rate_)
        assert np.isnan(found.scores_["anchors"])


def test_dont_knows_and_answers_of_weight_0_are_not_judged():
    known = Constraints(N_ROWS, pairs=[(0, 1, -2), (2, 3, 1)], pair_weights=[1.0, 0.0])
    found = model().fit(X, constraints=known)
    assert np.isnan(found.answer_posterior_.pairs).all()
    assert found.n_violated_ == 0


def test_fewer_different_rows_than_anchors():
    few = np.repeat(np.random.RandomState(0).normal(size=(10, 3)), 30, axis=0)
    found = model(3, pool=[("k-means", KMeans(3))]).fit(few)
    assert all(len(set(found.labels_[at : at + 30])) == 1 for at in range(0, 300, 30))
    with pytest.warns(FewerGroupsWarning):
        model(12, pool="default").fit(few)


def test_equal_rows():
    with pytest.warns(NoGroupsWarning):
        found = model(None, pool="default").fit(np.ones((50, 3)))
    assert (found.labels_ == 0).all()
    with pytest.warns(FewerGroupsWarning):
        found = model(2, pool="default").fit(np.ones((50, 3)))
    assert (found.labels_ == 0).all()


@pytest.mark.slow
def test_the_number_of_groups_is_chosen_on_anchors():
    easy, y = make_blobs(600, n_features=5, centers=5, random_state=3)
    found = model(None, pool="default", n_anchors=100).fit(easy)
    assert found.n_clusters_ == 5
    assert adjusted_rand_score(y, found.labels_) > 0.98


def test_failure_leaves_an_earlier_fit():
    again = model().fit(X)
    labels = again.labels_
    with pytest.raises(InvalidParameterError):
        again.set_params(n_anchors=2).fit(X)
    assert (again.labels_ == labels).all()
    assert clone(again).scale == "anchors"


@pytest.mark.slow
def test_further_answers_need_no_features(known):
    is_first = np.arange(900) < 850
    rest = np.ones(200, np.bool_)
    first = known.select(pairs=is_first)
    late = known.select(pairs=~is_first, triplets=~rest, odd_one_out=~rest)
    warm = model().fit(X, constraints=first)
    members = warm._fitted.anchored.model
    warm.partial_fit(constraints=late, refit=False)
    assert warm._fitted.anchored.model is members
    assert warm.answer_posterior_.pairs.shape == (900,)
    assert adjusted_rand_score(Y, warm.labels_) > 0.7
    assert (warm.predict(X[:9]) == warm.predict(X)[:9]).all()
    labels = warm.labels_
    # Members that are fitted again are those of a fit with all answers.
    again, cold = warm.partial_fit(), model().fit(X, constraints=first + late)
    assert (again.labels_ == cold.labels_).all()
    assert (again.probabilities_ != cold.probabilities_).nnz == 0
    assert adjusted_rand_score(labels, cold.labels_) > 0.8


@pytest.mark.slow
def test_a_hundred_thousand_rows(known):
    # Kernels are loaded, or compiled, before memory is measured.
    model(pool="default").fit(X, constraints=known)
    n, n_groups = 100_000, 300
    many, y = make_blobs(n, n_features=16, centers=n_groups, cluster_std=1.5, random_state=0)
    answers = Constraints.from_labels(y, n, error=0.15, random_state=0)
    found = GuidedClustering(n_groups, n_anchors=2_000, random_state=0)
    tracemalloc.start()
    found.fit(many, constraints=answers)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The anchors take 220 MB; with a matrix of rows or answers by groups it would be 460.
    assert most < 12 * n * n_groups
    assert adjusted_rand_score(y, found.labels_) > 0.9
    low, high = found.error_interval_
    assert low < 0.15 < high
    assert found.explain(0, 1).neighbors[0]
    assert adjusted_rand_score(y, found.predict(many)) > 0.9
    assert "100,000 rows in 300 groups" in found.summary()


@pytest.mark.slow
def test_wrong_answers_do_not_make_identities_of_three_hundred_groups():
    # Of two random rows one pair in 300 is the same: most answers "same" are wrong.
    X, y = make_blobs(30_000, n_features=16, centers=300, cluster_std=1.5, random_state=0)
    known = Constraints.from_labels(y, 30_000, error=0.1, random_state=0)
    found = GuidedClustering(random_state=0).fit(X, constraints=known)
    assert found.regime_ == "both"
    assert abs(found.n_clusters_ - 300) <= 30
    assert adjusted_rand_score(y, found.labels_) > 0.9
