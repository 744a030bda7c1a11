"""All that the app says, from one catalogue: `strings.json`."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def strings() -> dict[str, Any]:
    """Return the catalogue: a text, or one for one thing and another for several, by key."""
    content = resources.files("clew.web").joinpath("strings.json").read_text(encoding="utf-8")
    catalogue: dict[str, Any] = json.loads(content)
    return catalogue


def say(key: str, /, **values: Any) -> str:
    """Return a text of the catalogue with its values filled in; numbers get their commas."""
    text = strings()[key]
    if isinstance(text, dict):
        text = text["one" if values.get("n") == 1 else "other"]
    shown = {name: f"{v:,}" if isinstance(v, int) else v for name, v in values.items()}
    return str(text).format_map(shown)


def strings_of(*families: str) -> dict[str, Any]:
    """Return the part of the catalogue that a page's script needs."""
    return {key: text for key, text in strings().items() if key.partition(".")[0] in families}


def ask_strings() -> dict[str, Any]:
    """Return the texts of the asking module."""
    return strings_of(
        "cancel", "close", "undo", "saved", "question", "hint", "answer", "item", "ask", "confirm",
        "meter", "left", "said", "tool", "dialog", "flag", "note", "refused", "key", "strip",
        "state",
    )  # fmt: skip
