"""Bad input: one clear sentence, the right exit status, and no file left behind."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tests.programs import run_program

from clew import Constraints

pytestmark = pytest.mark.usefixtures("small_search")


def assert_refused(done, *words, status=1, prints=False):
    assert done.exit_code == status, done.output
    assert bool(done.stdout) == prints
    if status == 1:
        # The last line says what is wrong; notes on the columns may come before.
        assert done.stderr.splitlines()[-1].startswith("clew: ")
        assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def _save(name, rows):
    np.save(name, np.asarray(rows))
    return name


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_value_that_is_not_finite_is_named(run, here, bad):
    X = np.zeros((5, 3))
    X[3, 1] = bad
    assert_refused(
        run(_save("X.npy", X), "-k", 2, "-o", "g.csv"), "X.npy, row 3, column 1", "finite"
    )
    assert not (here / "g.csv").exists()


def test_infinite_value_in_a_table_is_named_by_line_and_column(run, here):
    (here / "t.csv").write_text("a,b\n1,2\n\n3,inf\n")
    assert_refused(run("t.csv", "-k", 2), "t.csv, row 1 (line 4), column 'b'")


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([[1.0, 2.0]], "one row"),
        (np.zeros((0, 3)), "0 rows"),
        (np.zeros((3, 0)), "0 features"),
        ([1.0, 2.0], "reshape(-1, 1)"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        ([["a", "b"], ["c", "d"]], "not numbers"),
        ([[1j, 2], [3, 4]], "not numbers"),
    ],
)
def test_array_of_the_wrong_kind(run, here, rows, word):
    assert_refused(run(_save("X.npy", rows), "-k", 1), "X.npy", word)


def test_pickled_objects_are_never_loaded(run, here):
    np.save("X.npy", np.array([[object()]], dtype=object), allow_pickle=True)
    assert_refused(run("X.npy", "-k", 1), "X.npy cannot be read")


@pytest.mark.parametrize("name", ["X.npy", "X.npz", "X.parquet"])
@pytest.mark.parametrize("content", [b"", b"no such thing", b"PK\x03\x04rest"])
def test_damaged_file(run, here, name, content):
    if name == "X.parquet":
        pytest.importorskip("pyarrow")
    Path(name).write_bytes(content)
    assert_refused(run(name, "-k", 2), name, "cannot be read")


@pytest.mark.parametrize("name", ["X.pkl", "X", "X.xlsx"])
def test_unknown_kind_of_file(run, here, name):
    Path(name).write_text("1,2\n3,4\n")
    assert_refused(run(name, "-k", 2), name, ".npy, .npz, .csv, .tsv, .tab, .txt, .parquet")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["the file is empty"]),
        ("\n \n", ["the file is empty"]),
        ("a,b\n", ["no rows"]),
        ("1,2\n3\n", ["line 2", "1 fields"]),
        ("a,b\n1,2,3\n", ["line 2", "the header has 2"]),
        ("a\n" + "1.5\n" * 20 + "x\n", ["row 20 (line 22)", "'a'", "'x'", "not a number"]),
        ("a,,b\n1,2,3\n3,4,5\n", ["position 1", "no name"]),
        (",a\nx,1\nx,2\n", ["row 1 (line 3)", "'x'", "row 0"]),
        ("a,a\n1,2\n3,4\n", ["two columns are named 'a'"]),
        ("id,ID,a\n1,2,3\n3,4,5\n", ["two columns are named 'ID'"]),
        ("id\nx\ny\n", ["no column can be used"]),
        ("a,b\nx,7\ny,7\n", ["a: differs from row to row", "b: the same value in every row"]),
        ("a,b\n1,2\n", ["one row", "two rows"]),
        ("id,a\nx,1\nx,2\n", ["row 1 (line 3)", "'x'", "row 0"]),
        ("id,a\nx,1\n,2\n", ["row 1 (line 3)", "id is empty"]),
        ('a\n"1\n', ["line 2"]),
    ],
)
def test_table_with_a_fault(run, here, text, words):
    (here / "t.csv").write_text(text)
    assert_refused(run("t.csv", "-k", 1), "t.csv", *words)


def test_table_in_another_encoding(run, here):
    (here / "t.csv").write_bytes(b"a,b\n1,2\n3,\xff\n")
    assert_refused(run("t.csv", "-k", 1), "line 3", "UTF-8", "cp1252")
    done = run("t.csv", "-k", 1, "--encoding", "latin-1")
    assert done.exit_code == 0, done.output
    assert_refused(run("t.csv", "-k", 1, "--encoding", "klingon"), "no encoding 'klingon'")
    (here / "letters").mkdir()
    (here / "letters" / "a.txt").write_bytes("Blüte".encode("cp1252"))
    assert_refused(
        run("letters", "-k", 1, "--encoding", "cp1252"),
        "are for tables; texts in a folder",
        "UTF-8",
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pair,0,30,same", ["i", "rows run from 0 to 29"]),
        ("pair,-1,3,same", ["rows run from 0 to 29"]),
        ("pair,4,4,same", ["must be distinct", "row 4 is repeated"]),
        ("pair,1,2,maybe", ["'maybe'"]),
        ("pair,1,2", ["3 fields"]),
        ("pair,x,2,same", ["'x'"]),
    ],
)
def test_bad_line_of_answers_is_named(run, X, here, line, words):
    (here / "a.csv").write_text(f"kind,i,j,answer\npair,0,1,same\n{line}\n")
    done = run(X, "-k", 3, "-c", "a.csv", "-o", "g.csv")
    assert_refused(done, "a.csv, line 3", *words)
    assert sorted(path.name for path in here.iterdir()) == ["X.npy", "a.csv"]


def test_answers_about_another_number_of_rows(run, X, here):
    Constraints.from_labels(np.arange(100) % 3, 50, random_state=0).to_csv("a.csv")
    assert_refused(run(X, "-k", 3, "-c", "a.csv"), "a.csv, line", "n_samples is 30")


def test_empty_file_of_answers(run, X, here):
    (here / "a.csv").touch()
    assert_refused(run(X, "-k", 3, "-c", "a.csv"), "a.csv is empty")


@pytest.mark.slow
def test_contradiction_under_hard_constraints_names_the_chain(run, X, answers):
    file = answers("3 5 same", "5 9 same", "3 9 different")
    options = (X, "-k", 3, "-c", file)
    assert_refused(run(*options, "--mode", "hard"), "3 = 5 = 9")
    assert_refused(run(*options, "--mode", "hard", "--trust", "none"), "3 = 5 = 9")
    assert run(*options).exit_code == 0


@pytest.mark.parametrize("method", ["clustrf", "spectral"])
def test_method_without_answers_refuses_them(run, X, answers, method):
    done = run(X, "-k", 3, "-c", answers("0 1 same"), "--method", method, fast=False)
    words = f"--method {method} learns from no answers, and here are answers about pairs; use"
    assert_refused(done, words, "--method guided, or leave --constraints out")


def test_kind_of_answer_that_the_method_does_not_honor(run, X, here):
    (here / "a.csv").write_text("kind,i,j,k,answer\ntriplet,0,1,2,first\n")
    for method in ("coprf", "itml"):
        assert_refused(
            run(X, "-k", 3, "-c", "a.csv", "--method", method, fast=False),
            f"--method {method} learns only from answers about pairs and dont_know answers, not "
            "from triplets", "--method guided", "leave such answers out",
        )  # fmt: skip


def test_bad_line_of_json_answers_is_named(run, X, here):
    (here / "a.jsonl").write_text('{"kind": "triplet", "i": 0, "j": 1, "k": 1, "answer": "first"}')
    done = run(X, "-k", 3, "-c", "a.jsonl", "--method", "dcrc", fast=False)
    assert_refused(done, "a.jsonl, line 1", "must be distinct", "row 1 is repeated")


def test_more_groups_than_rows(run, X):
    assert_refused(run(X, "-k", 31), "--n-groups 31 is too many", "30 rows")


@pytest.mark.parametrize(
    "wrong",
    [
        ("-k", "0"),
        ("-k", "auto"),
        ("--method", "coprf"),
        ("-k", "3", "--mode", "hard"),
        ("-k", "3", "--method", "kmeans"),
        ("-k", "3", "--seed", "-1"),
        ("-k", "3", "-j", "0"),
        ("-k", "3", "--n-trees", "0"),
        ("-k", "3", "--doubtful", "d.csv"),
        ("-k", "3", "--method", "spectral", "--n-trees", "9"),
        ("-k", "3", "--method", "clustrf", "--mode", "soft"),
        ("-k", "3", "--method", "clustrf", "--trust", "auto"),
        ("-k", "3", "-o", "X.npy"),
        ("-k", "3", "-c", "nowhere.csv"),
    ],
)
def test_misuse(run, X, wrong):
    before = X.read_bytes()
    assert_refused(run(X, *wrong, fast=False), "Usage: clew group", status=2)
    assert X.read_bytes() == before


def test_missing_file(run, here):
    assert_refused(run("nowhere.npy", "-k", 2), "nowhere.npy", "does not exist", status=2)
    (here / "X.npy").unlink(missing_ok=True)
    assert_refused(run(here, "-k", 2), "has no images", "; it is empty")
    (here / "report.pdf").touch()
    assert_refused(run(here, "-k", 2), "has no images", "; it holds report.pdf")
    for name in ("wines.csv", "a.tsv.gz", "b.csv", "c.NPY"):
        (here / name).touch()
    assert_refused(
        run(here, "-k", 2), "holds a.tsv.gz, b.csv, c.NPY and 1 more: name one such file in place "
        f"of the folder, {here / 'a.tsv.gz'}",
    )  # fmt: skip


def test_answers_are_never_written_over(run, X, answers):
    file = answers("0 1 same", name="groups.doubtful.csv")
    before = file.read_bytes()
    for output in ("groups.doubtful.csv", "groups.csv"):
        assert_refused(
            run(X, "-k", 3, "-c", file, "-o", output), "also the file of the answers", status=2
        )
    assert_refused(
        run(X, "-k", 3, "-c", file, "-o", "g.csv", "--doubtful", "g.csv"), "g.csv", status=2
    )
    assert file.read_bytes() == before


@pytest.mark.parametrize("output", ["nowhere/g.csv", "folder", "X.npy/g.csv"])
def test_output_that_cannot_be_written_is_refused_before_the_work(run, X, here, output):
    (here / "folder").mkdir()
    assert_refused(run(X, "-k", 3, "-o", output), f"cannot write {output}")


@pytest.mark.skipif(sys.platform != "linux", reason="a folder where even root cannot write")
def test_folder_that_cannot_be_written_to(run, X):
    assert_refused(run(X, "-k", 3, "-o", "/proc/g.csv"), "cannot write /proc/g.csv")


def test_no_output_is_written_if_another_one_fails(run, X, here, answers, monkeypatch):
    (here / "g.csv").write_text("precious")
    import clew.cli._outputs as outputs

    write = outputs.atomic_write

    def broken(path, mode):
        if Path(path).name == "g.doubtful.csv":
            raise OSError(28, "No space left on device")
        return write(path, mode)

    monkeypatch.setattr(outputs, "atomic_write", broken)
    done = run(X, "-k", 3, "-c", answers("0 1 same"), "-o", "g.csv")
    assert_refused(done, "g.doubtful.csv: No space left on device", "no other folder", prints=True)
    # No file can be written, so the groups are printed.
    assert done.stdout.startswith("id,group")
    assert (here / "g.csv").read_text() == "precious"
    assert sorted(path.name for path in here.iterdir()) == ["X.npy", "answers.csv", "g.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_results_for_a_full_disk_are_kept_elsewhere(run, X, answers, monkeypatch, tmp_path):
    (tmp_path / "shelter").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "shelter"))
    done = run(X, "-k", 3, "-c", answers("0 1 same"), "-o", "/dev/full", "--doubtful", "d.csv")
    (folder,) = (tmp_path / "shelter").iterdir()
    assert_refused(done, "/dev/full: No space left on device", f"the results are kept in {folder}")
    assert (folder / "full").read_text().startswith("id,group")
    assert (folder / "d.csv").read_text().startswith("kind,")
    assert not Path("d.csv").exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_groups_that_cannot_be_printed_are_kept(X):
    with open("/dev/full", "w") as full:
        done = run_program("group", X, "-k", "3", "--method", "pckmeans", stdout=full.fileno())
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("clew: the standard output: No space left on device; the results are")
    folder = Path(last.rpartition(" ")[2])
    assert (folder / "groups.csv").read_text().startswith("id,group")
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a limit on the size of files")
def test_groups_are_printed_where_no_file_can_be_written(X):
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "from clew.cli import main; main(prog_name='clew')"
    )
    options = ["group", str(X), "-k", "3", "--method", "pckmeans", "-o", "g.csv"]
    end, start = os.pipe()
    with open(end) as printed:
        done = run_program(*options, code=code, stdout=start)
        os.close(start)
        lines = printed.readlines()
    assert done.returncode == 1, done.stderr
    assert "g.csv: File too large" in done.stderr.splitlines()[-1]
    assert len(lines) == 31
    assert not Path("g.csv").exists()


def test_out_of_memory_is_a_sentence(run, X, monkeypatch):
    def grow(*_, **__):
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr("clew.cluster.SimilarityClustering.fit", grow)
    assert_refused(run(X, "-k", 3), "not enough memory", "9 TiB")


def test_an_option_given_twice_is_refused(run, X):
    """The first of two files of answers was dropped in silence."""
    wrong = run(X, "--constraints", "a.csv", "--answers", "b.csv")
    assert_refused(wrong, "--constraints or --answers is given 2 times", status=2)
