"""Every method × every kind of answer: honored, or refused with an error."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from tests.contract.methods import ANSWERS, GUIDED, UNGUIDED, N, X, every, guided, result, y

import clew.cluster
import clew.similarity
import clew.trust
from clew import Constraints
from clew.cluster import HACC, ConstrainedLinkage, COPKMeans
from clew.constraints import _records
from clew.constraints._tables import kinds_in
from clew.exceptions import (
    ClewError,
    DeadEndWarning,
    FewerGroupsWarning,
    InconsistentConstraintsError,
    InfeasibleConstraintsError,
    InvalidConstraintsError,
    UnsupportedConstraintError,
)
from clew.metrics import n_violated
from clew.similarity import COPRF

pytestmark = pytest.mark.usefixtures("small_search")

#: Methods that violate no answer, with the error or warning if they cannot satisfy all.
HARD = {
    ConstrainedLinkage: {
        "one component": InvalidConstraintsError,
        "all apart": DeadEndWarning,
        "a contradiction": InconsistentConstraintsError,
    },
    HACC: {
        "one component": FewerGroupsWarning,
        "all apart": DeadEndWarning,
        "a contradiction": InconsistentConstraintsError,
    },
    COPKMeans: {
        "one component": InvalidConstraintsError,
        "all apart": InfeasibleConstraintsError,
        "a contradiction": InconsistentConstraintsError,
    },
}
FUNCTIONS = [
    clew.trust.constraint_inconsistency,
    clew.trust.out_of_bag_vote,
    clew.trust.answer_evidence,
]
HONORING = [m for m, kinds in GUIDED if "pairs" in kinds]
FORESTS = HONORING[:3]
honoring = pytest.mark.parametrize("method", HONORING)
with_forests = pytest.mark.parametrize("method", FORESTS, ids=["soft", "hard", "joined"])
hard = pytest.mark.parametrize("method", [m for m in HONORING if type(m) in HARD])


def test_every_public_estimator_is_tested():
    public = {
        thing
        for package in (clew.similarity, clew.cluster)
        for thing in (getattr(package, name) for name in package.__all__)
        if inspect.isclass(thing) and issubclass(thing, BaseEstimator)
    }
    assert public == {type(m) for m, _ in GUIDED} | {type(m) for m in UNGUIDED}
    takes_answers = {c for c in public if "constraints" in inspect.signature(c.fit).parameters}
    assert takes_answers == {type(m) for m, _ in GUIDED}


@guided
@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_are_honored_or_refused(method, honored, kind):
    model = clone(method)
    if kind in honored:
        assert len(result(model.fit(X, constraints=ANSWERS[kind]))) == N
        return
    with pytest.raises(UnsupportedConstraintError) as caught:
        model.fit(X, constraints=ANSWERS[kind])
    assert type(method).__name__ in str(caught.value)
    assert kind in str(caught.value)
    assert isinstance(caught.value, ClewError)
    assert isinstance(caught.value, ValueError)


@guided
def test_a_fit_examines_the_same_answers_once(method, honored, monkeypatch):
    examined = []
    monkeypatch.setattr(
        _records, "kinds_in", lambda tables: examined.append(tables) or kinds_in(tables)
    )
    known = next(
        (ANSWERS[kind] for kind in ANSWERS if kind in honored), Constraints(N)
    ) + Constraints(N)
    clone(method).fit(X, np.zeros(N), constraints=known)
    assert sum(tables is known.tables for tables in examined) == 1


@pytest.mark.parametrize(
    "method", [m for m, kinds in GUIDED if "pairs" in kinds and "triplets" not in kinds]
)
def test_one_triplet_among_many_pairs_is_enough_to_refuse(method):
    with pytest.raises(UnsupportedConstraintError, match="triplets"):
        clone(method).fit(X, constraints=ANSWERS["pairs"] + ANSWERS["triplets"])


@pytest.mark.parametrize("method", UNGUIDED)
def test_methods_without_answers_take_none(method):
    for name in ("fit", "fit_predict", "fit_transform"):
        if hasattr(method, name):
            named = (
                rf"{type(method).__name__}\.{name}\(\) takes no answers .* GuidedClustering does"
            )
            with pytest.raises(TypeError, match=named):
                getattr(clone(method), name)(X, constraints=ANSWERS["pairs"])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_trust_honors_pairs_or_refuses(function):
    for kind in ("pairs", "dont_know"):
        assert len(function(X, ANSWERS[kind], n_trees=8, random_state=0)) == len(ANSWERS[kind])
    for kind in ("triplets", "odd_one_out"):
        with pytest.raises(UnsupportedConstraintError, match=kind):
            function(X, ANSWERS[kind])


@guided
def test_answers_about_another_number_of_rows_are_refused(method, honored):
    for n_samples in (N - 1, N + 1):
        c = Constraints.from_pairs(must_link=[(0, 1)], n_samples=n_samples)
        with pytest.raises(InvalidConstraintsError, match=rf"{n_samples} rows.* {N}"):
            clone(method).fit(X, constraints=c)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_trust_refuses_answers_about_another_number_of_rows(function):
    with pytest.raises(InvalidConstraintsError, match=f"{N - 1} rows"):
        function(X, Constraints(N - 1))


@every
def test_a_refit_that_raises_leaves_the_model_unchanged(method):
    model = clone(method).fit(X)
    before, state = result(model).copy(), dict(model.__dict__)
    asks = [getattr(model, name) for name in ("transform", "predict") if hasattr(model, name)]
    said = [ask(X) for ask in asks]
    for wrong in (np.full((N, 5), np.nan), np.ones((1, 5)), np.where(np.eye(N, 5), np.nan, 1)):
        with pytest.raises(ValueError, match=r"NaN|minimum"):
            model.fit(wrong)
    if hasattr(model, "supports"):
        with pytest.raises(TypeError, match="Constraints"):
            model.fit(np.column_stack([X, X]), constraints="answers")
    assert model.n_features_in_ == state["n_features_in_"] == 3
    assert dict(model.__dict__).keys() == state.keys()
    np.testing.assert_array_equal(result(model), before)
    for ask, expected in zip(asks, said, strict=True):
        np.testing.assert_array_equal(ask(X), expected)


@guided
@pytest.mark.parametrize("wrong", [[(0, 1)], np.eye(N), {"must_link": [(0, 1)]}, "answers.csv"])
def test_answers_of_another_type_are_refused(method, honored, wrong):
    with pytest.raises(TypeError, match=rf"{type(method).__name__}: constraints must be a clew"):
        clone(method).fit(X, constraints=wrong)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_trust_refuses_answers_of_another_type(function):
    with pytest.raises(TypeError, match=r"clew\.Constraints"):
        function(X, [(0, 1)])


@guided
def test_constraints_without_answers_equal_none(method, honored):
    empty, none = Constraints(N), None
    a, b = (result(clone(method).fit(X, constraints=c)) for c in (empty, none))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, result(clone(method).fit(X)))


@with_forests
def test_answers_change_the_result(method):
    # Labels may agree accidentally; affinities do not.
    model = clone(method).fit(X, constraints=ANSWERS["pairs"])
    without = clone(method).fit(X)
    forests = [getattr(m, "similarity_", m).forest_.leaf for m in (model, without)]
    assert not np.array_equal(*forests)


EXTREME = {
    "only must-links": {"must_link": [(0, 1), (2, 3), (4, 9)]},
    "only cannot-links": {"cannot_link": [(0, 1), (2, 3), (4, 9)]},
    "one must-link": {"must_link": [(0, 1)]},
    "one cannot-link": {"cannot_link": [(0, 1)]},
    "one component": {"must_link": [(i, i + 1) for i in range(N - 1)]},
    "all apart": {"cannot_link": [(i, j) for i in range(N) for j in range(i)]},
    "a contradiction": {"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]},
    "the same answer twice": {"must_link": [(0, 1), (1, 0), (0, 1)]},
}


@with_forests
@pytest.mark.parametrize("case", EXTREME)
@pytest.mark.parametrize("trust", ["auto", "posterior", "inconsistency"])
def test_answers_of_extreme_kinds_work(method, case, trust):
    model = clone(method)
    name = "similarity__trust" if "similarity" in model.get_params() else "trust"
    c = Constraints.from_pairs(**EXTREME[case], n_samples=N)
    model.set_params(**{name: trust})
    is_hard = "hard" in (model.get_params().get("mode"), model.get_params().get("similarity__mode"))
    if is_hard and case == "a contradiction" and trust != "inconsistency":
        with pytest.raises(InconsistentConstraintsError, match="0 = 1 = 2"):
            model.fit(X, constraints=c)
        return
    out = result(model.fit(X, constraints=c))
    assert len(out) == N
    assert np.isfinite(out).all()


@hard
@pytest.mark.parametrize("case", EXTREME)
def test_hard_methods_satisfy_every_answer_or_raise(method, case):
    c = Constraints.from_pairs(**EXTREME[case], n_samples=N)
    said = HARD[type(method)].get(case)
    model = clone(method)
    if said is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeadEndWarning)
            model.fit(X, constraints=c)
    elif issubclass(said, Warning):
        with pytest.warns(said):
            model.fit(X, constraints=c)
    else:
        with pytest.raises(said):
            model.fit(X, constraints=c)
        return
    assert model.n_violated_ == n_violated(model.labels_, c) == 0


@hard
def test_hard_methods_follow_answers_against_the_data(method):
    opposite = (y + (X[:, 0] > np.median(X[:, 0]))) % 2
    c = Constraints.from_labels(opposite, 30, random_state=0)
    model = clone(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeadEndWarning)
        model.fit(X, constraints=c)
    assert n_violated(clone(method).fit(X).labels_, c) > 0
    assert model.n_violated_ == n_violated(model.labels_, c) == 0


def test_hard_trees_have_one_leaf_if_must_links_join_all_rows():
    c = Constraints.from_pairs(**EXTREME["one component"], n_samples=N)
    model = COPRF(n_trees=8, mode="hard", share=1.0, trust=None, euclidean=0.0, random_state=0)
    np.testing.assert_array_equal(model.fit(X, constraints=c).affinity_matrix_, 1)
