"""OrdinalEmbedding: it finds spaces, and what must not matter does not."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.cluster import KMeans

from clew import Answer, Constraints, Question
from clew.answers import DONT_KNOW
from clew.cluster import KernelKMeans, SimilarityClustering, SpectralClustering
from clew.exceptions import (
    InvalidArgumentError,
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.metrics import adjusted_rand_score
from clew.similarity import OrdinalEmbedding, _ordinal, ordinal_embedding
from clew.similarity._ordinal import SMOOTHING, OrdinalAnswers, definite

N = 30
ALL = ["pairs", "triplets", "odd_one_out"]


def true_space(seed, n=N, d=2):
    return np.random.default_rng(seed).normal(size=(n, d)) * 1.5


def squared(space, i, j):
    return ((space[i] - space[j]) ** 2).sum(axis=1)


def triplets(space, m, seed, noise=0.0):
    """Rows and answers; a share of the answers is random."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(space))[:3] for _ in range(m)])
    a, b, c = rows.T
    answers = (squared(space, a, c) < squared(space, a, b)).astype(int)
    return rows, np.where(rng.uniform(size=m) < noise, rng.integers(2, size=m), answers)


def odd_one_out(space, m, seed):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(space))[:3] for _ in range(m)])
    a, b, c = rows.T
    apart = np.stack([squared(space, b, c), squared(space, a, c), squared(space, a, b)])
    return rows, apart.argmin(axis=0)


def most_central(space, m, seed):
    """Rows of questions, and the position of the row opposite to the longest side."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(space))[:3] for _ in range(m)])
    a, b, c = rows.T
    apart = np.stack([squared(space, b, c), squared(space, a, c), squared(space, a, b)])
    return rows, apart.argmax(axis=0)


def pairs(space, m, seed):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(space))[:2] for _ in range(m)])
    return rows, (squared(space, *rows.T) < 2).astype(int)


def ratings(space, m, seed):
    """Ratings from 0, far apart, to 6, at the same place."""
    rows = pairs(space, m, seed)[0]
    near = np.rint(6 * np.exp(-squared(space, *rows.T) / 4))
    return Constraints.from_ratings(rows, near, different=0, same=6, n_samples=len(space))


ASKED = {"pairs": pairs, "triplets": triplets, "odd_one_out": odd_one_out}


def answers_of(kinds, space, m, seed, n=None):
    given = {kind: np.column_stack(ASKED[kind](space, m, seed)) for kind in kinds}
    return Constraints(n or len(space), **given)


def accuracy(model, known):
    """Share of answers that are the most probable ones."""
    right = [
        model.predict_proba({table.kind: table.rows})[table.kind].argmax(axis=1) == table.answers
        for table in known.tables
        if len(table)
    ]
    return np.concatenate(right).mean()


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
    pooled = clone(model).set_params(annotator_slopes=False).fit(constraints=known)
    np.testing.assert_array_equal(pooled.annotator_slopes_, 1)
    fresh = answers_of(["triplets"], space, 1000, 9)
    assert accuracy(model, fresh) > accuracy(pooled, fresh) - 0.01
    with pytest.raises(InvalidArgumentError, match="'eve'"):
        model.predict_proba(asked, annotator="eve")


@pytest.mark.slow
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
    monkeypatch.setattr(_ordinal, "NOISE", 0.0)
    exact = _ordinal.spectral_start(answers, 80, 2, np.random.RandomState(0))
    monkeypatch.setattr(_ordinal, "DENSE_SOLVER_ROWS", 10)
    rough = _ordinal.spectral_start(answers, 80, 2, np.random.RandomState(0))
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


def both(known, other, **parameters):
    model = OrdinalEmbedding(2, response="tste", random_state=0, **parameters)
    a, b = (clone(model).fit(constraints=c) for c in (known, other))
    return a, b


def test_weights_add_up_and_dont_knows_are_ignored():
    known = answers_of(ALL, true_space(0), 60, 0)
    half = known.with_weights(pair_weights=0.5, triplet_weights=0.5, odd_one_out_weights=0.5)
    a, b = both(known, half + half)
    np.testing.assert_allclose(a.embedding_, b.embedding_, rtol=1e-6, atol=1e-8)
    ignored = Constraints(
        N,
        pairs=[(0, 1, DONT_KNOW), (2, 3, 1)],
        triplets=[(5, 6, 7, DONT_KNOW), (5, 6, 7, 1)],
        odd_one_out=[(5, 6, 7, DONT_KNOW)],
        pair_weights=[1, 0],
        triplet_weights=[1, 0],
    )
    a, b = both(known, known + ignored)
    np.testing.assert_array_equal(a.embedding_, b.embedding_)


def test_the_order_of_answers_does_not_matter():
    known = answers_of(ALL, true_space(0), 60, 0)
    order = np.random.default_rng(0).permutation(60)
    a, b = both(known, known.select(pairs=order, triplets=order, odd_one_out=order))
    np.testing.assert_array_equal(a.embedding_, b.embedding_)


def test_all_alike_is_three_must_links():
    base = answers_of(["triplets"], true_space(0), 100, 0)
    a, b = both(base + Constraints(N, odd_one_out=[(5, 3, 8, -1)] * 20), base)
    apart = [pdist(model.embedding_[[3, 5, 8]]) for model in (a, b)]
    assert apart[0].max() < apart[1].max()
    p = a.predict_proba({"pair": [(3, 5), (3, 8), (5, 8)]})["pair"]
    assert (p[:, 1] > 0.5).all()


def test_blocks_of_answers_find_what_all_at_once_find(monkeypatch):
    space = true_space(0, 60)
    known = answers_of(["triplets", "odd_one_out"], space, 4000, 0)
    fresh = answers_of(["triplets"], space, 1000, 1)
    at_once = OrdinalEmbedding(2, response="tste", random_state=0).fit(constraints=known)
    monkeypatch.setattr(ordinal_embedding, "MAX_ANSWERS_AT_ONCE", 1000)
    monkeypatch.setattr(_ordinal, "BLOCK_ANSWERS", 500)
    a, b = both(known, known)
    np.testing.assert_array_equal(a.embedding_, b.embedding_)
    assert accuracy(a, fresh) > accuracy(at_once, fresh) - 0.02


def test_without_answers_rows_are_at_one_point_or_where_features_put_them():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for known in (None, Constraints(20), Constraints(20, triplets=[(0, 1, 2, DONT_KNOW)])):
        alone = OrdinalEmbedding(random_state=0).fit(X, constraints=known)
        assert not alone.embedding_.any()
        model = OrdinalEmbedding(features="ridge", random_state=0).fit(X, constraints=known)
        assert np.linalg.matrix_rank(model.embedding_) == 2
        np.testing.assert_allclose(model.transform(X), model.embedding_)


def test_rows_that_no_answer_names_are_at_the_origin():
    known = answers_of(["triplets"], true_space(0, 20), 300, 0, 25)
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    assert not model.embedding_[20:].any()
    assert np.linalg.norm(model.embedding_[:20].mean(axis=0)) < 0.5


def test_annotators_who_contradict_everybody_do_little_harm():
    space = true_space(0)
    rows, said = triplets(space, 900, 0)
    wrong = np.arange(900) % 5 == 0
    known = Constraints(
        N,
        triplets=np.column_stack([rows, np.where(wrong, 1 - said, said)]),
        triplet_annotators=np.where(wrong, "contrary", "ann"),
    )
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    ann, contrary = model.annotator_slopes_
    assert contrary < 0.2 < 0.5 < ann
    assert accuracy(model, answers_of(["triplets"], space, 1000, 1)) > 0.9


@pytest.mark.parametrize("said", [0, 1])
def test_all_the_same_answer(said):
    rows = pairs(true_space(0), 100, 0)[0]
    known = Constraints(N, pairs=np.column_stack([rows, np.full(100, said)]))
    model = OrdinalEmbedding(random_state=0).fit(constraints=known)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.affinity_matrix_).all()
    assert model.predict_proba({"pair": rows})["pair"][:, said].mean() > 0.6


def test_two_components_of_rows_without_a_question_between_them():
    rows, said = triplets(true_space(0, 10), 200, 0)
    parts = np.concatenate([np.column_stack([rows + 10 * k, said]) for k in (0, 1)])
    known = Constraints(20, triplets=parts)
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    assert np.abs(model.embedding_).max() < 20
    assert model.score(known) > -0.3


@pytest.mark.slow
def test_a_million_answers_about_ten_rows_are_few_distinct_ones():
    rows, said = triplets(true_space(0, 10), 20_000, 0, noise=0.2)
    known = Constraints(10, triplets=np.tile(np.column_stack([rows, said]), (50, 1)))
    model = OrdinalEmbedding(2, response="tste", random_state=0).fit(constraints=known)
    assert np.isfinite(model.embedding_).all()
    assert accuracy(model, answers_of(["triplets"], true_space(0, 10), 200, 1)) > 0.9


def test_missing_and_invalid_input_is_refused():
    known = answers_of(["triplets"], true_space(0), 20, 0)
    with pytest.raises(InvalidArgumentError, match="both are None"):
        OrdinalEmbedding().fit()
    with pytest.raises(InvalidDataError, match="needs X"):
        OrdinalEmbedding(features="ridge").fit(constraints=known)
    with pytest.raises(InvalidArgumentError, match=r"clew\.Constraints"):
        OrdinalEmbedding().fit(constraints=[(0, 1, 2)])
    with pytest.raises(InvalidParameterError, match="n_components"):
        OrdinalEmbedding("many").fit(constraints=known)
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    with pytest.raises(InvalidConstraintsError, match="row 30 is out of range"):
        model.predict_proba({"pair": [(0, 30)]})
    with pytest.raises(InvalidConstraintsError, match=r"\(n, 3\)"):
        model.predict_proba({"triplet": [(0, 3)]})
    with pytest.raises(InvalidArgumentError, match=r"list of clew\.Question"):
        model.predict_proba([Answer(Question("pair", (0, 1)), 1)])
    with pytest.raises(InvalidConstraintsError, match="31 rows"):
        model.score(Constraints(31))


def with_features(seed, n=80, n_answers=400):
    """Features that determine positions, and answers about the first three quarters of the rows."""
    X = np.random.default_rng(seed).normal(size=(n, 5))
    space = 2 * np.column_stack([np.tanh(X[:, 0]), X[:, 1]])
    asked = n * 3 // 4
    return X, space, answers_of(["triplets"], space[:asked], n_answers, seed, n), asked


def test_features_help_with_few_answers_and_place_new_rows():
    X, space, known, asked = with_features(0)
    model = OrdinalEmbedding(2, features="ridge", random_state=0).fit(X, constraints=known)
    alone = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    fresh = answers_of(["triplets"], space[:asked], 1000, 1, len(X))
    assert accuracy(model, fresh) > accuracy(alone, fresh)
    # Rows without answers are where features put them.
    assert accuracy(model, answers_of(["triplets"], space, 1000, 2)) > 0.75
    np.testing.assert_allclose(model.transform(X)[asked:], model.embedding_[asked:], atol=1e-9)


def test_units_of_features_do_not_matter():
    X, _, known, _ = with_features(0)
    model = OrdinalEmbedding(2, response="tste", features="ridge", random_state=0)
    a = clone(model).fit(X, constraints=known).embedding_
    b = clone(model).fit(X * [1, 1e-9, 7, 1e9, 2] + [3, 0, 0, 0, 1], constraints=known).embedding_
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_without_features_there_is_no_transform():
    known = answers_of(["triplets"], true_space(0), 50, 0)
    model = OrdinalEmbedding(2, random_state=0).fit(constraints=known)
    assert not hasattr(model, "transform")
    with pytest.raises(AttributeError) as caught:
        model.transform(np.zeros((N, 2)))
    assert "features='ridge'" in str(caught.value.__cause__)
    found = clone(model).fit_transform(None, constraints=known)
    np.testing.assert_array_equal(found, model.embedding_)
