"""Answers by id: `clew group` reads and writes them."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clew import Constraints

pytestmark = pytest.mark.usefixtures("small_search")

BLOBS = np.repeat([0, 1, 2], 10)
PCK = ("--method", "pckmeans")


@pytest.fixture
def table(X: Path) -> pd.DataFrame:
    """The blobs as a table whose ids are integers, not in the order of the rows."""
    ids = np.random.RandomState(1).permutation(30) + 1
    frame = pd.DataFrame(np.load(X), columns=list("abc")).assign(id=ids)
    frame.to_csv("t.csv", index=False)
    return frame


def _write(*lines: str) -> None:
    Path("said.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_answers_by_id_and_by_row_are_the_same(run, table):
    ids = table["id"].tolist()
    found = []
    _write("kind,i,j,answer", "pair,0,1,same", "pair,0,12,different")
    found.append(run("t.csv", "-k", 3, "-c", "said.csv", *PCK, fast=False))
    _write(
        "kind,id_i,id_j,answer",
        f"pair,{ids[0]},{ids[1]},same",
        f"pair,{ids[0]},{ids[12]},different",
    )
    found.append(run("t.csv", "-k", 3, "-c", "said.csv", *PCK, fast=False))
    assert [done.exit_code for done in found] == [0, 0], found[1].output
    assert found[0].stdout == found[1].stdout
    rows = _rows(found[1].stdout)
    assert [row["id"] for row in rows] == [str(name) for name in ids]
    assert [row["n_answers"] for row in rows if row["n_answers"] != "0"] == ["2", "1", "1"]


def test_integer_ids_are_not_taken_for_row_numbers_in_silence(run, table):
    _write("kind,i,j,answer", "pair,1,2,same")
    done = run("t.csv", "-k", 3, "-c", "said.csv", *PCK, fast=False)
    assert "said.csv: i, j and k are row numbers from 0" in done.stderr
    _write("kind,id_i,id_j,answer", "pair,1,2,same")
    done = run("t.csv", "-k", 3, "-c", "said.csv", *PCK, fast=False)
    assert "row numbers" not in done.stderr


def test_utf16_names_of_columns_are_read_as_text(run, table):
    text = "left\tmiddle\tright\tresponse\n1\t2\t3\t3\n4\t5\t6\t4\n7\t8\t9\t8\n"
    Path("said.csv").write_text(text, encoding="utf-16")
    done = run("t.csv", "-k", 3, "-c", "said.csv", fast=False)
    assert done.exit_code == 0, done.output
    assert "row numbers" not in done.stderr
    Path("said.csv").write_text("kind,i,j,answer\npair,1,2,same\n", encoding="utf-16")
    done = run("t.csv", "-k", 3, "-c", "said.csv", *PCK, fast=False)
    assert "said.csv: i, j and k are row numbers from 0" in done.stderr


def test_unknown_id_is_named_with_its_line(run, table):
    _write("kind,id_i,id_j,answer", "pair,1,2,same", "pair,1,31,same")
    done = run("t.csv", "-k", 3, "-c", "said.csv", *PCK, fast=False)
    assert done.exit_code == 1
    assert "said.csv, line 3" in done.stderr
    assert "'31'" in done.stderr


def test_further_columns_of_answers_are_named(run, table):
    _write("kind,id_i,id_j,answer,mood", "pair,1,2,same,good")
    done = run("t.csv", "-k", 3, "-c", "said.csv", *PCK, fast=False)
    assert done.exit_code == 0, done.output
    assert "said.csv: columns that are not read: 'mood'" in done.stderr


def test_row_numbers_serve_as_ids_of_an_array(run, X):
    _write("kind,id_i,id_j,answer", "pair,0,12,different")
    done = run(X, "-k", 3, "-c", "said.csv", *PCK, fast=False)
    assert done.exit_code == 0, done.output
    assert [row["n_answers"] for row in _rows(done.stdout)].count("1") == 2


@pytest.mark.parametrize(
    ("items", "columns", "chain"),
    [
        ("X.npy", "i,j", "rows 0 and 12 have a cannot-link, but must-links join them: 0 = 12"),
        ("X.npy", "id_i,id_j", "rows 0 and 12 have a cannot-link, but must-links join them: 0"),
        ("t.csv", "id_i,id_j", "'0' and '12' have a cannot-link, but must-links join them: '0' = "),
    ],
)
def test_contradictions_name_ids_in_quotes_and_row_numbers_without(run, X, items, columns, chain):
    frame = pd.DataFrame(np.load(X), columns=list("abc")).assign(id=np.arange(30))
    frame.to_csv("t.csv", index=False)
    _write(f"kind,{columns},answer", "pair,0,12,same", "pair,0,12,different")
    done = run(items, "-k", 3, "-c", "said.csv", "--method", "copkmeans", fast=False)
    assert done.exit_code == 1
    assert chain in done.stderr


@pytest.mark.slow
def test_doubtful_answers_can_be_read_back(run, table):
    known = Constraints.from_labels(
        BLOBS, 60, n_triplets=60, n_odd_one_out=60, random_state=0, error=0.05
    )
    known.with_ids(table["id"]).to_csv("said.csv")
    done = run("t.csv", "-k", 3, "-c", "said.csv", "-o", "g.csv", fast=False)
    assert done.exit_code == 0, done.output
    rows = _rows(Path("g.doubtful.csv").read_text())
    doubted = Constraints.read_csv("said.csv", ids=table["id"])
    with pytest.warns(UserWarning, match="p_wrong"):
        again = Constraints.read_csv("g.doubtful.csv", ids=table["id"])
    assert len(again) == len(rows) > 5
    names = {(row["kind"], row["id_i"], row["id_j"], row["answer"]) for row in rows}
    frame = doubted.to_frame()
    of_file = set(
        zip(frame["kind"], frame["id_i"].astype(str), frame["id_j"].astype(str), frame["answer"],
            strict=True)
    )  # fmt: skip
    assert names <= of_file
    done = run("t.csv", "-k", 3, "-c", "g.doubtful.csv", "-o", "h.csv", fast=False)
    assert done.exit_code == 0, done.output
    assert f"{len(rows)} answers" in done.stderr
    assert Path("g.doubtful.csv").exists()


def test_two_runs_do_not_share_a_file_of_doubtful_answers(run, table):
    _write("kind,id_i,id_j,answer", "pair,1,2,same")
    for name in ("a.csv", "b.csv"):
        run("t.csv", "-k", 3, "-c", "said.csv", "-o", name, *PCK, fast=False)
    assert Path("a.doubtful.csv").exists()
    assert Path("b.doubtful.csv").exists()
    assert not Path("doubtful.csv").exists()


def test_ids_of_arrays_that_are_bytes_or_floats(run, here):
    for ids in (np.array(["10", "20", "30"], dtype="S"), np.array([10.0, 20.0, 30.0])):
        np.savez(here / "X.npz", X=np.eye(3), ids=ids)
        done = run("X.npz", "-k", 2)
        assert [line.split(",")[0] for line in done.stdout.splitlines()] == ["id", "10", "20", "30"]


@pytest.mark.slow
def test_an_unknown_id_of_rows_without_ids_names_the_option(run, here):
    (here / "X.csv").write_text("bird,a\nwren,1.5\nrobin,2.5\nheron,0.5\n")
    (here / "answers.csv").write_text("kind,id_i,id_j,answer\npair,wren,robin,same\n")
    done = run("X.csv", "-k", 2, "--constraints", "answers.csv")
    assert done.exit_code == 1
    assert "answers.csv, line 2: id_i: there is no row with the id 'wren'" in done.stderr
    assert done.stderr.endswith("the ids of all answers are in a column: --id-column bird\n")
    assert run("X.csv", "-k", 2, "-c", "answers.csv", "--id-column", "bird").exit_code == 0
    (here / "answers.csv").write_text("kind,id_i,id_j,answer\npair,wren,owl,same\n")
    assert "says where they are" in run("X.csv", "-k", 2, "-c", "answers.csv").stderr


def test_answers_that_name_another_column_of_ids_say_which(run, here):
    (here / "X.csv").write_text("id,bird name,a\nb1,wren,1.5\nb2,robin,2.5\nb3,heron,0.5\n")
    (here / "answers.csv").write_text("kind,id_i,id_j,answer\npair,wren,robin,same\n")
    done = run("X.csv", "-k", 2, "--constraints", "answers.csv")
    assert done.exit_code == 1
    assert "no row with the id 'wren'" in done.stderr
    assert "--id-column 'bird name'" in done.stderr


def test_a_column_that_may_hold_ids_is_named(run, X):
    frame = pd.DataFrame(np.load(X), columns=list("abc"))
    frame["my wine"] = [f"w{at}" for at in range(len(frame))]
    frame.to_csv("t.csv", index=False)
    done = run("t.csv", "-k", 3, *PCK, fast=False)
    hint = "rows are called by their numbers, from 0; if 'my wine' holds their ids, add --id-column"
    assert f"{hint} 'my wine'" in done.stderr
    assert (
        "if 'my wine'"
        not in run("t.csv", "-k", 3, *PCK, "--id-column", "my wine", fast=False).stderr
    )


def test_a_first_column_of_texts_that_are_all_different_may_hold_ids(run, X):
    frame = pd.DataFrame(np.load(X), columns=list("abc"))
    birds = [f"Bird of the {'upper' if at % 2 else 'lower'} lake, {at}" for at in range(len(frame))]
    frame.insert(0, "bird name", birds)
    frame.to_csv("t.csv", index=False)
    done = run("t.csv", "-k", 3, *PCK, fast=False)
    assert "if 'bird name' holds their ids, add --id-column 'bird name'" in done.stderr


def test_faults_of_answers_are_said_with_the_file_s_own_names(run, X):
    frame = pd.DataFrame(np.load(X), columns=["Länge cm", "b", "c"])
    frame.insert(0, "Vögel Name", [f"Spatz {at}" for at in range(len(frame))])
    frame.to_csv("t.csv", index=False)
    said = ("t.csv", "-k", 3, *PCK, "--id-column", "vögel name", "-c", "said.csv")
    items = ("--item-columns", "Bild links,Bild rechts", "--annotator-column", "Wer")
    _write("Bild links,Bild rechts,Gleich?,Wer", "Spatz 1,Spatz 2,same,Jörg")
    done = run(*said, fast=False)
    assert "the columns are 'Bild links', 'Bild rechts', 'Gleich?', 'Wer'. Name" in done.stderr
    done = run(*said, *items, "--answer-column", "Antwort", fast=False)
    assert "no column 'Antwort'; the columns are 'Bild links', 'Bild rechts'" in done.stderr
    assert run(*said, *items, "--answer-column", "Gleich?", fast=False).exit_code == 0
    _write("Bild links,Bild rechts,Gleich?,Wer,Trial", "Spatz 1,Spatz 99,same,Jörg,1")
    done = run(*said, *items, "--answer-column", "Gleich?", fast=False)
    assert "said.csv, line 2: Bild rechts: there is no row with the id 'Spatz 99'" in done.stderr
    _write("id_i,id_j,answer", "spatz 1,Spatz 2,same")
    assert "no row with the id 'spatz 1' (there is 'Spatz 1')" in run(*said, fast=False).stderr
    Path("said.csv").write_text("")
    assert "begins with the names of its columns, such as id_i" in run(*said, fast=False).stderr
    _write("id_i,id_j,answer")
    done = run(*said, fast=False)
    assert "said.csv has no answers: these are groups by features alone" in done.stderr
    assert done.exit_code == 0
    done = run("t.csv", "-k", 3, "--report", "r.pdf")
    assert (done.exit_code, "name it r.html" in done.stderr) == (2, True)
    done = run("t.csv", "-k", 3, "--columns", "b", "--drop", "b")
    assert "columns and drop leave no column; name others" in done.stderr


def test_answers_of_another_encoding_than_the_rows_can_be_read(run, here):
    Path("t.csv").write_text("id,x,y\nZoë,0,1\nAnn,0,2\nBob,9,9\nÉva,9,8\n", encoding="utf-8")
    Path("said.csv").write_bytes(
        "id_i,id_j,answer\nZoë,Ann,same\nÉva,Ann,different\n".encode("cp1252")
    )
    options = ("t.csv", "-k", 2, "-c", "said.csv", *PCK)
    done = run(*options, fast=False)
    assert done.exit_code == 1
    assert "said.csv, line 2: byte 0xeb is not valid utf-8; save the file" in done.stderr
    assert "--answer-encoding" in done.stderr
    done = run(*options, "--answer-encoding", "cp1252", fast=False)
    assert done.exit_code == 0, done.stderr
    assert [row["n_answers"] for row in _rows(done.stdout)] == ["1", "2", "0", "1"]
    alone = run("-c", "said.csv", "-k", 2, "--answer-encoding", "cp1252", fast=False)
    assert [row["id"] for row in _rows(alone.stdout)] == ["Zoë", "Ann", "Éva"]
