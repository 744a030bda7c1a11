"""Constraints: how answers are given and kept; degrees of likeness; origins of questions."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from clew import Answer, Constraints, Question
from clew.answers import DONT_KNOW
from clew.constraints._support import fold_numbers
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


@pytest.fixture
def mixed() -> Constraints:
    return Constraints(
        8,
        pairs=[(3, 1, 1), (1, 3, 0), (0, 7, -2), (2, 5, 0)],
        triplets=[(5, 1, 0, 1), (2, 4, 3, -2)],
        odd_one_out=[(6, 1, 4, 2), (0, 1, 2, -1)],
        pair_weights=[1, 0.5, 0.25, 0],
        pair_annotators=["bob", "ann", "ann", "bob"],
        odd_one_out_annotators=["cy", "ann"],
    )


def test_columns(mixed):
    assert mixed.n_samples == 8
    assert len(mixed) == 8
    np.testing.assert_array_equal(mixed.pairs, [(1, 3), (1, 3), (0, 7), (2, 5)])
    np.testing.assert_array_equal(mixed.pair_answers, [1, 0, -2, 0])
    np.testing.assert_array_equal(mixed.pair_weights, [1, 0.5, 0.25, 0])
    np.testing.assert_array_equal(mixed.must_link, [(1, 3)])
    np.testing.assert_array_equal(mixed.cannot_link, [(1, 3), (2, 5)])
    np.testing.assert_array_equal(mixed.is_dont_know, [False, False, True, False])
    # Triplets and odd-one-out keep the order asked: their answers are positions in it.
    np.testing.assert_array_equal(mixed.triplets, [(5, 1, 0), (2, 4, 3)])
    np.testing.assert_array_equal(mixed.odd_one_out, [(6, 1, 4), (0, 1, 2)])
    np.testing.assert_array_equal(mixed.odd_one_out_weights, [1, 1])
    assert mixed.annotators == ("", "ann", "bob", "cy")
    assert [mixed.annotators[code] for code in mixed.pair_annotators] == [
        "bob",
        "ann",
        "ann",
        "bob",
    ]


def test_integer_annotators_in_use_from_zero_on_are_their_own_codes():
    ids = [10, 2, 0, 1, 3, 4, 5, 6, 7, 8, 9]
    c = Constraints(3, pairs=[(0, 1, 1)] * 11, pair_annotators=ids)
    np.testing.assert_array_equal(c.pair_annotators, ids)
    assert c.annotators[10] == "10"


def test_arrays_and_attributes_are_read_only_also_after_copies(mixed):
    for c in (mixed, pickle.loads(pickle.dumps(mixed)), copy.deepcopy(mixed), mixed + mixed):
        for array in (c.pairs, c.pair_answers, c.pair_weights, c.triplets, c.odd_one_out_answers):
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(AttributeError, match="frozen"):
            c.n_samples = 3
        with pytest.raises(AttributeError, match="frozen"):
            del c.pairs


def test_the_callers_arrays_are_neither_changed_nor_shared():
    pairs = np.array([(3, 1, 1), (2, 0, 0)])
    weights = np.array([0.5, 1.0])
    c = Constraints(4, pairs=pairs, pair_weights=weights)
    np.testing.assert_array_equal(pairs, [(3, 1, 1), (2, 0, 0)])
    pairs[:] = 0
    weights[:] = 0
    np.testing.assert_array_equal(c.pairs, [(1, 3), (0, 2)])
    np.testing.assert_array_equal(c.pair_weights, [0.5, 1.0])


def test_equality_compares_answers_and_annotators(mixed):
    assert mixed == pickle.loads(pickle.dumps(mixed))
    assert mixed != mixed.with_weights(pair_weights=[0, 0, 0, 0])
    assert mixed != Constraints(8)
    assert Constraints(8) != Constraints(9)
    assert mixed != "mixed"
    # Codes may differ where names agree.
    one = Constraints(3, pairs=[(0, 1, 1)], pair_annotators=["zoe"])
    both = Constraints(3, pairs=[(0, 1, 1), (1, 2, 1)], pair_annotators=["zoe", "ann"])
    assert both.select(pairs=[True, False]) == one
    other = Constraints(3, pairs=[(0, 1, 1)], pair_annotators=["ann"])
    assert one != other


def test_constraints_may_be_empty():
    for c in (
        Constraints(5),
        Constraints(5, pairs=[]),
        Constraints(5, pairs=np.empty((0, 3))),
        Constraints.from_pairs(n_samples=5),
        Constraints.from_pairs(must_link=[], cannot_link=np.empty((0, 2)), n_samples=5),
        Constraints.from_triplets([], [], n_samples=5),
        Constraints.from_odd_one_out(np.empty((0, 3)), [], n_samples=5),
        Constraints.from_answers([], n_samples=5),
        Constraints.from_labels([0, 1, 0, 1, 0]),
    ):
        assert c == Constraints(5)
        assert len(c) == 0
        assert c  # not to be taken for None
        assert c.must_link.shape == c.cannot_link.shape == (0, 2)
        assert c.conflicts() == []
    assert len(Constraints(0)) == 0


def test_pairs_may_come_from_an_iterator():
    c = Constraints.from_pairs(must_link=zip([0, 2], [1, 3], strict=True), n_samples=4)
    assert c == Constraints.from_pairs(must_link=[(0, 1), (2, 3)], n_samples=4)
    assert len(Constraints.from_pairs(cannot_link={(0, 1), (2, 3)}, n_samples=4)) == 2


def test_from_pairs_keeps_repeats_in_order():
    c = Constraints.from_pairs(
        must_link=[(4, 1), (1, 4)], cannot_link=[(0, 1)], dont_know=[(2, 3)], n_samples=5
    )
    np.testing.assert_array_equal(c.pairs, [(1, 4), (1, 4), (0, 1), (2, 3)])
    np.testing.assert_array_equal(c.pair_answers, [1, 1, 0, -2])


def test_weights_and_annotators_of_all_constructors():
    c = Constraints.from_pairs(
        must_link=[(0, 1)],
        cannot_link=[(0, 2), (0, 3)],
        n_samples=4,
        weights=[1, 0.5, 0],
        annotators=["ann", "ben", "ann"],
    )
    assert c.pair_weights.tolist() == [1, 0.5, 0]
    assert c.annotators == ("ann", "ben")
    assert c.pair_annotators.tolist() == [0, 1, 0]
    for make in (Constraints.from_triplets, Constraints.from_odd_one_out):
        table = max(
            make([(0, 1, 2)] * 2, [0, 1], n_samples=3, weights=0.5, annotators="ann").tables,
            key=len,
        )
        assert table.weights.tolist() == [0.5, 0.5]
        assert table.annotators.tolist() == [0, 0]
    with pytest.raises(InvalidConstraintsError, match=r"weights must have shape \(3,\)"):
        Constraints.from_pairs(must_link=[(0, 1)] * 3, n_samples=4, weights=[1, 1])
    with pytest.raises(InvalidConstraintsError, match="annotators must hold one integer or name"):
        Constraints.from_pairs(must_link=[(0, 1)], n_samples=4, annotators=[["a"], ["b", "c"]])


def test_from_answers_keeps_everything():
    answers = [
        Answer(Question("pair", (3, 1)), 1, "ann", 0.5),
        Answer(Question("odd_one_out", (4, 0, 2)), -1, "bob"),
        Answer(Question("triplet", (4, 0, 2)), -2),
        Answer(Question("pair", (0, 1)), -2, "bob", 0.0),
    ]
    c = Constraints.from_answers(iter(answers), n_samples=5)
    assert c == Constraints(
        5,
        pairs=[(1, 3, 1), (0, 1, -2)],
        triplets=[(4, 0, 2, -2)],
        odd_one_out=[(4, 0, 2, -1)],
        pair_weights=[0.5, 0],
        pair_annotators=["ann", "bob"],
        odd_one_out_annotators=["bob"],
    )


def test_from_answers_names_what_is_wrong():
    question = Question("pair", (0, 9))
    with pytest.raises(InvalidConstraintsError, match="row 9 is out of range; n_samples is 5"):
        Constraints.from_answers([Answer(question, 1)], n_samples=5)
    with pytest.raises(InvalidConstraintsError, match=r"answers\[1\] must be a clew.Answer"):
        Constraints.from_answers([Answer(question, 1), question], n_samples=10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": [(0, 1, 1), (2, 10, 0)]}, r"pairs\[1\] = \(2, 10, 0\): row 10 is out of range"),
        ({"pairs": [(0, -1, 1)]}, "row -1 is out of range; n_samples is 10"),
        ({"triplets": [(0, 1, 10, 1)]}, r"triplets\[0\].*row 10 is out of range"),
        ({"odd_one_out": [(0, 1, 2**40, 1)]}, "row 1099511627776 is out of range"),
        ({"pairs": [(0, 1, 1), (2, 2, 1)]}, r"pairs\[1\] = \(2, 2, 1\).*repeated"),
        ({"triplets": [(0, 3, 0, 1)]}, "repeated"),
        ({"odd_one_out": [(1, 3, 3, 1)]}, "repeated"),
        ({"pairs": [(0, 1, -1)]}, "-1 is not an answer to a pair question; use one of 1 .same."),
        ({"pairs": [(0, 1, 2)]}, "2 is not an answer to a pair question"),
        ({"triplets": [(0, 1, 2, 2)]}, "2 is not an answer to a triplet question"),
        ({"odd_one_out": [(0, 1, 2, 3)]}, "3 is not an answer to an odd_one_out question"),
        ({"pairs": [(0, 1.5, 1)]}, r"pairs\[0, 1\] is 1.5"),
        ({"pairs": [(0, np.nan, 1)]}, r"pairs\[0, 1\] is nan"),
        ({"pairs": [(0, np.inf, 1)]}, r"pairs\[0, 1\] is inf"),
        ({"pairs": [(0, 1e300, 1)]}, r"pairs\[0, 1\] is 1e\+300"),
        ({"pairs": np.array([(0, 2**64 - 1, 1)], dtype=np.uint64)}, "must hold integers"),
        ({"pairs": [("0", "1", "1")]}, "must hold row numbers, got '0'; if rows are given by id"),
        ({"pairs": [(0, 1, None)]}, "None is not an answer to a pair question"),
        ({"pairs": [(0, 1, "first")]}, "unknown answer 'first' to a pair question; use one of"),
        ({"pairs": [(0, 1, 0.5)]}, r"pairs\[0\] = .*0.5 is not an answer to a pair question"),
        ({"pairs": np.array([(True, False, True)])}, "must hold row numbers, got True"),
        ({"pairs": [(0, 1), (0, 1, 1)]}, "rectangular"),
        ({"pairs": [(0, 1)]}, r"pairs must have shape \(n, 3\): 2 rows and the answer"),
        ({"pairs": [0, 1, 1]}, r"must have shape \(n, 3\)"),
        ({"triplets": [(0, 1, 2)]}, r"triplets must have shape \(n, 4\)"),
        ({"pairs": [(0, 1, 1)], "pair_weights": [1.5]}, r"pair_weights\[0\] is 1.5"),
        ({"pairs": [(0, 1, 1)], "pair_weights": [-0.1]}, r"must lie in \[0, 1\]"),
        ({"pairs": [(0, 1, 1)], "pair_weights": [np.nan]}, r"pair_weights\[0\] is nan"),
        ({"pairs": [(0, 1, 1)], "pair_weights": [1, 1]}, r"must have shape \(1,\)"),
        ({"pairs": [(0, 1, 1)], "pair_weights": ["1"]}, "must hold numbers"),
        ({"triplet_weights": [1]}, r"triplet_weights must have shape \(0,\)"),
        ({"pairs": [(0, 1, 1)], "pair_annotators": ["a", "b"]}, r"must have shape \(1,\)"),
        ({"pairs": [(0, 1, 1)], "pair_annotators": [1.5]}, r"pair_annotators\[0\] is 1.5"),
        ({"pairs": [(0, 1, 1)], "pair_annotators": [None]}, r"pair_annotators\[0\] is None"),
        ({"pairs": [(0, 1, 1)], "pair_annotators": [["a", "b"], ["c"]]}, "one integer or name"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidConstraintsError, match=message):
        Constraints(10, **arguments)


@pytest.mark.parametrize("n_samples", [-1, 2.0, "3", True])
def test_bad_n_samples(n_samples):
    with pytest.raises(InvalidConstraintsError, match="n_samples must be the number of rows"):
        Constraints(n_samples)


def test_no_rows_have_no_answers():
    with pytest.raises(InvalidConstraintsError, match="there are no rows"):
        Constraints(0, pairs=[(0, 1, 1)])


def test_messages_name_what_the_caller_gave():
    with pytest.raises(InvalidConstraintsError, match=r"cannot_link\[1\].*row 7 is out of range"):
        Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2), (1, 7)], n_samples=3)
    with pytest.raises(InvalidConstraintsError, match=r"dont_know must have shape \(n, 2\)"):
        Constraints.from_pairs(dont_know=[(0, 1, 2)], n_samples=3)
    with pytest.raises(InvalidConstraintsError, match=r"answers must have shape \(1,\)"):
        Constraints.from_triplets([(0, 1, 2)], [0, 1], n_samples=3)


def test_whole_floats_are_integers():
    c = Constraints(10, pairs=np.array([(0.0, 1.0, 1.0)]))
    assert c.pairs.dtype == np.int64
    assert c == Constraints(10, pairs=[(0, 1, 1)])
    assert c == Constraints(10, pairs=np.array([(0, 1, 1.0)], dtype=object))


def test_join(mixed):
    more = Constraints(8, pairs=[(0, 1, 1)], pair_annotators=["dee"])
    both = mixed + more
    assert len(both) == len(mixed) + 1
    np.testing.assert_array_equal(both.pairs[-1], (0, 1))
    assert both.annotators[both.pair_annotators[-1]] == "dee"
    assert both.select(pairs=[0, 1, 2, 3]) == mixed
    with pytest.raises(InvalidConstraintsError, match="8 and about 9 rows cannot be joined"):
        mixed + Constraints(9)
    with pytest.raises(TypeError):
        mixed + (0, 1, 1)  # noqa: RUF005 - the sum itself is meant


def test_subset_renumbers_rows_and_drops_answers_about_others(mixed):
    inside = mixed.subset([6, 4, 3, 1])
    assert inside == Constraints(
        4,
        pairs=[(2, 3, 1), (2, 3, 0)],
        odd_one_out=[(0, 3, 1, 2)],
        pair_weights=[1, 0.5],
        pair_annotators=["bob", "ann"],
        odd_one_out_annotators=["cy"],
    )
    assert inside.annotators == mixed.annotators
    mask = np.isin(np.arange(8), [6, 4, 3, 1])
    assert len(mixed.subset(mask)) == 3
    assert mixed.subset(np.arange(8)) == mixed
    assert len(mixed.subset([])) == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 8], "rows holds 8, which is out of range; n_samples is 8"),
        ([0, -1], "rows holds -1"),
        ([3, 1, 3], "row 3 is repeated"),
        ([True, False], r"mask must have shape \(8,\)"),
        ([[0, 1]], "one-dimensional"),
        ([0.5], "must hold integers"),
    ],
)
def test_bad_subsets(mixed, rows, message):
    with pytest.raises(InvalidConstraintsError, match=message):
        mixed.subset(rows)


def test_select_pairs_keeps_all_answers_of_other_kinds(mixed):
    kept = mixed.select(pairs=mixed.is_cannot_link)
    np.testing.assert_array_equal(kept.pairs, mixed.cannot_link)
    np.testing.assert_array_equal(kept.pair_weights, [0.5, 0])
    np.testing.assert_array_equal(kept.triplets, mixed.triplets)
    np.testing.assert_array_equal(kept.odd_one_out, mixed.odd_one_out)
    assert mixed.select(pairs=[1, 3]) == kept
    with pytest.raises(InvalidConstraintsError, match="the number of pairs"):
        mixed.select(pairs=[True])
    with pytest.raises(InvalidConstraintsError, match="out of range"):
        mixed.select(pairs=[4])


def test_with_weights_changes_only_weights(mixed):
    new = mixed.with_weights(pair_weights=np.full(4, 0.5), triplet_weights=[0, 1])
    np.testing.assert_array_equal(new.pair_weights, np.full(4, 0.5))
    np.testing.assert_array_equal(new.triplet_weights, [0, 1])
    assert new.with_weights(pair_weights=mixed.pair_weights, triplet_weights=[1, 1]) == mixed
    with pytest.raises(InvalidConstraintsError, match=r"pair_weights must have shape \(4,\)"):
        mixed.with_weights(pair_weights=[1])


def test_repr_counts(mixed):
    assert repr(mixed) == "Constraints(n_samples=8, pairs=4, triplets=2, odd_one_out=2)"


def statements(constraints):
    """Return (row, nearer row, farther row, weight, annotator) of each triplet, sorted."""
    names = constraints.annotators
    found = []
    for (a, b, c), answer, weight, who in zip(
        constraints.triplets.tolist(),
        constraints.triplet_answers.tolist(),
        constraints.triplet_weights.tolist(),
        constraints.triplet_annotators.tolist(),
        strict=True,
    ):
        near, far = (b, c) if answer == 0 else (c, b)
        found.append((a, near, far, weight, names[who]))
    return sorted(found)


@pytest.mark.parametrize(
    ("rows", "answer"), [((3, 1, 4), 0), ((1, 3, 4), "second"), ((4, 1, 3), "Third")]
)
def test_the_other_two_are_more_like_the_most_central_one(rows, answer):
    c = Constraints.from_most_central([rows], [answer], n_samples=5, weights=0.5, annotators="ann")
    assert statements(c) == [(1, 3, 4, 0.5, "ann"), (4, 3, 1, 0.5, "ann")]
    assert (len(c), c.annotators) == (2, ("ann",))


def test_distances_that_satisfy_the_triplets_are_those_that_satisfy_the_answer():
    rng = np.random.default_rng(0)
    space = rng.normal(size=(12, 2))
    rows = np.array([rng.permutation(12)[:3] for _ in range(200)])
    i, j, k = (space[column] for column in rows.T)
    opposite = [np.linalg.norm(a - b, axis=1) for a, b in ((j, k), (i, k), (i, j))]
    c = Constraints.from_most_central(rows, np.argmax(opposite, axis=0), n_samples=12)
    for a, near, far, *_ in statements(c):
        assert np.linalg.norm(space[a] - space[near]) < np.linalg.norm(space[a] - space[far])
    assert len(c) == 400


def test_a_dont_know_stays_a_dont_know_about_all_three_rows():
    c = Constraints.from_most_central([(0, 1, 2), (2, 3, 4)], ["dont_know", 1], n_samples=5)
    assert c.triplet_answers.tolist() == [DONT_KNOW] * 3 + [0, 1]
    assert c.triplets[:3, 0].tolist() == [0, 1, 2]


def test_triplets_of_one_answer_share_a_fold():
    rows = np.array([np.random.RandomState(seed).permutation(30)[:3] for seed in range(50)])
    c = Constraints.from_most_central(rows, np.arange(50) % 3, n_samples=30)
    first, second = fold_numbers(c, 10, 0)["triplets"].reshape(50, 2).T
    np.testing.assert_array_equal(first, second)


def test_files_and_frames_have_the_kind_most_central(tmp_path):
    ids = ["a", "b", "c", "d"]
    expected = Constraints.from_triplets(
        [("d", "a", "b")], ["second"], ids=ids, annotators="ann"
    ) + Constraints.from_most_central([("a", "b", "c")], ["third"], ids=ids, annotators="ben")
    lines = [
        "kind,id_i,id_j,id_k,answer,annotator",
        "triplet,d,a,b,second,ann",
        "most-central,a,b,c,third,ben",
    ]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines))
    read = Constraints.read_csv(path, ids=ids)
    assert read == expected
    assert Constraints.from_frame(pd.read_csv(path), ids=ids) == expected
    read.to_jsonl(tmp_path / "answers.jsonl")
    assert Constraints.read_jsonl(tmp_path / "answers.jsonl", ids=ids) == expected
    path.write_text("\n".join([*lines, "most_central,a,b,c,all_alike,ben"]))
    with pytest.raises(
        FileFormatError, match=r"line 4: 'all_alike' is not an answer to a most_central"
    ):
        Constraints.read_csv(path, ids=ids)
    path.write_text("\n".join([*lines, "central,a,b,c,first,ben"]))
    with pytest.raises(FileFormatError, match=r"line 4: unknown kind 'central'.*most_central"):
        Constraints.read_csv(path, ids=ids)


def test_wrong_answers_about_the_most_central_are_refused():
    for answer in ("all_alike", -1, 3, True, "fourth", None):
        with pytest.raises(InvalidConstraintsError, match=r"answers\[0\].*0 \(first\)"):
            Constraints.from_most_central([(0, 1, 2)], [answer], n_samples=3)
    with pytest.raises(InvalidConstraintsError, match=r"shape \(1,\)"):
        Constraints.from_most_central([(0, 1, 2)], [0, 1], n_samples=3)
    assert len(Constraints.from_most_central([], [], n_samples=3)) == 0


def test_ratings_are_shares_of_same_and_different():
    rows = [(0, 1), (2, 1), (0, 2), (1, 2)]
    c = Constraints.from_ratings(
        rows, [1, 7, 4, 2.5], different=7, same=1, n_samples=3, annotators=["a", "b", "b", "a"]
    )
    is_same = c.pair_answers == 1
    assert c.pairs[is_same].tolist() == [[0, 1], [0, 2], [1, 2]]
    np.testing.assert_allclose(c.pair_weights[is_same], [1, 0.5, 0.75])
    assert c.pairs[~is_same].tolist() == [[1, 2], [0, 2], [1, 2]]
    np.testing.assert_allclose(c.pair_weights[~is_same], [1, 0.5, 0.25])
    assert np.array(c.annotators)[c.pair_annotators].tolist() == ["a", "b", "a", "b", "b", "a"]


@pytest.mark.parametrize(
    ("ratings", "ends", "words"),
    [
        ([8], (1, 7), r"ratings\[0\] is 8"),
        ([float("nan")], (1, 7), r"ratings\[0\] is nan"),
        (["high"], (1, 7), "numbers"),
        ([3, 4], (1, 7), r"shape \(1,\)"),
        ([3], (7, 7), "two different numbers"),
        ([3], (0, float("inf")), "two different numbers"),
    ],
)
def test_wrong_ratings_are_refused(ratings, ends, words):
    with pytest.raises(InvalidConstraintsError, match=words):
        Constraints.from_ratings([(0, 1)], ratings, different=ends[0], same=ends[1], n_samples=2)


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
