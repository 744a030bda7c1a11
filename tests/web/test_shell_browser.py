"""What pages share: a menu that opens on small screens, and what is asked before it is done."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_the_menu_opens_on_a_phone(site: Any, visit: Any) -> None:
    """A tap on Menu shows the pages; another page is one more tap away."""
    ann = visit(site, viewport={"width": 320, "height": 640}, has_touch=True)
    page = ann.go("/ask")
    link = page.get_by_role("link", name="Groups", exact=True)
    assert not link.is_visible()
    page.get_by_role("button", name="Menu").tap()
    link.tap()
    page.wait_for_url("**/groups")


@pytest.mark.slow
def test_a_group_is_locked(site: Any, visit: Any) -> None:
    """Lock asks first, and says what is locked."""
    page = visit(site).go("/groups/1")
    page.get_by_role("button", name="Lock").click()
    assert page.get_by_role("dialog").get_by_role("heading").inner_text() == "Lock Group 2?"
