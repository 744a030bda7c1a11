"""The question loop in a real browser: by keys, by pointer, by touch, and what goes wrong."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from clew.answers import BAD_ITEM, DIFFERENT, DONT_KNOW, NOT_COMPARABLE, SAME, Answer, Question
from clew.items import Item
from clew.store.base import Suggestion

pytestmark = pytest.mark.browser


def test_a_run_by_keys_alone(make_site: Any, visit: Any) -> None:
    """Three answers by keys; each is in the store as the person gave it, in the order shown."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    given = []
    for key in "s2k":
        ann.asked()
        given.append((ann.shown(), key))
        ann.press(key)
    ann.saved(3)
    codes = {"s": SAME, "2": DIFFERENT, "k": DONT_KNOW}
    for answer, (order, key) in zip(site.standing(), given, strict=True):
        assert list(answer.shown) == order
        assert answer.value == codes[key]
        assert answer.annotator == "Ann"
        assert answer.ms is not None
        assert answer.ms >= 200
    ann.page.locator("#saved", has_text="All answers saved").wait_for(timeout=10_000)
    assert ann.page.evaluate("document.activeElement.id") == "q"


@pytest.mark.slow
def test_undo_has_no_end_and_outlives_a_reload(make_site: Any, visit: Any) -> None:
    """All answers can be taken back one by one, also after a reload; what is asked again is the same."""  # noqa: E501
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    pairs = []
    for _ in range(3):
        ann.asked()
        pairs.append(sorted(ann.shown()))
        ann.press("1")
    ann.saved(3)
    ann.page.reload()
    ann.asked()
    for n in (2, 1, 0):
        ann.page.keyboard.press("u")
        ann.saved(n)
        end = time.monotonic() + 5
        while sorted(ann.shown()) != pairs[n] and time.monotonic() < end:
            ann.page.wait_for_timeout(30)
        assert sorted(ann.shown()) == pairs[n]
    ann.press("2")
    ann.saved(1)
    assert sorted(map(str, site.standing()[0].question.ids)) == pairs[0]
    assert site.standing()[0].value == DIFFERENT
    assert len(site.entries()) == 3 + 3 + 1


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 320])
def test_examples_hang_below_one_item(make_site: Any, visit: Any, width: int) -> None:
    """They tell nothing of the other item, stay after an undo, and leave the answer as it was."""
    site = make_site()
    item, other, *examples = site.ids[:5]
    question = Question("pair", ids=(item, other), examples=examples)
    site.store.replace_pool([Suggestion(question)])
    ann = visit(site, viewport={"width": width, "height": 640})
    ann.go("/ask")
    for n in (1, 2):
        ann.asked()
        tag = "AB"[ann.shown().index(item)]
        beside = ann.page.locator(".beside")
        assert beside.locator("p").inner_text() == f"More of {tag}’s group"
        names = [f"Group of {tag}, example {i + 1}" for i in range(3)]
        assert beside.locator("img").evaluate_all("all => all.map(one => one.alt)") == names
        faces = beside.locator("img").evaluate_all("all => all.map(one => one.src)")
        assert [re.search(r"media/([^?]+)", url)[1] for url in faces] == examples  # type: ignore[index]
        card = ann.page.locator(".slot", has=beside).locator(".card")
        below, top = beside.bounding_box(), ann.page.locator(".bar").bounding_box()["y"]
        assert card.bounding_box()["y"] + card.bounding_box()["height"] <= below["y"] + 1
        assert below["y"] + below["height"] <= top
        assert 0 <= below["x"] <= below["x"] + below["width"] <= width
        ann.page.keyboard.press("s")
        ann.saved(1)
        if n == 1:
            ann.page.keyboard.press("u")
            ann.saved(0)
    (answer,) = site.standing()
    assert (answer.value, answer.question.ids) == (SAME, (item, other))
    assert answer.question.examples == tuple(examples)
    assert sorted(answer.shown) == sorted((item, other))


@pytest.mark.slow
def test_a_held_key_is_one_answer(make_site: Any, visit: Any) -> None:
    """Ten repeats of a key answer one question."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    ann.asked()
    ann.page.keyboard.down("1")
    for _ in range(10):
        ann.page.keyboard.down("1")
    ann.page.keyboard.up("1")
    ann.page.wait_for_timeout(400)
    assert len(site.entries()) == 1


@pytest.mark.slow
def test_a_press_before_a_question_can_be_seen_is_no_answer(make_site: Any, visit: Any) -> None:
    """Keys hammered within the least dwell after painting count once."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    ann.asked()
    for _ in range(4):
        ann.page.keyboard.press("1")
    ann.page.wait_for_timeout(300)
    assert len(site.entries()) == 1


@pytest.mark.slow
def test_flags_and_notes_are_answers_of_their_own(make_site: Any, visit: Any) -> None:
    """Not comparable, bad item with its item, and a note, are stored as such."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    ann.asked()
    ann.page.keyboard.press("f")
    ann.page.get_by_role("button", name="Flag and go on").click()
    ann.saved(1)
    ann.asked()
    bad = ann.shown()[1]
    ann.page.keyboard.press("f")
    ann.page.get_by_label("An item is broken or empty").check()
    ann.page.get_by_role("button", name="Flag and go on").click()
    assert ann.page.get_by_role("alert").inner_text() == "Say which one it is."
    ann.page.get_by_label("B", exact=True).check()
    ann.page.get_by_role("button", name="Flag and go on").click()
    ann.saved(2)
    ann.asked()
    ann.page.keyboard.press("n")
    ann.page.keyboard.type("a doubtful one")
    ann.page.get_by_role("button", name="Keep note").click()
    ann.press("1")
    ann.saved(3)
    first, second, third = site.standing()
    assert (first.value, second.value, third.value) == (NOT_COMPARABLE, BAD_ITEM, SAME)
    assert list(second.bad) == [bad]
    assert third.note == "a doubtful one"


KINDS: list[tuple[Any, str, Any]] = [
    (lambda x: Question("triplet", ids=(x[0], x[1], x[2])), "1", "closer"),
    (lambda x: Question("odd_one_out", ids=(x[0], x[1], x[2])), "3", "odd"),
    (lambda x: Question("which_of", ids=tuple(x[:7]), parts=(1, 3, 2, 1)), "2", 1),
    (lambda x: Question("which_of", ids=tuple(x[:7]), parts=(1, 3, 2, 1)), "7", -1),
    (lambda x: Question("confirm", ids=tuple(x[:9]), parts=(3, 6)), "2 5 Enter", "ticks"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("question", "keys", "expected"), KINDS)
def test_every_kind_of_question_by_keys(
    make_site: Any, visit: Any, question: Any, keys: str, expected: Any
) -> None:
    """What a key says on the screen is what the store gets, whatever the order shown."""
    site = make_site(settings={"kinds": ["pair", "triplet", "odd_one_out", "which_of", "confirm"]})
    asked = question(site.ids)
    site.store.replace_pool([Suggestion(asked)])
    ann = visit(site)
    ann.go("/ask")
    ann.asked()
    for key in keys.split():
        ann.page.keyboard.press(key)
    ann.saved(1)
    (answer,) = site.standing()
    order = [str(one) for one in answer.shown]
    ids = [str(one) for one in asked.ids]
    if expected == "closer":
        assert answer.value == ids.index(order[1]) - 1
    elif expected == "odd":
        assert answer.value == ids.index(order[2])
    elif expected == "ticks":
        ticked = {order[3 + 1], order[3 + 4]}
        assert answer.value == sum(2 ** (ids.index(one) - 3) for one in ticked)
    else:
        assert answer.value == expected


@pytest.mark.slow
def test_nothing_tells_what_the_model_expects(make_site: Any, visit: Any) -> None:
    """Why a question was chosen, and what the model expects, never reach the browser."""
    site = make_site()
    questions = [
        Suggestion(Question("pair", ids=(site.ids[0], site.ids[i]), origin="random", check=0.05, repeat=i % 2), is_check=True, probability=0.77)  # noqa: E501
        for i in range(1, 6)
    ]  # fmt: skip
    site.store.replace_pool(questions)
    ann = visit(site)
    bodies = []
    ann.page.on(
        "response",
        lambda r: (
            "/api/v1/" in r.url
            and "events" not in r.url
            and "json" in r.headers.get("content-type", "")
            and bodies.append(r.text())
        ),
    )
    ann.go("/ask")
    ann.press("1")
    ann.saved(1)
    assert site.standing()[0].question.origin == "random"
    assert site.standing()[0].question.check == 0.05
    text = " ".join(bodies)
    assert "question_id" in text
    for word in ("random", "check", "0.77", "repeat", "probability", "score"):
        assert word not in text


@pytest.mark.slow
def test_one_tab_asks_at_a_time(make_site: Any, visit: Any) -> None:
    """A second tab offers to take over; keys in the first then do nothing, and no lease is lost."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    ann.press("1")
    ann.saved(1)
    ann.asked()
    other = visit(site, context=ann.page.context)
    other.go("/ask")
    other.page.get_by_role("heading", name="Open in another tab").wait_for()
    for key in "12k":
        other.page.keyboard.press(key)
    ann.press("1")
    ann.saved(2)
    other.page.get_by_role("button", name="Go on here").click()
    other.asked()
    ann.page.get_by_role("heading", name="Open in another tab").wait_for()
    for key in "12ku":
        ann.page.keyboard.press(key)
    for n in (3, 4, 5):
        other.press("2")
        other.saved(n)
    assert [one.value for one in site.standing()] == [SAME] * 2 + [DIFFERENT] * 3
    assert len(site.entries()) == 5
    asked = [frozenset(map(str, one.question.ids or ())) for one in site.standing()]
    assert len(set(asked)) == 5
    held = site.store.leases()
    assert {one.annotator for one in held} == {"Ann"}
    assert 1 <= len(held) <= 5  # one on the screen and four ahead: tabs do not add up


@pytest.mark.slow
def test_two_people_at_once_are_asked_different_questions(make_site: Any, visit: Any) -> None:
    """Leases count against the overlap: no question is asked twice."""
    site = make_site()
    ann, bo = visit(site), visit(site, "Bo", "annotator")
    ann.go("/ask")
    bo.go("/ask")
    for _ in range(5):
        ann.press("1")
        bo.press("2")
    ann.saved(10)
    asked = [tuple(sorted(map(str, one.question.ids or ()))) for one in site.standing()]
    assert len(set(asked)) == 10


@pytest.mark.slow
def test_sounds_play_one_at_a_time(make_site: Any, visit: Any, tmp_path: Any) -> None:
    """The key A plays the first, and then the second; a second sound stops the first."""
    soundfile = pytest.importorskip("soundfile")
    import numpy as np

    site = make_site(
        [Item(f"s{i}", "sound", path=f"s{i}.wav") for i in range(4)], settings={"kinds": ["pair"]}
    )
    for i in range(4):
        t = np.arange(8000) / 8000
        soundfile.write(
            site.settings.root / f"s{i}.wav", 0.3 * np.sin(2 * np.pi * (300 + 100 * i) * t), 8000
        )
    ann = visit(site)
    ann.go("/ask")
    ann.asked()
    assert ann.page.locator(".spec img").count() == 2
    ann.page.get_by_role("button", name="Play recording B").click()
    ann.page.wait_for_function(
        "() => [...document.querySelectorAll('.sound')].map(s => s.audio.paused).join() == 'true,false'"  # noqa: E501
    )
    ann.page.get_by_role("button", name="Play recording A").click()
    ann.page.wait_for_function(
        "() => [...document.querySelectorAll('.sound')].map(s => s.audio.paused).join() == 'false,true'"  # noqa: E501
    )
    ann.page.get_by_role("heading", name="Same thing?").click()
    playing = ann.page.evaluate_handle("document.querySelector('.sound').audio")
    assert not playing.evaluate("audio => audio.paused")
    ann.press("1")
    assert playing.evaluate("audio => audio.paused"), "it ends with its question"
    ann.saved(1)


@pytest.mark.slow
def test_rows_side_by_side_mark_what_is_equal(make_site: Any, visit: Any) -> None:
    """Two rows share a table; equal values are marked by the thread and in words."""
    rows = [
        Item("1", "row", columns={"name": "Hanna", "town": "Lund"}),
        Item("2", "row", columns={"name": "H.", "town": "Lund"}),
    ]
    ann = visit(make_site(rows))
    ann.go("/ask")
    ann.asked()
    assert ann.page.locator("tr.eq").count() == 1
    assert ann.page.locator("tr.eq .sr").inner_text() == "equal"


@pytest.mark.slow
def test_keys_can_be_changed_and_switched_off(make_site: Any, visit: Any) -> None:
    """A key that was changed answers; with single keys off none does, but buttons do."""
    site = make_site()
    ann = visit(site)
    ann.go("/settings")
    ann.page.get_by_label("same; first").press("y")
    ann.go("/ask")
    ann.press("y")
    ann.saved(1)
    ann.go("/settings")
    ann.page.get_by_label("Answer with single keys").uncheck()
    ann.go("/ask")
    ann.asked()
    ann.page.keyboard.press("y")
    ann.page.wait_for_timeout(150)
    ann.page.get_by_role("button", name="Different").press("Enter")
    ann.saved(2)
    assert [one.value for one in site.standing()] == [SAME, DIFFERENT]


@pytest.mark.slow
def test_whose_answers_are_counted_is_said(site: Any, visit: Any) -> None:
    """Who is new has answered nothing, whatever others have."""
    pairs = [Question("pair", ids=(site.ids[0], site.ids[at])) for at in range(1, 8)]
    site.store.append([Answer(pair, "same", "Bo") for pair in pairs])
    ann = visit(site)
    done = ann.go("/ask").locator(".meter .done")
    ann.asked()
    assert done.inner_text() == "7 answered, 0 by you"
    for width in (390, 320):  # in one line on a phone
        ann.page.set_viewport_size({"width": width, "height": 700})
        spans = ann.page.locator(".meter > span")
        assert spans.evaluate_all("all => Math.max(...all.map(i => i.offsetHeight))") <= 24
        assert "about 140 more" in ann.page.inner_text(".meter .left")
        lines = spans.last.locator("span").evaluate_all("all => all.map(i => i.offsetTop)")
        assert (lines[0] < 24) == (width == 390)  # the interval is seen where there is room
    ann.page.set_viewport_size({"width": 1280, "height": 800})
    ann.press("1")
    ann.saved(8)
    ann.asked()
    ann.page.locator(".meter .done", has_text="8 answered, 1 by you").wait_for()
    ann.page.keyboard.press("u")
    ann.saved(7)
    ann.page.locator(".meter .done", has_text="7 answered, 0 by you").wait_for()
    cy = visit(site, "Bo")
    cy.go("/ask")
    cy.asked()
    assert cy.page.inner_text(".meter .done") == "7 answered"


@pytest.mark.slow
def test_a_link_leads_through_practice_to_the_first_question(make_site: Any, visit: Any) -> None:
    """Name, guideline, three practice questions that do not count; the link works once."""
    from clew.web.accounts import make_link

    site = make_site(settings={"guideline": "Same shape counts as same."})
    secret = make_link(site.store, annotator=None, role="annotator")
    bo = visit(site, "")
    bo.go(f"/a/{secret}")
    assert "Same shape counts as same." in bo.page.inner_text("main")
    bo.page.get_by_label("Your name").fill("Bo")
    bo.page.get_by_role("button", name="Start").click()
    bo.page.wait_for_url("**/practice")
    strip, meter = bo.page.locator(".note-strip"), bo.page.locator(".meter")
    bo.press("2")
    strip.get_by_text("the same shape").wait_for()
    assert "saved" not in meter.inner_text()
    assert "answered" not in meter.inner_text()
    bo.page.keyboard.press("u")
    bo.press("1")
    strip.get_by_text("Right.").wait_for()
    bo.press("1")
    strip.get_by_text("different shapes").wait_for()
    bo.press("1")
    strip.get_by_text("Nobody can tell").wait_for()
    bo.page.get_by_role("button", name="Undo").click()
    bo.press("k")
    strip.get_by_text("Right.").wait_for()
    assert "Question" not in bo.page.inner_text("[aria-live]")
    bo.page.get_by_role("button", name="Begin").click()
    bo.page.wait_for_url("**/ask")
    assert secret not in bo.page.url
    assert site.entries() == []
    bo.press("1")
    bo.saved(1)
    assert isinstance(site.standing()[0], Answer)
    assert site.standing()[0].annotator == "Bo"
    late = visit(site, "")
    late.expects("status of 404", "status of 410")
    late.go(f"/a/{secret}")
    late.page.get_by_role("heading", name="This link does not work any more").wait_for()
