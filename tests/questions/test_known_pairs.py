"""What answers imply does not depend on the portions in which they arrive."""

import numpy as np

from clew import Answer, Question
from clew.questions import COBRAS
from clew.questions._answers import KnownPairs


def implied(known: KnownPairs) -> tuple[list[int], list[list[int]], dict[tuple[int, int], float]]:
    closure = known.closure
    return closure.component.tolist(), closure.cannot_link_components.tolist(), known.votes


def test_answers_in_portions_imply_the_same_as_all_at_once() -> None:
    random = np.random.RandomState(0)
    for _ in range(60):
        answers = [
            Answer(
                Question("pair", tuple(random.choice(4, 2, replace=False).tolist())),
                int(random.randint(2)),
                weight=float(random.choice([0.5, 1.0])),
            )
            for _ in range(random.randint(2, 12))
        ]
        whole, single = KnownPairs(4), KnownPairs(4)
        whole.add(answers)
        for answer in answers:
            single.add([answer])
        assert implied(single) == implied(whole)


def test_votes_that_cancel_out_keep_their_place_in_the_order() -> None:
    def pair(i: int, j: int, word: str) -> Answer:
        return Answer(Question("pair", (i, j)), word)

    known = KnownPairs(3)
    known.add([pair(0, 1, "same"), pair(0, 1, "different")])  # no answer yet, but the first pair
    known.add([pair(1, 2, "same"), pair(0, 2, "different")])
    known.add([pair(0, 1, "same")])
    assert known.set_aside == [(0, 2)]


def test_cobras_has_one_group_before_the_first_answer() -> None:
    started = COBRAS(random_state=0).start(np.arange(8.0)[:, None])
    assert (started.labels() == 0).all()
