"""Two to six items, all pairs answered consistently: the groups are what was said, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from clew import Constraints, Session
from clew.answers import DONT_KNOW
from clew.cluster import GuidedClustering
from clew.constraints._closure import implied_partition
from clew.constraints._meanings import TRUTH

pytestmark = pytest.mark.usefixtures("small_search")

NAMES = "abcdef"


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """All partitions of n items, as groups numbered in the order of their first items."""

    def extended(start: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(start) == n:
            yield start
            return
        for group in range(max(start) + 2):
            yield from extended((*start, group))

    yield from extended((0,))


SMALL = [groups for n in range(2, 5) for groups in partitions(n)]
ALL = [groups for n in range(2, 7) for groups in partitions(n)]
every_toy = pytest.mark.parametrize(
    "groups",
    [
        *SMALL,
        *(pytest.param(groups, marks=pytest.mark.slow) for groups in ALL if groups not in SMALL),
    ],
    ids=lambda groups: "".join(NAMES[group] for group in groups),
)


def all_pairs(groups: tuple[int, ...]) -> Constraints:
    """What is said about all pairs of items in these groups."""
    i, j = np.triu_indices(len(groups), 1)
    y = np.array(groups)
    return Constraints(len(groups), pairs=np.column_stack([i, j, y[i] == y[j]]))


def all_odd_ones(groups: tuple[int, ...]) -> Constraints:
    """What is said about all three items that are not of three groups."""
    rows = np.array(list(combinations(range(len(groups)), 3)))
    truth = TRUTH["odd_one_out"](np.array(groups), rows)
    said = truth != DONT_KNOW
    return Constraints(len(groups), odd_one_out=np.column_stack([rows, truth])[said])


def features(groups: tuple[int, ...]) -> Any:
    """Features that have nothing to do with the groups."""
    return np.random.RandomState(len(groups)).normal(size=(len(groups), 2))


def test_there_are_as_many_partitions_as_bell_counted() -> None:
    assert [len(list(partitions(n))) for n in range(1, 7)] == [1, 2, 5, 15, 52, 203]


@pytest.mark.parametrize("n", range(2, 7))
def test_answers_that_decide_every_pair_imply_the_groups(n: int) -> None:
    for groups in partitions(n):
        known = all_pairs(groups)
        found = implied_partition(known)
        assert found is not None, groups
        assert tuple(found.tolist()) == groups
        # One wrong answer contradicts the others, unless no other says anything about its pair.
        codes = known.pair_answers.copy()
        codes[0] = 1 - codes[0]
        changed = Constraints(n, pairs=np.column_stack([known.pairs, codes]))
        assert implied_partition(changed + known) is None, groups


@pytest.mark.parametrize(
    "known",
    [
        Constraints(2),
        Constraints(3, pairs=[(0, 1, 1)]),
        Constraints(3, pairs=[(0, 1, 1), (1, 2, -2)]),
        Constraints(3, pairs=[(0, 1, 0), (1, 2, 0)]),
        Constraints(2, pairs=[(0, 1, 1), (0, 1, 0)]),
        Constraints(2, pairs=[(0, 1, 1)], pair_weights=[0.0]),
        Constraints(4, odd_one_out=[(0, 1, 2, 2)]),
        Constraints(3, pairs=[(0, 1, 1), (0, 2, 0)], odd_one_out=[(0, 1, 2, 0)]),
        Constraints(3, pairs=[(0, 1, 1), (0, 2, 0)], triplets=[(0, 1, 2, 1)]),
        Constraints(3, pairs=[(0, 1, 0), (0, 2, 0), (1, 2, 0)], odd_one_out=[(0, 1, 2, -1)]),
    ],
    ids=[
        "no answers", "a row without", "dont_know", "an open pair", "a contradiction", "weight 0",
        "a row in no question", "another odd one", "another triplet", "not all alike",
    ],
)  # fmt: skip
def test_answers_that_leave_a_choice_imply_no_groups(known: Constraints) -> None:
    assert implied_partition(known) is None


def test_what_is_entailed_and_what_does_not_contradict_need_not_be_said() -> None:
    known = Constraints(
        4,
        pairs=[(0, 1, 1), (2, 3, 1), (1, 2, 0), (0, 3, -2)],
        triplets=[(0, 1, 2, 0), (0, 2, 3, 1)],
        odd_one_out=[(0, 1, 3, 2), (0, 1, 2, -2)],
    )
    found = implied_partition(known)
    assert found is not None
    assert found.tolist() == [0, 0, 1, 1]


@every_toy
def test_answers_alone_give_what_was_said(groups: tuple[int, ...]) -> None:
    model = GuidedClustering(random_state=0).fit(constraints=all_pairs(groups))
    assert model.n_violated_ == 0
    assert model.n_clusters_ == len(set(groups))


@pytest.mark.parametrize(
    "groups",
    [groups for groups in ALL if len(groups) in (3, 4) and len({*groups}) < len(groups)],
    ids=lambda groups: "".join(NAMES[group] for group in groups),
)
@pytest.mark.filterwarnings("ignore::clew.exceptions.NoGroupsWarning")
def test_odd_ones_alone_give_what_was_said(groups: tuple[int, ...]) -> None:
    model = GuidedClustering(random_state=0).fit(constraints=all_odd_ones(groups))
    assert tuple(model.labels_.tolist()) == groups


def test_triplets_about_three_items_give_groups() -> None:
    known = Constraints(3, triplets=[(0, 1, 2, 0)])
    assert GuidedClustering(random_state=0).fit(constraints=known).labels_.tolist() == [0, 0, 1]


@every_toy
def test_features_do_not_outweigh_what_was_said(groups: tuple[int, ...]) -> None:
    model = GuidedClustering(random_state=0).fit(features(groups), constraints=all_pairs(groups))
    assert model.n_violated_ == 0
    assert model.n_clusters_ == len(set(groups))


@every_toy
@pytest.mark.parametrize("has_features", [False, True], ids=["alone", "features"])
def test_a_session_groups_as_it_was_told(groups: tuple[int, ...], has_features: bool) -> None:
    names = list(NAMES[: len(groups)])
    data = {"X": features(groups), "ids": names} if has_features else {"items": names}
    session = Session(**data, random_state=0)
    known = all_pairs(groups)
    for (i, j), code in zip(known.pairs.tolist(), known.pair_answers.tolist(), strict=True):
        session.tell(session.question(names[i], names[j]), code)
    assert tuple(session.result().labels_.tolist()) == groups
