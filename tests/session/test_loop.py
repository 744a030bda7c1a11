"""From one question to the next: what each part does with an answer."""

import numpy as np
import pytest
from tests.session.small import IDS, N, oracle, session

from clew import Session
from clew.answers import Answer, Retraction, entry_from_json, entry_to_json
from clew.oracles import SimulatedOracle
from clew.questions import ActiveSubclustering
from clew.questions._answers import key_of


def test_the_way_from_an_answer_to_the_next_question() -> None:
    asking = session(check_every=None)
    (first,) = asking.ask(annotator="ann")

    # The queue knows who is asked; nothing is in the log, and the strategy has learned nothing.
    loop = asking._loop
    assert loop.queue.with_annotator("ann") == [first]
    assert asking.answers == asking.strategy.answers == ()

    # `tell` records: the log has the answer, and the question is closed. The strategy waits.
    strategy = asking.strategy
    asking.tell(first, "same", annotator="ann")
    (answer,) = asking.answers
    assert answer.question == first
    assert answer.annotator == "ann"
    assert not loop.queue.with_annotator("ann")
    assert strategy.answers == ()

    # The next `ask` lets the strategy learn the log, and choose what the answer does not imply.
    (second,) = asking.ask(annotator="ann")
    assert strategy.answers == asking.answers
    assert bool(strategy.known.closure.is_same(*np.array(first.rows)[:, None])[0])
    assert key_of(second) != key_of(first)

    # `undo` appends a retraction; the next call learns the answers that are left, and asks again.
    assert asking.undo("ann") == answer
    first_entry, retraction = asking.log
    assert first_entry == answer
    assert isinstance(retraction, Retraction)
    assert retraction.revokes == first_entry.id
    assert asking.ask(annotator="ann") == [first]
    assert asking.strategy.answers == ()
    assert bool(strategy.known.is_unknown(np.array([first.rows]))[0])


@pytest.mark.slow
def test_examples_are_shown_beside_one_item_of_a_pair() -> None:
    """They are of its settled group; the answer is about the item, and is kept with them."""
    random = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], 12)
    X = 8 * np.eye(3)[y] + random.normal(size=(36, 3))
    names = [f"item {row}" for row in range(36)]
    asking = Session(X, ids=names, random_state=0)
    without = Session(X, ids=names, n_examples=0, random_state=0)
    right = SimulatedOracle(y, random_state=0)
    shown = 0
    for n in range(44):
        for one in (asking, without):
            (question,) = one.ask(annotator="ann")
            one.tell(question, right.answer(question).value, annotator="ann")
        assert question.examples == ()
        (asked, *_) = [answer.question for answer in asking.answers[::-1]]
        assert n >= 20 or not asked.examples  # the groups are those of the features alone
        if asked.examples:
            shown += 1
            rows = [names.index(str(name)) for name in asked.examples]
            assert len(set(rows)) == 3
            assert set(rows).isdisjoint(asked.rows)
            assert (y[rows] == y[asked.rows[0]]).all()
    assert shown > 7
    log = [entry_from_json(entry_to_json(entry)) for entry in asking.log]
    again = Session(X, ids=names, random_state=0)
    again.apply(log)
    kept = [each.question.examples for each in log if isinstance(each, Answer)]
    assert [each.question.examples for each in again.answers] == kept
    assert sum(map(bool, kept)) == shown


def test_items_that_active_subclustering_leaves_out_are_in_no_group() -> None:
    strategy = ActiveSubclustering(3, size=4, random_state=0)
    result = session(strategy=strategy, check_every=4).run(oracle(), 24).result()
    is_out = result.labels_ < 0
    assert is_out.sum() == N - 3 * 4
    assert not result.confidence_[is_out].any()
    shown = {name for names in result.exemplars_.values() for name in names}
    assert shown <= {name for name, left_out in zip(IDS, is_out, strict=True) if not left_out}
    assert result.quality_ is not None
    assert set(result.quality_.groups) == {0, 1, 2}
