"""Words: American spelling, and none of the words that STYLE replaces."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "benchmarks", "examples", "docs")
#: Folders of generated files.
GENERATED = {"_build", "auto_examples", "generated", "results"}
#: Files that hold such words as data: patterns, the names of logged results, columns of made tables
#: and methods of other packages.
WITH_DATA = (
    "tests/house/test_words.py",
    "tests/house/test_one_way.py",
    "tests/benchmarks/test_sklr.py",
    "benchmarks/papers/sklr",
    "benchmarks/studies/records",
    "benchmarks/_peers.py",
)
#: The title of a reference.
QUOTED = "On the geographical problem of the four colours"
FILES = [
    path.relative_to(ROOT).as_posix()
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md")
    and not GENERATED & set(path.parts)
    and not path.relative_to(ROOT).as_posix().startswith(WITH_DATA)
] + ["README.md", "CHANGELOG.md"]
BRITISH = (
    r"\w*(neighbour|honour|colour|behaviour|favour)\w*|(un)?centre[ds]?|(un)?labelled|grey|towards|"
    r"(normal|standard|minim|maxim|optim|penal|initial|random|general)is(e|es|ed|ing|ation)"
)
REPLACED = (
    r"(un)?believ\w*|chances?|fore(tell|told)\w*|led|unled|prices?|spreads?|hopeless\w*|teller|"
    r"(say|says|said) nothing|takes? no side|ways to group|aloud|heard"
)


def found(pattern: str, text: str) -> list[str]:
    return [match.group() for match in re.finditer(rf"(?i)\b({pattern})\b", text)]


@pytest.mark.parametrize("words", [BRITISH, REPLACED], ids=["british", "replaced"])
def test_words(words: str) -> None:
    wrong = {}
    for path in FILES:
        text = (ROOT / path).read_text(encoding="utf-8").replace(QUOTED, "").replace("_", " ")
        wrong |= {path: words_found} if (words_found := found(words, text)) else {}
    assert wrong == {}


def test_the_patterns_find_what_they_should() -> None:
    assert found(BRITISH, "Neighbours of the centre, normalised and unlabelled") == [
        "Neighbours", "centre", "normalised", "unlabelled",
    ]  # fmt: skip
    assert found(REPLACED, "the chance of a spread that was foretold") == [
        "chance", "spread", "foretold",
    ]  # fmt: skip
    assert (
        found(BRITISH + "|" + REPLACED, "neighbors, otherwise raised, spreadsheets, pairwise") == []
    )
