"""The result of a session: groups, doubts with their chains, exemplars; it never changes."""

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from clew import Answer, Question, Session
from clew.oracles import SimulatedOracle
from clew.session._result import _without_chain

pytestmark = pytest.mark.usefixtures("small_search")

Y = np.repeat([0, 1, 2], 8)
X = np.random.RandomState(0).randn(24, 2) * 0.5 + 4 * np.column_stack([Y == 1, Y == 2])
IDS = [f"item {row:02d}" for row in range(24)]


@pytest.fixture(scope="module")
def answered() -> Session:
    """A session with 60 right answers, followed by two wrong ones."""
    session = Session(X, ids=IDS, random_state=0).run(SimulatedOracle(Y, random_state=0), 60)
    asked = {answer.question.rows for answer in session.answers}
    for ids in (("item 00", "item 08"), ("item 01", "item 02")):
        question = session.question(*ids)
        assert question.rows not in asked
        session.tell(question, "same" if ids[1] == "item 08" else "different", annotator="eve")
    return session


@pytest.mark.slow
def test_wrong_answers_are_doubted_with_the_chain_that_contradicts_them(answered: Session) -> None:
    doubts = answered.result().doubtful_
    assert {doubt.answer.annotator for doubt in doubts} == {"eve"}
    by_ids = {doubt.answer.question.ids: doubt for doubt in doubts}
    assert set(by_ids) == {("item 00", "item 08"), ("item 01", "item 02")}
    for ids, doubt in by_ids.items():
        assert doubt.p_wrong > 0.5
        assert "eve's answer is wrong with probability" in str(doubt)
        if doubt.chain:
            assert (doubt.chain[0], doubt.chain[-1]) == ids
            assert doubt.reason == "other answers imply " + _written(doubt.chain, doubt.reason)
            same = [Y[IDS.index(str(one))] for one in doubt.chain]
            assert len(set(same)) == 1 + ("≠" in doubt.reason)


@pytest.mark.parametrize(
    ("rows", "word", "reason"),
    [
        ((0, 1), "different", "the items are in one group"),
        ((0, 2), "same", "the items are in different groups"),
        ((0, 2), "different", "the groups follow it, but groups that are nearly as likely do not"),
        ((0, 1, 2), "first", "the groups imply another answer"),
    ],
)
def test_a_reason_without_a_chain_agrees_with_the_groups(
    rows: tuple[int, ...], word: str, reason: str
) -> None:
    kind = "pair" if len(rows) == 2 else "odd_one_out"
    answer = Answer(Question(kind, rows), word)
    assert _without_chain(answer, np.array([0, 0, 1])) == reason


def _written(chain: tuple[object, ...], reason: str) -> str:
    marks = [mark for mark in reason if mark in "=≠"]
    steps = [f" {mark} {name}" for mark, name in zip(marks, chain[1:], strict=True)]
    return str(chain[0]) + "".join(steps)


@pytest.mark.slow
def test_taking_a_doubtful_answer_back_removes_the_doubt(answered: Session) -> None:
    session = Session(X, ids=IDS, random_state=0).tell(answered.answers)
    for doubt in session.result().doubtful_:
        session.retract(doubt.answer.question, annotator=doubt.answer.annotator)
    assert session.result().doubtful_ == ()


def test_exemplars_are_ids_of_their_groups(answered: Session) -> None:
    result = answered.result()
    group = dict(zip(result.ids, result.labels_.tolist(), strict=True))
    assert set(result.exemplars_) == set(result.labels_.tolist())
    for at, names in result.exemplars_.items():
        assert 1 <= len(names) <= 3
        assert {group[name] for name in names} == {at}


def test_affinity_holds_the_answered_pairs(answered: Session) -> None:
    affinity = answered.result().affinity_
    dense = affinity.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_array_equal(dense.diagonal(), 1)
    stored = set(zip(*(index.tolist() for index in affinity.tocoo().coords), strict=True))
    assert all(answer.question.rows in stored for answer in answered.answers)
    assert dense[0, 1] > 0.5 > dense[0, 9]


def test_confidences_are_probabilities(answered: Session) -> None:
    confidence = answered.result().confidence_
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert confidence.mean() > 0.8


@pytest.mark.slow
def test_a_result_never_changes(answered: Session) -> None:
    session = Session(X, ids=IDS, random_state=0).run(SimulatedOracle(Y, random_state=0), 20)
    result = session.result()
    before = result.labels_.copy(), result.affinity_.toarray()
    with pytest.raises(ValueError, match="read-only"):
        result.labels_[0] = 5
    with pytest.raises(TypeError):
        result.exemplars_[0] = ()  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.labels_ = before[0]  # type: ignore[misc]
    session.run(SimulatedOracle(Y, error=0.5, random_state=1), 20)
    np.testing.assert_array_equal(result.labels_, before[0])
    np.testing.assert_array_equal(result.affinity_.toarray(), before[1])


def test_a_result_can_be_pickled(answered: Session) -> None:
    result = answered.result()
    copy = pickle.loads(pickle.dumps(result))
    assert copy.to_dict() == result.to_dict()


def test_doubts_without_probabilities_come_from_the_groups() -> None:
    session = Session(X, ids=IDS, strategy="most_probable", n_clusters=3, random_state=0)
    session.run(SimulatedOracle(Y, random_state=0), 30)
    question = session.question("item 00", "item 23")
    session.tell(question, "same", annotator="eve")
    doubtful = {doubt.answer.question.ids for doubt in session.result().doubtful_}
    assert doubtful <= {("item 00", "item 23")}


@pytest.mark.parametrize("known", [{"X": X}, {"items": IDS}])
def test_other_strategies_sample_many_items_too(
    monkeypatch: pytest.MonkeyPatch, known: dict[str, Any]
) -> None:
    sessions = []
    for most in (3000, 16):
        monkeypatch.setattr("clew.session._quality.MOST_ROWS", most)
        session = Session(
            **known, strategy="random", n_clusters=3, check_every=None, random_state=0
        )
        sessions.append(session.run(SimulatedOracle(Y, random_state=0), 30).result())
    of_all, sampled = sessions
    np.testing.assert_array_equal(sampled.labels_, of_all.labels_)
    stored = sampled.affinity_.tocoo()
    assert 24 < stored.nnz < of_all.affinity_.nnz
    np.testing.assert_allclose(stored.data, of_all.affinity_.toarray()[stored.coords], rtol=1e-6)
    if "X" in known:
        np.testing.assert_array_equal(sampled.confidence_, of_all.confidence_)


@pytest.mark.slow
def test_many_items_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.session._quality.MOST_ROWS", 16)
    session = Session(X, ids=IDS, check_every=4, random_state=0)
    result = session.run(SimulatedOracle(Y, random_state=0), 50).result()
    assert result.quality_ is not None
    assert len(result.confidence_) == len(result.labels_) == 24
    assert result.affinity_.shape == (24, 24)
    dense = result.affinity_.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    rows = {answer.question.rows for answer in session.answers if answer.origin == "random"}
    assert len({row for pair in rows for row in pair}) <= 16
    again = Session(X, ids=IDS, check_every=4, random_state=0).tell(session.answers)
    assert again.result().quality_ == result.quality_


def test_answers_of_weight_zero_alone_leave_items_apart() -> None:
    session = Session(items=list("abcd"), random_state=0)
    session.tell(session.question("a", "b"), "same", weight=0.0)
    assert session.result().labels_.tolist() == [0, 1, 2, 3]
