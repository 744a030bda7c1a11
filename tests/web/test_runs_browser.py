"""A whole labelling run, from the link to the finished page: by keys, by pointer, by touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clew.answers import BAD_ITEM, DIFFERENT, NOT_COMPARABLE, SAME, Question
from clew.store.base import Suggestion
from clew.web.accounts import make_link

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SMALL = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
#: What the element with the focus is called.
FOCUSED = "(e => !e.matches('a, button, input, textarea, select') ? '' : e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent)(document.activeElement).trim()"  # noqa: E501


class Hand:
    """One way to use a page."""

    def __init__(self, visitor: Any) -> None:
        self.visitor, self.page = visitor, visitor.page

    def use(self, role: str, name: str, key: str = "") -> None:
        """Use a button, a link or a box; `key` is its key, where it has one."""
        raise NotImplementedError

    def write(self, label: str, text: str) -> None:
        """Write into a field."""
        self.use("textbox", label)
        self.page.keyboard.type(text)

    def looked(self) -> None:
        """Check what must hold on every page."""


class Keys(Hand):
    """Keys alone: single keys where there are some, else Tab, Space and Enter."""

    def use(self, role: str, name: str, key: str = "") -> None:
        if key:
            self.page.keyboard.press(key)
            return
        for _ in range(60):
            if name in self.page.evaluate(FOCUSED):
                break
            self.page.keyboard.press("Tab")
        else:
            raise AssertionError(f"Tab does not reach {name}")
        outline = self.page.evaluate(
            "(s => s.outlineStyle !== 'none' || s.boxShadow !== 'none')(getComputedStyle(document.activeElement))"  # noqa: E501
        )
        assert outline, f"the focus on {name} cannot be seen"
        if role != "textbox":
            self.page.keyboard.press("Space" if role in ("checkbox", "radio") else "Enter")


class Pointer(Hand):
    """Clicks alone; text is typed where a field has been clicked."""

    def use(self, role: str, name: str, key: str = "") -> None:
        self.page.get_by_role(role, name=name).first.click()


class Touch(Hand):
    """Taps on a screen of 320 pixels, where nothing is cut off and every target is large."""

    def use(self, role: str, name: str, key: str = "") -> None:
        found = self.page.get_by_role(role, name=name).first
        found.scroll_into_view_if_needed()
        box = found.evaluate(
            "e => (r => [r.width, r.height, r.left, r.right])((e.closest('label') ?? e).getBoundingClientRect())"  # noqa: E501
        )
        least = 43.5 if role == "button" else 23.5
        assert box[1] >= least, (name, box)
        assert box[0] >= least, (name, box)
        assert box[2] >= -0.5, (name, box)
        assert box[3] <= 320.5, (name, box)
        found.tap()

    def looked(self) -> None:
        assert self.page.evaluate("document.documentElement.scrollWidth") <= 320, self.page.url
        small = self.page.eval_on_selector_all(
            ".bar button",
            "all => all.map(b => b.getBoundingClientRect()).filter(r => r.width && (r.width < 43.5 || r.height < 43.5 || r.left < 0 || r.right > 320))",  # noqa: E501
        )
        assert small == []


def answer(hand: Hand, *uses: tuple[str, str, str]) -> None:
    """Answer the question on the screen."""
    hand.visitor.asked()
    hand.looked()
    before = hand.page.evaluate("document.getElementById('ask').measured.next.length")
    for role, name, key in uses:
        hand.use(role, name, key)
    hand.page.wait_for_function(
        "n => document.getElementById('ask').measured.next.length > n || document.querySelector('.state')",  # noqa: E501
        arg=before,
    )


@pytest.mark.parametrize(("way", "options"), [(Keys, {}), (Pointer, {}), (Touch, SMALL)])
def test_from_the_link_to_the_end(
    make_site: Any, visit: Any, way: Callable[[Any], Hand], options: Any
) -> None:
    """Name, practice, all kinds, flags, a note, undo, the end: all is in the log as meant."""
    kinds = ["pair", "triplet", "odd_one_out", "which_of", "confirm"]
    site = make_site(result=True, settings={"guideline": "Same shape is the same.", "kinds": kinds})
    x = site.ids
    questions = [
        Question("pair", ids=(x[0], x[1])),
        Question("triplet", ids=(x[2], x[3], x[4])),
        Question("odd_one_out", ids=(x[5], x[6], x[7])),
        Question("which_of", ids=tuple(x[8:15]), parts=(1, 3, 2, 1)),
        Question("confirm", ids=tuple(x[15:24]), parts=(3, 6)),
        *(Question("pair", ids=(x[0], x[i])) for i in range(2, 6)),
    ]
    site.store.replace_pool([Suggestion(one, score=-float(at)) for at, one in enumerate(questions)])
    secret = make_link(site.store, annotator=None, role="annotator", completion="WOOL-7731")
    hand = way(visit(site, "", **options))
    page = hand.page
    hand.visitor.go(f"/a/{secret}")
    hand.looked()
    hand.write("Your name", "Bo")
    hand.use("button", "Start")
    page.wait_for_url("**/practice")
    for name, key in (("Same", "1"), ("Different", "2"), ("Don’t know", "k")):
        answer(hand, ("button", name, key))
    hand.looked()
    hand.use("button", "Begin")
    page.wait_for_url("**/ask")

    answer(hand, ("button", "Different", "2"))
    answer(hand, ("button", "Closer to B", "1"))
    answer(hand, ("button", "Second", "2"))
    answer(hand, ("button", "Group 2", "2"))
    hand.visitor.asked()
    first = page.locator(".members .pick").nth(1)
    if isinstance(hand, Keys):
        page.keyboard.press("2")
    else:
        (first.tap if isinstance(hand, Touch) else first.click)()
    assert first.get_attribute("aria-pressed") == "true"
    answer(hand, ("button", "1 is not, the rest is the same", "Enter"))
    answer(hand, ("button", "Flag this question", "f"), ("button", "Flag and go on", ""))
    hand.visitor.asked()
    hand.use("button", "Flag this question", "f")
    if isinstance(hand, Keys):  # the focus is on the first of the reasons
        page.keyboard.press("ArrowDown")
    else:
        hand.use("radio", "An item is broken or empty")
    hand.use("checkbox", "B")
    answer(hand, ("button", "Flag and go on", ""))
    hand.visitor.asked()
    hand.use("button", "Write a note", "n")
    hand.looked()
    hand.write("Kept with your answer", "a doubtful one")
    hand.use("button", "Keep note")
    answer(hand, ("button", "Same", "1"))
    hand.visitor.saved(8)
    hand.visitor.asked()
    hand.use("button", "Undo last answer", "u")
    hand.visitor.saved(7)
    body = {**site.store.result().body, "stop": {"is_enough": True, "reason": "enough"}}
    site.store.publish(site.store.last_seq(), {**body, "revision": site.store.last_seq()})
    answer(hand, ("button", "Different", "2"))
    hand.visitor.saved(8)
    answer(hand, ("button", "Same", "1"))  # the one that was on the screen already
    hand.visitor.saved(9)
    page.get_by_role("heading", name="Finished").wait_for(timeout=20_000)
    assert "WOOL-7731" in page.inner_text("main")
    hand.looked()
    hand.use("link", "See the groups")
    page.wait_for_url("**/groups")
    hand.looked()

    answers = site.standing()
    assert {one.annotator for one in answers} == {"Bo"}
    pair, triplet, odd, which, confirm, compared, bad, undone, last = answers
    assert [pair.value, which.value] == [DIFFERENT, 1]
    ids = [list(map(str, one.question.ids)) for one in answers]
    assert ids[1][1 + triplet.value] == triplet.shown[1]
    assert ids[2][odd.value] == odd.shown[1]
    assert confirm.value == 2 ** (ids[4].index(confirm.shown[4]) - 3)
    assert (compared.value, bad.value) == (NOT_COMPARABLE, BAD_ITEM)
    assert list(bad.bad) == [bad.shown[1]]
    assert (undone.value, last.value) == (DIFFERENT, SAME)
    assert len(site.entries()) == 9 + 1 + 1
    assert any(getattr(one, "note", "") == "a doubtful one" for one in site.entries())
