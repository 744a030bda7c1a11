"""What somebody meets who has never seen the app: each was confusing, or lost something."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.app._served import Served
from PIL import Image
from tests.web.conftest import result_of

from clew.answers import Answer, Question
from clew.items import Item
from clew.store.base import Suggestion
from clew.web.accounts import make_link

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def worker_of(site: Any) -> Callable[..., None]:
    """Return what lets the store say that a worker has the project, and what it does."""
    store = site.store
    token = store.acquire_worker("test")
    return lambda state, detail="": store.heartbeat(token, state, detail, store.last_seq())


def test_a_link_that_was_used_opens_the_project_again(make_site: Any, visit: Any) -> None:
    """The link in the terminal is clicked twice: whoever came by it is let in, nobody else."""
    site = make_site()
    secret = make_link(site.store, annotator="Bo", role="annotator")
    bo = visit(site, "")
    bo.go(f"/a/{secret}").get_by_role("button", name="Start").click()
    bo.page.wait_for_url("**/practice")
    bo.go(f"/a/{secret}").wait_for_url("**/ask")
    bo.asked()
    eve = visit(site, "")
    eve.expects("status of 404")
    assert "does not work any more" in eve.go(f"/a/{secret}").inner_text("main")


def test_the_first_groups_come_by_themselves(make_site: Any, visit: Any) -> None:
    """Who waits for groups need not load the page again."""
    site = make_site()
    worker_of(site)("warming up", "12 of 24 items read")
    ann = visit(site)
    main = ann.go("/groups").locator("main")
    assert "No groups yet" in main.inner_text()
    assert "12 of 24 items read" in main.inner_text()
    site.store.publish(0, result_of(site.ids, revision=0))
    ann.page.locator(".shelf").first.wait_for()


@pytest.mark.parametrize(("n", "words"), [(0, "no two items"), (1, "one item")])
def test_fewer_than_two_items(make_site: Any, visit: Any, n: int, words: str) -> None:
    """There is nothing to compare: the page says what to do, and asks as soon as there is."""
    site = make_site([Item(f"{i}", "text", text=f"text {i}") for i in range(n)])
    ann = visit(site)
    ann.go("/ask").locator("[data-state=no_items]").wait_for()
    assert words in ann.page.inner_text("main")
    assert "clew add" in ann.page.inner_text("main")
    site.store.add_items([Item(f"new {i}", "text", text=f"new {i}") for i in range(2)])
    ann.asked()


def test_a_long_name_of_a_group_covers_nothing(make_site: Any, visit: Any) -> None:
    """A name of several lines stands above the number of items, not on it."""
    site = make_site(result=True)
    page = visit(site).go("/groups")
    page.locator(".name-it").first.click()
    page.keyboard.type("Triangles of the first drawer, and rectangles")
    page.keyboard.press("Enter")
    name = page.locator(".shelf-name", has_text="rectangles").first
    name.wait_for()
    bottom = name.locator("h2 a").evaluate(
        "a => { const text = new Range(); text.selectNodeContents(a);"
        " return text.getBoundingClientRect().bottom; }"
    )
    assert bottom <= name.locator("p").bounding_box()["y"]


def test_everything_has_been_asked(make_site: Any, visit: Any) -> None:
    """The last question of all is answered: nobody waits for others, or is asked to go on."""
    site = make_site(result=True)
    body = {**site.store.result().body, "stop": {"is_enough": True, "reason": "enough"}}
    site.store.publish(0, {**body, "remaining": {"median": None}, "n_answers": 1})
    ann, say = visit(site), worker_of(site)
    say("ready")
    site.store.replace_pool([Suggestion(Question("pair", ids=(site.ids[0], site.ids[1])))])
    ann.go("/ask").get_by_role("heading", name="Finished").wait_for()
    ann.page.get_by_role("button", name="Ask me more anyway").click()
    ann.press("1")
    ann.saved(1)
    say("ready")
    ann.page.get_by_role("heading", name="Everything has been asked").wait_for(timeout=15_000)
    assert "1 answers put 24 items into 3 groups" in ann.page.inner_text("main")
    assert ann.page.get_by_role("button", name="Ask me more anyway").count() == 0
    assert "none needed" in ann.go("/progress").inner_text("main")


def test_enter_does_what_the_main_button_says(site: Any, visit: Any) -> None:
    """In a form, Enter keeps the name; it used to cancel."""
    ann = visit(site)
    ann.go("/groups").locator(".name-it").first.click()
    ann.page.keyboard.type("Discs")
    ann.page.keyboard.press("Enter")
    ann.page.get_by_role("heading", name="Discs").wait_for()
    assert [group.name for group in site.store.groups() if group.name] == ["Discs"]


def test_a_new_link_is_in_the_list(site: Any, visit: Any) -> None:
    """The list of open links holds it at once, beside the secret that is shown this once."""
    ann = visit(site)
    form = ann.go("/people").locator("form[data-api=links]")
    assert "No open links" in ann.page.inner_text("#links")
    form.get_by_label("For whom").fill("Bea & <b>Co</b>")
    form.get_by_role("button", name="Make link").click()
    ann.page.locator("#links li").wait_for()
    assert "Bea & <b>Co</b>" in ann.page.inner_text("#links")
    assert "/a/" in ann.page.input_value("#link-out")
    ann.expects("422")
    form.get_by_label("For many people").check()
    form.get_by_role("button", name="Make link").click()
    form.locator(".error:not(:empty)").wait_for()
    assert not ann.page.is_visible("#link-out")  # else the link of before seems to be the new one


def test_only_the_answer_that_is_refused_comes_back(make_site: Any, visit: Any) -> None:
    """A request that the server refuses whole holds several answers: the others are stored."""
    site = make_site()
    ann = visit(site)
    ann.expects("net::ERR_", "status of 422")
    ann.go("/ask")
    ann.asked()
    ann.page.context.set_offline(True)
    for key in "12k":
        ann.press(key)

    def refuse(route: Any) -> None:
        given = json.loads(route.request.post_data)["answers"]
        if any(one.get("answer") == "different" for one in given):
            route.fulfill(status=422, content_type="application/json", body='{"detail": "not so"}')
        else:
            route.continue_()

    ann.page.route("**/api/v1/answers", refuse)
    ann.page.context.set_offline(False)
    ann.saved(2)
    assert sorted(one.value for one in site.standing()) == [-2, 1]
    assert "not so" in ann.page.inner_text(".note-strip")
    ann.page.unroute("**/api/v1/answers")
    ann.press("2")
    ann.saved(3)


def test_nothing_hides_a_part_of_the_map(site: Any, visit: Any) -> None:
    """Tools stand beside the map; every point can be reached."""
    ann = visit(site)
    page = ann.go("/map")
    page.wait_for_selector("canvas[data-drawn]")
    tools, canvas = (page.locator(one).bounding_box() for one in (".map-tools", "#map-canvas"))
    assert tools["y"] + tools["height"] <= canvas["y"] + 0.5
    assert canvas["height"] > 300


@pytest.mark.parametrize(("width", "height"), [(320, 640), (740, 360), (1280, 560)])
def test_small_pictures_keep_their_shape(
    make_site: Any, visit: Any, width: int, height: int
) -> None:
    """They are shown larger, as far as there is room; what stands over the buttons is one line."""
    site = make_site()
    for name, size in zip(site.ids[:2], [(320, 320), (90, 300)], strict=True):
        Image.new("RGB", size, (90, 120, 110)).save(site.settings.root / name)
    others = site.ids[2:]
    pairs = [Question("pair", ids=(others[0], one)) for one in others[1:]]
    site.store.append([Answer(one, "different", "Bo") for one in pairs])
    site.store.replace_pool([Suggestion(Question("pair", ids=site.ids[:2]))])
    page = visit(site, viewport={"width": width, "height": height}).go("/ask")
    page.get_by_text("counting what is left").wait_for()
    page.locator(".shot img").nth(1).wait_for()
    shapes = page.eval_on_selector_all(
        ".shot img",
        "all => all.map(i => i.clientWidth * i.naturalHeight / i.clientHeight / i.naturalWidth)",
    )
    assert shapes == pytest.approx([1, 1], rel=0.03)
    heights = page.eval_on_selector_all(
        ".meter .done, .meter .left", "all => all.map(i => i.offsetHeight)"
    )
    assert max(heights) <= 24


def test_what_was_said_fits_beside_what_is_left(site: Any, visit: Any) -> None:
    """On a small phone, in one line."""
    ann = visit(site, viewport={"width": 320, "height": 640})
    ann.go("/ask")
    ann.press("2")
    ann.page.get_by_text("Different, saved").first.wait_for()
    assert "140 more" in ann.page.inner_text(".meter .left")
    heights = ann.page.eval_on_selector_all(".meter > span", "all => all.map(i => i.offsetHeight)")
    assert max(heights) <= 24


def test_an_interval_is_not_broken(site: Any, visit: Any) -> None:
    """On a phone it stands in one line, below the estimate."""
    left = {"median": 13, "low": 2, "high": 77, "minutes": None}
    site.store.publish(0, {**site.store.result().body, "remaining": left, "n_answers": 70})
    ann = visit(site, viewport={"width": 390, "height": 844})
    said = ann.go("/progress").locator(".big small").first
    assert said.inner_text() == "2 to 77, at 70 answers"
    lines = said.evaluate(
        "i => { const r = document.createRange(); r.selectNodeContents(i);"
        " return new Set([...r.getClientRects()].map(one => one.top)).size; }"
    )
    assert lines == 1


def test_tools_of_the_map_stand_in_one_row(site: Any, visit: Any) -> None:
    """On a small phone as well."""
    page = visit(site, viewport={"width": 320, "height": 640}).go("/map")
    page.wait_for_selector("canvas[data-drawn]")
    tops = page.eval_on_selector_all(".map-tools .btn", "all => all.map(one => one.offsetTop)")
    assert len(tops) == 4
    assert len(set(tops)) == 1


def test_the_end_is_quiet(tmp_path: Path, draw: Any, visit: Any, site_of: Any) -> None:
    """Ctrl-C while a page is open ends the app at once, without an error in the terminal."""
    draw(tmp_path / "photos")
    served = Served(tmp_path / "photos", ("--no-worker",))
    served.start()
    ann = visit(site_of(served))
    ann.expects("net::ERR_")
    ann.go("/ask")
    ann.asked()
    served.stop()
    # An error would also say that a page kept the end waiting until it was cut off.
    assert [line for line in served.said if "Error" in line or "ERROR" in line] == []
    assert served.process is not None
    assert served.process.returncode == 0


def test_a_reload_and_the_back_button_ask_on(make_site: Any, visit: Any) -> None:
    """A reload in the middle, and the back button, lead on: the reload to the same question."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    ann.press("1")
    ann.saved(1)
    ann.asked()
    asked = ann.page.eval_on_selector_all(".shot img", "all => all.map(i => i.src).sort()")
    ann.page.reload()
    ann.asked()
    again = ann.page.eval_on_selector_all(".shot img", "all => all.map(i => i.src).sort()")
    assert again == asked
    ann.go("/groups")
    ann.page.go_back()
    ann.asked()
    ann.press("2")
    ann.saved(2)


def test_a_hard_question_is_not_dodged(make_site: Any, visit: Any) -> None:
    """Neither by F5 nor by a new tab, though there are newer questions; nor one taken back."""
    site = make_site()

    def fill(first: int, revision: int) -> None:
        pairs = [
            Question("pair", ids=(site.ids[0], site.ids[at])) for at in range(first, first + 6)
        ]
        site.store.replace_pool([Suggestion(one, revision=revision) for one in pairs])

    def asked(page: Any) -> Any:
        page.wait_for_selector(".set")
        return page.eval_on_selector_all(".shot img", "all => all.map(i => i.src).sort()")

    fill(1, 0)
    ann = visit(site)
    ann.go("/ask")
    hard = asked(ann.page)
    # others answer, and the model has learned it
    for at in range(12):
        answer = Answer(Question("pair", ids=(site.ids[9], site.ids[10 + at])), "same", "Bo")
        site.store.append([answer])
    fill(12, 12)
    ann.page.reload()
    assert asked(ann.page) == hard
    context = ann.page.context
    ann.page.close()
    ann = visit(site, context=context)
    ann.go("/ask")
    assert asked(ann.page) == hard
    ann.press("1")
    ann.saved(13)
    ann.asked()
    assert asked(ann.page) != hard
    ann.page.keyboard.press("u")
    ann.saved(12)
    ann.page.wait_for_timeout(300)
    ann.page.reload()
    assert asked(ann.page) == hard
    ann.press("2")
    ann.saved(13)


def test_a_tapped_button_is_not_gray_on_the_next_question(make_site: Any, visit: Any) -> None:
    """A finger hovers nowhere; browsers keep `:hover` where it tapped last."""
    ann = visit(make_site(), viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    ann.go("/ask")
    ann.asked()
    looks = "all => all.map(one => getComputedStyle(one).backgroundColor)"
    before = ann.page.eval_on_selector_all(".ans, .bar .btn", looks)
    for name, n in ((".ans", 1), (".undo", 0)):
        ann.asked()
        ann.page.locator(name).first.tap()
        ann.saved(n)
        ann.asked()
        assert ann.page.eval_on_selector_all(".ans, .bar .btn", looks) == before
