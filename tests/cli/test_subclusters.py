"""``clew subclusters`` writes pure examples, from features, tables and distances."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.spatial.distance import cdist

from clew.cli import main
from clew.cluster import Subclustering

rng = np.random.RandomState(0)
LABELS = np.arange(60) % 3
X = rng.normal(size=(60, 4)) + 4 * np.eye(3, 4)[LABELS]


@pytest.fixture
def call(here):
    np.save("X.npy", X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "id", [f"item {row}" for row in range(60)])
    frame.to_csv("X.csv", index=False)
    np.save("D.npy", cdist(X, X))
    (here / "ids.txt").write_text("\n".join(f"item {row}" for row in range(60)))

    def invoke(*arguments):
        given = ["subclusters", *map(str, arguments), "-j", "1"]
        return CliRunner().invoke(main, given, prog_name="clew")

    return invoke


def written(text):
    return pd.read_csv(io.StringIO(text))


def test_rows_are_those_of_the_estimator(call):
    done = call("X.npy", "--n-groups", 3, "-n", 4, "-q")
    assert done.exit_code == 0, done.output
    found = written(done.stdout)
    model = Subclustering(3, size=4, random_state=0).fit(X)
    assert list(found.columns) == ["group", "position", "id", "confidence"]
    np.testing.assert_array_equal(found["id"], model.exemplars_.ravel())
    np.testing.assert_array_equal(found["group"], np.repeat([0, 1, 2], 4))
    np.testing.assert_array_equal(found["position"], np.tile([0, 1, 2, 3], 3))
    np.testing.assert_allclose(found["confidence"], model.confidence_.ravel(), atol=1e-4)


def test_tables_and_distances_have_the_same_result(call):
    common = ("--n-groups", 3, "-n", 4, "-q")
    names = written(call("X.csv", *common, "--standardize", "no").stdout)["id"]
    assert names[0].startswith("item ")
    by_distance = written(call("D.npy", "--distances", "--ids", "ids.txt", *common).stdout)["id"]
    assert by_distance.tolist() == names.tolist()


def test_summary_and_report_with_pictures(call, here):
    done = call("X.npy", "--n-groups", 3, "-n", 4, "--json", "-q", "--images", "2x2",
                "--report", "r.html")  # fmt: skip
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert (summary["rows"], summary["subclusters"], summary["size"]) == (60, 3, 4)
    assert len(written((here / "subclusters.csv").read_text())) == 12
    page = (here / "r.html").read_text()
    assert len(re.findall(r'<img src="data:image/png;base64,', page)) == 12
    assert not re.search(r'(src|href)="https?:', page)


def test_report_of_a_table_shows_columns(call, here):
    assert (
        call("X.csv", "--n-groups", 3, "-n", 4, "-o", "o.csv", "--report", "r.html").exit_code == 0
    )
    page = (here / "r.html").read_text()
    assert page.count("Subcluster ") >= 3
    assert "item " in page
    assert ">d</th>" in page


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("X.npy", "--n-groups", 7), 1, "needs 70 rows; X.npy has only 60"),
        (("X.npy",), 2, "--n-groups is missing"),
        (("X.npy", "-k", 3, "--images", "2by2", "--report", "r.html"), 2, "such as 28x28"),
        (("X.npy", "-k", 3, "--images", "3x3", "--report", "r.html"), 1, "needs 9 features, or 27"),
        (("X.npy", "-k", 3, "--images", "2x2"), 2, "no effect without --report"),
        (("D.npy", "-k", 3), 1, "add --distances"),
        (("D.npy", "-k", 3, "--distances", "--standardize", "yes"), 2, "has no effect"),
        (("X.npy", "-k", 3, "-o", "X.npy"), 2, "also the file of the rows"),
        (("X.npy", "-k", 3, "--candidates", 2), 1, "at least n_clusters"),
    ],
)
def test_bad_input(call, arguments, exit_code, message):
    done = call(*arguments)
    assert done.exit_code == exit_code
    assert message in " ".join(re.sub(r"[│╭╰─╮╯]", " ", done.output).split())
