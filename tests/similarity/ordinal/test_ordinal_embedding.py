"""OrdinalEmbedding: positions whose distances explain answers of all kinds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from tests.similarity.ordinal.made_answers import (
    ALL,
    N,
    accuracy,
    answers_of,
    most_central,
    ratings,
    triplets,
    true_space,
)

from clew import Constraints, Question
from clew.cluster import KernelKMeans, SimilarityClustering, SpectralClustering
from clew.exceptions import (
    InvalidArgumentError,
)
from clew.metrics import adjusted_rand_score
from clew.similarity import OrdinalEmbedding
from clew.similarity.ordinal import _start
from clew.similarity.ordinal._answers import OrdinalAnswers, definite
from clew.similarity.ordinal._response import SMOOTHING


@pytest.mark.parametrize("kinds", [["pairs"], ["triplets"], ["odd_one_out"], ALL])
@pytest.mark.parametrize("response", ["tste", "distance"])
def test_new_questions_are_answered_right(kinds, response):
    space = true_space(0)
    model = OrdinalEmbedding(2, response=response, random_state=0)
    model.fit(constraints=answers_of(kinds, space, 900, 0))
    assert model.embedding_.shape == (N, 2)
    assert accuracy(model, answers_of(kinds, space, 500, 1)) > 0.85


@pytest.mark.parametrize("response", ["tste", "distance"])
def test_most_central_rows_are_learned(response):
    space = true_space(0)
    rows, central = most_central(space, 450, 0)
    known = Constraints.from_most_central(rows, central, n_samples=N)
    model = OrdinalEmbedding(2, response=response, random_state=0).fit(constraints=known)
    assert accuracy(model, answers_of(["triplets"], space, 500, 1)) > 0.85


def test_questions_of_all_kinds_share_one_space():
    space = true_space(0)
    rows, central = most_central(space, 60, 3)
    parts = [
        answers_of(["triplets"], space, 120, 1),
        answers_of(["odd_one_out"], space, 60, 2),
        Constraints.from_most_central(rows, central, n_samples=N),
        ratings(space, 60, 4),
    ]
    fresh = answers_of(["triplets", "odd_one_out"], space, 500, 9)
    model = OrdinalEmbedding(2, response="tste", random_state=0)
    alone = [accuracy(clone(model).fit(constraints=part), fresh) for part in parts]
    together = parts[0] + parts[1] + parts[2] + parts[3]
    assert accuracy(model.fit(constraints=together), fresh) > max(alone)


def test_ratings_show_degrees_that_a_threshold_hides():
    space = true_space(0)
    rated = ratings(space, 200, 0)
    first = rated.pair_weights >= 0.5  # the answers to which a threshold reduces the ratings
    cut = rated.select(pairs=first).with_weights(pair_weights=1.0)
    fresh = answers_of(["triplets"], space, 1000, 1)
    model = OrdinalEmbedding(2, response="tste", random_state=0)
    by_degree, by_threshold = (
        accuracy(clone(model).fit(constraints=known), fresh) for known in (rated, cut)
    )
    assert by_degree > by_threshold


def test_distances_have_the_order_of_the_true_ones():
    space = true_space(1)
    known = answers_of(["triplets"], space, 3000, 0)
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    ranks = [np.argsort(np.argsort(pdist(z))) for z in (model.embedding_, space)]
    assert np.corrcoef(ranks)[0, 1] > 0.95


@pytest.mark.parametrize("response", ["tste", "distance"])
def test_probabilities_follow_the_formulas(response):
    known = answers_of(ALL, true_space(0, 6), 40, 0)
    model = OrdinalEmbedding(2, response=response, lapse=0.1, random_state=0).fit(constraints=known)
    z = model.embedding_

    def f(i, j):
        d2 = ((z[i] - z[j]) ** 2).sum()
        return np.log(1 + d2) if response == "tste" else np.sqrt(d2 + SMOOTHING)

    first = 0.05 + 0.9 / (1 + np.exp(f(0, 1) - f(0, 2)))
    likeness = np.exp([-f(3, 4), -f(1, 4), -f(1, 3)])
    odd = 0.1 / 3 + 0.9 * likeness / likeness.sum()
    p = model.predict_proba([Question("triplet", (0, 1, 2)), Question("odd_one_out", (1, 3, 4))])
    np.testing.assert_allclose(p, [[first, 1 - first, 0], odd])


def test_probabilities_of_pairs_have_the_given_share_of_must_links():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(40)[:2] for _ in range(4000)])
    same = (rng.uniform(size=4000) < 0.8).astype(int)
    known = Constraints(40, pairs=np.column_stack([rows, same]))
    p = OrdinalEmbedding(2, random_state=0).fit(constraints=known).predict_proba({"pair": rows})
    assert p["pair"][:, 1].mean() == pytest.approx(0.8, abs=0.05)


def test_questions_and_arrays_give_the_same():
    known = answers_of(["pairs", "triplets"], true_space(0), 200, 0)
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    asked = [Question("triplet", (0, 1, 2)), Question("pair", (4, 3)), Question("pair", (0, 9))]
    p = model.predict_proba(asked)
    by_kind = model.predict_proba({"pair": [(3, 4), (0, 9)], "triplet": [(0, 1, 2)]})
    np.testing.assert_allclose(p, [*by_kind["triplet"], *by_kind["pair"]])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.predict_proba([]).shape == (0, 2)


def test_score_is_the_weighted_mean_log_likelihood():
    space = true_space(0)
    known = answers_of(["triplets"], space, 500, 0)
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    rows, said = triplets(space, 50, 1)
    weights = np.random.default_rng(0).uniform(size=50)
    held = Constraints(N, triplets=np.column_stack([rows, said]), triplet_weights=weights)
    p = model.predict_proba({"triplet": rows})["triplet"][np.arange(50), said]
    assert model.score(held) == pytest.approx(np.average(np.log(p), weights=weights))
    assert model.score(Constraints(N)) == 0


def test_annotators_who_answer_at_random_have_small_slopes():
    space = true_space(0)
    noise = {"ann": 0.0, "ben": 0.0, "cat": 0.3, "dan": 1.0}
    parts = [triplets(space, 300, seed, share) for seed, share in enumerate(noise.values())]
    rows = np.concatenate([np.column_stack(part) for part in parts])
    known = Constraints(N, triplets=rows, triplet_annotators=np.repeat(list(noise), 300))
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    ann, ben, cat, dan = model.annotator_slopes_
    assert model.annotators_ == ("ann", "ben", "cat", "dan")
    assert dan < 0.5 * cat < 0.5 * min(ann, ben)
    asked = [Question("triplet", (0, 1, 2))]
    sure, unsure = (model.predict_proba(asked, annotator=name).max() for name in ("ann", "dan"))
    assert sure > unsure
    pooled = clone(model).set_params(annotators=False).fit(constraints=known)
    np.testing.assert_array_equal(pooled.annotator_slopes_, 1)
    fresh = answers_of(["triplets"], space, 1000, 9)
    assert accuracy(model, fresh) > accuracy(pooled, fresh) - 0.01
    with pytest.raises(InvalidArgumentError, match="'eve'"):
        model.predict_proba(asked, annotator="eve")


def test_cv_finds_that_two_components_are_too_few():
    known = answers_of(["triplets"], true_space(0, 40, 6), 4000, 0)
    model = OrdinalEmbedding(random_state=0).fit(constraints=known)
    assert set(model.cv_scores_) == {(r, d) for r in ("tste", "distance") for d in (2, 4, 8)}
    best = max(model.cv_scores_, key=model.cv_scores_.get)
    assert (model.response_, model.n_components_) == best
    assert model.embedding_.shape == (40, model.n_components_)
    assert model.n_components_ > 2
    fixed = OrdinalEmbedding(response="distance", random_state=0).fit(constraints=known)
    assert set(fixed.cv_scores_) == {("distance", d) for d in (2, 4, 8)}


def test_with_few_answers_nothing_is_cross_validated():
    known = answers_of(["triplets"], true_space(0), 9, 0)
    model = OrdinalEmbedding(random_state=0).fit(constraints=known)
    assert (model.response_, model.n_components_, model.cv_scores_) == ("tste", 2, {})


def test_starts_of_few_and_of_many_rows_agree(monkeypatch):
    known = definite(answers_of(ALL, true_space(0, 80), 2000, 0))
    answers = OrdinalAnswers.of(known, by_annotator=False)
    monkeypatch.setattr(_start, "NOISE", 0.0)
    exact = _start.spectral_start(answers, 80, 2, np.random.RandomState(0))
    monkeypatch.setattr(_start, "DENSE_SOLVER_ROWS", 10)
    rough = _start.spectral_start(answers, 80, 2, np.random.RandomState(0))
    np.testing.assert_allclose(pdist(rough), pdist(exact), rtol=0.05, atol=0.05)


TRUTH = np.arange(45) % 3
GROUPED = Constraints.from_labels(TRUTH, 300, random_state=0)


@pytest.mark.parametrize(
    "clusterer",
    [SpectralClustering(3), KMeans(3, n_init=5), KernelKMeans(3)],
    ids=lambda clusterer: type(clusterer).__name__,
)
def test_groups_of_rows_by_answers_alone(clusterer):
    model = SimilarityClustering(OrdinalEmbedding(2), clusterer, random_state=0)
    labels = model.fit(np.zeros((45, 1)), constraints=GROUPED).labels_
    assert adjusted_rand_score(TRUTH, labels) > 0.9


def test_kernel_and_graph():
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=GROUPED)
    np.testing.assert_allclose(model.kernel_, model.embedding_ @ model.embedding_.T)
    assert model.kneighbors_graph(5).shape == (45, 45)
    labels = KernelKMeans(3, kernel="precomputed", random_state=0).fit_predict(model.kernel_)
    assert adjusted_rand_score(TRUTH, labels) > 0.9


def test_pickles_and_progress():
    calls = []
    model = OrdinalEmbedding(random_state=0)
    model.fit(constraints=GROUPED, callback=lambda done, n: calls.append((done, n)))
    assert calls == [(done, calls[0][1]) for done in range(1, calls[0][1] + 1)]
    assert pickle.loads(pickle.dumps(model)).score(GROUPED) == model.score(GROUPED)
