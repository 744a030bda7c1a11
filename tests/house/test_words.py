"""Words: American spelling, and none of the words that STYLE replaces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "clew"
#: Folders that are still to be rewritten.
LEFT_OUT = ("cluster/guided", "cli", "kernels", "tables", "trust")
FILES = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if not path.relative_to(SOURCE).as_posix().startswith(LEFT_OUT)
]
BRITISH = (
    r"\w*(neighbour|honour|colour|behaviour)\w*|(un)?centred?|(un)?labelled|"
    r"(normal|standard|minim|maxim|optim|penal|initial|random|general)is(e|es|ed|ing|ation)"
)
REPLACED = (
    r"(un)?believ\w*|chances?|fore(tell|told)\w*|led|unled|prices?|spreads?|hopeless\w*|teller|"
    r"(say|says|said) nothing|takes? no side|ways to group"
)


def found(pattern: str, text: str) -> list[str]:
    return [match.group() for match in re.finditer(rf"(?i)\b({pattern})\b", text)]


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_words(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("_", " ")
    assert found(BRITISH, text) == []
    assert found(REPLACED, text) == []


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
