"""Guided clustering as a whole: the effect of correct and wrong answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from clew import Constraints, Question
from clew.cluster import GuidedClustering
from clew.cluster.guided._unconstrained import _default_members
from clew.exceptions import InvalidParameterError, ReversedAnswersWarning
from clew.metrics import n_violated
from clew.oracles import SimulatedOracle

pytestmark = pytest.mark.usefixtures("fair_search")

SIZES = {"pair": 2, "triplet": 3, "odd_one_out": 3}
IRIS, SPECIES = load_iris(return_X_y=True)
WINE, CULTIVARS = load_wine(return_X_y=True)


def said_of(y, n_each, rates, kinds=("pair",), seed=0):
    """Answers of annotators with given error rates to random questions."""
    rng = np.random.default_rng(seed)
    oracle = SimulatedOracle(
        y, error=list(rates.values()), annotators=list(rates), random_state=seed
    )
    said = [
        oracle.answer(Question(kind, tuple(rng.permutation(len(y))[: SIZES[kind]].tolist())), name)
        for name in rates
        for kind in kinds
        for _ in range(n_each)
    ]
    return Constraints.from_answers(said, n_samples=len(y))


def is_wrong(known, y):
    i, j = known.pairs.T
    return known.is_must_link != (y[i] == y[j])


@pytest.fixture(scope="module")
def wine(fitted):
    """Models of wine, without answers and with 0, 15 and 30 % wrong answers."""
    models = {None: fitted(WINE)}
    for error in (0.0, 0.15, 0.3):
        known = Constraints.from_labels(CULTIVARS, 356, error=error, random_state=0)
        models[error] = fitted(WINE, known)
    return models


@pytest.fixture(scope="module")
def iris(fitted):
    """Models of iris, without answers and with one for every two rows."""
    known = Constraints.from_labels(SPECIES, 75, random_state=0)
    return {None: fitted(IRIS), 0.0: fitted(IRIS, known)}


def score(model, y):
    return adjusted_rand_score(y, model.labels_)


@pytest.mark.slow
def test_random_answers_are_not_followed(fitted):
    asked = Constraints.from_labels(CULTIVARS, 178, random_state=1).pairs
    guesses = np.random.default_rng(0).integers(0, 2, len(asked))
    model = fitted(WINE, Constraints(178, pairs=np.column_stack([asked, guesses])))
    np.testing.assert_array_equal(model.probabilities_, fitted(WINE).probabilities_)
    assert (model.regime_, model.regime_.reason) == ("features", "the answers look random")
    assert model.error_rate_ > 0.3


def test_right_answers_improve_on_methods_without_answers(wine, iris):
    for X, y, model in ((WINE, CULTIVARS, wine[0.0]), (IRIS, SPECIES, iris[0.0])):
        for rows in (X, (X - X.mean(axis=0)) / X.std(axis=0)):
            ward = AgglomerativeClustering(3).fit_predict(rows)
            assert score(model, y) > adjusted_rand_score(y, ward) + 0.05


@pytest.mark.slow
def test_wrong_answers_do_little_harm(wine, fitted):
    without = score(wine[None], CULTIVARS)
    assert score(wine[0.15], CULTIVARS) > without - 0.02
    drawn = [Constraints.from_labels(CULTIVARS, 356, error=0.3, random_state=s) for s in (1, 2)]
    models = [wine[0.3], *(fitted(WINE, known) for known in drawn)]
    assert np.mean([score(model, CULTIVARS) for model in models]) > without


@pytest.mark.parametrize(("X", "y"), [(WINE, CULTIVARS), (IRIS, SPECIES)], ids=["wine", "iris"])
def test_people_who_say_different_in_doubt_do_not_split_groups(X, y, fitted):
    n = len(y)
    i, j = Constraints.from_labels(y, 3 * n, random_state=0).pairs.T
    says_same = (y[i] == y[j]) & (np.random.default_rng(0).random(len(i)) > 0.4)
    model = fitted(X, Constraints(n, pairs=np.column_stack([i, j, says_same])))
    assert score(model, y) > 0.95


@pytest.mark.slow
def test_without_answers_the_average_is_as_good_as_its_members(wine, iris):
    for model, y in ((wine[None], CULTIVARS), (iris[None], SPECIES)):
        pool = _default_members(model._fitted.prepared, 3, 0)
        alone = [adjusted_rand_score(y, member()) for member in pool.values()]
        assert score(model, y) > np.mean(alone) - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [2, 10, 50])
@pytest.mark.parametrize("n_clusters", [None, 21])
def test_one_large_group_beside_many_small_ones_is_found_without_answers(
    fitted, n_features, n_clusters
):
    random = np.random.RandomState(0)
    y = random.permutation(np.repeat(np.arange(21), [300] + [5] * 20))
    centers = {2: 30.0, 10: 4.0, 50: 1.5}[n_features] * random.normal(size=(21, n_features))
    X = centers[y] + random.normal(size=(len(y), n_features))
    assert score(fitted(X, n_clusters=n_clusters), y) > 0.95


@pytest.mark.slow
def test_the_number_of_groups_without_answers_is_near_the_truth(fitted):
    assert fitted(IRIS, n_clusters=None).n_clusters_ == 3
    for seed in (1, 2):
        random = np.random.RandomState(seed)
        centers, y = 6 * random.normal(size=(20, 2)), random.permutation(np.arange(400) % 20)
        model = fitted(centers[y] + random.normal(size=(400, 2)), n_clusters=None)  # many overlap
        assert 10 <= model.n_clusters_ <= 30
        assert score(model, y) > 0.5


@pytest.mark.parametrize("error", [0.15, 0.3])
def test_wrong_answers_are_found(wine, error):
    model = wine[error]
    known = Constraints.from_labels(CULTIVARS, 356, error=error, random_state=0)
    assert roc_auc_score(is_wrong(known, CULTIVARS), model.answer_posterior_.pairs) > 0.85


def test_error_rate_and_its_interval(wine):
    for error in (0.15, 0.3):
        low, high = wine[error].error_interval_
        assert low <= wine[error].error_rate_ <= high
        assert low < error < high
    assert wine[0.0].error_rate_ < 0.05
    assert np.isnan(wine[None].error_rate_)
    assert wine[None].error_interval_ == (0.0, 1.0)


def test_attributes_agree_with_each_other(wine):
    for error, model in wine.items():
        probabilities = model.probabilities_
        assert probabilities.shape == (178, model.n_clusters_) == (178, 3)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.labels_, probabilities.argmax(axis=1))
        assert model.weights_.keys() == model.scores_.keys()
        if error is not None:
            known = Constraints.from_labels(CULTIVARS, 356, error=error, random_state=0)
            assert model.n_violated_ == n_violated(model.labels_, known)
            assert model.is_settled_
            assert list(model.scores_.values()) == sorted(model.scores_.values(), reverse=True)


def test_new_rows_get_the_groups_of_rows_that_are_like_them(wine):
    model = wine[0.0]
    shifted = WINE + 0.01 * WINE.std(axis=0)
    assert (model.predict(shifted) == model.labels_).mean() > 0.95
    probabilities = model.predict_proba(shifted[:7])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities.min() >= 0
    with pytest.raises(ValueError, match="features"):
        model.predict(WINE[:, :4])


def test_two_fitted_rows_can_be_explained(wine):
    known = Constraints.from_labels(CULTIVARS, 356, error=0.0, random_state=0)
    i, j = known.pairs[0]
    found = wine[0.0].explain(int(i), int(j))
    assert found.are_together == (wine[0.0].labels_[i] == wine[0.0].labels_[j])
    assert found.answers
    assert f"row {i} and row {j}" in str(found)
    assert len(found.neighbors[0]) >= 1
    with pytest.raises(InvalidParameterError, match="two different rows"):
        wine[0.0].explain(3, 3)


def test_answers_of_all_kinds_improve_the_groups(fitted, blobs):
    without = score(fitted(blobs.X), blobs.y)
    for kinds in (("odd_one_out",), ("pair", "triplet", "odd_one_out")):
        known = said_of(blobs.y, 240 // len(kinds), {"ann": 0.05}, kinds)
        model = fitted(blobs.X, known)
        assert score(model, blobs.y) > without + 0.1
        posterior = model.answer_posterior_
        assert len(posterior.pairs) == len(known.pairs)
        assert len(posterior.triplets) == len(known.triplets)
        assert len(posterior.odd_one_out) == len(known.odd_one_out)


@pytest.mark.slow
def test_errors_of_each_annotator_are_estimated(fitted):
    rates = {"good": 0.03, "careless": 0.2, "swapped": 0.95}
    known = said_of(SPECIES, 150, rates)
    model = fitted(IRIS, known)
    found = dict(zip(model.confusion_.annotators_, model.confusion_.error_rates_, strict=True))
    for name, rate in rates.items():
        assert found[name] == pytest.approx(rate, abs=0.1)
    assert score(model, SPECIES) > 0.85
    anonymous = Constraints(150, pairs=np.column_stack([known.pairs, known.pair_answers]))
    assert score(model, SPECIES) > score(fitted(IRIS, anonymous), SPECIES)


@pytest.mark.slow
@pytest.mark.parametrize(("n_answers", "error", "least"), [(400, 0.1, 0.6), (600, 0.3, 0.3)])
def test_few_answers_about_many_groups_are_not_taken_for_identities(
    fitted, n_answers, error, least
):
    """From random answers alone, nearly every image would be a group of its own."""
    X, y = load_digits(return_X_y=True)
    chosen = np.random.RandomState(0).permutation(len(y))[:200]
    known = Constraints.from_labels(y[chosen], n_answers, error=error, random_state=0)
    model = fitted(X[chosen], known, n_clusters=None)
    assert model.regime_ == "both"
    assert 6 <= model.n_clusters_ <= 16
    assert score(model, y[chosen]) > least


@pytest.mark.parametrize("n_clusters", [None, pytest.param(10, marks=pytest.mark.slow)])
def test_few_answers_with_wrong_ones_do_not_break_up_groups(n_clusters):
    X, y = load_digits(return_X_y=True)
    chosen = np.random.RandomState(0).permutation(len(y))[:300]
    known = Constraints.from_labels(y[chosen], n_pairs=60, error=0.1, random_state=1)
    model = GuidedClustering(n_clusters, random_state=0).fit(X[chosen], constraints=known)
    assert score(model, y[chosen]) > 0.62  # .47 if coherence has no weight


@pytest.mark.slow
def test_the_number_is_uncertain_if_answers_do_not_determine_it():
    y = np.random.RandomState(3).permutation(np.arange(90) % 3)
    X = np.random.RandomState(3).normal(size=(90, 2)) + 3 * np.eye(3)[y][:, :2]
    few = Constraints.from_labels(y, n_pairs=12, random_state=0)
    many = Constraints.from_labels(y, n_pairs=400, random_state=0)
    unsure, sure = (GuidedClustering(random_state=0).fit(X, constraints=c) for c in (few, many))
    assert max(unsure.n_clusters_probabilities_.values()) < 0.6
    assert max(sure.n_clusters_probabilities_, key=sure.n_clusters_probabilities_.get) == 3
    assert sum(sure.n_clusters_probabilities_.values()) == pytest.approx(1)
    assert GuidedClustering(3).fit(X, constraints=few).n_clusters_probabilities_ == {}


@pytest.mark.slow
def test_swapped_answers_are_said():
    known = Constraints.from_labels(CULTIVARS, 100, error=1.0, random_state=0)
    with pytest.warns(ReversedAnswersWarning, match="swapped"):
        GuidedClustering(random_state=0).fit(WINE, constraints=known)


def test_a_few_outliers_are_no_groups_beside_all_other_rows(fitted):
    random, y = np.random.default_rng(3), np.repeat(range(3), 80)
    X = random.standard_t(1.5, (240, 6)) + np.eye(3, 6)[y] * 8
    assert score(fitted(X), y) > 0.7


@pytest.mark.slow
def test_the_first_answers_do_not_undo_groups_of_features(fitted):
    known = Constraints.from_labels(SPECIES, 5, random_state=1)
    without, with_few = (fitted(IRIS, of, n_clusters=None) for of in (None, known))
    assert score(with_few, SPECIES) > score(without, SPECIES) - 0.02
