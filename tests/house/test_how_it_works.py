"""The walks through the source: their links lead somewhere, and none is long."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how_it_works.md"
TEXT = PAGE.read_text(encoding="utf-8")
LINKS = sorted(set(re.findall(r"`(clew[\w.]*:[\w.]+)`", TEXT)))
WALKS = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]


def test_links_lead_to_functions_and_classes() -> None:
    for link in LINKS:
        module, _, names = link.partition(":")
        place: object = importlib.import_module(module)
        for name in names.split("."):
            place = getattr(place, name)
        assert callable(place), link


@pytest.mark.parametrize("walk", WALKS, ids=[walk.partition("\n")[0] for walk in WALKS])
def test_walk_has_at_most_nine_stops_each_with_a_link(walk: str) -> None:
    stops = re.findall(r"^(\d)\. (.*)$", walk, re.MULTILINE)
    assert [int(number) for number, _ in stops] == list(range(1, len(stops) + 1))
    assert 2 <= len(stops) <= 9
    assert [text for _, text in stops if not re.search(r"`clew[\w.]*:[\w.]+`", text)] == []


def test_there_are_four_walks() -> None:
    assert len(WALKS) == 4
