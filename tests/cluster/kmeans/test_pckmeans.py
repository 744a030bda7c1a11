"""PCKMeans and the loop that MPCKMeans shares: the objective is the paper's, and never rises."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from clew import Constraints
from clew.cluster import PCKMeans
from clew.exceptions import FewerGroupsWarning, InvalidParameterError
from clew.metrics import n_violated

IRIS, SPECIES = load_iris(return_X_y=True)


def objective(model, X, c):
    """J of the paper, by its definition."""
    labels = model.labels_
    cost = 0.5 * ((X - model.cluster_centers_[labels]) ** 2).sum()
    for (i, j), answer, weight in zip(c.pairs, c.pair_answers, c.pair_weights, strict=True):
        is_violated = (answer == 1) != (labels[i] == labels[j]) and answer >= 0
        cost += model.penalty_ * weight * is_violated
    return cost


@pytest.mark.parametrize("penalty", ["auto", 0.0, 0.3, 100.0])
def test_objective_is_that_of_the_paper(penalty):
    c = Constraints.from_labels(SPECIES, 200, error=0.2, dont_know=0.1, random_state=0)
    c = c.with_weights(pair_weights=np.random.default_rng(0).uniform(size=200))
    model = PCKMeans(3, penalty=penalty, random_state=0).fit(IRIS, constraints=c)
    assert model.objective_ == pytest.approx(objective(model, IRIS, c))
    assert model.n_violated_ == n_violated(model.labels_, c)
    assert penalty == "auto" or model.penalty_ == pytest.approx(penalty)


@pytest.mark.parametrize("penalty", ["auto", 0.1, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_objective_never_rises(penalty, seed):
    c = Constraints.from_labels(SPECIES, 150, error=0.1 * seed, random_state=seed)
    path = [
        PCKMeans(3, penalty=penalty, n_init=1, max_iter=n, random_state=seed)
        .fit(IRIS, constraints=c)
        .objective_
        for n in range(1, 10)
    ]
    assert (np.diff(path) <= 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_without_answers_inertia_is_that_of_k_means(load):
    X, y = load(return_X_y=True)
    k = len(set(y))
    model = PCKMeans(k, random_state=0).fit(X)
    assert 2 * model.objective_ < 1.02 * KMeans(k, n_init=10, random_state=0).fit(X).inertia_


def test_a_large_penalty_keeps_answers_and_penalty_0_is_k_means():
    c = Constraints.from_labels(SPECIES, 60, random_state=0)
    assert PCKMeans(3, penalty=1e6, random_state=0).fit(IRIS, constraints=c).n_violated_ == 0
    free = PCKMeans(3, penalty=0.0, random_state=0).fit(IRIS, constraints=c)
    plain = KMeans(3, n_init=10, random_state=0).fit(IRIS)
    assert adjusted_rand_score(plain.labels_, free.labels_) > 0.95


def test_answers_of_weight_0_and_dont_knows_are_ignored():
    c = Constraints.from_labels(SPECIES, 100, random_state=0)
    weightless = c.with_weights(pair_weights=np.zeros(100))
    unknown = Constraints.from_pairs(dont_know=c.pairs, n_samples=150)
    model = PCKMeans(3, random_state=0)
    alone = model.fit(IRIS).labels_
    for ignored in (weightless, unknown):
        np.testing.assert_array_equal(model.fit(IRIS, constraints=ignored).labels_, alone)


def test_an_answer_given_twice_counts_twice():
    c = Constraints.from_pairs(must_link=[(0, 149)], cannot_link=[(0, 149)], n_samples=150)
    for answer, is_same in ((0, True), (1, False)):
        labels = (
            PCKMeans(3, penalty=1e3, random_state=0)
            .fit(IRIS, constraints=c + c.select(pairs=[answer]))
            .labels_
        )
        assert (labels[0] == labels[149]) == is_same


def test_a_few_wrong_answers_do_not_change_clear_groups():
    X, y = make_blobs(120, 2, centers=3, cluster_std=0.5, random_state=1)
    c = Constraints.from_labels(y, 200, error=0.1, random_state=0)
    model = PCKMeans(3, random_state=0).fit(X, constraints=c)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.n_violated_ == n_violated(y, c) > 0


def test_the_automatic_penalty_scales_with_the_units_of_features():
    c = Constraints.from_labels(SPECIES, 60, error=0.1, random_state=0)
    model = PCKMeans(3, random_state=0).fit(IRIS, constraints=c)
    inertia = KMeans(3, n_init=10, random_state=0).fit(IRIS).inertia_
    assert model.penalty_ == pytest.approx(0.5 * inertia / 150, rel=0.2)
    larger = PCKMeans(3, random_state=0).fit(IRIS * 1000 + 5, constraints=c)
    np.testing.assert_array_equal(larger.labels_, model.labels_)
    assert larger.penalty_ == pytest.approx(1e6 * model.penalty_)


def test_same_seed_gives_the_same_labels():
    c = Constraints.from_labels(SPECIES, 60, error=0.2, random_state=0)
    model = PCKMeans(3, random_state=4)
    first = model.fit(IRIS, constraints=c).labels_.copy()
    np.testing.assert_array_equal(model.fit(IRIS, constraints=c).labels_, first)


def test_order_of_rows_does_not_matter():
    X, y = make_blobs(80, 2, centers=4, cluster_std=0.3, random_state=2)
    c = Constraints.from_labels(y, 50, error=0.1, random_state=0)
    order = np.random.default_rng(0).permutation(80)
    labels = PCKMeans(4, random_state=0).fit(X, constraints=c).labels_
    moved = PCKMeans(4, random_state=0).fit(X[order], constraints=c.subset(order)).labels_
    assert adjusted_rand_score(labels[order], moved) == 1


def test_fewer_different_rows_than_groups_warn():
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 4, axis=0)
    model = PCKMeans(3, random_state=0)
    with pytest.warns(FewerGroupsWarning, match="only 2 different rows"):
        model.fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 4), model.labels_) == 1
    assert model.predict(X).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("penalty", [-0.1, "heavy", None, np.nan, np.inf, True])
def test_invalid_penalties_raise(penalty):
    with pytest.raises(InvalidParameterError, match="penalty"):
        PCKMeans(3, penalty=penalty).fit(IRIS)


def test_must_links_that_leave_groups_empty_warn():
    together = [(i, j) for i in range(20) for j in range(i)]
    c = Constraints.from_pairs(must_link=together, n_samples=20)
    model = PCKMeans(3, penalty=1e6, random_state=0)
    with pytest.warns(FewerGroupsWarning, match="1 group: no row was assigned to the other groups"):
        model.fit(IRIS[:100:5], constraints=c)


def test_a_penalty_too_large_to_compute_with_raises():
    c = Constraints.from_labels(SPECIES, 60, error=0.1, random_state=0)
    with pytest.raises(InvalidParameterError, match=r"squared units .* penalty=\"auto\""):
        PCKMeans(3, penalty=1.0).fit(IRIS * 1e-200, constraints=c)
    tiny = PCKMeans(3, random_state=0).fit(IRIS * 2.0**-660, constraints=c)
    usual = PCKMeans(3, random_state=0).fit(IRIS, constraints=c)
    np.testing.assert_array_equal(tiny.labels_, usual.labels_)
