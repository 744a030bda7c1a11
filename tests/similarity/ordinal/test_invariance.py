"""OrdinalEmbedding: what must not matter, and how answers are weighted."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import clone
from tests.similarity.ordinal.made_answers import ALL, N, accuracy, answers_of, true_space

from clew import Constraints
from clew.answers import DONT_KNOW
from clew.similarity import OrdinalEmbedding
from clew.similarity.ordinal import _choose, _solver


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
    monkeypatch.setattr(_choose, "MAX_ANSWERS_AT_ONCE", 1000)
    monkeypatch.setattr(_solver, "BLOCK_ANSWERS", 500)
    a, b = both(known, known)
    np.testing.assert_array_equal(a.embedding_, b.embedding_)
    assert accuracy(a, fresh) > accuracy(at_once, fresh) - 0.02
