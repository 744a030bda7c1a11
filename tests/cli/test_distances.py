"""Distances in place of features: what files may hold, and what is asked or refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

from clew.cli import _reading, _rows
from clew.cli._rows import read_distances
from clew.collections._tables import read_ids
from clew.exceptions import FileFormatError, InvalidDataError

IDS = [f"item {at}" for at in range(30)]


@pytest.fixture
def D(X: Path) -> np.ndarray:  # noqa: N802 - the name of distances
    """Distances of the three blobs."""
    return squareform(pdist(np.load(X)))


def assert_read(path, D, ids=None, **options):
    items = read_distances(Path(path), **options)
    assert items.is_distances
    np.testing.assert_allclose(items.X, D, rtol=1e-6)
    assert items.has_ids == (ids is not None)
    assert items.ids == ([str(row) for row in range(len(D))] if ids is None else ids)
    return items


@pytest.mark.parametrize("form", [np.asarray, squareform, np.float32, np.triu, np.tril])
def test_arrays(D, form):
    np.save("D.npy", form(D))
    assert_read("D.npy", D)


def test_whole_numbers(D):
    np.save("D.npy", np.round(D).astype(np.int16))
    assert_read("D.npy", np.round(D))


@pytest.mark.parametrize("name", ["D", "distances", "X"])
def test_archives_with_ids(D, name):
    np.savez("D.npz", **{name: D, "ids": IDS})
    assert_read("D.npz", D, IDS)


@pytest.mark.parametrize("arrays", [{}, {"a": 1, "b": 2}])
def test_archives_must_say_which_are_the_distances(arrays, here):
    np.savez("D.npz", **arrays)
    with pytest.raises(FileFormatError, match="distances as D"):
        read_distances(Path("D.npz"))


def test_large_arrays_are_memory_mapped(D, monkeypatch):
    np.save("D.npy", D)
    monkeypatch.setattr(_rows, "MAPPED_BYTES", 100)
    assert isinstance(assert_read("D.npy", D).X.base, np.memmap)


@pytest.mark.parametrize("end", ["csv", "tsv", "csv.gz", "parquet"])
def test_tables_whose_header_and_first_column_name_the_rows(D, end):
    frame = pd.DataFrame(D, IDS, IDS)
    if end == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet("D.parquet")
    else:
        frame.to_csv(f"D.{end}", sep="\t" if end == "tsv" else ",")
    assert_read(f"D.{end}", D, IDS)


def test_tables_with_ids_in_the_header_alone(D):
    pd.DataFrame(D, columns=IDS).to_csv("D.csv", index=False)
    assert_read("D.csv", D, IDS)


@pytest.mark.parametrize("index", [False, True])
def test_ids_may_be_numbers(D, index):
    names = [str(1000 + row) for row in range(len(D))]
    pd.DataFrame(D, names, names).to_csv("D.csv", index=index)
    assert_read("D.csv", D, names)


def test_the_column_of_ids_may_have_any_name(D):
    pd.DataFrame(D, pd.Index(IDS, name="photo"), IDS).to_csv("D.csv")
    assert_read("D.csv", D, IDS)


@pytest.mark.parametrize("header", [False, True])
def test_tables_without_ids(D, header):
    pd.DataFrame(D).to_csv("D.csv", index=header, header=header)
    assert_read("D.csv", D)


def test_condensed_distances_in_a_column(D):
    pd.DataFrame(squareform(D)).to_csv("D.csv", index=False, header=False)
    assert_read("D.csv", D)


def test_columns_in_another_order_are_matched_by_id(D):
    order = np.random.RandomState(0).permutation(len(D))
    pd.DataFrame(D, IDS, IDS).iloc[:, order].to_csv("D.csv")
    items = assert_read("D.csv", D, IDS)
    assert any("order of the rows" in note for note in items.notes)


def test_other_names_of_columns_are_refused(D):
    pd.DataFrame(D, IDS, [*IDS[:-1], "else"]).to_csv("D.csv")
    with pytest.raises(InvalidDataError, match="row 29 is 'item 29' and column 29 'else'"):
        read_distances(Path("D.csv"))


def test_a_triangle_with_an_empty_rest_is_filled(D):
    low = np.where(np.tri(len(D), k=-1) > 0, D, np.nan)
    pd.DataFrame(low, IDS, IDS).to_csv("D.csv")
    items = assert_read("D.csv", D, IDS)
    assert any("only the lower triangle is filled" in note for note in items.notes)


def test_a_cell_that_is_not_a_number_is_named(D):
    frame = pd.DataFrame(D, IDS, IDS).astype(object)
    frame.iat[2, 4] = "far"
    frame.to_csv("D.csv")
    with pytest.raises(InvalidDataError, match="row 2, column 'item 4' is 'far'"):
        read_distances(Path("D.csv"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda D: D[:, :5], "square"),
        (lambda D: squareform(D)[1:], "not the condensed distances"),
        (lambda D: np.exp(-D), "is this an affinity"),
        (lambda D: np.where(D > 9, np.nan, D), "is NaN"),
        (lambda D: -D, "0 or more, got"),
        (lambda D: D + np.arange(30), "symmetric"),
        (lambda D: D + 0j, "not numbers"),
        (lambda D: D[None], "two dimensions"),
    ],
)
def test_what_is_no_distance_matrix_is_refused(run, D, change, words):
    np.save("D.npy", change(D))
    done = run("D.npy", "--distances", "-k", 3, "-o", "g.csv", fast=False)
    assert done.exit_code == 1
    assert done.stderr.startswith("clew: D.npy")
    assert words in done.stderr
    assert not Path("g.csv").exists()


class TestIds:
    @pytest.mark.parametrize("text", ["a\nb\n", "id\na\nb", '"a"\n"b"\n\n', "id,n\na,1\nb,2\n"])
    def test_ids_on_lines_or_in_a_column(self, here, text):
        Path("ids.txt").write_text(text, encoding="utf-8")
        assert read_ids(Path("ids.txt")) == ["a", "b"]

    @pytest.mark.parametrize("text", ["a\na\n", "a\n\nb\n"])
    def test_repeated_and_empty_ids_are_refused(self, here, text):
        Path("ids.txt").write_text(text, encoding="utf-8")
        with pytest.raises(InvalidDataError, match=r"ids\.txt, row 1"):
            read_ids(Path("ids.txt"))

    @pytest.mark.parametrize("option", ["--distances", "--no-distances"])
    def test_groups_are_written_by_id(self, run, D, option):
        np.save("D.npy", D)
        Path("ids.txt").write_text("\n".join(IDS), encoding="utf-8")
        Path("answers.csv").write_text(
            "kind,id_i,id_j,answer\npair,item 1,item 2,same\npair,item 3,item 29,different\n"
        )
        names = ("--ids", "ids.txt", "-c", "answers.csv")
        done = run(
            "D.npy", option, *names, "-k", 3, "--method", "linkage", "-o", "g.csv", fast=False
        )
        assert done.exit_code == 0, done.output
        groups = pd.read_csv("g.csv")
        assert groups["id"].tolist() == IDS
        assert groups["n_answers"].sum() == 4

    def test_the_number_of_ids_is_checked(self, run, D):
        np.save("D.npy", D)
        Path("ids.txt").write_text("a\nb\n", encoding="utf-8")
        done = run("D.npy", "--distances", "--ids", "ids.txt", "-k", 3, fast=False)
        assert "ids.txt has 2 ids, but D.npy has 30 rows" in done.stderr

    def test_a_file_has_one_kind_of_ids(self, run, D):
        pd.DataFrame(D, IDS, IDS).to_csv("D.csv")
        Path("ids.txt").write_text("\n".join(IDS), encoding="utf-8")
        done = run("D.csv", "--distances", "--ids", "ids.txt", "-k", 3, fast=False)
        assert "D.csv names its rows already" in done.stderr


class TestWhatLooksLikeDistances:
    LINKAGE = ("-k", 3, "--method", "linkage", "-o", "g.csv")

    @pytest.mark.parametrize("name", ["D.npy", "D.csv"])
    def test_a_file_like_distances_is_refused_where_nobody_can_be_asked(self, run, D, name):
        np.save("D.npy", D)
        pd.DataFrame(D, IDS, IDS).to_csv("D.csv")
        done = run(name, *self.LINKAGE, fast=False)
        assert done.exit_code == 1
        assert "add --distances; if they are features, add --no-distances" in done.stderr
        assert not Path("g.csv").exists()

    @pytest.mark.parametrize(("reply", "is_said"), [("y\n", True), ("\n", True), ("n\n", False)])
    def test_a_file_like_distances_is_asked_about_on_a_terminal(
        self, here, D, monkeypatch, reply, is_said
    ):
        from click.testing import CliRunner

        from clew.cli import main

        np.save("D.npy", D)
        monkeypatch.setattr(_reading, "_is_terminal", lambda: True)
        given = ["group", "D.npy", *map(str, self.LINKAGE)]
        done = CliRunner().invoke(main, given, input=reply)
        assert done.exit_code == 0, done.output
        assert "D.npy is square and symmetric, with zeros on its diagonal. Are these" in done.stderr
        assert ("distances from" in done.stderr) == is_said

    def test_a_file_like_distances_holds_features_if_an_option_says_so(self, run, D):
        np.save("D.npy", D)
        done = run("D.npy", "--no-distances", *self.LINKAGE, fast=False)
        assert done.exit_code == 0, done.output
        assert "distances" not in done.stderr


@pytest.mark.parametrize("method", ["e2cp", "copkmeans", "linkage", "spectral"])
def test_methods_of_distances(run, D, method):
    np.save("D.npy", D)
    report = ("--report", "report.html", "--json", "-o", "g.csv")
    done = run("D.npy", "--distances", "-k", 3, "--method", method, *report, fast=False)
    assert done.exit_code == 0, done.output
    groups = pd.read_csv("g.csv")["group"].to_numpy()
    assert groups.tolist() == np.repeat([0, 1, 2], 10).tolist()
    summary = json.loads(done.stdout)
    assert summary["rows"] == 30
    assert summary["features"] is None
    page = Path("report.html").read_text(encoding="utf-8")
    assert "distances between all pairs of rows" in page


def test_other_methods_are_refused(run, D):
    np.save("D.npy", D)
    done = run("D.npy", "--distances", "-k", 3, "--method", "itml", fast=False)
    assert done.exit_code == 2
    assert "--method itml needs features" in done.stderr


def test_nothing_is_standardized(run, D):
    np.save("D.npy", D)
    done = run("D.npy", "--distances", "-k", 3, "--standardize", "yes", fast=False)
    assert done.exit_code == 2
    assert "no effect with --distances" in done.stderr


def test_violations_of_the_triangle_inequality_are_counted(D):
    np.save("D.npy", D**4)
    notes = read_distances(Path("D.npy")).notes
    assert any("triples break the triangle inequality, which is allowed" in note for note in notes)
