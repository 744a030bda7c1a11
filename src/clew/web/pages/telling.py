"""An entry of the log in words: what was said, by whom, when, how fast."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from clew.answers import SAME, Answer, Edit, items_of
from clew.store.base import Logged
from clew.web.asking import logged_json
from clew.web.words import say, strings


def said(logged: Logged) -> str:
    """Say an answer or an edit in words."""
    entry = logged.entry
    if isinstance(entry, Edit):
        return say("history.edit", kind=say(f"history.edit.{entry.kind}"), n=len(entry.items))
    value = logged_json(logged).get("answer")
    if isinstance(value, list):
        n = len(value)
        return say("history.said.strangers", n=n) if n else say("history.said.all_belong")
    key = f"history.said.{value}"
    return say(key) if key in strings() else say("history.said.pick", id=value)


def when(at: str) -> str:
    """Say a day: "3 May"."""
    try:
        stamp = datetime.fromisoformat(at)
    except ValueError:
        return ""
    return f"{stamp.day} {stamp:%b}"


def seconds(times: Iterable[int]) -> str:
    """Say the median of times in milliseconds."""
    known = list(times)
    return f"{statistics.median(known) / 1000:.1f} s" if known else ""


def told(logged: Logged) -> dict[str, Any]:
    """Return an entry with who, when and how fast, as pages show it."""
    entry = logged.entry
    is_pair = isinstance(entry, Answer) and entry.question.kind == "pair"
    ms = getattr(entry, "ms", None)
    return {
        "id": entry.id,
        "who": entry.annotator or "–",
        "when": when(entry.at),
        "seconds": seconds([ms] if ms is not None else []),
        "said": said(logged),
        "ids": [str(one) for one in items_of(entry)][:12],
        "is_answer": isinstance(entry, Answer),
        "is_pair": is_pair,
        "is_same": is_pair and isinstance(entry, Answer) and entry.value == SAME,
        "note": getattr(entry, "note", ""),
        "standing": logged.is_standing,
    }
