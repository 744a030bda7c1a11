"""Answers by id: which rows they are about, which operations keep ids, and what is refused."""

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from clew import Answer, Constraints, Question
from clew.exceptions import FileFormatError, IgnoredColumnsWarning, InvalidConstraintsError

IDS = ["d", "a", "c", "b"]
#: Ids that are integers; each is the number of another row, or of none.
NUMBERS = [3, 2, 17, 0]


def write(tmp_path, text, name="c.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_each_constructor_takes_ids():
    assert Constraints.from_pairs(must_link=[("a", "d")], ids=IDS).pairs.tolist() == [[0, 1]]
    assert Constraints.from_triplets([("b", "a", "d")], [0], ids=IDS).triplets.tolist() == [
        [3, 1, 0]
    ]
    odd = Constraints.from_odd_one_out([("b", "a", "d")], ["third"], ids=IDS)
    assert odd.odd_one_out.tolist() == [[3, 1, 0]]
    assert odd.odd_one_out_answers.tolist() == [2]
    c = Constraints(pairs=[("a", "b", "same")], triplets=[("a", "b", "c", 1)], ids=IDS)
    assert c.pairs.tolist() == [[1, 3]]
    assert c.triplets.tolist() == [[1, 3, 2]]
    assert c.ids == tuple(IDS)
    assert c.n_samples == 4


def test_ids_of_answers_decide_which_rows_they_are_about():
    said = Answer(Question("pair", (0, 1), ids=("b", "d")), "same")
    assert Constraints.from_answers([said], ids=IDS).pairs.tolist() == [[0, 3]]
    assert Constraints.from_answers([said], n_samples=4).pairs.tolist() == [[0, 1]]
    with pytest.raises(InvalidConstraintsError, match=r"answers\[0\]: there is no row .* 'd'"):
        Constraints.from_answers([said], ids=["b", "x"])


def test_answers_and_labels_keep_ids_and_row_numbers():
    c = Constraints.from_answers([Answer(Question("pair", (3, 1)), 1)], ids=iter(IDS))
    assert c.pairs.tolist() == [[1, 3]]
    assert c.ids == tuple(IDS)
    assert Constraints.from_labels([0, 0, 1, 1], 3, ids=IDS).ids == tuple(IDS)


def test_integers_are_row_numbers_without_ids_and_ids_with_them():
    assert Constraints.from_pairs(must_link=[(0, 3)], n_samples=4).pairs.tolist() == [[0, 3]]
    by_id = Constraints.from_pairs(must_link=[(0, 17)], ids=NUMBERS)
    assert by_id.pairs.tolist() == [[2, 3]]
    assert Constraints.from_pairs(must_link=np.array([[0, 17]]), ids=NUMBERS) == by_id
    with pytest.raises(InvalidConstraintsError, match=r"must_link\[0\].*no row with the id 1 "):
        Constraints.from_pairs(must_link=[(0, 1)], ids=NUMBERS)


def test_ids_may_be_a_pandas_index_or_the_values_of_a_series():
    pd = pytest.importorskip("pandas")
    series = pd.Series(IDS, index=[9, 8, 7, 7])
    for ids in (pd.Index(IDS), series, np.array(IDS), tuple(IDS)):
        assert Constraints.from_pairs(must_link=[("a", "d")], ids=ids).ids == tuple(IDS)
    numbers = Constraints.from_pairs(must_link=[(17, 0)], ids=pd.Index(NUMBERS))
    assert numbers.pairs.tolist() == [[2, 3]]
    said = pd.DataFrame(
        {"kind": "pair", "id_i": [17.0, 2.0], "id_j": [0, 3], "answer": ["same", "different"]}
    )
    read = Constraints.from_frame(said, ids=pd.Index(NUMBERS))
    assert read.pairs.tolist() == [[2, 3], [0, 1]]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b", "a"], r"ids\[0\] = 'a' and ids\[2\] = 'a' are equal"),
        ([1, "1", 2], r"ids\[0\] = 1 and ids\[1\] = '1' are equal, compared as text"),
        (["a", None, "b"], "row 1 has no id"),
        (["a", " ", "b"], "row 1 has no id"),
        ([1.0, np.nan, 2.0], "row 1 has no id"),
        ("abc", "one-dimensional sequence"),
        ({"a", "b", "c"}, "one-dimensional sequence"),
        (np.zeros((3, 2)), "one-dimensional sequence"),
        (5, "one-dimensional sequence"),
        ([["a"], ["b"], ["c"]], "strings or integers"),
    ],
)
def test_bad_ids_are_named(ids, message):
    with pytest.raises(InvalidConstraintsError, match=message):
        Constraints.from_pairs(ids=ids)


def test_there_must_be_one_id_for_each_row():
    with pytest.raises(InvalidConstraintsError, match="there are 4 ids, but n_samples is 5"):
        Constraints.from_pairs(n_samples=5, ids=IDS)
    with pytest.raises(InvalidConstraintsError, match=r"pass n_samples.*or ids"):
        Constraints.from_pairs()


@pytest.mark.parametrize("bad", ["e", "", None, float("nan"), True, 1.5])
def test_unknown_ids_are_named_with_their_answer(bad):
    with pytest.raises(InvalidConstraintsError, match=r"cannot_link\[1\].*no row with the id"):
        Constraints.from_pairs(cannot_link=[("a", "b"), ("a", bad)], ids=IDS)


def test_a_pair_needs_ids_of_two_rows():
    with pytest.raises(InvalidConstraintsError, match=r"\('a', 'a'\).*is repeated"):
        Constraints.from_pairs(must_link=[("a", "a")], ids=IDS)


def test_ids_are_kept():
    c = Constraints.from_pairs(must_link=[("a", "d")], cannot_link=[("c", "a")], ids=IDS)
    assert c.subset([2, 1]).ids == ("c", "a")
    assert c.subset([2, 1]).pairs.tolist() == [[0, 1]]
    assert c.select(pairs=[0]).ids == c.ids
    assert c.as_pairs().ids == c.with_weights(pair_weights=[1, 0]).ids == c.ids
    assert pickle.loads(pickle.dumps(c)) == c
    rows = Constraints.from_pairs(must_link=[(0, 1)], n_samples=4)
    assert (c + rows).ids == (rows + c).ids == c.ids
    assert rows.ids is None
    assert rows.with_ids(IDS).with_ids(None) == rows != rows.with_ids(IDS)
    with pytest.raises(InvalidConstraintsError, match="row 2 has the id 'c' in one and 'x' in"):
        c + rows.with_ids(["d", "a", "x", "b"])


def test_rows_are_called_by_id_where_that_is_known():
    c = Constraints.from_pairs(
        must_link=[("a", "d"), ("d", "b")], cannot_link=[("a", "b")], ids=IDS
    )
    assert c.name_of(3) == "b"
    assert c.with_ids(None).name_of(3) == 3
    with pytest.raises(InvalidConstraintsError, match="row 4 is out of range"):
        c.name_of(4)
    (conflict,) = c.conflicts()
    assert conflict.chain == (1, 0, 3)
    assert str(conflict).startswith(
        "'a' and 'b' have a cannot-link, but must-links join them: 'a' = 'd' = 'b'"
    )


def test_files_say_how_they_name_rows(tmp_path):
    c = Constraints.from_pairs(must_link=[("a", "d")], ids=IDS)
    c.to_csv(tmp_path / "by_id.csv")
    c.with_ids(None).to_csv(tmp_path / "by_row.csv")
    assert (tmp_path / "by_id.csv").read_text().splitlines() == [
        "kind,id_i,id_j,id_k,answer,annotator,weight",
        "pair,d,a,,same,,1.0",
    ]
    assert Constraints.read_csv(tmp_path / "by_id.csv", ids=IDS) == c
    assert Constraints.read_csv(tmp_path / "by_row.csv", ids=IDS) == c
    assert Constraints.read_csv(tmp_path / "by_row.csv", n_samples=4) == c.with_ids(None)
    # The same items in another order: ids go with the items.
    other = Constraints.read_csv(tmp_path / "by_id.csv", ids=sorted(IDS))
    assert other.pairs.tolist() == [[0, 3]]
    with pytest.raises(FileFormatError, match=r"line 1: rows are given by id.*as ids="):
        Constraints.read_csv(tmp_path / "by_id.csv", n_samples=4)


def test_a_column_of_integer_ids_is_never_taken_for_row_numbers(tmp_path):
    path = write(tmp_path, "kind,id_i,id_j,answer\npair,0,3,same\n")
    with pytest.raises(FileFormatError, match="as ids="):
        Constraints.read_csv(path, n_samples=4)
    assert Constraints.read_csv(path, ids=NUMBERS).pairs.tolist() == [[0, 3]]
    assert Constraints.read_csv(path, ids=[0, 3, 2, 1]).pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pair,e,a,,same", "there is no row with the id 'e' .the first of 4 ids is 'd'"),
        ("pair,,a,,same", "id_i: missing"),
        ("triplet,a,b,,first", "id_k: missing"),
        ("pair,a,b,c,same", "id_k: a pair has no third row, but this is 'c'"),
        ("pair,a,a,,same", "'a' is repeated"),
    ],
)
def test_bad_ids_in_files_are_named_with_their_line(tmp_path, line, message):
    text = f"kind,id_i,id_j,id_k,answer\npair,a,b,,same\n{line}\n"
    with pytest.raises(FileFormatError, match=f"line 3: .*{message}"):
        Constraints.read_csv(write(tmp_path, text), ids=IDS)


def test_rows_and_ids_together_have_to_agree(tmp_path):
    good = "kind,i,j,id_i,id_j,answer\npair,0,1,d,a,same\n"
    read = Constraints.read_csv(write(tmp_path, good), ids=IDS)
    assert read.pairs.tolist() == [[0, 1]]
    bad = write(tmp_path, good + "pair,0,2,d,a,same\n")
    with pytest.raises(FileFormatError, match=r"line 3: j is 2, .*'c', but id_j is 'a'"):
        Constraints.read_csv(bad, ids=IDS)
    with pytest.warns(IgnoredColumnsWarning, match="'id_i', 'id_j'") as caught:
        assert len(Constraints.read_csv(bad, n_samples=4)) == 2
    assert caught[0].filename == __file__


def test_json_lines_hold_ids_as_they_are(tmp_path):
    c = Constraints.from_pairs(must_link=[(17, 0)], ids=NUMBERS)
    c.to_jsonl(tmp_path / "c.jsonl")
    assert '"id_i":17,"id_j":0' in (tmp_path / "c.jsonl").read_text()
    assert Constraints.read_jsonl(tmp_path / "c.jsonl", ids=NUMBERS) == c
    assert Constraints.read_jsonl(tmp_path / "c.jsonl", ids=list(map(str, NUMBERS))).pairs.tolist()


names = st.lists(
    st.text(min_size=1, max_size=6).filter(str.strip), min_size=4, max_size=4, unique=True
)


@pytest.mark.slow
@given(ids=names | st.lists(st.integers(), min_size=4, max_size=4, unique=True))
def test_any_ids_come_back_through_files_and_frames(tmp_path_factory, ids):
    pytest.importorskip("pandas")
    c = Constraints(
        pairs=[(ids[0], ids[3], 1)], odd_one_out=[(ids[2], ids[1], ids[0], -1)], ids=ids
    )
    folder = tmp_path_factory.mktemp("ids")
    c.to_csv(folder / "c.csv")
    c.to_jsonl(folder / "c.jsonl")
    assert Constraints.read_csv(folder / "c.csv", ids=ids) == c
    assert Constraints.read_jsonl(folder / "c.jsonl", ids=ids) == c
    assert Constraints.from_frame(c.to_frame(), ids=ids) == c


def test_ids_that_became_floats_or_bytes_are_found_by_their_text():
    for ids in ([10.0, 20.0], np.array([10, 20], dtype="S")):
        said = Constraints.from_pairs(must_link=[("10", " 20 ")], ids=ids)
        assert said.pairs.tolist() == [[0, 1]]
