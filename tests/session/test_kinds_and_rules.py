"""Sessions that ask about groups, in minutes; rules as annotators."""

import numpy as np
import pandas as pd
import pytest

from clew import Session
from clew.answers import Answer, Edit, Question, SecondsModel
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError, InvalidParameterError
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle

pytestmark = pytest.mark.usefixtures("small_search")

RANDOM = np.random.RandomState(0)
Y = np.repeat(np.arange(6), 8)
X = RANDOM.normal(size=(6, 4))[Y] * 2.0 + RANDOM.normal(size=(48, 4))
IDS = [f"item {row}" for row in range(48)]


def session_of(**parameters):
    return Session(X, ids=IDS, random_state=0, **parameters)


@pytest.mark.slow
def test_auto_asks_which_of_and_every_20th_a_random_pair():
    session = session_of(kinds="auto", repeat_every=None)
    session.run(SimulatedOracle(Y, seconds=SecondsModel(), random_state=0), 60)
    kinds = [answer.question.kind for answer in session.answers]
    assert kinds.count("which_of") > 35
    checks = [answer for answer in session.answers if answer.question.origin == "random"]
    assert {answer.question.kind for answer in checks} == {"pair"}
    assert len(checks) == 3
    result = session.result()
    assert adjusted_rand_score(Y, result.labels_) > 0.9
    assert result.n_answers == 60


def test_a_choice_in_words_is_learned_and_taken_back():
    session = session_of(kinds=("which_of", "confirm"))
    (question,) = session.ask(1)
    assert question.ids == tuple(IDS[row] for row in question.rows)
    session.tell(question, "none_of_these", annotator="ann")
    assert [answer.question for answer in session.strategy.answers] == [question]
    session.undo("ann")
    assert session.strategy.answers == ()


def test_dont_know_leads_to_other_questions():
    session = session_of(kinds=("which_of",), repeat_every=None)
    seen = set()
    for _ in range(12):
        (question,) = session.ask(1)
        assert question not in seen
        seen.add(question)
        session.tell(question, "dont_know")
    with pytest.raises(InvalidConstraintsError, match="none_of_these"):
        session.tell(question, "same")


def test_items_that_cannot_be_judged_are_no_examples_either():
    session = session_of(kinds=("which_of",), check_every=None, repeat_every=None)
    session.set_aside([IDS[0], IDS[8]])
    bad = set()
    for _ in range(6):
        (question,) = session.ask(1)
        assert not {IDS[0], IDS[8], *bad} & set(question.ids)
        bad.add(question.ids[1])
        answer = Answer(question, "bad_item", bad=(question.ids[1],))
        session.tell(answer)


def test_a_locked_group_is_still_shown():
    session = session_of(kinds=("which_of",), check_every=None, repeat_every=None)
    session.edit(Edit("lock", IDS[:8]))
    shown = set()
    for question in session.suggest(40):
        rows = question.question.rows
        assert rows[0] >= 8 or not set(rows[1:]) & set(range(8))
        shown |= set(rows[1:])
    assert shown & set(range(8))


@pytest.mark.slow
def test_each_person_is_asked_what_that_person_answers_fast():
    session = session_of(kinds="auto", check_every=None, repeat_every=None)
    pairs = [Question("pair", (a, a + 8)) for a in range(40)]
    groups = [Question("which_of", (a, a + 8), parts=(1, 1)) for a in range(40)]
    for name, of_pair, of_groups in (("quick", 400, 20_000), ("usual", 2000, 1600)):
        session.tell([Answer(q, "dont_know", name, ms=of_pair) for q in pairs])
        session.tell([Answer(q, "dont_know", name, ms=of_groups) for q in groups])
    assert session.ask(1, annotator="quick")[0].kind == "pair"
    assert session.ask(1, annotator="usual")[0].kind == "which_of"


def test_unknown_kinds_are_refused():
    with pytest.raises(InvalidParameterError, match="'auto' or a list"):
        session_of(kinds="which_of")
    with pytest.raises(InvalidParameterError, match="pairs only"):
        session_of(kinds="auto", strategy="random")


def judged(session, name):
    return [answer for answer in session.strategy.answers if answer.annotator == name]


@pytest.mark.slow
def test_a_rule_is_trusted_as_far_as_checks_in_its_scope_agree():
    session = session_of(check_every=10, repeat_every=None)
    session.add_rule("good", lambda row: row // 8, meta=range(48))
    session.add_rule("bad", lambda row: row % 8, meta=range(48))
    before = {name: judged(session, name)[0].weight for name in ("good", "bad")}
    assert 0 < before["good"] == before["bad"] <= 0.2
    session.run(SimulatedOracle(Y, random_state=0), 110, batch=5)
    assert judged(session, "good")[0].weight >= 0.4
    assert judged(session, "bad")[0].weight == 0
    drawn = [a.question for a in session.answers if a.question.check and a.origin == "asked"]
    assert 7 <= len(drawn) <= 24
    for question in drawn:
        i, j = question.rows
        assert i // 8 == j // 8 or i % 8 == j % 8
    assert session.result().n_answers == 110  # a rule is no person
    # The rule is replaced, and people's answers stay.
    session.add_rule("bad", [(IDS[0], IDS[1])], "same")
    assert len(judged(session, "bad")) == 1
    assert session.undo() is not None
    assert len(judged(session, "bad")) == 1


def test_bad_rules_are_refused():
    session = session_of()
    session.tell(session.question(IDS[0], IDS[1]), "same", annotator="ann")
    with pytest.raises(InvalidArgumentError, match="has answered"):
        session.add_rule("ann", [(IDS[0], IDS[2])])
    with pytest.raises(InvalidConstraintsError, match="no row with the id"):
        session.add_rule("rule", [("item 0", "nothing")])
    with pytest.raises(InvalidConstraintsError, match="judges no pair"):
        session.add_rule("rule", lambda name: None)
    with pytest.raises(InvalidConstraintsError, match="cannot be compared"):
        session.add_rule("rule", lambda name: [name])


@pytest.mark.parametrize("missing", [None, np.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_items_of_which_the_key_is_missing_have_nothing_in_common(missing):
    photos = pd.DataFrame({"photo": ["a", "a", "b", "b", *[missing] * 44]}, dtype=object)
    session = session_of().add_rule("photo", lambda row: row["photo"], "different", meta=photos)
    assert [answer.question.rows for answer in session.answers] == [(0, 1), (2, 3)]
    session.add_rule("photo", lambda photo: photo, "different", meta=photos["photo"])
    assert [answer.question.rows for answer in session.answers] == [(0, 1), (2, 3)]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_wrong_rule_does_not_lower_the_result(seed):
    random = np.random.RandomState(seed)
    wrong = np.where(random.random_sample(48) < 0.3, random.randint(0, 6, 48), Y)
    scores = []
    for has_rule in (False, True):
        session = session_of(check_every=10, repeat_every=None)
        if has_rule:
            session.add_rule("model", wrong.tolist().__getitem__, meta=range(48))
        session.run(SimulatedOracle(Y, error=0.05, random_state=seed), 110, batch=10)
        scores.append(adjusted_rand_score(Y, session.result().labels_))
    assert scores[1] >= scores[0] - 0.02
