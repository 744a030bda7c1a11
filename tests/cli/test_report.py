"""`clew group --report`: a page about one's own data."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.cli.pages import Page, assert_needs_nothing_else

from clew import Constraints
from clew.cli import main
from clew.cli._report import describe_group, group_traits
from clew.cli.report import Strip, dot_plot, graph_means, probability_means, shades
from clew.tables import TableFeatures

pytestmark = pytest.mark.usefixtures("small_search")

N = 60
LABEL = np.repeat([0, 1, 2], N // 3)
EVIL = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose words are markup, with answers about three groups, some of them wrong."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "id": [EVIL, *(f"item_{row}" for row in range(1, N))],
            "size": 10 * LABEL + rng.normal(size=N),
            "<b>kind</b>": np.array(["<i>red</i>", "green", "blue"])[LABEL],
            "weight": rng.normal(size=N),
        }
    )
    frame.loc[4, "size"] = np.nan
    frame.to_csv(folder / "t.csv", index=False)
    known = Constraints.from_labels(LABEL, 80, n_triplets=20, error=0.1, random_state=0)
    who = np.where(np.arange(80) % 2, "ann", "<u>bob</u>")
    pairs = np.column_stack([known.pairs, known.pair_answers])
    triplets = np.column_stack([known.triplets, known.triplet_answers])
    said = Constraints(N, pairs=pairs, triplets=triplets, pair_annotators=who.tolist())
    said.with_ids(frame["id"]).to_csv(folder / "said.csv")
    np.save(folder / "X.npy", frame[["size", "weight"]].fillna(0).to_numpy())
    return folder


def _run(folder: Path, *arguments: object) -> Page:
    given = [*map(str, arguments), "--report", str(folder / "r.html"), "-o", str(folder / "g.csv")]
    done = CliRunner().invoke(main, ["group", *given], prog_name="clew")
    assert done.exit_code == 0, done.output
    assert f"wrote {folder / 'r.html'}" in done.stderr
    return Page((folder / "r.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return _run(folder, folder / "t.csv", "-c", folder / "said.csv", "-k", 3)


@pytest.mark.slow
def test_page_is_whole_and_needs_nothing_else(page):
    assert_needs_nothing_else(page)
    assert 'name="viewport"' in page.text
    assert "prefers-color-scheme: dark" in page.text
    names = [attributes["id"] for _, attributes in page.tags if attributes.get("id")]
    assert len(set(names)) == len(names)


def test_words_of_the_files_are_escaped(page):
    assert {"img", "i", "u"} & {tag for tag, _ in page.tags} == {"img"}
    assert [attributes["src"][:22] for attributes in page.all("img")] == ["data:image/png;base64,"]
    for words in ("<b>kind</b>", "<i>red</i>", "<u>bob</u>"):
        assert words in page.words


def test_sections(page):
    sections = [attributes["id"] for attributes in page.all("section")]
    assert sections == ["result", "groups", "affinity", "rows", "doubted", "made"]
    assert [attributes["href"] for attributes in page.all("a")] == [f"#{s}" for s in sections]
    assert len(page.all("article")) == 3


def test_groups_say_what_sets_them_apart(page):
    assert "<b>kind</b> green 100% (all rows 33%)" in page.words
    assert "size 19" in page.words or "size 20" in page.words


def test_doubted_answers_have_reasons(page, folder):
    n_doubted = len((folder / "g.doubtful.csv").read_text().splitlines()) - 1
    assert n_doubted > 3
    assert page.words.count("Wrong with probability") == n_doubted
    assert page.words.count("Same group?") > 0
    assert "they are in groups" in page.words
    assert "rows nearest to" in page.words


def test_annotators_are_a_dot_plot_with_intervals(page):
    assert "Estimated share of wrong answers of each annotator" in page.words
    assert "<u>bob</u>" in page.words
    assert page.words.count(" to ") >= 2
    dots = [attributes for attributes in page.all("circle") if attributes["cx"].endswith("%")]
    lines = [one for one in page.all("line") if one.get("class") == "interval"]
    assert len(dots) == len(lines) == 3  # the triplets have no annotator
    for dot, line in zip(dots, lines, strict=True):
        low, at, high = (float(v.rstrip("%")) for v in (line["x1"], dot["cx"], line["x2"]))
        assert 0 <= low <= at <= high <= 100


def test_names_of_groups(folder):
    page = _run(folder, folder / "t.csv", "-k", 3, "--names", "<s>reds</s>,greens")
    assert "<s>reds</s>" in page.words
    assert "group 1, 20 rows" in page.words
    assert "Group 3" in page.words


def test_groups_are_called_alike_along_the_edges_of_the_picture(page):
    edges = re.findall(r'<div class="edge.*?</div>', page.text, re.DOTALL)
    assert len(edges) == 2
    for edge in edges:
        numbers = re.findall("<span>(.*?)</span>", edge)
        assert [f"Group {number}" in page.words for number in numbers] == [True] * 3


def test_dots_are_on_their_axis():
    plot = dot_plot([Strip("a", [0.8, 0.9], "", None, 0.85), Strip("b", [1.0], "")], 0.8)
    assert [line["dots"] for line in plot["lines"]] == [["0.00", "50.00"], ["100.00"]]
    assert plot["lines"][0]["mean"] == "25.00"
    assert [round(value, 2) for _, value in plot["ticks"]] == [0.8, 0.85, 0.9, 0.95, 1.0]
    assert dot_plot([Strip("none", [0.0], "")])["lines"][0]["dots"] == ["0.00"]


@pytest.mark.parametrize("method", ["pckmeans", "e2cp"])
def test_other_methods_and_arrays(folder, method):
    page = _run(folder, folder / "X.npy", "-k", 3, "--method", method)
    assert_needs_nothing_else(page)
    assert "doubted" not in {attributes["id"] for attributes in page.all("section")}
    assert len(page.all("article")) == 3
    assert "The affinity of two rows" in page.words


@pytest.mark.slow
def test_thousands_of_rows_make_a_small_page(tmp_path):
    n = 3_000
    rng = np.random.RandomState(0)
    groups = 9 * rng.normal(size=(70, 30))[np.arange(n) % 70]
    frame = pd.DataFrame(groups + rng.normal(size=(n, 30)), columns=[f"c{at}" for at in range(30)])
    frame["id"] = [f"{'long' * 20}{row}" for row in range(n)]
    frame["note"] = [" ".join(["word"] * 100 + [str(row)]) for row in range(n)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    page = _run(tmp_path, tmp_path / "t.csv", "-k", 70, "--method", "pckmeans", "--drop", "note")
    assert len(page.text) < 1_000_000
    assert "The 60 largest of 70 groups are shown." in page.words


def test_a_report_that_cannot_be_written_is_refused_before_the_work(folder, tmp_path):
    given = ["group", str(folder / "X.npy"), "--report", str(tmp_path / "no" / "r.html")]
    done = CliRunner().invoke(main, given, prog_name="clew")
    assert done.exit_code == 1
    assert "there is no folder" in done.stderr
    assert "features" not in done.stderr


def test_traits_follow_the_groups():
    frame = pd.DataFrame({"a": [1.0, 1.5, 9.0, 9.5], "b": ["x", "x", "y", "y"], "c": [1, 2, 1, 2]})
    frame = pd.concat([frame] * 5, ignore_index=True)
    columns = TableFeatures().fit(frame).columns_
    traits = group_traits(frame, columns, np.array([0, 0, 1, 1] * 5))
    assert describe_group(traits, 0) == "b x 100% (all rows 50%); a 1.25 (all rows 5.25)"
    assert describe_group(traits, 1) == "b y 100% (all rows 50%); a 9.25 (all rows 5.25)"


def test_random_traits_of_few_rows_are_left_out():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.normal(size=(60, 20)), columns=[f"c{at}" for at in range(20)])
    frame["word"] = rng.choice(["x", "y", "z"], size=60)
    columns = TableFeatures().fit(frame).columns_
    traits = group_traits(frame, columns, np.arange(60) % 12)
    assert [describe_group(traits, group) for group in range(12)] == [""] * 12


def test_pixels_are_means_of_affinities():
    from scipy.sparse import csr_array

    rng = np.random.RandomState(0)
    probabilities = rng.dirichlet(np.ones(4), size=103)
    affinity = probabilities @ probabilities.T
    order = rng.permutation(103)
    inside = affinity[np.ix_(order, order)]
    step = 10
    expected = [
        [inside[i : i + step, j : j + step].mean() for j in range(0, 103, step)]
        for i in range(0, 103, step)
    ]
    np.testing.assert_allclose(probability_means(probabilities, order, 10), expected)
    np.testing.assert_allclose(graph_means(csr_array(affinity), order, 10), expected)


def test_shades_of_a_nearly_empty_picture():
    means = np.zeros((100, 100))
    assert not shades(means).any()
    means[3, 3] = 0.2
    assert shades(means)[3, 3] == 1
