"""One catalogue of strings: all that is used is there, and all that is there is used."""

from __future__ import annotations

import re
from pathlib import Path

from clew.web.words import say, strings

WEB = Path(__file__).parents[2] / "src/clew/web"
#: Families whose keys are put together: state.{name}, key.{name}, …
MADE = (
    "state.", "item.", "question.", "hint.", "key.", "tool.", "dialog.", "flag.", "edit.", "thread.",  # noqa: E501
    "strip.", "settings.kind.", "settings.look.", "people.", "export.", "review.", "nav.",
    "history.", "model.", "answer.", "progress.", "error.", "help.", "practice.",
)  # fmt: skip


def sources() -> str:
    """Return all that uses strings."""
    files = [*WEB.rglob("*.py"), *WEB.rglob("*.html"), *WEB.rglob("*.js")]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def test_used_strings_are_there() -> None:
    """Each literal key of t() and say() is in the catalogue."""
    used = set(re.findall(r"""\b(?:t|say)\(\s*["']([a-z_.]+[a-z?])["']""", sources()))
    assert len(used) > 100
    assert used - set(strings()) == set()


def test_strings_that_are_there_are_used() -> None:
    """No text is left over; those with made keys are in families that are used."""
    text = sources()
    unused = [key for key in strings() if key not in text and not key.startswith(MADE)]
    assert unused == []


def test_plurals_and_values() -> None:
    """One, several, and numbers with commas."""
    assert say("group.n", n=1) == "1 item"
    assert say("group.n", n=1797) == "1,797 items"
    values = re.compile(r"\{(\w+)\}")
    for key, text in strings().items():
        if isinstance(text, dict):
            one, other = set(values.findall(text["one"])), set(values.findall(text["other"]))
            assert one <= other, key
