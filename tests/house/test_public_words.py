"""What is public has words, and words name what there is: parameters, options, settings, files."""

import importlib
import inspect
import json
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner
from tests.house.test_documented import DOCS, MODULES, PAGES, ROOT, _blocks, _public_names

from clew.answers import SAME, Answer, Question
from clew.cli import main
from clew.store import AnswerFile

numpydoc = pytest.importorskip("numpydoc.docscrape")

CLI_PAGE = (DOCS / "cli.md").read_text(encoding="utf-8")
PROSE = {page: page.read_text(encoding="utf-8") for page in PAGES}
#: Pages about what there is now.
NOW = [page for page in PAGES if page.name != "CHANGELOG.md"]
#: Pages of people's work, in which a group is called a group.
FOR_PEOPLE = [
    ROOT / "README.md",
    *(
        DOCS / f"{name}.md"
        for name in ("index", "install", "tutorial", "ask", "your_data", "constraints", "people",
                     "session", "cli")
    ),
]  # fmt: skip


def _functions() -> dict[str, Any]:
    """Public functions, classes (for their parameters) and methods of classes, by name."""
    found: dict[str, Any] = {}
    for module, name in _public_names():
        member = getattr(importlib.import_module(module), name)
        if not callable(member) or not str(getattr(member, "__module__", "")).startswith("clew"):
            continue  # codes, words and what is passed on from scikit-learn
        if not inspect.isclass(member):
            found[name] = member
            continue
        if issubclass(member, BaseException) or getattr(member, "_is_protocol", False):
            continue
        found[name] = member
        for method, value in vars(member).items():
            function = getattr(value, "__func__", value)
            if method[0] != "_" and inspect.isfunction(function):
                found[f"{name}.{method}"] = function
    return found


FUNCTIONS = _functions()


def _described(docstring: str | None) -> set[str]:
    """Names in the sections of parameters and attributes."""
    doc = numpydoc.NumpyDocString(inspect.cleandoc(docstring or ""))
    entries = [*doc["Parameters"], *doc["Other Parameters"]]
    return {name.strip(" *") for entry in entries for name in entry.name.split(",")}


def _fields_with_words(record: type) -> set[str]:
    """Fields that have a docstring of their own, or are named in that of the record."""
    source = inspect.getsource(record)
    own = set(re.findall(r'^    (\w+): [^\n]+\n    """', source, re.MULTILINE))
    return own | set(re.findall(r"\w+", record.__doc__ or ""))


def test_parameters_have_words_and_words_have_parameters() -> None:
    wrong = {}
    for name, function in FUNCTIONS.items():
        parameters = set(inspect.signature(function).parameters) - {"self", "cls"}
        described = _described(function.__doc__)
        is_record = is_dataclass(function) or hasattr(function, "_fields")
        own = _fields_with_words(function) if is_record else set()
        differ = (parameters - described - own) | (described - parameters)
        wrong |= {name: differ} if differ else {}
    assert wrong == {}


def test_all_public_modules_are_looked_at() -> None:
    packages = {
        ".".join(path.parent.relative_to(ROOT / "src").parts)
        for path in (ROOT / "src" / "clew").rglob("__init__.py")
    }
    # A family's folder exports what its package exports; only clew itself imports the others.
    inner = {"clew.cli", "clew.exports", "clew.kernels"}
    first = {name for name in packages if name.count(".") < 2} - inner
    assert first - set(MODULES) - {"clew.graphs"} == set()


def _options() -> dict[str, list[str]]:
    return {
        name: [
            text
            for each in (command, *getattr(command, "commands", {}).values())
            for parameter in each.params
            if isinstance(parameter, click.Option)
            for text in (*parameter.opts, *parameter.secondary_opts)
        ]
        for name, command in main.commands.items()
    }


def test_option_has_help() -> None:
    """The directive `clew-command` prints the help of each option on the page of the commands."""
    for command in main.commands.values():
        options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
        without = [p.name for p in options if not p.help and p.name not in ("help", "version")]
        assert without == [], command.name


def _command_lines(text: str) -> list[list[str]]:
    """Commands of clew in the blocks of a page, and those within its lines."""
    blocks = re.findall(r"^```(?:sh|text)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    inline = re.findall(r"`(clew [^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    inline = [line for line in inline if line.split()[1] in main.commands]  # not a message
    words = [line.partition("  #")[0].split() for line in (*lines, *inline)]
    return [each for each in words if each[:1] == ["clew"] and re.match(r"[a-z]", each[1])]


def test_commands_and_options_in_the_pages_exist() -> None:
    options = _options()
    for page in NOW:
        for _, command, *words in _command_lines(PROSE[page]):
            used = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
            assert used <= {*options[command], "--help"}, (page, command)


def test_options_named_on_the_page_of_the_commands_exist() -> None:
    known = {option for names in _options().values() for option in names}
    inline = re.findall(r"`(--[a-z-]+)", CLI_PAGE)
    assert set(inline) - known - {"--help", "--version"} == set()


SETTINGS = re.compile(
    r"""environ(?:ment)?(?:\.get\(|\[)\s*"([A-Z_]+)"|"([A-Z_]+)" in environ(?:ment)?\b"""
    r"""|getenv\(\s*"([A-Z_]+)\"|envvar="([A-Z_]+)\""""
)


def _settings() -> set[str]:
    """Environment variables that the source reads."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    found = {name for text in texts for match in SETTINGS.findall(text) for name in match}
    return found - {""}


def test_settings_are_in_the_table_and_no_others() -> None:
    section = CLI_PAGE.partition("## Settings\n")[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    assert "CLEW_DATA" in _settings()  # the pattern finds them
    assert listed - {"NUMBA_CACHE_DIR"} == _settings()  # Numba reads its own


def test_variables_of_options_named_in_the_pages_exist() -> None:
    prefixes = {
        f"CLEW_{command}_{option.lstrip('-')}".upper().replace("-", "_")
        for command, options in _options().items()
        for option in options
    }
    named = {
        name for text in PROSE.values() for name in re.findall(r"\bCLEW_[A-Z][A-Z_]*[A-Z]\b", text)
    }
    assert named - {"CLEW_DATA", "CLEW_PROJECT"} - prefixes == set()
    assert main.context_settings.get("auto_envvar_prefix", "CLEW") == "CLEW"


#: Endings that a file of answers, rows, groups, pictures or results may have.
ENDINGS = {
    "csv", "tsv", "tab", "txt", "parquet", "npy", "npz", "jsonl", "gz", "html", "json", "png",
    "svg",
}  # fmt: skip


def _endings_in_source() -> set[str]:
    source = sorted((ROOT / "src" / "clew").rglob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in source)
    return set(re.findall(r"[\"'(]\.([a-z]{2,7})[\"',) ]", text)) & ENDINGS


def test_file_formats_have_words() -> None:
    named = set(re.findall(r"`[\w.-]*\.([a-z]+)`", CLI_PAGE + PROSE[DOCS / "constraints.md"]))
    assert _endings_in_source() - named - {"svg", "png"} == set()
    reads = CLI_PAGE.partition("### What it reads\n")[2].partition("\n### ")[0]
    table = re.findall(r"`\.([a-z]+)`", reads.partition("\n\nEach may")[0])
    assert set(table) <= _endings_in_source()


def _first_column(section: str) -> list[str]:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_tables_of_a_grouping_have_the_documented_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    points = np.concatenate([random.normal(0, 1, (12, 2)), random.normal(9, 1, (12, 2))])
    np.save(tmp_path / "X.npy", points)
    (tmp_path / "answers.csv").write_text("kind,i,j,answer\npair,0,1,same\npair,0,20,different\n")
    monkeypatch.chdir(tmp_path)
    arguments = ["group", "X.npy", "--constraints", "answers.csv", "-k", "2", "-o", "groups.csv"]
    done = CliRunner().invoke(main, [*arguments, "--method", "linkage"])
    assert done.exit_code == 0, done.output
    groups = Path("groups.csv").read_text("utf-8").partition("\n")[0]
    doubtful = Path("groups.doubtful.csv").read_text("utf-8").partition("\n")[0]
    section = CLI_PAGE.partition("### What it writes\n")[2].partition("\n### ")[0]
    first, _, second = section.partition("`--doubtful`, by default")
    assert _first_column(first) == groups.strip().split(",")
    assert sorted(_first_column(second)) == sorted(doubtful.strip().split(","))


def test_lines_of_a_file_of_answers_have_the_documented_fields(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    log = AnswerFile(path, ["a", "b"])
    log.append(Answer(Question("pair", (0, 1)), SAME, annotator="ann"))
    (line,) = path.read_text(encoding="utf-8").splitlines()
    section = CLI_PAGE.partition("## clew ask\n")[2].partition("\n## ")[0]
    documented = set(_first_column(section.partition("If a table or an array has no ids")[0]))
    assert set(json.loads(line)) <= documented
    # Only of rows without ids, of a repeat, of a check, and of the answer bad_item.
    assert documented - set(json.loads(line)) <= {"content", "repeat", "check", "bad"}


@pytest.mark.parametrize("page", FOR_PEOPLE, ids=[page.stem for page in FOR_PEOPLE])
def test_people_read_groups(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]+`|\]\([^)]*\)", "", PROSE[page], flags=re.DOTALL)
    assert re.findall(r"(?i)\bclusters?\b", prose) == []


def test_the_three_tasks_come_before_any_table() -> None:
    text = PROSE[ROOT / "README.md"]
    heads = ["## Group by answers", "## Ask people", "## Compare with the papers", "## Seven names",
             "## Install"]  # fmt: skip
    at = [text.index(head) for head in heads]
    assert at == sorted(at)
    assert text.index("\n| ") > at[-1]
    names = text[text.index("## Seven names") : text.index("## Install")]
    assert len(re.findall(r"`([\w.]+)`", names)) == 7
    home = PROSE[DOCS / "index.md"]
    assert [home.count(head) for head in heads] == [1] * 5


def test_sidebar_has_at_most_twelve_entries() -> None:
    trees = re.findall(r"```\{toctree\}\n(.*?)```", PROSE[DOCS / "index.md"], re.DOTALL)
    entries = [line for tree in trees for line in tree.splitlines() if line.endswith(">")]
    assert 0 < len(entries) <= 12


def test_methods_with_answers_are_in_the_generated_tables() -> None:
    page = PROSE[DOCS / "methods" / "index.md"]
    packages = re.findall(r"\{clew-methods\} (\S+)", page)
    estimators = {
        name
        for module, name in _public_names()
        if hasattr(getattr(importlib.import_module(module), name), "supports")
    }
    listed = {name for package in packages for name in importlib.import_module(package).__all__}
    assert estimators - listed - {"Strategy"} == set()
    assert _blocks(DOCS / "methods" / "index.md") == []
