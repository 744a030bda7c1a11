"""From one question to the next: what each part does with an answer."""

from __future__ import annotations

import numpy as np
from tests.session.small import IDS, N, oracle, session

from clew.answers import Retraction
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
