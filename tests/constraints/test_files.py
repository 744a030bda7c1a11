"""Files and frames of answers: what is written is read back; files that people write."""

import json
import pickle
import sys
from gzip import compress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from clew import Constraints
from clew.answers import ORIGINS
from clew.exceptions import (
    FileFormatError,
    IgnoredColumnsWarning,
    InvalidConstraintsError,
    MissingDependencyError,
)

HEADER = "kind,i,j,k,answer,annotator,weight\n"
N_SAMPLES = 20

rows = st.integers(0, N_SAMPLES - 1)
weights = st.floats(0, 1)
annotators = st.text(max_size=8) | st.sampled_from(["=SUM(A1)", "'=x", "''-1", "@", " ann ", "A"])


def answers(n_rows, codes):
    about = st.lists(rows, min_size=n_rows, max_size=n_rows, unique=True)
    one = st.tuples(about, st.sampled_from(codes), weights, annotators, st.sampled_from(ORIGINS))
    return st.lists(one, max_size=6)


@st.composite
def constraints(draw):
    arguments = {}
    for kind, name, n_rows, codes in (
        ("pair", "pairs", 2, [1, 0, -2]),
        ("triplet", "triplets", 3, [0, 1, -2]),
        ("odd_one_out", "odd_one_out", 3, [0, 1, 2, -1, -2]),
    ):
        drawn = draw(answers(n_rows, codes))
        arguments[name] = [(*about, code) for about, code, *_ in drawn]
        arguments[f"{kind}_weights"] = [weight for _, _, weight, *_ in drawn]
        arguments[f"{kind}_annotators"] = [annotator for *_, annotator, _ in drawn]
        arguments[f"{kind}_origins"] = [origin for *_, origin in drawn]
    return Constraints(N_SAMPLES, **arguments)


in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@in_one_folder
@given(c=constraints())
def test_csv_loses_nothing(tmp_path, c):
    c.to_csv(tmp_path / "c.csv")
    assert Constraints.read_csv(tmp_path / "c.csv", n_samples=N_SAMPLES) == c


@pytest.mark.slow
@in_one_folder
@given(c=constraints())
def test_jsonl_loses_nothing(tmp_path, c):
    c.to_jsonl(tmp_path / "c.jsonl")
    assert Constraints.read_jsonl(tmp_path / "c.jsonl", n_samples=N_SAMPLES) == c


@pytest.mark.slow
@given(c=constraints())
def test_frames_lose_nothing(c):
    pytest.importorskip("pandas")
    assert Constraints.from_frame(c.to_frame(), n_samples=N_SAMPLES) == c


@pytest.mark.slow
@in_one_folder
@given(c=constraints(), order=st.permutations(range(N_SAMPLES)))
def test_permuted_rows_come_back_through_a_file(tmp_path, c, order):
    permuted = c.subset(order)
    permuted.to_csv(tmp_path / "c.csv")
    back = np.argsort(order)
    assert Constraints.read_csv(tmp_path / "c.csv", n_samples=N_SAMPLES).subset(back) == c


def write(tmp_path, text, name="c.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_files_have_one_line_for_each_answer(tmp_path):
    c = Constraints(
        5,
        pairs=[(0, 1, 1), (0, 2, 0), (0, 3, -2)],
        triplets=[(0, 1, 2, 0), (0, 1, 2, 1), (0, 1, 2, -2)],
        odd_one_out=[(0, 1, 2, code) for code in (0, 1, 2, -1, -2)],
        pair_annotators=["ann", "", "ann"],
        pair_weights=[1, 0.5, 1],
    )
    c.to_csv(tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == HEADER + (
        "pair,0,1,,same,ann,1.0\n"
        "pair,0,2,,different,,0.5\n"
        "pair,0,3,,dont_know,ann,1.0\n"
        "triplet,0,1,2,first,,1.0\n"
        "triplet,0,1,2,second,,1.0\n"
        "triplet,0,1,2,dont_know,,1.0\n"
        "odd_one_out,0,1,2,first,,1.0\n"
        "odd_one_out,0,1,2,second,,1.0\n"
        "odd_one_out,0,1,2,third,,1.0\n"
        "odd_one_out,0,1,2,all_alike,,1.0\n"
        "odd_one_out,0,1,2,dont_know,,1.0\n"
    )
    c.to_jsonl(tmp_path / "c.jsonl")
    lines = (tmp_path / "c.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {
        "kind": "pair",
        "i": 0,
        "j": 1,
        "answer": "same",
        "annotator": "ann",
        "weight": 1.0,
    }
    assert json.loads(lines[3])["k"] == 2


PLAIN = "kind,i,j,k,answer\npair,0,1,,same\nodd_one_out,0,1,2,all_alike\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "\ufeff" + PLAIN,
        PLAIN.replace("\n", "\r\n"),
        "\n" + PLAIN.replace("\n", "\n\n"),
        PLAIN + ",,,,\n",
        PLAIN.rstrip("\n"),
        "answer,k,j,i,kind\nsame,,1,0,pair\nall_alike,2,1,0,odd_one_out\n",
        "kind, i, j, k, answer\npair, 0, 1, , same\nodd_one_out, 0, 1, 2, all_alike\n",
        "kind,i,j,k,answer,weight\npair,0.0,1.0,,same,\nodd_one_out,0,1,2.,all_alike,1\n",
        HEADER + "pair,0,1,,same,,\nodd_one_out,0,1,2,all_alike,,1e0\n",
    ],
)
def test_files_that_people_write(tmp_path, text):
    expected = Constraints(5, pairs=[(0, 1, 1)], odd_one_out=[(0, 1, 2, -1)])
    assert Constraints.read_csv(write(tmp_path, text), n_samples=5) == expected


@pytest.mark.parametrize(
    "text",
    [
        # An index that pandas wrote, with a name or without, as the first or the last column.
        ",kind,i,j,k,answer\n0,pair,0,1,,same\n1,odd_one_out,0,1,2,all_alike\n",
        "Unnamed: 0,kind,i,j,k,answer\n0,pair,0,1,,same\n1,odd_one_out,0,1,2,all_alike\n",
        "kind,i,j,k,answer,index\npair,0,1,,same,0\nodd_one_out,0,1,2,all_alike,1\n",
        # Floats, because k has missing values.
        "kind,i,j,k,answer\npair,0,1,,same\nodd_one_out,0,1,2.0,all_alike\n",
        "kind,i,j,k,answer\npair,0.0,1.0,nan,same\nodd_one_out,0.0,1.0,2.0,all_alike\n",
        "kind,i,j,k,answer\npair,0,1,<NA>,same\nodd_one_out,0,1,2,all_alike\n",
        # Other separators, upper case, spaces.
        "kind;i;j;k;answer;weight\npair;0;1;;same;1,0\nodd_one_out;0;1;2;all_alike;1\n",
        "kind\ti\tj\tk\tanswer\npair\t0\t1\t\tsame\nodd_one_out\t0\t1\t2\tall_alike\n",
        "\ufeffKIND;I;J;K;Answer \r\nPair;0;1;;Same \r\nOdd-one-out;0;1;2; all-alike\r\n",
        '"kind","i","j","k","answer"\n"pair","0","1","","same"\n'
        '"odd one out","0","1","2","All alike"\n',
    ],
)
def test_files_that_pandas_and_spreadsheets_write(tmp_path, text):
    expected = Constraints(5, pairs=[(0, 1, 1)], odd_one_out=[(0, 1, 2, -1)])
    assert Constraints.read_csv(write(tmp_path, text), n_samples=5) == expected


def test_what_pandas_writes_is_read(tmp_path):
    pytest.importorskip("pandas")
    c = Constraints(5, pairs=[(0, 1, 1)], odd_one_out=[(0, 1, 2, -1)], pair_weights=[0.25])
    for arguments in ({}, {"index": False}, {"sep": ";", "decimal": ","}, {"na_rep": "NaN"}):
        c.to_frame().to_csv(tmp_path / "c.csv", **arguments)
        assert Constraints.read_csv(tmp_path / "c.csv", n_samples=5) == c
    c.to_frame().astype({"k": float}).to_csv(tmp_path / "c.csv")
    assert Constraints.read_csv(tmp_path / "c.csv", n_samples=5) == c


def test_files_of_another_kind_are_recognized(tmp_path):
    lines = write(tmp_path, '{"kind": "pair", "i": 0, "j": 1, "answer": "same"}\n')
    with pytest.raises(FileFormatError, match="holds JSON lines, not CSV: use read_jsonl"):
        Constraints.read_csv(lines, n_samples=5)
    with pytest.raises(FileFormatError, match="line 1: not JSON"):
        Constraints.read_jsonl(write(tmp_path, PLAIN), n_samples=5)
    names = write(tmp_path, "kind,i,j,answer\npair,img_3,img_7,same\n")
    with pytest.raises(FileFormatError, match="not a row number: 'img_3'; columns of ids are"):
        Constraints.read_csv(names, ids=["img_3", "img_7"])


def test_columns_that_are_not_read_are_named(tmp_path):
    doubtful = (
        "kind,i,j,k,id_i,id_j,id_k,answer,annotator,p_wrong\n"
        "pair,0,2,,a,c,,same,ann,0.93\nodd_one_out,0,1,2,a,b,c,all_alike,,0.71\n"
    )
    path = write(tmp_path, doubtful)
    expected = Constraints(
        pairs=[("a", "c", 1)],
        odd_one_out=[("a", "b", "c", -1)],
        pair_annotators="ann",
        ids=["a", "b", "c"],
    )
    with pytest.warns(IgnoredColumnsWarning, match=r"c\.csv: columns that are not read: 'p_wrong'"):
        assert Constraints.read_csv(path, ids=["a", "b", "c"]) == expected
    line = '{"kind": "pair", "i": 0, "j": 1, "answer": "same", "Seconds": 3}\n'
    with pytest.warns(IgnoredColumnsWarning, match="'Seconds'"):
        Constraints.read_jsonl(write(tmp_path, line, "c.jsonl"), n_samples=5)


def test_files_without_k_hold_pairs(tmp_path):
    path = write(tmp_path, "kind,i,j,answer\npair,3,1,different\n")
    expected = Constraints(5, pairs=[(1, 3, 0)])
    assert Constraints.read_csv(path, n_samples=5) == expected


def test_a_header_alone_makes_empty_constraints(tmp_path):
    assert Constraints.read_csv(write(tmp_path, HEADER), n_samples=5) == Constraints(5)
    assert Constraints.read_jsonl(write(tmp_path, "", "c.jsonl"), n_samples=5) == Constraints(5)


@pytest.mark.parametrize("text", ["", "\ufeff", "\n\n"])
def test_empty_file_says_what_it_should_begin_with(tmp_path, text):
    with pytest.raises(FileFormatError, match=r"c\.csv is empty.*such as id_i,id_j,answer"):
        Constraints.read_csv(write(tmp_path, text), n_samples=5)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pears,0,1,,same,,", "unknown kind 'pears'; use one of pair, triplet, odd_one_out"),
        (",0,1,,same,,", "unknown kind ''"),
        (
            "pair,0,1,,maybe,,",
            "unknown answer 'maybe' to a pair question; use one of same, different, dont_know",
        ),
        ("pair,0,1,,first,,", "unknown answer 'first'"),
        (
            "triplet,0,1,2,third,,",
            "unknown answer 'third' to a triplet question; use one of first, second, dont_know",
        ),
        ("odd_one_out,0,1,2,,,", "unknown answer ''.*if nobody answered, leave the line out"),
        ("pair,zero,1,,same,,", "i: not a row number: 'zero'"),
        ("pair,0,1.5,,same,,", "j: not a row number: '1.5'"),
        ("pair,0,nan,,same,,", "j: not a row number: 'nan'"),
        ("pair,0,1_0,,same,,", "j: not a row number: '1_0'"),
        ("pair,,1,,same,,", "i: missing"),
        ("odd_one_out,0,1,,all_alike,,", "k: missing"),
        ("pair,0,1,2,same,,", "k: a pair has no third row, but this is '2'"),
        ("pair,0,20,,same,,", "row 20 is out of range; n_samples is 20, so rows run from 0 to 19"),
        ("pair,-1,2,,same,,", "row -1 is out of range"),
        ("pair,0,99999999999999999999999,,same,,", "j: not a row number"),
        ("pair,3,3,,same,,", "must be distinct, but row 3 is repeated"),
        ("odd_one_out,3,1,3,all_alike,,", "must be distinct"),
        ("pair,0,1,,same,,1.5", r"weight must be a number in \[0, 1\], got 1.5"),
        ("pair,0,1,,same,,nan", "weight must be a number"),
        ("pair,0,1,,same,,much", "weight must be a number"),
        ("pair,0,1,,same", "5 fields, but the header has 7"),
        ("pair,0,1,,same,,1,1", "8 fields, but the header has 7"),
        ('pair,0,1,,same,"ann,1', "unexpected end of data"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, message):
    text = HEADER + "pair,0,1,,same,,\n" + line + "\n"
    with pytest.raises(FileFormatError, match=rf"c\.csv, line 3: .*{message}"):
        Constraints.read_csv(write(tmp_path, text), n_samples=N_SAMPLES)


def test_lines_are_counted_through_quoted_line_ends(tmp_path):
    text = HEADER + '\npair,0,1,,same,"two\nlines",\npair,0,0,,same,,\n'
    with pytest.raises(FileFormatError, match="line 5: "):
        Constraints.read_csv(write(tmp_path, text), n_samples=N_SAMPLES)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("kind,i,answer", "missing column 'j'"),
        ("i,j", "missing column 'answer'; the required columns are i and j"),
        ("kind,i,j,k,answer,wieght", "unknown column 'wieght': rename it to 'weight' or remove it"),
        ("kind,i,j,j,answer", "repeated column 'j'"),
        ("kind;i;k;answer", "missing column 'j'"),
        ("pair,0,1,,same", "which columns .* is not clear"),
        ("kind,id_i,id_j,answer", "rows are given by id .*as ids="),
    ],
)
def test_bad_headers(tmp_path, header, message):
    with pytest.raises(FileFormatError, match=f"line 1: {message}"):
        Constraints.read_csv(write(tmp_path, header + "\n"), n_samples=5)


def test_other_encodings_are_named_with_their_line(tmp_path):
    text = (HEADER + "pair,0,1,,same,ann,\npair,0,1,,same,Zoë,\n").encode("latin-1")
    path = write(tmp_path, text)
    with pytest.raises(
        FileFormatError, match=r"line 3: byte 0xeb .* --answer-encoding in commands"
    ):
        Constraints.read_csv(path, n_samples=5)
    with pytest.raises(FileFormatError, match="there is no encoding 'cp0'"):
        Constraints.read_csv(path, n_samples=5, encoding="cp0")
    read = Constraints.read_csv(path, n_samples=5, encoding="latin-1")
    assert set(read.annotators) == {"ann", "Zoë"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Expecting"),
        ("[1, 2]", "expected an object"),
        ('{"kind": "pair", "i": 0, "answer": "same"}', "j: missing"),
        ('{"kind": "pair", "i": 0, "j": true, "answer": "same"}', "j: not a row number"),
        ('{"kind": "pair", "i": 0, "j": [1], "answer": "same"}', "j: not a row number"),
        ('{"kind": "pair", "i": 0, "j": 1e400, "answer": "same"}', "j: not a row number"),
        (
            '{"kind": "pair", "i": 0, "j": 1' + "0" * 400 + ', "answer": "same"}',
            "j: not a row number",
        ),
        ('{"kind": "pair", "i": 0, "j": 1, "answer": 1}', "unknown answer 1"),
        ('{"kind": "pair", "i": 0, "j": 1, "answer": "same", "weight": NaN}', "weight"),
        ('{"kind": "pair", "i": 0, "j": 1, "answer": "same", "weight": true}', "weight"),
        (
            '{"kind": "pair", "i": 0, "j": 1, "answer": "same", "weight": 1' + "0" * 400 + "}",
            "weig",
        ),
        ('{"kind": "pair", "i": 0, "j": 1, "answer": "same", "annotator": []}', "annotator"),
        ('{"kind": "pair", "id_i": {"a": 1}, "id_j": "b", "answer": "same"}', "cannot be an id"),
        ("[" * 100_000, ""),
    ],
)
def test_bad_json_lines_are_named(tmp_path, line, message):
    rows = '"id_i": "a", "id_j": "c"' if "id_i" in line else '"i": 0, "j": 1'
    good = f'{{"kind": "pair", {rows}, "answer": "same"}}'
    path = write(tmp_path, f"{good}\n{line}\n", "c.jsonl")
    with pytest.raises(FileFormatError, match=rf"c\.jsonl, line 2: .*{message}"):
        Constraints.read_jsonl(path, n_samples=5, ids=tuple("abcde") if "id_i" in line else None)


def test_missing_files_and_wrong_n_samples(tmp_path):
    with pytest.raises(FileNotFoundError):
        Constraints.read_csv(tmp_path / "nowhere.csv", n_samples=5)
    with pytest.raises(InvalidConstraintsError, match="n_samples"):
        Constraints.read_csv(tmp_path / "nowhere.csv", n_samples=-5)


def test_writing_replaces_the_file_as_a_whole(tmp_path, monkeypatch):
    path = write(tmp_path, PLAIN)
    c = Constraints(5, pairs=[(0, 1, 1)])

    def interrupted(constraints):
        yield "pair", 0, 1, None, "same", "", 1.0
        raise KeyboardInterrupt

    monkeypatch.setattr("clew.constraints._files.records", interrupted)
    for write_to in (c.to_csv, c.to_jsonl):
        with pytest.raises(KeyboardInterrupt):
            write_to(path)
    assert path.read_text() == PLAIN
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "spoil", [lambda text: text.encode("utf-16"), lambda text: compress(text.encode())]
)
def test_packed_files_and_utf_16_are_read(tmp_path, spoil):
    c = Constraints.from_pairs(must_link=[("zoë", "bob")], ids=["bob", "zoë"], annotators="é")
    for write, read in ((c.to_csv, Constraints.read_csv), (c.to_jsonl, Constraints.read_jsonl)):
        write(tmp_path / "plain")
        (tmp_path / "c").write_bytes(spoil((tmp_path / "plain").read_text("utf-8")))
        assert read(tmp_path / "c", ids=c.ids) == c


def test_numbers_are_no_formulas(tmp_path):
    ids = ["-3", "'-3", "=1+1", "'=1+1", "+"]
    c = Constraints.from_pairs(must_link=[("-3", "'-3"), ("=1+1", "'=1+1"), ("+", "-3")], ids=ids)
    c.to_csv(tmp_path / "c.csv")
    assert "pair,-3,'-3," in (tmp_path / "c.csv").read_text()
    assert Constraints.read_csv(tmp_path / "c.csv", ids=ids) == c
    assert sorted(Constraints.read_csv(tmp_path / "c.csv").ids) == sorted(ids)


def test_spreadsheets_see_no_formula(tmp_path):
    c = Constraints(5, pairs=[(0, 1, 1)], pair_annotators=["=cmd()"])
    c.to_csv(tmp_path / "c.csv")
    assert "'=cmd()" in (tmp_path / "c.csv").read_text()
    assert Constraints.read_csv(tmp_path / "c.csv", n_samples=5) == c


def test_frames_that_people_make():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "kind": ["pair", "odd_one_out"],
            "i": [0, 3.0],
            "j": [1, 4],
            "k": [np.nan, 2],
            "answer": ["same", "third"],
            "annotator": [7, 8],
        },
        index=[5, 5],
    )
    assert Constraints.from_frame(frame, n_samples=5) == Constraints(
        5,
        pairs=[(0, 1, 1)],
        odd_one_out=[(3, 4, 2, 2)],
        pair_annotators=[7],
        odd_one_out_annotators=[8],
    )
    frame["answer"] = ["same", "fourth"]
    with pytest.raises(InvalidConstraintsError, match="frame, row 1: unknown answer 'fourth'"):
        Constraints.from_frame(frame, n_samples=5)
    with pytest.raises(InvalidConstraintsError, match=r"'k' is empty.* add a column 'kind'"):
        Constraints.from_frame(frame.drop(columns="kind"), n_samples=5)


def test_the_message_without_pandas_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="pip install pandas"):
        Constraints(5).to_frame()


def test_answers_know_the_line_of_their_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        'kind,i,j,k,answer,annotator\n\npair,0,1,,same,"two\nlines"\ntriplet,0,1,2,first,\n'
        "most_central,0,1,2,second,\npair,2,3,,different,\n"
    )
    read = Constraints.read_csv(path, n_samples=4)
    pairs, triplets, _ = read.tables
    assert pairs.lines.tolist() == [3, 7]
    assert triplets.lines.tolist() == [5, 6, 6]
    assert read.subset([2, 3]).tables[0].lines.tolist() == [7]
    assert read.as_pairs().tables[0].lines.tolist()[:2] == [3, 7]
    read.to_jsonl(tmp_path / "a.jsonl")
    again = Constraints.read_jsonl(tmp_path / "a.jsonl", n_samples=4)
    assert [table.lines.tolist() for table in again.tables] == [[1, 2], [3, 4, 5], []]
    assert again == read
    assert not Constraints.from_pairs(must_link=[(0, 1)], n_samples=2).tables[0].lines.any()
    assert pickle.loads(pickle.dumps(read)).tables[0].lines.tolist() == [3, 7]
