"""Why two rows are together or apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from clew import Constraints
from clew.cluster.guided._explain import explanation, row_number
from clew.exceptions import InvalidParameterError
from clew.trust import AnswerPosterior

pytestmark = pytest.mark.usefixtures("small_search")

#: Rows 0, 1, 2, 3 are in group 0 and rows 4, 5, 6, 7 in group 1.
LABELS = np.repeat([0, 1], 4)
PROBABILITIES = np.where(np.eye(2, dtype=bool)[LABELS], 0.9, 0.1)
#: A ring: each row is close to the next and the previous one, and closer to the next.
RING = csr_array(
    (np.tile([2.0, 1.0], 8), ([r for r in range(8) for _ in range(2)],
     [(r + d) % 8 for r in range(8) for d in (1, -1)])), shape=(8, 8)
)  # fmt: skip


def doubts(known, pairs=(), value=0.9):
    """Doubt some of the pairs, and nothing else."""
    p = [np.full(len(t), 0.1) for t in (known.pairs, known.triplets, known.odd_one_out)]
    p[0][known.is_dont_know] = np.nan
    p[0][list(pairs)] = value
    return AnswerPosterior(*p, known, tuple(of.answers for of in known.tables))


def explained(i, j, known, doubted=()):
    return explanation((i, j), PROBABILITIES, known, doubts(known, doubted), RING)


def test_a_direct_answer():
    known = Constraints(8, pairs=[(0, 1, 1), (4, 5, 0)], pair_annotators=["ann", "ben"])
    found = explained(1, 0, known)
    assert found.are_together
    assert found.chain == (1, 0)
    assert found.parted_at == -1
    assert found.p_together == pytest.approx(0.9 * 0.9 + 0.1 * 0.1)
    assert [(of.rows, of.answer, of.annotator) for of in found.answers] == [((0, 1), "same", "ann")]
    assert found.answers[0].p_wrong == pytest.approx(0.1)
    text = str(found)
    assert text.startswith(
        "row 1 and row 0 are together in group 0; probability of being together 0.82"
    )
    assert "ann answered 'same' about 0, 1 (wrong with probability 0.10)" in text
    assert "imply" not in text


def test_a_chain_of_same():
    known = Constraints.from_pairs(must_link=[(0, 1), (2, 1), (2, 3), (5, 6)], n_samples=8)
    found = explained(0, 3, known)
    assert found.answers == []
    assert found.chain == (0, 1, 2, 3)
    assert found.parted_at == -1
    assert "- there is no answer about both" in str(found)
    assert "- answers that are not doubted imply 0 = 1 = 2 = 3" in str(found)


@pytest.mark.parametrize(
    ("must_link", "cannot_link", "chain", "text"),
    [
        ([(0, 1), (4, 5)], [(1, 4)], (0, 1, 4, 5), "0 = 1 ≠ 4 = 5"),
        ([(4, 5)], [(4, 0)], (0, 4, 5), "0 ≠ 4 = 5"),
        ([(0, 1)], [(5, 1)], (0, 1, 5), "0 = 1 ≠ 5"),
    ],
)
def test_rows_in_different_groups_have_a_chain_with_one_cannot_link(
    must_link, cannot_link, chain, text
):
    known = Constraints.from_pairs(must_link=must_link, cannot_link=cannot_link, n_samples=8)
    found = explained(0, 5, known)
    assert not found.are_together
    assert found.chain == chain
    marks = "".join(mark for mark in text if mark in "=≠")
    assert found.parted_at == marks.index("≠")
    assert text in str(found)
    assert "apart, in groups 0 and 1" in str(found)
    # The chain from the other row is the same, in reverse order.
    assert explained(5, 0, known).chain == chain[::-1]


@pytest.mark.parametrize(
    ("known", "rows"),
    [
        (Constraints(8), (0, 1)),
        (Constraints(8), (0, 5)),
        (Constraints.from_pairs(must_link=[(0, 1)], n_samples=8), (0, 2)),
        # Rows that are together are not joined by "different".
        (Constraints.from_pairs(cannot_link=[(0, 4), (4, 1)], n_samples=8), (0, 1)),
        # Two differences imply nothing, and "same" does not separate.
        (Constraints.from_pairs(cannot_link=[(0, 4), (4, 1), (1, 5)], n_samples=8), (0, 5)),
        (Constraints.from_pairs(must_link=[(0, 5)], n_samples=8), (0, 5)),
        (Constraints(8, pairs=[(0, 1, -2)]), (0, 1)),
    ],
)
def test_rows_without_a_chain(known, rows):
    found = explained(*rows, known)
    assert found.chain == ()
    assert found.parted_at == -1
    assert "imply" not in str(found)


def test_chains_leave_out_doubted_answers_and_those_of_weight_0():
    known = Constraints(
        8,
        pairs=[(0, 1, 1), (1, 2, 1), (0, 3, 1), (3, 4, 1), (4, 2, 1)],
        pair_weights=[1, 1, 1, 1, 1],
    )
    assert explained(0, 2, known).chain == (0, 1, 2)
    assert explained(0, 2, known, doubted=[1]).chain == (0, 3, 4, 2)
    silent = known.with_weights(pair_weights=[0, 1, 1, 1, 1])
    assert explained(0, 2, silent).chain == (0, 3, 4, 2)
    assert explained(0, 2, known, doubted=[1, 3]).chain == ()
    # Answers about both rows are listed in any case.
    found = explained(0, 1, known, doubted=[0, 4])
    assert found.answers[0].p_wrong == 0.9
    assert found.chain == ()


def test_answers_about_three_rows():
    known = Constraints(
        8,
        triplets=[(0, 1, 5, 0), (0, 6, 2, 1), (2, 3, 4, -2)],
        odd_one_out=[(1, 4, 2, 1), (0, 1, 2, -1)],
    )
    found = explained(0, 1, known)
    assert [(of.kind, of.rows, of.answer) for of in found.answers] == [
        ("triplet", (0, 1, 5), "first"),
        ("odd_one_out", (0, 1, 2), "all_alike"),
    ]
    assert found.chain == (0, 1)
    # The answer that 0 is like 1 and not like 5 separates 0 and 5.
    assert explained(0, 5, known).chain == (0, 5)
    assert "dont know" in str(explained(2, 3, known))


def test_an_annotator_without_a_name_is_called_somebody():
    known = Constraints(8, pairs=[(0, 1, -2)])
    found = explained(0, 1, known)
    assert "somebody answered 'dont know' about 0, 1\n" in str(found) + "\n"
    assert np.isnan(found.answers[0].p_wrong)


def test_nearest_rows_are_counted_by_group():
    found = explained(0, 4, Constraints(8))
    assert found.neighbors == ([1, 7], [5, 3])
    assert found.neighbors_in_own == (1, 1)
    assert found.neighbors_in_other == (1, 1)
    assert "- of the 2 rows nearest to row 4, 1 are in its group and 1 in the other" in str(found)
    found = explained(1, 2, Constraints(8))
    assert found.neighbors_in_own == (2, 2)
    assert "- of the 2 rows nearest to row 1, 2 are in its group" in str(found).splitlines()


@pytest.mark.parametrize("rows", [(0, 0), (0, 8), (-1, 2), (0.5, 1), ("0", 1), (True, 2)])
def test_invalid_rows_are_refused(rows):
    with pytest.raises(InvalidParameterError, match=r"two different rows in \[0, 7\]"):
        explained(*rows, Constraints(8))


def test_without_features_there_are_no_nearest_rows():
    known = Constraints(8, pairs=[(0, 1, 1)])
    empty = csr_array((8, 8))
    text = str(explanation((0, 1), PROBABILITIES, known, doubts(known), empty))
    assert "nearest" not in text
    with pytest.raises(
        InvalidParameterError, match=r"'a1'.*neither the answers nor the data have ids"
    ):
        row_number(known, "a1")


def test_rows_are_named_by_their_ids():
    names = [f"wine_{row:03}" for row in range(8)]
    known = Constraints(
        ids=names, pairs=[(names[0], names[1], 1), (names[1], names[2], 1)], pair_annotators="ann"
    )
    found = explained(row_number(known, "wine_000"), row_number(known, "wine_002"), known)
    assert found.rows == (0, 2)
    lines = str(found).splitlines()
    assert lines[0].startswith("wine_000 and wine_002 are together in group 0")
    assert "- answers that are not doubted imply wine_000 = wine_001 = wine_002" in lines
    assert "- of the 2 rows nearest to wine_000, 1 are in its group" in lines
    (given,) = explained(0, 1, known).answers
    assert str(given).startswith("ann answered 'same' about wine_000, wine_001 (wrong")


def test_a_number_is_a_row_unless_ids_are_integers():
    assert row_number(Constraints(8), 3) == 3
    assert row_number(Constraints(ids=["a", "b", "c"]), np.int64(2)) == 2
    by_number = Constraints(ids=[12, 11, 10])
    assert row_number(by_number, 10) == 2
    for known, row, words in (
        (by_number, 1, "an id like 12"),
        (Constraints(8), 8, r"a row number in \[0, 7\]"),
        (Constraints(8), "wine_000", r"a row number in \[0, 7\]"),
        (Constraints(8), True, r"a row number in \[0, 7\]"),
        (Constraints(ids=["a", "b"]), "c", "an id like 'a'"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            row_number(known, row)
