"""What all pages share: one element for each id, and a menu that opens on small screens."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser
TWICE = """() => {
  const ids = [...document.querySelectorAll('[id]')].map(one => one.id);
  return ids.filter((id, at) => ids.indexOf(id) !== at);
}"""


def test_no_id_is_there_twice(site: Any, visit: Any) -> None:
    """A symbol of the sprite with the id of a button would be found in place of the button."""
    ann = visit(site)
    for path in ("/ask", "/groups", "/groups/1", "/map", "/review", "/progress", "/people"):
        assert ann.go(path).evaluate(TWICE) == [], path


def test_the_menu_opens_on_a_phone(site: Any, visit: Any) -> None:
    """A tap on Menu shows the pages; another page is one more tap away."""
    ann = visit(site, viewport={"width": 320, "height": 640}, has_touch=True)
    page = ann.go("/ask")
    link = page.get_by_role("link", name="Groups", exact=True)
    assert not link.is_visible()
    page.get_by_role("button", name="Menu").tap()
    link.tap()
    page.wait_for_url("**/groups")


def test_a_group_is_locked(site: Any, visit: Any) -> None:
    """Lock asks first, and says what is locked."""
    page = visit(site).go("/groups/1")
    page.get_by_role("button", name="Lock").click()
    assert page.get_by_role("dialog").get_by_role("heading").inner_text() == "Lock Group 2?"
