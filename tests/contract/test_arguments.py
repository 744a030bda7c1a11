"""Answers go to `fit`, `fit_predict` and `fit_transform` by name; as `y` they are refused."""

import inspect
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.contract.methods import ANSWERS, GUIDED, UNGUIDED, N, X, every, guided, result, y

from clew import Answer, Constraints, Question
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError
from clew.metrics import n_violated
from clew.trust import answer_evidence, constraint_inconsistency, out_of_bag_vote

pytestmark = pytest.mark.usefixtures("small_search")

PAIRS = [(0, 1), (2, 3)]
AS_Y = {
    "constraints": ANSWERS["pairs"],
    "no constraints": Constraints(N),
    "pairs": PAIRS,
    "pairs with answers": [(0, 1, 1), (2, 3, 0)],
    "as many pairs as rows": [(row, 0) for row in range(1, N + 1)],
    "lists": [[0, 1], [2, 3]],
    "an array of pairs": np.array(PAIRS),
    "an array of as many pairs as rows": np.array([(row, 0) for row in range(1, N + 1)]),
    "as many words as rows": pd.Series(["same", "different", "dont_know"] * N)[:N],
    "a table of as many answers as rows": pd.DataFrame({"i": range(N), "j": 0}),
    "words": {"must_link": PAIRS},
    "a file": "answers.csv",
    "answers": [Answer(Question("pair", (0, 1)), 1)] * N,
}
METHODS = ("fit", "fit_predict", "fit_transform")


@pytest.mark.parametrize("method", [m for m, _ in GUIDED])
def test_answers_as_first_argument_are_refused(method):
    with pytest.raises(InvalidArgumentError, match="got constraints as its first argument, X"):
        clone(method).fit(Constraints(N))


@every
def test_answers_as_second_argument_are_refused(method):
    model = clone(method)
    calls = [getattr(model, name) for name in METHODS if hasattr(model, name)]
    wanted = (
        r"fit\(X, constraints=constraints\)" if "constraints" in _names(model.fit) else "no answers"
    )
    for call, given in product(calls, AS_Y):
        with pytest.raises(InvalidArgumentError, match=rf"{type(method).__name__} .* {wanted}"):
            call(X, AS_Y[given])
        with pytest.raises(TypeError, match="y, which is ignored"):
            call(X, y=AS_Y[given])
    assert not hasattr(model, "n_features_in_")


@every
def test_labels_as_second_argument_are_ignored(method):
    without = result(clone(method).fit(X))
    for labels in (y, y.tolist(), y[:, None], y.astype(str), y.astype(object)):
        np.testing.assert_array_equal(result(clone(method).fit(X, labels)), without)


@guided
def test_fit_predict_and_fit_transform_take_answers(method, honored):
    kind = next(iter(sorted(honored)), None)
    given = {"constraints": ANSWERS[kind] if kind else None}
    model = clone(method).fit(X, **given)
    if hasattr(model, "labels_"):
        found = clone(method).fit_predict(X, **given)
        np.testing.assert_array_equal(found, model.labels_)
    if hasattr(model, "fit_transform"):
        found = clone(method).fit_transform(X, **given)
        # Positions learned from answers alone have no `transform`.
        expected = model.transform(X) if hasattr(model, "transform") else model.embedding_
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", [type(m) for m, _ in GUIDED] + [type(m) for m in UNGUIDED])
def test_the_three_methods_have_one_signature(method):
    names = _names(method.fit)
    for name in METHODS[1:]:
        if hasattr(method, name):
            assert _names(getattr(method, name)) == names
    assert names[:2] == ["X", "y"]
    assert "self" not in names


def _names(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]


@guided
def test_rows_in_another_order_than_the_ids_of_the_answers_are_refused(method, honored):
    kind = next(iter(sorted(honored)), "pairs")
    names = [f"row {at}" for at in range(N)]
    answers = ANSWERS[kind].with_ids(names)
    frame = pd.DataFrame(X, index=names)
    with pytest.raises(InvalidConstraintsError, match=r"row 0 of X is 'row .*' by its index"):
        clone(method).fit(frame[::-1], constraints=answers)
    if honored:
        in_order = clone(method).fit(frame, constraints=answers)
        expected = result(clone(method).fit(X, constraints=answers))
        np.testing.assert_array_equal(result(in_order), expected)


@pytest.mark.parametrize(
    "function", [answer_evidence, out_of_bag_vote, constraint_inconsistency, n_violated]
)
def test_functions_refuse_rows_in_another_order_than_the_ids_of_the_answers(function):
    names = [f"row {at}" for at in range(N)]
    answers = ANSWERS["pairs"].with_ids(names)
    rows = pd.Series(y, index=names) if function is n_violated else pd.DataFrame(X, index=names)
    with pytest.raises(InvalidConstraintsError, match=r"row 0 of X is 'row .*' by its index"):
        function(rows[::-1], answers)
