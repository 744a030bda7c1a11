"""How the question of an answer was chosen: kept with the answer, and refused if unknown."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from clew import Answer, Constraints, Question
from clew.exceptions import FileFormatError, InvalidConstraintsError
from clew.oracles import SimulatedOracle

PAIRS = [(0, 1, 1), (2, 3, 0), (1, 4, 1)]
MIXED = Constraints(
    5,
    pairs=PAIRS,
    triplets=[(0, 1, 2, 0)],
    odd_one_out=[(0, 1, 2, 2)],
    pair_origins=["random", "asked", "imported"],
    triplet_origins="asked",
)


def test_each_answer_has_an_origin():
    assert MIXED.pair_origins.tolist() == ["random", "asked", "imported"]
    assert MIXED.triplet_origins.tolist() == ["asked"]
    assert MIXED.odd_one_out_origins.tolist() == ["imported"]
    assert Constraints(5, pairs=PAIRS).pair_origins.tolist() == ["imported"] * 3
    assert Constraints(5).pair_origins.tolist() == []
    assert Constraints(5, pairs=PAIRS) + MIXED.select(pairs=[]) != MIXED


@pytest.mark.parametrize("origin", ["asked", np.str_("asked"), " Asked ", ["asked", "asked"]])
def test_constructors_of_one_kind_take_one_origin_or_one_for_each(origin):
    rows = [(0, 1, 2), (1, 2, 3)]
    pairs = Constraints.from_pairs(
        must_link=[(0, 1)], cannot_link=[(1, 2)], n_samples=4, origin=origin
    )
    triplets = Constraints.from_triplets(rows, [0, 1], n_samples=4, origin=origin)
    odd = Constraints.from_odd_one_out(rows, [0, 1], n_samples=4, origin=origin)
    for found in (pairs.pair_origins, triplets.triplet_origins, odd.odd_one_out_origins):
        assert found.tolist() == ["asked", "asked"]


@pytest.mark.parametrize(
    "same",
    [
        lambda c: c.select(pairs=[0, 1, 2]),
        lambda c: c.subset(np.arange(5)),
        lambda c: c.with_tables(c.tables),
        lambda c: c.with_ids(list("abcde")).with_ids(None),
        lambda c: c.with_weights(pair_weights=1.0),
        lambda c: c + Constraints(5),
        lambda c: Constraints(5) + c,
        lambda c: Constraints.from_frame(c.to_frame(), n_samples=5),
        copy.deepcopy,
        lambda c: pickle.loads(pickle.dumps(c)),
    ],
)
def test_answers_keep_their_origin(same):
    assert same(MIXED) == MIXED


def test_answers_keep_their_origin_in_another_order():
    assert MIXED.select(pairs=[2, 0]).pair_origins.tolist() == ["imported", "random"]
    assert MIXED.subset([3, 2]).pair_origins.tolist() == ["asked"]
    # Two pairs follow from the triplet, three from the odd-one-out answer.
    assert MIXED.as_pairs().pair_origins.tolist() == [
        *("random", "asked", "imported"), *["asked"] * 2, *["imported"] * 3,
    ]  # fmt: skip
    joined = MIXED + MIXED.with_origin("random")
    assert joined.pair_origins.tolist() == ["random", "asked", "imported", *["random"] * 3]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_files_hold_the_origin_if_one_is_known(tmp_path, form):
    path = tmp_path / f"answers.{form}"
    for c in (MIXED, MIXED.with_origin("imported")):
        getattr(c, f"to_{form}")(path)
        assert getattr(Constraints, f"read_{form}")(path, n_samples=5) == c
        assert ("origin" in path.read_text()) == (c == MIXED)


def test_answers_and_simulations():
    asked = Answer(Question("pair", (3, 1)), 1, origin="asked")
    c = Constraints.from_answers([asked, Answer(Question("pair", (0, 1)), 1)], n_samples=5)
    assert c.pair_origins.tolist() == ["asked", "imported"]
    y = np.arange(30) % 3
    random = Constraints.from_labels(y, 5, n_triplets=4, n_odd_one_out=3, random_state=0)
    for table in random.tables:
        assert set(table.origins) == {1}
    assert SimulatedOracle(y).answer(asked.question).origin == "random"
    assert SimulatedOracle(y, origin="asked").answer(asked.question).origin == "asked"


def test_unknown_origins_are_refused(tmp_path):
    words = "'active'; use one of imported, random, asked"
    with pytest.raises(InvalidConstraintsError, match=rf"pair_origins\[1\]: .*{words}"):
        Constraints(5, pairs=PAIRS, pair_origins=["asked", "active", "random"])
    with pytest.raises(InvalidConstraintsError, match=r"one for each answer, got \(2,\)"):
        Constraints(5, pairs=PAIRS, pair_origins=["asked", "asked"])
    with pytest.raises(InvalidConstraintsError, match=rf"origin: .*{words}"):
        Constraints.from_pairs(must_link=[(0, 1)], n_samples=2, origin="active")
    with pytest.raises(InvalidConstraintsError, match=words):
        MIXED.with_origin("active")
    with pytest.raises(InvalidConstraintsError, match="unknown origin 3"):
        Answer(Question("pair", (0, 1)), 1, origin=3)
    with pytest.raises(InvalidConstraintsError, match=words):
        SimulatedOracle([0, 1], origin="active")
    (tmp_path / "a.csv").write_text(
        "kind,i,j,answer,origin\npair,0,1,same,\npair,0,2,same,active\n"
    )
    with pytest.raises(FileFormatError, match=rf"line 3: .*{words}"):
        Constraints.read_csv(tmp_path / "a.csv", n_samples=5)
