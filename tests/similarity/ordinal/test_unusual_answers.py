"""OrdinalEmbedding: unusual input."""

from __future__ import annotations

import numpy as np
import pytest
from tests.similarity.ordinal.made_answers import (
    N,
    accuracy,
    answers_of,
    pairs,
    triplets,
    true_space,
)

from clew import Answer, Constraints, Question
from clew.answers import DONT_KNOW
from clew.exceptions import (
    InvalidArgumentError,
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.similarity import OrdinalEmbedding


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
