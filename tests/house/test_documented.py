"""Public names are documented, and documented names and links exist."""

import importlib
import inspect
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from sklearn.base import BaseEstimator

from clew import Session, datasets
from clew.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MODULES = (
    "clew",
    "clew.answers",
    "clew.constraints",
    "clew.trust",
    "clew.similarity",
    "clew.similarity.graphs",
    "clew.cluster",
    "clew.cluster.guided",
    "clew.questions",
    "clew.session",
    "clew.oracles",
    "clew.metrics",
    "clew.datasets",
    "clew.items",
    "clew.web",
    "clew.web.client",
    "clew.web.widget",
    "clew.features",
    "clew.collections",
    "clew.store",
    "clew.worker",
    "clew.tables",
    "clew.exceptions",
)
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for page in DOCS.rglob("*.md") if "auto_examples" not in page.parts),
    ]
)


def _public_names() -> list[tuple[str, str]]:
    return [
        (module, name) for module in MODULES for name in importlib.import_module(module).__all__
    ]


def _estimators() -> list[str]:
    found = set()
    for module, name in _public_names():
        member = getattr(importlib.import_module(module), name)
        if (
            inspect.isclass(member)
            and issubclass(member, BaseEstimator)
            and not inspect.isabstract(member)
        ):
            found.add(name)
    return sorted(found)


def _reference_entries() -> list[str]:
    """The dotted names that the reference lists or describes."""
    entries: list[str] = []
    module = ""
    inside = False
    for line in (DOCS / "api.rst").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match.group(1)
        elif line.strip() and not line.startswith(" "):
            inside = line.startswith(".. autosummary::")
        if match := re.match(r"\.\. py:(?:data|function):: (\w+)", line):
            entries.append(f"{module}.{match.group(1)}")
        elif inside and re.fullmatch(r"   \w+", line):
            entries.append(f"{module}.{line.strip()}")
    return entries


def _resolve(dotted: str) -> object:
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _headings(path: Path) -> list[str]:
    return re.findall(r"^#+ +(.+?) *$", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_modules_say_what_is_public() -> None:
    for module in MODULES:
        names = importlib.import_module(module).__all__
        assert names, module
        assert len(set(names)) == len(names), module
        assert not [name for name in names if re.match(r"_[^_]", name)], module


def test_reference_has_no_entry_twice() -> None:
    entries = _reference_entries()
    assert sorted(set(entries)) == sorted(entries)


def test_public_names_are_in_the_reference() -> None:
    entries = _reference_entries()
    for module, name in _public_names():
        member = getattr(importlib.import_module(module), name)
        # A name that a package passes on is documented once, under either of its addresses.
        same = [entry for entry in entries if entry.rpartition(".")[2] == name]
        assert any(e == f"{module}.{name}" or _resolve(e) is member for e in same), name


def test_reference_names_only_what_is_public() -> None:
    for entry in _reference_entries():
        module, _, name = entry.rpartition(".")
        assert name in importlib.import_module(module).__all__


def test_reference_gives_the_codes_their_values() -> None:
    text = (DOCS / "api.rst").read_text(encoding="utf-8")
    codes = re.findall(r"^\.\. py:data:: (\w+)\n   :value: (-?\d+)$", text, re.MULTILINE)
    answers = importlib.import_module("clew.answers")
    assert {name: int(value) for name, value in codes} == {
        name: getattr(answers, name)
        for name in answers.__all__
        if isinstance(getattr(answers, name), int)
    }


def test_command_has_a_section_and_is_in_the_readme() -> None:
    page, readme = (path.read_text("utf-8") for path in (DOCS / "cli.md", ROOT / "README.md"))
    for command in main.commands:
        assert f"clew {command}" in _headings(DOCS / "cli.md")
        assert f"```{{clew-command}} {command}\n" in page
        assert f"clew {command}" in readme


def _features() -> list[list[str]]:
    """The rows of the README's table: feature, names, page, example."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## All features")[2]
    rows = [row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith("| ")]
    return rows[1:]


def test_every_estimator_has_its_row_among_the_features() -> None:
    names = [name for row in _features() for name in re.findall(r"`(\w+)`", row[1])]
    assert set(_estimators()) - set(names) == set()
    assert set(names) - {name for _, name in _public_names()} == set()
    assert sorted(set(names)) == sorted(names)  # one row each


def test_feature_has_a_page_that_names_it_and_an_example() -> None:
    for feature, names, page, example in _features():
        (page,) = re.findall(r"\((docs/[\w/]+\.md)\)", page)
        (example,) = re.findall(r"\(((?:examples|docs)/[\w/.]+)\)", example)
        assert (ROOT / example).exists(), feature
        pages = (ROOT / page, *(ROOT / page).parent.rglob("*.md"))
        text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
        assert [name for name in re.findall(r"`(\w+)`", names) if name not in text] == []


def test_base_classes_for_new_methods_exist() -> None:
    text = (DOCS / "how_to_add_a_method.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `([\w.]+\.[A-Z]\w+)` \|", text, re.MULTILINE)
    assert len(names) >= 7
    for name in names:
        assert inspect.isclass(_resolve(f"clew.{name}"))


def test_every_estimator_has_a_page() -> None:
    pages = [page.read_text("utf-8") for page in (DOCS / "methods").rglob("*.md")]
    with_a_page = set(re.findall(r"\{py:class\}`clew\.\w+\.(\w+)`", "\n".join(pages)))
    assert set(_estimators()) - with_a_page == set()


def test_links_within_the_project_lead_somewhere() -> None:
    built = ("auto_examples/", "api/generated/")
    missing = []
    for path in PAGES:
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
        local = [target for target in targets if not re.match(r"[a-z]+:", target)]
        missing += [
            (path, target)
            for target in local
            if not any(part in target for part in built) and not (path.parent / target).exists()
        ]
    assert missing == []


def _blocks(path: Path) -> list[str]:
    """The Python of a page or of a notebook, block by block."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    fence = r"^```(?:python|\{code-cell\})\n(?:---\n.*?^---\n)?(.*?)^```"
    return re.findall(fence, text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut data sets, answers and forests; `make docs` and `make demo` use all."""
    load, load_digits, load_wine = (
        datasets.load, sklearn.datasets.load_digits, sklearn.datasets.load_wine
    )  # fmt: skip

    def fewer(name: str) -> datasets.Dataset:
        found = load(name)
        assert found.X is not None
        return replace(found, X=found.X[:200], y=found.y[:200])

    def fewer_digits(*, return_X_y: bool = False) -> object:
        digits = load_digits(return_X_y=return_X_y)
        return tuple(part[:200] for part in digits) if return_X_y else digits

    def fewer_wines(*, return_X_y: bool = False, **options: bool) -> object:
        wines = load_wine(return_X_y=return_X_y, **options)
        kept = np.r_[:50, 59:94, 130:165]
        return tuple(part[kept] for part in wines) if return_X_y and not options else wines

    monkeypatch.setattr(datasets, "load", fewer)
    monkeypatch.setattr(sklearn.datasets, "load_digits", fewer_digits)
    monkeypatch.setattr(sklearn.datasets, "load_wine", fewer_wines)
    monkeypatch.setattr("clew.cluster.guided._features.N_TREES", 10)
    run = Session.run
    monkeypatch.setattr(Session, "run", lambda self, oracle, n, **k: run(self, oracle, n // 2, **k))


def _run(path: Path) -> dict[str, object]:
    """Run a page's Python from top to bottom, with forests and blobs small enough for a test."""
    names: dict[str, object] = {}
    for block in _blocks(path):
        small = re.sub(r"n_trees=\d+", "n_trees=10", block)
        small = re.sub(r"make_blobs\(\d{4,}", "make_blobs(150", small)
        small = re.sub(r"n_pairs=\d{4,}", "n_pairs=300", small)
        exec(compile(small, str(path), "exec"), names)
    return names


@pytest.mark.usefixtures("small_search", "smaller")
def test_readme_example_finds_ten_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = _run(ROOT / "README.md")["model"]
    assert len(set(model.labels_)) == 10  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []


def test_home_page_shows_the_code_of_the_readme() -> None:
    assert _blocks(HOME) == _blocks(ROOT / "README.md")[:1]


HOME = DOCS / "index.md"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
#: The home page has the code of the README, which runs in a test of its own.
PAGES_THAT_RUN = [
    *(page for page in PAGES if page.is_relative_to(DOCS) and _blocks(page) and page != HOME),
    *NOTEBOOKS,
]


#: Fit a dozen models each; `make docs` runs them too.
LONG = (DOCS / "notebooks" / "how_many_answers.ipynb",)


@pytest.mark.usefixtures("small_search", "smaller")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=str(path.relative_to(ROOT)), marks=[pytest.mark.slow] if path in LONG else []
        )
        for path in PAGES_THAT_RUN
    ],
)
def test_page_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    assert set(_run(path)) > {"__builtins__"}  # to the last block, and something was made


#: What a page of the documentation shows without a scroll bar, on a screen 1,280 pixels wide.
LONGEST_LINE = 84


def test_no_line_of_code_is_cut_at_the_right_edge() -> None:
    blocks = [block for path in PAGES_THAT_RUN for block in _blocks(path)]
    lines = [line for block in blocks for line in block.splitlines()]
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_notebook_is_committed_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
