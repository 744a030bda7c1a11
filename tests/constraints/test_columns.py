"""Tables of answers that experiments write: which columns are items, answers and people."""

import io

import numpy as np
import pandas as pd
import pytest

from clew import Constraints
from clew.exceptions import (
    FileFormatError,
    IgnoredColumnsWarning,
    InvalidConstraintsError,
    InvalidDataError,
)

TRIALS = """trial,participant,left,middle,right,response
1,p1,wren,owl,robin,owl
2,p1,owl,heron,wren,owl
3,p2,robin,wren,heron,robin
"""
IDS = ("wren", "owl", "robin", "heron")
ROWS = [[0, 1, 2], [1, 3, 0], [2, 0, 3]]


def write(tmp_path, text, name="c.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(folder, text, **options):
    with pytest.warns(IgnoredColumnsWarning, match="trial"):
        return Constraints.read_csv(write(folder, text), **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"columns": ["left", "middle", "right"], "answer": "response", "annotator": "participant"},
        {"columns": ("Left", "middle", "RIGHT ")},
        {"kind": "odd-one-out"},
        {"ids": IDS},
    ],
)
def test_the_file_of_a_psychologist_is_read(tmp_path, options):
    said = read(tmp_path, TRIALS, **options)
    assert said.ids == IDS
    assert said.odd_one_out.tolist() == ROWS
    assert said.odd_one_out_answers.tolist() == [1, 0, 0]
    assert [said.annotators[code] for code in said.odd_one_out_annotators] == ["p1", "p1", "p2"]


def test_the_answer_may_be_the_column_of_the_item_or_a_word(tmp_path):
    text = TRIALS.replace("robin,owl\n", "robin,Middle\n").replace("n,robin\n", "n,all alike\n")
    said = read(tmp_path, text, columns=["left", "middle", "right"], kind="odd_one_out")
    assert said.odd_one_out_answers.tolist() == [1, 0, -1]


BY_COLUMN = """trial,participant,left,middle,right,response,rt
1,p1,wren,owl,robin,Middle,512
2,p1,owl,heron,wren,left,640
3,p2,robin,wren,heron,right,433
"""


def test_an_answer_by_column_is_recognized_beside_other_columns(tmp_path):
    said = read(tmp_path, BY_COLUMN)
    assert said.odd_one_out.tolist() == ROWS
    assert said.odd_one_out_answers.tolist() == [1, 0, 2]
    unclear = write(tmp_path, BY_COLUMN.replace("right,433", "left,433"))
    with pytest.raises(
        FileFormatError, match=r"line 1: .*is not clear.*'rt'.*columns=\['left', 'right'\]"
    ):
        Constraints.read_csv(unclear, kind="odd_one_out")


@pytest.mark.parametrize("name", ["stim_{}", "{} image", "Bild-{}"])
def test_an_answer_may_be_a_part_of_the_name_of_a_column(tmp_path, name):
    columns = [name.format(side) for side in ("left", "middle", "right")]
    text = BY_COLUMN.replace("left,middle,right", ",".join(columns))
    for options in ({}, {"columns": columns, "kind": "odd_one_out"}):
        said = read(tmp_path, text, **options)
        assert said.odd_one_out.tolist() == ROWS
        assert said.odd_one_out_answers.tolist() == [1, 0, 2]
    text = text.replace("heron,wren,left", "heron,wren,right").replace("Middle", "MIDDLE")
    said = read(tmp_path, text, columns=columns, kind="triplet")
    assert said.triplet_answers.tolist() == [0, 1, 1]
    text = text.replace("right,6", "left,6")
    unclear = write(tmp_path, text.replace(",rt", ",rt left"))
    with pytest.raises(FileFormatError, match=r"line 1: .*is not clear.*'rt left'"):
        Constraints.read_csv(unclear)


@pytest.mark.parametrize("first", [0, 1])
def test_an_answer_by_position_is_recognized(tmp_path, first):
    text = BY_COLUMN.replace("Middle", str(1 + first)).replace("left,6", f"{first},6")
    text = text.replace("right,4", f"{2 + first},4") + "4,p2,wren,owl,heron,don't know,500\n"
    said = read(tmp_path, text)
    assert said.odd_one_out.tolist() == [*ROWS, [0, 1, 3]]
    assert said.odd_one_out_answers.tolist() == [1, 0, 2, -2]
    frame = pytest.importorskip("pandas").read_csv(io.StringIO(text))
    with pytest.warns(IgnoredColumnsWarning):
        assert Constraints.from_frame(frame) == said
    by_name = {"columns": ["left", "middle", "right"], "answer": "response"}
    assert read(tmp_path, text, **by_name, annotator="participant") == said


@pytest.mark.parametrize(
    "text",
    [
        "trial,a,b,response\n1,7,3,2\n2,3,8,3\n3,9,8,1\n",
        BY_COLUMN.replace("Middle", "1").replace("left,6", "1,6").replace("right,4", "2,4"),
        BY_COLUMN.replace("Middle", "0").replace("left,6", "1,6").replace("right,4", "3,4"),
    ],
    ids=["ratings of pairs", "from 0 or from 1", "four positions"],
)  # fmt: skip
def test_numbers_that_may_mean_something_else_are_no_positions(tmp_path, text):
    with pytest.raises(FileFormatError, match="Name them, as in columns="):
        Constraints.read_csv(write(tmp_path, text))


def test_numbers_of_items_are_items(tmp_path):
    text = "left,middle,right,response\n1,2,3,3\n3,1,2,1\n2,3,1,2\n"
    said = Constraints.read_csv(write(tmp_path, text), ids=["1", "2", "3"])
    assert said.odd_one_out_answers.tolist() == [2, 1, 0]


def test_yes_and_no_are_answers_about_pairs_in_a_column_of_any_name(tmp_path):
    text = "first,second,same place?\nwren,owl,Yes\nowl,robin,no\nwren,robin,don't know\n"
    path = write(tmp_path, text)
    for options in ({}, {"columns": ["second", "first"], "kind": "pair"}):
        said = Constraints.read_csv(path, answer="same place?", **options)
        assert said.pair_answers.tolist() == [1, 0, -2]


def test_other_names_of_columns_are_given(tmp_path):
    text = TRIALS.replace("participant", "who").replace("response", "picked")
    said = read(tmp_path, text, answer="picked", annotator="who")
    assert said.odd_one_out.tolist() == ROWS
    assert said.annotators == ("p1", "p2")


def test_triplets_have_the_chosen_item_as_answer(tmp_path):
    text = "trial,reference,a,b,choice\n1,wren,owl,robin,owl\n2,owl,wren,robin,robin\n"
    said = read(tmp_path, text, kind="triplet")
    assert said.triplets.tolist() == [[0, 1, 2], [1, 0, 2]]
    assert said.triplet_answers.tolist() == [0, 1]
    with pytest.raises(FileFormatError, match=r"the first item is never chosen.*say which"):
        Constraints.read_csv(write(tmp_path, text))
    with pytest.raises(FileFormatError, match=r"line 2: unknown answer 'wren' to a triplet"):
        Constraints.read_csv(write(tmp_path, text.replace(",owl\n", ",wren\n")), kind="triplet")


def test_pairs_have_words_as_answers(tmp_path):
    text = "picture_1,picture_2,rater,response\nwren,owl,ann,Same\nowl,robin,ben,don't know\n"
    said = Constraints.read_csv(write(tmp_path, text))
    assert said.ids == ("wren", "owl", "robin")
    assert said.pair_answers.tolist() == [1, -2]
    assert said.annotators == ("ann", "ben")


def test_items_may_be_row_numbers(tmp_path):
    text = "left,right,answer\n3,1,same\n0,2,different\n"
    assert Constraints.read_csv(write(tmp_path, text), n_samples=5).pairs.tolist() == [
        [1, 3], [0, 2]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (TRIALS, {"answer": "answers"}, "line 1: there is no column 'answers'; the columns are"),
        (TRIALS, {"columns": ["left"]}, "two or three items in different columns"),
        (TRIALS, {"columns": ["left", "left", "right"]}, "in different columns"),
        (TRIALS, {"kind": "pair"}, "pair is about 2 items"),
        (TRIALS, {"kind": "edit"}, "unknown kind 'edit'"),
        (TRIALS.replace("response", "it"), {}, "not clear.*Name them, as in columns="),
        (TRIALS.replace("trial", "subject"), {}, "not clear; the columns are 'subject'"),
        (
            TRIALS.replace("wren,owl\n3", "wren,swan\n3"),
            {},
            "line 3: unknown answer 'swan' to an .* none of owl, heron, wren, and",
        ),
        (TRIALS.replace("1,p1,wren", "1,p1,swan"), {"ids": IDS}, "line 2: left: .*'swan'"),
        (TRIALS.replace("owl,heron,", "owl,swan,"), {"ids": IDS}, "line 3: middle: .*'swan'"),
        (TRIALS.replace("1,p1,wren", "1,p1,owl"), {}, "line 2: the rows of an answer"),
    ],
)
def test_what_is_not_clear_is_refused(tmp_path, text, options, message):
    with pytest.raises(FileFormatError, match=message):
        Constraints.read_csv(write(tmp_path, text), **({"ids": IDS} | options))


@pytest.mark.parametrize("options", [{}, {"kind": "odd_one_out"}])
def test_lines_without_an_answer_are_skipped_and_counted(tmp_path, options):
    blank = TRIALS.replace("wren,owl\n3", "wren,\n3")
    with pytest.warns(IgnoredColumnsWarning) as warned:
        said = Constraints.read_csv(write(tmp_path, blank), ids=IDS, **options)
    assert any("1 line without an answer skipped" in str(one.message) for one in warned)
    assert said.odd_one_out.tolist() == [ROWS[0], ROWS[2]]
    frame = pd.read_csv(tmp_path / "c.csv").drop(columns="trial")
    with pytest.warns(IgnoredColumnsWarning, match="1 line without an answer"):
        assert Constraints.from_frame(frame, ids=IDS, **options) == said
    wrong = blank.replace("heron,robin", "heron,swan")
    named = {"columns": ["left", "middle", "right"], "kind": "odd_one_out"}
    with pytest.raises(FileFormatError, match="line 4: unknown answer 'swan'"):
        Constraints.read_csv(write(tmp_path, wrong), ids=IDS, **named)


def test_columns_of_our_own_names_are_never_guessed(tmp_path):
    text = "kind,id_i,id_j,said,who\npair,wren,owl,same,ann\n"
    with pytest.raises(FileFormatError, match="missing column 'answer'"):
        Constraints.read_csv(write(tmp_path, text))
    said = Constraints.read_csv(write(tmp_path, text), answer="said", annotator="who")
    assert (said.pair_answers.tolist(), said.annotators) == ([1], ("ann",))


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("id_i,id_j,answer\nwren,owl,same\nowl,robin,different\n", [[0, 1], [1, 2]]),
        ("ID_I|ID_J|ID_K|Answer\nwren|owl||Same\nowl|robin||different\n", [[0, 1], [1, 2]]),
        ("id_i;id_j;same?\nwren;owl;y\nowl;robin;n\n", [[0, 1], [1, 2]]),
        ("i,j,Is match\n0,1,true\n1,4,false\n", [[0, 1], [1, 4]]),
        ("id_i,id_j,answer,day,Who\na,b,same,,ann\nb,c,different,,ann\n", [[0, 1], [1, 2]]),
    ],
    ids=["plain", "no k", "same?", "row numbers", "other columns"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::clew.exceptions.IgnoredColumnsWarning")
def test_a_table_of_pairs_needs_no_column_kind(tmp_path, text, pairs):
    said = Constraints.read_csv(write(tmp_path, text))
    assert (said.pairs.tolist(), said.pair_answers.tolist()) == (pairs, [1, 0])
    assert said.annotators == (("ann",) if "ann" in text else ("",))
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(io.StringIO(text), sep=next(mark for mark in ",|;" if mark in text))
    assert Constraints.from_frame(frame) == said


def test_odd_ones_need_no_column_kind_if_the_first_of_three_is_odd_anywhere(tmp_path):
    text = "id_i,id_j,id_k,answer\nwren,owl,robin,owl\nowl,wren,robin,first\n"
    with pytest.raises(FileFormatError, match="the first item is never chosen"):
        Constraints.read_csv(write(tmp_path, text))
    said = Constraints.read_csv(write(tmp_path, text.replace("first", "third")))
    assert said.odd_one_out_answers.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("id_i,id_j,answer\na,b,same\nb,c,so so\n", {}, "line 3: unknown answer 'so so' to a pair"),
        ("id_i,id_j,answer\na,b,same\nb,c,so so\n", {"kind": "pair"}, "line 3: unknown answer"),
        ("id_i,id_j,answer,wieght\na,b,same,1\n", {}, "rename it to 'weight'"),
        ("id_i,id_j,id_k,answer\na,b,c,third\nb,c,,same\n", {}, "'id_k' is empty.*a column 'kind'"),
    ],
    ids=["word", "kind", "misspelled", "mixed"],
)  # fmt: skip
def test_a_table_without_kinds_is_refused_for_its_line_or_column(tmp_path, text, options, message):
    with pytest.raises(FileFormatError, match=message):
        Constraints.read_csv(write(tmp_path, text), **options)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_that_are_not_given_are_those_that_answers_name(tmp_path, ending):
    by_id = Constraints.from_pairs(must_link=[("owl", "wren")], ids=("wren", "owl"))
    by_row = Constraints.from_pairs(must_link=[(4, 1)], n_samples=9)
    path = tmp_path / f"answers.{ending}"
    write, read = (
        (Constraints.to_csv, Constraints.read_csv)
        if ending == "csv"
        else (Constraints.to_jsonl, Constraints.read_jsonl)
    )
    write(by_id, path)
    again = read(path)
    assert set(again.ids) == {"owl", "wren"}
    assert len(again.pairs) == 1
    write(by_row, path)
    assert read(path).n_samples == 5
    np.testing.assert_array_equal(read(path).pairs, by_row.pairs)


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [("same", True, False), ("is_match", "yes", "No"), ("match", 1, 0), ("Is_Same", 1.0, 0.0)],
)
def test_pairs_in_a_frame_of_ones_own(tmp_path, name, yes, no):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], name: [yes, no], "who": ["ann", "ben"]})
    ids = ["x", "y", "z"]
    expected = Constraints.from_pairs(
        must_link=[("x", "y")], cannot_link=[("y", "z")], ids=ids, annotators=["ann", "ben"]
    )
    assert Constraints.from_frame(frame, ids=ids, annotator="who") == expected
    frame.to_csv(tmp_path / "pairs.csv", index=False)
    assert Constraints.read_csv(tmp_path / "pairs.csv", ids=ids, annotator="who") == expected


def test_a_data_frame_of_another_library_is_read():
    class Frame(dict):
        """What is needed of polars: names, and columns by name."""

        columns = property(list)

        def __len__(self):
            return 2

    answers = Frame(id_i=["a", "b"], id_j=["c", "c"], answer=["same", "different"])
    for frame in (answers, Frame(left=["a", "b"], right=["c", "c"], same=[True, False])):
        found = Constraints.from_frame(frame, ids=["a", "b", "c"])
        assert found.must_link.tolist() == [[0, 2]]
        assert found.cannot_link.tolist() == [[1, 2]]


def test_what_is_no_table_is_refused_with_what_to_do(tmp_path):
    class LazyFrame:
        columns = ("id_i", "id_j", "answer")

    with pytest.raises(InvalidDataError, match=r"LazyFrame .* collect\(\)"):
        Constraints.from_frame(LazyFrame(), ids=["a", "b"])
    for name, start in (("a Parquet file", b"PAR1"), ("a spreadsheet", b"PK\x03\x04")):
        path = tmp_path / "answers.csv"
        path.write_bytes(start + b"\x15\x04\x15\xac" * 9)
        with pytest.raises(FileFormatError, match=f"{path}: this is {name}.* save it as CSV"):
            Constraints.read_csv(path, ids=["a", "b"])


def test_columns_of_a_frame_are_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"left": [0], "right": [2], "verdict": ["different"]})
    found = Constraints.from_frame(frame, n_samples=4, columns=["left", "right"], answer="verdict")
    assert found.cannot_link.tolist() == [[0, 2]]
    with pytest.raises(InvalidConstraintsError, match="there is no column 'verdikt'"):
        Constraints.from_frame(frame, n_samples=4, columns=["left", "right"], answer="verdikt")


def test_an_answer_in_place_of_the_names_of_columns_is_refused(tmp_path):
    path = write(tmp_path, "wren,owl,same\nowl,robin,different\n")
    with pytest.raises(FileFormatError, match="seems to hold an answer: add a line"):
        Constraints.read_csv(path)
    path = write(tmp_path, "bird,other,same\nwren,owl,yes\nowl,robin,no\n")
    assert Constraints.read_csv(path).pair_answers.tolist() == [1, 0]
    path = write(tmp_path, "bird,other,same\nwren,owl,same\nowl,robin,different\n")
    read_so = Constraints.read_csv(path, answer="same")
    assert read_so.pair_answers.tolist() == [1, 0]


@pytest.mark.parametrize(
    "text",
    ["left,right,Response\nwren,owl,\nowl,robin, \n",
     "kind,id_i,id_j,Response,answer\npair,wren,owl,x,\npair,owl,robin,x,\n"],
)  # fmt: skip
def test_answers_that_are_all_blank(tmp_path, text):
    """A table to be filled in says so, not that its columns are unclear or '' is no answer."""
    name = "answer" if "kind" in text else "Response"
    words = f"the column '{name}' is empty: fill in answers, such as same, different"
    with pytest.raises(FileFormatError, match=f"c.csv, line [12]: {words}"):
        Constraints.read_csv(write(tmp_path, text), ids=IDS)
    with pytest.raises(InvalidConstraintsError, match=words):
        Constraints.from_frame(pd.read_csv(io.StringIO(text)), ids=IDS)
