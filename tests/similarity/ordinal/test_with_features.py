"""OrdinalEmbedding with features: new rows, and rows without answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from tests.similarity.ordinal.made_answers import N, accuracy, answers_of, true_space

from clew.similarity import OrdinalEmbedding


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
