"""COPRF: which answers hold, how violations are counted, and which results stay the same."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs

from clew import Constraints
from clew.exceptions import InconsistentConstraintsError, InvalidParameterError
from clew.similarity import COPRF, ClustRF

X, y = load_iris(return_X_y=True)
ANSWERS = Constraints.from_labels(y, 60, random_state=0)
NOISY = Constraints.from_labels(y, 90, error=0.15, dont_know=0.1, random_state=1)

#: The forest alone, without principal components, distances and weights.
PLAIN = {"components": None, "euclidean": 0.0, "affinity": "leaf"}


def coprf(**parameters):
    return COPRF(**({"n_trees": 40, "random_state": 0} | PLAIN | parameters))


def violated(leaf, must_link, cannot_link):
    """Count, tree by tree, must-links between leaves and cannot-links within one."""
    return np.array([
        sum(tree[i] != tree[j] for i, j in must_link)
        + sum(tree[i] == tree[j] for i, j in cannot_link)
        for tree in leaf
    ])  # fmt: skip


def entailed(constraints):
    rows, answers = constraints.closure().entailed_pairs()
    return rows[answers == 1], rows[answers == 0]


@st.composite
def consistent_answers(draw):
    labels = draw(st.lists(st.integers(0, 2), min_size=40, max_size=40))
    n_pairs = draw(st.integers(1, 60))
    return Constraints.from_labels(labels, n_pairs, random_state=draw(st.integers(0, 99)))


@settings(max_examples=25)
@given(answers=consistent_answers())
def test_hard_trees_never_separate_a_must_link_that_is_given_or_entailed(answers):
    model = coprf(n_trees=8, mode="hard", share=1.0, trust=None)
    leaf = model.fit(X[:80:2], constraints=answers).forest_.leaf
    must_link, cannot_link = entailed(answers)
    i, j = must_link.T
    np.testing.assert_array_equal(leaf[:, i], leaf[:, j])
    np.testing.assert_array_equal(model.n_violated_, violated(leaf, must_link, cannot_link))


def test_rows_that_must_links_keep_together_share_leaves_though_far_apart():
    far = np.array([[int(np.argmin(X[:, 2])), int(np.argmax(X[:, 2]))]])
    c = Constraints.from_pairs(must_link=far, n_samples=150)
    model = coprf(mode="hard", share=1.0, trust=None).fit(X, constraints=c)
    assert model.affinity_matrix_[tuple(far[0])] == 1
    assert model.n_violated_.sum() == 0


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_cannot_links_are_honored_more_often_than_without_answers(mode):
    # Rows of one class, which the forest without answers rarely separates.
    pairs = np.random.default_rng(0).choice(50, (30, 2))
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (X[pairs[:, 0]] != X[pairs[:, 1]]).any(axis=1)]
    c = Constraints.from_pairs(cannot_link=pairs, n_samples=150)
    i, j = pairs.T
    together = [
        (model.leaf[:, i] == model.leaf[:, j]).mean()
        for model in (
            coprf(mode=mode, share=1.0, trust=None).fit(X).forest_,
            coprf(mode=mode, share=1.0, trust=None).fit(X, constraints=c).forest_,
        )
    ]
    assert together[1] < 0.75 * together[0]


@pytest.mark.parametrize("answers", [ANSWERS, NOISY], ids=["right", "noisy"])
def test_soft_violations_are_counted_from_the_leaves(answers):
    model = coprf(share=1.0, trust=None).fit(X, constraints=answers)
    expected = violated(model.forest_.leaf, answers.must_link, answers.cannot_link)
    np.testing.assert_array_equal(model.n_violated_, expected)
    assert model.n_violated_.any()


def test_repeated_answers_count_each_time_when_soft():
    model = coprf(share=1.0, trust=None).fit(X, constraints=ANSWERS + ANSWERS)
    expected = violated(model.forest_.leaf, ANSWERS.must_link, ANSWERS.cannot_link)
    np.testing.assert_array_equal(model.n_violated_, 2 * expected)


def test_a_tree_follows_its_share_of_the_answers():
    # Rows that coincide are never separated, so every drawn answer is violated.
    rows = np.zeros((30, 3))
    rows[25:] = np.random.default_rng(0).normal(size=(5, 3))
    c = Constraints.from_pairs(cannot_link=[(0, k) for k in range(1, 25)], n_samples=30)
    for mode, share, expected in (("soft", 0.4, 0.4), ("hard", 0.5, 0.5), ("soft", 1.0, 1.0)):
        model = coprf(n_trees=300, mode=mode, share=share, trust=None).fit(rows, constraints=c)
        assert model.n_violated_.mean() == pytest.approx(24 * expected, rel=0.06)


@pytest.mark.parametrize("chain", [(0, 5), (0, 5, 9, 3)])
def test_contradictions_are_refused_by_name_when_hard(chain):
    c = Constraints.from_pairs(
        must_link=list(pairwise(chain)),
        cannot_link=[(chain[0], chain[-1])],
        n_samples=150,
    )
    with pytest.raises(InconsistentConstraintsError) as caught:
        coprf(mode="hard", trust=None).fit(X, constraints=c)
    assert caught.value.chain in (chain, chain[::-1])
    for row in chain:
        assert str(row) in str(caught.value)
    assert "soft mode" in str(caught.value)
    for accepted in ({"mode": "soft", "trust": None}, {"mode": "hard", "trust": "inconsistency"}):
        assert coprf(**accepted).fit(X, constraints=c).n_violated_.shape == (40,)


def test_answers_of_weight_0_contradict_nothing():
    c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 1)], n_samples=150)
    c = c.with_weights(pair_weights=[1.0, 0.0])
    model = coprf(mode="hard", share=1.0, trust=None).fit(X, constraints=c)
    assert model.affinity_matrix_[0, 1] == 1


def test_answers_of_weight_0_are_ignored():
    weightless = ANSWERS.with_weights(pair_weights=np.zeros(60))
    for mode in ("soft", "hard"):
        plain = coprf(mode=mode, trust=None).fit(X).affinity_matrix_
        other = coprf(mode=mode, trust=None).fit(X, constraints=weightless).affinity_matrix_
        np.testing.assert_array_equal(plain, other)


@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_answers_of_weight_0_among_others_are_ignored(kind):
    more = Constraints.from_pairs(**{kind: [(0, 89)] * 5}, n_samples=len(X), weights=0.0)
    expected = coprf(trust=None).fit(X, constraints=ANSWERS).affinity_matrix_
    found = coprf(trust=None).fit(X, constraints=ANSWERS + more).affinity_matrix_
    np.testing.assert_array_equal(found, expected)


def test_answers_of_larger_weight_hold_more_often():
    few = ANSWERS.select(pairs=ANSWERS.is_cannot_link)
    counts = [
        violated(
            coprf(trust=None, share=1.0)
            .fit(X, constraints=few.with_weights(pair_weights=np.full(len(few), weight)))
            .forest_.leaf,
            [], few.cannot_link,
        ).mean()
        for weight in (0.0, 1.0)
    ]  # fmt: skip
    assert counts[1] < counts[0]


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_dont_knows_are_ignored(mode):
    unknown = Constraints.from_pairs(dont_know=ANSWERS.pairs, n_samples=150)
    for trust in ("auto", "posterior", "inconsistency", None):
        model = coprf(mode=mode, trust=trust).fit(X, constraints=unknown)
        np.testing.assert_array_equal(
            model.affinity_matrix_, coprf(mode=mode).fit(X).affinity_matrix_
        )
        assert not model.constraint_weight_.any()
        assert np.isnan(model.doubt_).all()
        assert model.error_rate_ is None


def test_without_answers_the_forest_is_that_of_clustrf():
    plain, steered = ClustRF(40, affinity="leaf"), coprf()
    forests = []
    for model in (plain, steered):
        model._grow(X, [3, 4])
        forests.append(model.forest_)
    np.testing.assert_array_equal(forests[0].leaf, forests[1].leaf)


@pytest.mark.parametrize("trust", ["auto", "posterior", "inconsistency", None])
def test_estimates_have_one_entry_for_each_answer(trust):
    model = coprf(trust=trust).fit(X, constraints=NOISY)
    known = ~NOISY.is_dont_know
    assert model.constraint_weight_.shape == model.doubt_.shape == (90,)
    assert not model.constraint_weight_[~known].any()
    assert np.isnan(model.doubt_[~known]).all()
    assert model.constraint_weight_.min() >= 0
    assert model.constraint_weight_.max() <= 1
    if trust in ("auto", "posterior"):
        assert 0.02 < model.error_rate_ < 0.35
        assert ((model.doubt_[known] > 0) & (model.doubt_[known] < 1)).all()
    else:
        assert model.error_rate_ is None
        assert np.isnan(model.doubt_).all()
    if trust == "posterior":
        np.testing.assert_allclose(model.constraint_weight_[known], 1 - model.doubt_[known])
    if trust == "inconsistency":
        assert (model.constraint_weight_ == 1).sum() == round(known.sum() / 2)
    if trust is None:
        np.testing.assert_array_equal(model.constraint_weight_, known)


def test_wrong_answers_are_doubted():
    points, truth = make_blobs(200, 5, centers=4, cluster_std=2.0, random_state=0)
    answers = Constraints.from_labels(truth, 300, error=0.15, random_state=0)
    i, j = answers.pairs.T
    is_wrong = answers.is_must_link != (truth[i] == truth[j])
    model = coprf(trust="auto").fit(points, constraints=answers)
    assert model.doubt_[is_wrong].mean() > 0.6
    assert model.doubt_[~is_wrong].mean() < 0.1
    assert model.error_rate_ == pytest.approx(0.15, abs=0.06)


def attributes(model):
    return [
        model.affinity_matrix_, model.kneighbors_graph(9).toarray(), model.transform(X[:9] + 0.1),
        model.constraint_weight_, model.doubt_, model.n_violated_, model.forest_.leaf,
        np.array([model.error_rate_], dtype=float),
    ]  # fmt: skip


def assert_same(one, other):
    for a, b in zip(attributes(one), attributes(other), strict=True):
        np.testing.assert_array_equal(a, b)


SETTINGS = [
    {},
    {"mode": "hard", "trust": "inconsistency"},
    {"trust": "posterior", "affinity": "adaptive", "euclidean": 0.5, "components": 3},
]


@pytest.mark.parametrize("parameters", SETTINGS)
def test_threads_and_seed(parameters):
    fits = [coprf(**parameters, n_jobs=n_jobs).fit(X, constraints=NOISY) for n_jobs in (1, 2, None)]
    assert_same(fits[0], fits[1])
    assert_same(fits[0], fits[2])
    other = coprf(**parameters, random_state=1).fit(X, constraints=NOISY)
    assert not np.array_equal(fits[0].forest_.leaf, other.forest_.leaf)


@pytest.mark.parametrize("parameters", SETTINGS)
@pytest.mark.parametrize("is_computed", [False, True])
def test_pickles_and_clones(parameters, is_computed):
    model = coprf(**parameters).fit(X, constraints=NOISY)
    if is_computed:
        _ = model.affinity_matrix_
    assert_same(model, pickle.loads(pickle.dumps(model)))
    copy = clone(model)
    assert not hasattr(copy, "forest_")
    assert copy.get_params() == model.get_params()
    assert_same(model, copy.fit(X, constraints=NOISY))


@pytest.mark.parametrize("parameters", SETTINGS)
def test_affinities_are_symmetric_and_those_of_transform(parameters):
    model = coprf(**parameters).fit(X, constraints=NOISY)
    A = model.affinity_matrix_
    np.testing.assert_allclose(A, A.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(A), 1, atol=1e-6)
    np.testing.assert_allclose(model.transform(X), A, atol=1e-5)
    assert A.min() >= 0
    assert A.max() <= 1 + 1e-6


def test_more_entailed_answers_than_are_taken(monkeypatch):
    import clew.similarity.forests._answer_links as module

    monkeypatch.setattr(module, "MAX_ENTAILED", 20)
    model = coprf(mode="hard", share=1.0, trust=None).fit(X, constraints=ANSWERS)
    i, j = ANSWERS.must_link.T
    np.testing.assert_array_equal(model.forest_.leaf[:, i], model.forest_.leaf[:, j])


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "firm"},
        {"share": 0.0},
        {"share": 1.5},
        {"share": "all"},
        {"trust": "blind"},
        {"components": 0},
        {"euclidean": -0.1},
    ],
)
def test_parameters_out_of_range_are_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidParameterError, match=rf"COPRF\({name}={value!r}\): {name} must"):
        COPRF(**wrong).fit(X)
