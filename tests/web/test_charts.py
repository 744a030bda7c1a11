"""Charts: what they show, and that words cannot break out of them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from clew.store.base import StoredResult
from clew.web.charts import bars_chart, interval_chart, remaining_chart
from clew.web.results import View, quality_words, remaining_of


def texts(svg: str) -> list[str]:
    """Return the words of a chart."""
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter("text")]


@pytest.mark.parametrize(
    ("answered", "low", "median", "high"),
    [(312, 90, 140, 220), (0, 0, 0, 0), (0, 5, 9, 20), (5000, 0, 1, 2)],
)
def test_remaining(answered: int, low: int, median: int, high: int) -> None:
    """The thread says what is done and what is likely; nothing lies outside."""
    svg = remaining_chart(answered, low, median, high, "label")
    assert (f"enough at about {answered + median:,} answers" in texts(svg)) == (median > 0)
    positions = [
        float(v.rstrip("%"))
        for node in ET.fromstring(svg).iter()
        for k, v in node.attrib.items()
        if k in ("x1", "x2", "cx") and v.endswith("%")
    ]
    assert all(0 <= one <= 100 for one in positions)


def test_interval_agrees_with_its_numbers() -> None:
    """The ends of the interval stand under its numbers."""
    assert {"82", "93", "98"} <= set(texts(interval_chart(93, 82, 98, "label")))
    assert "0" in texts(interval_chart(5, 1, 12, "label"))


def test_words_are_escaped() -> None:
    """A name with markup stays a name."""
    svg = bars_chart([("<script>", 3)], "<b>")
    assert "<script>" not in svg
    assert texts(svg)[0] == "<script>"


def test_few_questions_and_certain_groups_are_said_alike_on_all_pages() -> None:
    body = {
        "remaining": {"median": 0, "low": 0, "high": 13}, "n_answers": 25, "n_checks": 4,
        "quality": {"jaccard": [1.0, 0.89, 1.0], "n_checks": 4},
    }  # fmt: skip
    view = View(StoredResult(25, 0.0, body))
    left = remaining_of(view)
    assert left is not None
    assert (left["about"], left["between"], left["answered"]) == ("few more", "up to 13", 25)
    assert quality_words(view) == ("100 of 100", "between 89 and 100")
    assert quality_words(None) == ("", "")
    assert left["pace"] == ""
    assert "enough at" not in remaining_chart(25, 0, 0, 13, "")
    none = {**body, "remaining": {"median": 0, "low": 0, "high": 0, "minutes": [0.1, 0.0, 0.4]}}
    left = remaining_of(View(StoredResult(25, 0.0, none)))
    assert left is not None
    assert (left["between"], left["pace"]) == ("up to 1", "up to 1 more minute")
    some = {**body, "remaining": {"median": 18, "low": 4, "high": 96}}
    left = remaining_of(View(StoredResult(60, 0.0, some)))
    assert left is not None
    assert (left["about"], left["between"]) == ("about 18 more", "4 to 96")
