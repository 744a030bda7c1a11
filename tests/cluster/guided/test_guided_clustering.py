"""Guided clustering as a whole: what answers do to it, wrong ones too."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clew import Constraints, Question
from clew.cluster import GuidedClustering, PCKMeans
from clew.cluster.guided import Views, default_pool
from clew.exceptions import InvalidParameterError
from clew.metrics import n_violated
from clew.oracles import SimulatedOracle
from clew.trust import answer_posterior

SIZES = {"pair": 2, "triplet": 3, "odd_one_out": 3}
IRIS, SPECIES = load_iris(return_X_y=True)
WINE, CULTIVARS = load_wine(return_X_y=True)
BLOBS, GROUPS = make_blobs(60, centers=3, cluster_std=2.5, random_state=5)


def fitted(X, known=None, **given):
    return GuidedClustering(**{"n_clusters": 3, "random_state": 0} | given).fit(
        X, constraints=known
    )


def said_of(y, n_each, rates, kinds=("pair",), seed=0):
    """What annotators of given error rates say of random questions."""
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


def same(first, other):
    np.testing.assert_array_equal(first.labels_, other.labels_)
    np.testing.assert_array_equal(first.probabilities_, other.probabilities_)


@pytest.fixture(scope="module")
def wine():
    """Models of wine without answers and with answers of which a share is wrong."""
    models = {None: fitted(WINE)}
    for error in (0.0, 0.15, 0.3):
        known = Constraints.from_labels(CULTIVARS, 356, error=error, random_state=0)
        models[error] = fitted(WINE, known)
    return models


@pytest.fixture(scope="module")
def iris():
    """Models of iris, of half as many answers as it has rows."""
    known = Constraints.from_labels(SPECIES, 75, random_state=0)
    return {None: fitted(IRIS), 0.0: fitted(IRIS, known)}


@pytest.fixture(scope="module")
def blobs():
    """A model of groups that lie across each other, and what it was told."""
    known = Constraints.from_labels(GROUPS, 120, error=0.1, random_state=0)
    return fitted(BLOBS, known), known


def score(model, y):
    return adjusted_rand_score(y, model.labels_)


def test_answers_that_are_guesses_do_not_lead():
    asked = Constraints.from_labels(CULTIVARS, 178, random_state=1).pairs
    guesses = np.random.default_rng(0).integers(0, 2, len(asked))
    model = fitted(WINE, Constraints(178, pairs=np.column_stack([asked, guesses])))
    same(model, fitted(WINE))
    assert {name: model.weights_[name] for name in ("no answers", "consensus")} == {
        "no answers": 1.0,
        "consensus": 0.0,
    }
    assert model.error_rate_ > 0.3


def test_right_answers_beat_what_knows_none(wine, iris):
    for X, y, model in ((WINE, CULTIVARS, wine[0.0]), (IRIS, SPECIES, iris[0.0])):
        for rows in (X, (X - X.mean(axis=0)) / X.std(axis=0)):
            ward = AgglomerativeClustering(3).fit_predict(rows)
            assert score(model, y) > adjusted_rand_score(y, ward) + 0.05


def test_wrong_answers_do_little_harm(wine):
    without = score(wine[None], CULTIVARS)
    assert score(wine[0.15], CULTIVARS) > without - 0.02
    assert score(wine[0.3], CULTIVARS) > without - 0.02


def test_without_answers_it_is_better_than_its_pool(wine, iris):
    for model, X, y in ((wine[None], WINE, CULTIVARS), (iris[None], IRIS, SPECIES)):
        views = Views(model._units.applied(X), 0)
        pool = [way for way in default_pool(3, len(X)) if not way.follows_answers]
        alone = [adjusted_rand_score(y, way.partition(views, None)) for way in pool]
        assert score(model, y) > np.mean(alone)


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
        chances = model.probabilities_
        assert chances.shape == (178, model.n_clusters_) == (178, 3)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.labels_, chances.argmax(axis=1))
        assert model.weights_.keys() == model.scores_.keys()
        assert max(model.weights_.values()) == 1
        if error is not None:
            known = Constraints.from_labels(CULTIVARS, 356, error=error, random_state=0)
            assert model.n_violated_ == n_violated(model.labels_, known)
            assert "consensus" in model.scores_
            assert any(name.startswith("refined by") for name in model.scores_)


def test_new_rows_get_the_groups_of_rows_that_are_like_them(wine):
    model = wine[0.0]
    shifted = WINE + 0.01 * WINE.std(axis=0)
    assert (model.predict(shifted) == model.labels_).mean() > 0.95
    chances = model.predict_proba(shifted[:7])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert chances.min() >= 0
    with pytest.raises(ValueError, match="features"):
        model.predict(WINE[:, :4])


def test_explanations_speak_of_fitted_rows(wine):
    known = Constraints.from_labels(CULTIVARS, 356, error=0.0, random_state=0)
    i, j = known.pairs[0]
    found = wine[0.0].explain(int(i), int(j))
    assert found.are_together == (wine[0.0].labels_[i] == wine[0.0].labels_[j])
    assert found.said
    assert f"rows {i} and {j}" in str(found)
    assert len(found.neighbors[0]) >= 1
    with pytest.raises(InvalidParameterError, match="two different rows"):
        wine[0.0].explain(3, 3)


def test_same_seed_same_result_in_one_thread_and_in_two(blobs):
    model, known = blobs
    for n_jobs in (1, 2):
        other = fitted(BLOBS, known, n_jobs=n_jobs)
        same(model, other)
        assert model.scores_ == other.scores_
        assert model.error_interval_ == other.error_interval_


def test_answers_of_all_kinds_lead():
    without = score(fitted(BLOBS), GROUPS)
    for kinds in (("triplet",), ("odd_one_out",), ("pair", "triplet", "odd_one_out")):
        known = said_of(GROUPS, 240 // len(kinds), {"ann": 0.05}, kinds)
        model = fitted(BLOBS, known)
        assert score(model, GROUPS) > without + 0.1
        posterior = model.answer_posterior_
        assert len(posterior.pairs) == len(known.pairs)
        assert len(posterior.triplets) == len(known.triplets)
        assert len(posterior.odd_one_out) == len(known.odd_one_out)


def test_annotators_are_told_apart():
    rates = {"good": 0.03, "careless": 0.2, "swapped": 0.95}
    known = said_of(SPECIES, 150, rates)
    model = fitted(IRIS, known)
    found = dict(zip(model.confusion_.annotators_, model.confusion_.error_rates_, strict=True))
    for name, rate in rates.items():
        assert found[name] == pytest.approx(rate, abs=0.1)
    assert score(model, SPECIES) > 0.85
    anonymous = Constraints(150, pairs=np.column_stack([known.pairs, known.pair_answers]))
    assert score(model, SPECIES) > score(fitted(IRIS, anonymous), SPECIES)


def test_answers_that_say_nothing_are_no_answers():
    nothing = fitted(BLOBS)
    rows = Constraints.from_labels(GROUPS, 40, random_state=0)
    cases = {
        "none": Constraints(60),
        "weight 0": rows.with_weights(pair_weights=np.zeros(40)),
        "don't know": Constraints(60, pairs=[(i, j, -2) for i, j in rows.pairs]),
    }
    for known in cases.values():
        model = fitted(BLOBS, known)
        same(nothing, model)
        assert np.isnan(model.error_rate_)
        assert "consensus" not in model.scores_


def test_weight_0_among_others_says_nothing(blobs):
    _, known = blobs
    wrong = Constraints.from_labels(GROUPS, 60, error=1.0, random_state=1)
    both = known + wrong.with_weights(pair_weights=np.zeros(60))
    model = fitted(BLOBS, both)
    # Folds are others, but not what is found.
    assert score(model, GROUPS) > score(blobs[0], GROUPS) - 0.1
    assert model.error_rate_ < 0.2


@pytest.mark.parametrize("with_answers", [False, True])
def test_it_finds_how_many_groups_there_are(with_answers):
    X, y = make_blobs(60, centers=3, cluster_std=0.3, random_state=0)
    known = Constraints.from_labels(y, 60, random_state=0) if with_answers else None
    model = fitted(X, known, n_clusters=None)
    assert model.n_clusters_ == 3
    assert score(model, y) > 0.9


def test_one_group():
    known = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(2, 3)], n_samples=60)
    for answers in (None, known):
        model = fitted(BLOBS, answers, n_clusters=1)
        assert set(model.labels_) == {0}
        np.testing.assert_array_equal(model.predict(BLOBS[:3]), 0)
        np.testing.assert_allclose(model.probabilities_, 1.0)


@pytest.mark.parametrize("n_clusters", [None, 1, 2, 3])
def test_three_rows(n_clusters):
    X = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0]])
    known = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(1, 2)], n_samples=3)
    for answers in (None, known):
        model = fitted(X, answers, n_clusters=n_clusters)
        assert model.labels_.shape == (3,)
        if n_clusters == 2:
            assert model.labels_[0] == model.labels_[1] != model.labels_[2]


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_fewer_different_rows_than_groups(n_clusters):
    known = Constraints.from_labels(np.repeat([0, 1], 10), 20, random_state=0)
    X = np.repeat([[0.0], [n_clusters - 2.0]], 10, axis=0)
    for answers in (None, known):
        model = fitted(X, answers, n_clusters=n_clusters)
        assert np.isfinite(model.probabilities_).all()
        # Groups may be split, but hold no rows of both kinds.
        for group in np.unique(model.labels_):
            assert len(np.unique(X[model.labels_ == group])) == 1
        assert set(model.predict(X)) <= set(range(n_clusters))


def test_units_of_features_do_not_matter(blobs):
    model, known = blobs
    rows = np.column_stack([BLOBS, np.random.default_rng(0).normal(size=60)])
    scaled = rows * [1.0, 1000.0, 30.0]
    first, other = (fitted(X, known, standardize=True) for X in (rows, scaled))
    np.testing.assert_array_equal(first.labels_, other.labels_)
    assert score(fitted(BLOBS * 1e6, known), GROUPS) == score(model, GROUPS)


def test_a_pool_of_ones_own(blobs):
    _, known = blobs
    pool = [("k-means", KMeans(3, n_init=1, random_state=0)), ("led", PCKMeans(3, random_state=0))]
    model = fitted(BLOBS, known, pool=pool)
    assert {"k-means", "led", "consensus"} <= model.scores_.keys()
    assert "ward" not in model.scores_
    assert fitted(BLOBS, pool=pool).weights_ == {"k-means": 1.0}
    assert score(fitted(BLOBS, known, pool=pool[1:]), GROUPS) > 0.4


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
def test_bad_parameters_are_refused(given, words):
    with pytest.raises(InvalidParameterError, match=words):
        fitted(BLOBS, **given)


def test_missing_values_are_refused():
    rows = BLOBS.copy()
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted(rows)


@pytest.mark.parametrize("at", [1, 9, 30])
def test_an_interrupted_fit_leaves_the_model_from_before(blobs, at):
    before, known = blobs
    model = fitted(BLOBS, known)
    state = {name: model.__dict__[name] for name in model.__dict__}

    def stop(done, n):
        if done >= at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(random_state=1).fit(BLOBS + 100, constraints=known, callback=stop)
    model.set_params(random_state=0)
    same(before, model)
    assert model.__dict__.keys() == state.keys()
    np.testing.assert_array_equal(model.predict(BLOBS), before.predict(BLOBS))
    assert model.scores_ == before.scores_


@pytest.mark.parametrize("n_clusters", [None, 3])
@pytest.mark.parametrize("n_answers", [0, 40])
def test_progress_goes_through_all_steps_to_the_end(n_clusters, n_answers):
    known = Constraints.from_labels(GROUPS, n_answers, random_state=0)
    heard = []
    model = GuidedClustering(n_clusters, random_state=0)
    model.fit(BLOBS, constraints=known, callback=lambda *at: heard.append(at))
    done, n = zip(*heard, strict=True)
    assert set(n) == {n[0]}
    assert list(done[:-1]) == list(range(1, len(done)))
    assert done[-2] < done[-1] == n[0]
    # Most is said step by step; what is left out at the end is what was not needed.
    assert len(done) > n[0] / 2


def test_answers_and_annotators_that_tell_nothing_change_nothing(blobs):
    model, known = blobs
    said = np.column_stack([known.pairs, known.pair_answers])
    other = Constraints.from_labels(GROUPS, 40, error=0.5, random_state=9)
    more = np.column_stack([other.pairs, other.pair_answers])
    both = Constraints(
        60,
        pairs=np.concatenate([said, more]),
        pair_weights=[1.0] * len(said) + [0.0] * len(more),
        pair_annotators=[""] * len(said) + ["ghost"] * len(more),
    )
    found = fitted(BLOBS, both)
    same(found, model)
    assert found.error_rate_ == model.error_rate_
    assert np.isnan(found.answer_posterior_.pairs[len(said) :]).all()


def test_answers_that_were_given_thrice_are_not_known_by_heart():
    noise = np.random.default_rng(0).normal(size=(90, 4))
    rows = Constraints.from_labels(np.zeros(90), 60, random_state=0).pairs
    coins = np.random.default_rng(1).integers(0, 2, 60)
    thrice = np.tile(np.column_stack([rows, coins]), (3, 1))
    model = fitted(noise, Constraints(90, pairs=thrice))
    assert model.error_rate_ > 0.2


def test_named_dont_knows_alone_are_no_answers():
    known = Constraints(60, pairs=[(0, 1, -2), (2, 3, -2)], pair_annotators=["ann", "ben"])
    model, unasked = fitted(BLOBS, known), fitted(BLOBS)
    assert np.array_equal(model.probabilities_, unasked.probabilities_)
    assert np.isnan(model.error_rate_)


def test_a_pipeline_in_a_pool_is_seeded():
    known = Constraints.from_labels(GROUPS, 40, random_state=0)
    steps = make_pipeline(StandardScaler(), KMeans(9, n_init=1, init="random"))
    pool = [("steps", steps), ("ward", AgglomerativeClustering(3))]
    first, again = fitted(BLOBS, known, pool=pool), fitted(BLOBS, known, pool=pool)
    assert np.array_equal(first.labels_, again.labels_)
    assert np.array_equal(first.probabilities_, again.probabilities_)
    # In themselves these groups differ from run to run: that is what a seed is for.
    assert len({tuple(steps.fit_predict(BLOBS)) for _ in range(5)}) > 1


def test_answers_of_weight_0_are_not_violated():
    known = Constraints.from_labels(GROUPS, 60, random_state=0)
    answers = np.r_[known.pair_answers, 1 - known.pair_answers]
    said = np.column_stack([np.r_[known.pairs, known.pairs], answers])
    weights = np.r_[np.ones(60), np.zeros(60)]
    weighed = fitted(BLOBS, Constraints(60, pairs=said, pair_weights=weights))
    assert weighed.n_violated_ == fitted(BLOBS, known).n_violated_


def test_nothing_is_scored_without_answers():
    model = fitted(BLOBS)
    assert np.isnan(list(model.scores_.values())).all()
    assert set(model.scores_) == set(model.weights_)


def test_doubts_are_those_of_groups_that_saw_no_answers_where_these_stand():
    asked = Constraints.from_labels(CULTIVARS, 178, random_state=1).pairs
    guesses = np.random.default_rng(0).integers(0, 2, len(asked))
    known = Constraints(178, pairs=np.column_stack([asked, guesses]))
    model = fitted(WINE, known)
    doubts = answer_posterior(known, model.probabilities_, model.confusion_, saw_answers=False)
    assert model.weights_["no answers"] == 1.0 > model.weights_["consensus"]
    np.testing.assert_array_equal(model.answer_posterior_.pairs, doubts.pairs)
