"""Charts: what they show, and that words cannot break out of them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from clew.web.charts import bars_chart, interval_chart, remaining_chart


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
    assert f"done at about {answered + median:,}" in texts(svg)
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
