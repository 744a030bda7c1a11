from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from clew import Answer, Constraints, Question
from clew.exceptions import InvalidConstraintsError


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
