"""``clew simulate`` draws the curve of agreement, and refuses bad input before it runs."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from scipy.spatial.distance import cdist

from clew import Session
from clew.cli import main
from clew.cli.simulate import NEED_NUMBER, STRATEGIES, WITHOUT_NUMBER
from clew.metrics import adjusted_rand_score, jaccard_score_pairs
from clew.oracles import SimulatedOracle
from clew.session._items import STRATEGIES as OF_SESSIONS

pytestmark = pytest.mark.usefixtures("small_search")

Y = np.arange(30) % 3
X = np.random.RandomState(0).normal(size=(30, 3)) + 4 * np.eye(3)[Y]
Call = Callable[..., Result]


@pytest.fixture
def call(here: Path) -> Call:
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.insert(0, "id", [f"item {row}" for row in range(30)])
    frame["kind"] = np.array(["oak", "elm", "ash"])[Y]
    frame["one"] = "same"
    frame.to_csv("X.csv", index=False)
    np.save("X.npy", X)
    np.save("D.npy", cdist(X, X))
    (here / "kinds.txt").write_text("\n".join(frame["kind"]))
    (here / "short.txt").write_text("oak\nelm\n")
    (here / "latin.txt").write_bytes("oak\nBlüte\n".encode("latin-1"))
    np.save("objects.npy", frame["kind"].to_numpy(object))

    def invoke(*arguments: object) -> Result:
        given = ["simulate", *map(str, arguments), "-j", "1", "--budget", "6"]
        return CliRunner().invoke(main, given, prog_name="clew")

    return invoke


def test_the_curve_is_that_of_a_session(call: Call) -> None:
    done = call("X.npy", "--truth", "kinds.txt", "--strategy", "random", "-q", "-o", "curve.csv")
    assert done.exit_code == 0, done.output
    found = pd.read_csv("curve.csv")
    assert list(found.columns) == ["strategy", "repeat", "answers", "minutes", "jaccard", "ari"]
    assert found["answers"].tolist() == list(range(7))
    session = Session(X, strategy="random", random_state=0)
    session.run(SimulatedOracle(Y, error=0.1, random_state=0), 6)
    last = found.iloc[-1]
    assert last["jaccard"] == pytest.approx(jaccard_score_pairs(Y, session.labels()), abs=1e-4)
    assert last["ari"] == pytest.approx(adjusted_rand_score(Y, session.labels()), abs=1e-4)


@pytest.mark.slow
def test_the_groups_are_those_of_clew_group(call: Call) -> None:
    frame = pd.read_csv("X.csv")
    frame[["a", "b", "c"]] = np.random.RandomState(1).normal(size=(30, 3))
    frame.to_csv("X.csv", index=False)
    done = call("X.csv", "--truth", "kind", "--drop", "one", "--json")
    session = Session(frame[["a", "b", "c"]].to_numpy(), random_state=0)
    for point in json.loads(done.stdout)["curve"]:
        if point["answers"] == 0:
            expected = session.result().labels_
            assert point["ari"] == pytest.approx(adjusted_rand_score(Y, expected), abs=1e-4)


@pytest.mark.slow
def test_the_column_of_classes_is_not_used_as_a_feature(call: Call) -> None:
    by_column = call("X.csv", "--truth", "kind", "--drop", "one", "--strategy", "random", "--json")
    by_file = call("X.npy", "--truth", "kinds.txt", "--strategy", "random", "--json")
    curves = [json.loads(done.stdout)["curve"] for done in (by_column, by_file)]
    assert by_column.exit_code == by_file.exit_code == 0
    assert curves[0] == curves[1]


@pytest.mark.slow
def test_the_table_names_the_answers_to_each_goal(call: Call) -> None:
    done = call("X.csv", "--truth", "kind", "--columns", "a,b,c,kind", "--error", "0")
    assert done.stdout.startswith("30 rows of 3 classes, 0% wrong answers")
    assert "answers to a Jaccard index of 0.8: " in done.stdout
    assert "3 features" in done.stderr


@pytest.mark.slow
def test_distances_strategies_and_repeats(call: Call) -> None:
    done = call(
        "D.npy", "--distances", "--truth", "kinds.txt", "--strategy", "random", "--strategy",
        "most_probable", "--repeats", 2, "--json",
    )  # fmt: skip
    found = json.loads(done.stdout)
    curve = pd.DataFrame(found["curve"])
    assert set(zip(curve["strategy"], curve["repeat"], strict=True)) == {
        ("random", 0), ("random", 1), ("most_probable", 0), ("most_probable", 1),
    }  # fmt: skip
    assert set(found["answers_to"]) == {"random", "most_probable"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["curve.png", "curve.svg"])
def test_the_picture(call: Call, here: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    assert call("X.csv", "--truth", "kind", "--strategy", "random", "--plot", name).exit_code == 0
    content = (here / name).read_bytes()
    assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


@pytest.mark.slow
def test_rows_without_a_class(call: Call) -> None:
    frame = pd.read_csv("X.csv")
    frame.loc[3, "kind"] = np.nan
    frame.to_csv("gap.csv", index=False)
    done = call("gap.csv", "--truth", "kind", "--strategy", "random", "-o", "curve.csv")
    assert done.exit_code == 0, done.output
    assert "1 row without a class" in done.stderr


def test_the_mark_of_an_encoding_is_not_part_of_a_class(call: Call, here: Path) -> None:
    classes = (here / "kinds.txt").read_text()
    (here / "marked.txt").write_text(classes, encoding="utf-8-sig")
    done = call("X.npy", "--truth", "marked.txt", "--strategy", "random")
    assert "30 rows of 3 classes" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("X.csv", "--truth", "sort"), 1, "'sort'"),
        (("X.csv", "--truth", "one"), 1, "has one class"),
        (("X.csv", "--truth", "a"), 1, "a class of its own for each of 30 rows"),
        (("X.npy", "--truth", "kind"), 1, "there is no such file"),
        (("X.csv", "--truth", "id"), 1, "a class of its own for each of 30 rows"),
        (("X.npy", "--truth", "short.txt"), 1, "has 2 classes"),
        (("X.npy", "--truth", "latin.txt"), 1, "latin.txt, line 2: byte 0xfc is not valid utf-8"),
        (("X.npy", "--truth", "objects.npy"), 1, "it holds Python objects"),
        (("X.csv", "--truth", "kind", "--error", "0.7", "--dont-know", "0.5"), 2, "add up"),
        (("X.csv", "--truth", "kind", "--plot", "curve.txt"), 2, "must end in .png"),
        (("X.csv", "--truth", "kind", "--plot", "no/curve.png"), 1, "there is no folder no"),
        (("X.csv", "--truth", "kind", "-o", "X.csv"), 2, "also the file of the rows"),
        (("X.csv", "--truth", "kind", "--strategy", "min_max"), 2, "needs --n-groups"),
        (("X.csv", "--truth", "kind", "--strategy", "cobras", "-k", 3), 2, "takes no --n-groups"),
        (("X.csv",), 2, "Missing option '--truth'"),
    ],
)
def test_mistakes(
    call: Call, here: Path, arguments: tuple[object, ...], status: int, message: str
) -> None:
    before = sorted(here.iterdir())
    done = call(*arguments)
    assert done.exit_code == status
    assert message in done.stderr
    assert done.stdout == ""
    assert sorted(here.iterdir()) == before


def test_the_strategies_are_those_of_sessions() -> None:
    # The curve is of groups of all rows, and active subclustering leaves most rows out.
    assert set(STRATEGIES) == set(OF_SESSIONS) - {"active_subclustering"}
    for name in STRATEGIES:
        number = inspect.signature(OF_SESSIONS[name]).parameters.get("n_clusters")
        assert (name in WITHOUT_NUMBER) == (number is None)
        assert (name in NEED_NUMBER) == (number is not None and number.default is not None)


@pytest.mark.slow
def test_kinds_differ_in_minutes(call: Call) -> None:
    done = call("X.csv", "--truth", "kind", "--drop", "one", "--kinds", "auto", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    last = found["curve"][-1]
    assert 6 * 1.6 / 60 <= last["minutes"] <= 6 * 3.6 / 60
    assert found["minutes_to"]["guided"].keys() == found["answers_to"]["guided"].keys()
    refused = call("X.csv", "--truth", "kind", "--kinds", "which-of", "--strategy", "random")
    assert refused.exit_code == 2
    assert "by --strategy guided alone" in refused.stderr
    unknown = call("X.csv", "--truth", "kind", "--kinds", "grid")
    assert unknown.exit_code == 2
