"""Every page and every state in a real browser: axe, reflow, forced colors, large text, themes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from benchmarks.app._served import wait_until

from clew.answers import Answer, Question, new_id, now
from clew.items import Item

pytestmark = pytest.mark.browser

PAGES = (
    "/ask", "/groups", "/groups/1", "/map", "/review", "/progress", "/history", "/people",
    "/settings", "/export", "/help", "/patterns", "/practice", "/nothing-here",
)  # fmt: skip
KINDS = ("pair", "triplet", "odd_one_out", "which_of", "confirm")
MEDIA = ("image", "text", "row", "sound")
SCRIPT = Path(__file__).parents[2] / "src/clew/web/static/patterns.js"
STATES = tuple(
    re.findall(r"'(\w+)'", re.search(r"STATES = \[(.*?)\]", SCRIPT.read_text(), re.S)[1])
)  # type: ignore[index]
#: A symbol of the sprite with the id of a button would be found in place of the button.
TWICE = """() => {
    const ids = [...document.querySelectorAll('[id]')].map(one => one.id);
    return ids.filter((id, at) => ids.indexOf(id) !== at);
}"""
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1440, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
    "small": {"color_scheme": "light", "viewport": {"width": 320, "height": 640}},
}


@pytest.fixture
def full(make_site: Any) -> Any:
    """A project with answers, two people, doubts and a chain."""
    site = make_site(result=True, settings={"guideline": "Same shape counts as same."})
    site.session("Ann", "owner")
    site.session("Bo", "reviewer")
    entries = [
        Answer(Question("pair", ids=(site.ids[i], site.ids[j])), (i + j) % 2, who, ms=900 + i, id=new_id(), at=now())  # noqa: E501
        for who in ("Ann", "Bo")
        for i in range(5)
        for j in range(i + 1, 5)
    ]  # fmt: skip
    site.store.append(entries)
    body = dict(site.store.result().body)
    ids = [entry.id for entry in entries]
    body["doubtful"] = [
        {"id": ids[0], "edit": "", "p_wrong": 0.83, "reason": "features", "chain": [], "chain_answers": []},  # noqa: E501
        {"id": ids[1], "edit": "", "p_wrong": 0.7, "reason": "contradiction", "chain": site.ids[:3], "chain_answers": ids[2:4]},  # noqa: E501
    ]  # fmt: skip
    body["annotators"] = [
        {
            "name": "Ann",
            "n": 10,
            "error": [0.05, 0.01, 0.12],
            "agreement_with_self": [0.9, 0.6, 1.0],
            "n_repeats": 10,
        }
    ]
    site.store.publish(site.store.last_seq(), body)
    return site


def check(page: Any, axe: str, where: str, *, without: str = "") -> None:
    """Fail if axe finds anything; `without` is a rule that does not apply."""
    page.evaluate(axe + "; undefined")
    found = page.evaluate(
        """without => axe.run(document, {
            resultTypes: ['violations'],
            runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
            rules: without ? {[without]: {enabled: false}} : {},
        }).then(r => r.violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n =>
            `${n.target} ${n.html.slice(0, 120)} ${n.any[0]?.message ?? ''}`).join(' | ')}`))""",
        without,
    )
    assert found == [], where


def settle(page: Any, path: str) -> None:
    """Wait until a page shows what it is about."""
    if "patterns/ask" in path:
        page.wait_for_selector("body[data-ready]")
        page.wait_for_timeout(120)
    elif path in ("/ask", "/practice"):
        page.wait_for_selector(".set")
    elif path == "/map":
        page.wait_for_selector("canvas[data-drawn]")
    page.wait_for_timeout(80)


@pytest.mark.parametrize(
    "look", ["small", *(pytest.param(one, marks=pytest.mark.slow) for one in ("light", "dark"))]
)
def test_pages(full: Any, visit: Any, axe: str, look: str) -> None:
    """No page has a violation or an id twice, scrolls sideways, or logs an error."""
    ann = visit(full, reduced_motion="reduce", **LOOKS[look])
    ann.expects("/nothing-here")
    for path in PAGES:
        ann.go(path)
        settle(ann.page, path)
        check(ann.page, axe, f"{path} {look}")
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert ann.page.locator("h1").count() == 1, path
        assert ann.page.evaluate(TWICE) == [], path


STATE_PATHS = (
    [f"/patterns/ask?kind={kind}" for kind in KINDS]
    + [f"/patterns/ask?state={state}" for state in STATES]
    + ["/patterns/ask?state=group&kind=triplet"]
)


@pytest.mark.slow
@pytest.mark.parametrize("look", ["few", *LOOKS])
def test_states_of_the_question(site: Any, visit: Any, axe: str, look: str) -> None:
    """Every kind and every state of the question passes axe; nothing overlaps the answer bar."""
    ann = visit(site, reduced_motion="reduce", **LOOKS.get(look, LOOKS["light"]))
    ann.expects("/static/practice/none.svg")
    media = [f"/patterns/ask?kind={kind}&media={one}" for kind in KINDS for one in MEDIA[1:]]
    media += [f"/patterns/ask?state=group&kind={kind}&media={one}" for kind in KINDS[:2]
              for one in MEDIA[1:]]  # fmt: skip
    some = [
        path for path in STATE_PATHS if re.search(r"kind|offline|finished|flag|confirm|group", path)
    ]
    for path in some if look == "few" else STATE_PATHS + media:
        ann.go(path)
        settle(ann.page, path)
        check(ann.page, axe, f"{path} {look}")
        top = ann.page.evaluate(
            "(document.querySelector('.bar:not([hidden])')?.getBoundingClientRect().top ?? 1e9)"
        )
        cards = ann.page.eval_on_selector_all(
            ".stage .card, .stage .rows-wrap, .members li, .beside",
            "all => all.map(c => c.getBoundingClientRect().bottom)",
        )
        assert all(bottom <= top + 1 for bottom in cards), (path, top, cards)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(844, 390), (568, 320), (1024, 768), (700, 600)])
def test_a_screen_on_its_side(site: Any, visit: Any, width: int, height: int) -> None:
    """Pictures stay large enough to see, and no word of an answer is cut off."""
    ann = visit(site, viewport={"width": width, "height": height})
    for kind in KINDS[:4]:
        page = ann.go(f"/patterns/ask?kind={kind}")
        settle(page, "patterns/ask")
        heights = page.eval_on_selector_all(".shot img", "all => all.map(i => i.offsetHeight)")
        assert min(heights) >= 90, (kind, heights)
        cut = page.eval_on_selector_all(
            ".ans .word",
            "all => all.filter(w => w.scrollWidth > w.clientWidth + 1).map(w => w.innerText)",
        )
        assert cut == [], kind
    ann.go("/patterns/ask?state=finished")
    settle(ann.page, "patterns/ask")
    code = ann.page.get_by_text("WOOL-7731")
    code.scroll_into_view_if_needed()
    assert code.bounding_box()["y"] + code.bounding_box()["height"] <= height


@pytest.mark.slow
def test_the_answer_bar_never_moves(site: Any, visit: Any) -> None:
    """The bar and don't-know stand at the same place for every kind of question."""
    for width, height in ((1440, 900), (390, 844), (320, 640)):
        ann = visit(site, viewport={"width": width, "height": height})
        places = set()
        for kind in KINDS[:3]:
            ann.go(f"/patterns/ask?kind={kind}")
            settle(ann.page, "patterns/ask")
            box = ann.page.locator(".ans.unsure").bounding_box()
            bar = ann.page.locator(".bar").bounding_box()
            places.add((round(box["x"]), round(box["y"]), round(bar["y"])))
        assert len(places) == 1, (width, places)


def dialogs_of(page: Any, axe: str) -> list[str]:
    """Open each dialog of the asking page and of groups, check it, and close it by Escape."""
    seen = []

    def checked(name: str) -> None:
        page.locator("dialog[open]").wait_for()
        check(page, axe, name)
        assert page.evaluate("document.activeElement.closest('dialog') !== null"), name
        seen.append(page.locator("dialog[open] h2").inner_text())
        page.keyboard.press("Escape")
        page.locator("dialog[open]").wait_for(state="detached")

    if page.locator(".set").count():
        for key in "fng?":
            page.keyboard.press(key)
            checked(f"the dialog of {key}")
        return seen
    picks = page.locator(".shelf:not(.tray) .pick")
    for button in page.locator("#pick-bar [data-do]:not([hidden])").all():
        if button.get_attribute("data-do") in ("merge", "move"):
            shelves = page.locator(".shelf:not(.tray)")
            shelves.nth(0).locator(".pick").first.click()
            shelves.nth(1).locator(".pick").first.click()
        else:
            picks.nth(0).click()
        button.click()
        checked(button.inner_text())
        page.keyboard.press("Escape")
        page.locator("#pick-bar").wait_for(state="hidden")
    page.locator(".name-it").first.click()
    checked("name")
    return seen


@pytest.mark.slow
def test_dialogs(full: Any, visit: Any, axe: str) -> None:
    """Each dialog passes axe, takes the focus, and is closed by Escape."""
    ann = visit(full, reduced_motion="reduce")
    ann.go("/ask")
    settle(ann.page, "/ask")
    assert len(set(dialogs_of(ann.page, axe))) == 4
    ann.go("/groups")
    settle(ann.page, "/groups")
    assert len(set(dialogs_of(ann.page, axe))) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("look", ["light", "small"])
def test_pages_without_anything(make_site: Any, visit: Any, axe: str, look: str) -> None:
    """No items, no result, nobody signed in, links that work and that do not: each page says so."""
    from clew.web.accounts import make_link

    site = make_site([])
    ann = visit(site, reduced_motion="reduce", **LOOKS[look])
    for path in PAGES:
        ann.expects(f"{path}'", f"{path} ")
        ann.go(path)
        ann.page.wait_for_timeout(150)
        check(ann.page, axe, f"{path} of an empty project")
        assert ann.page.locator("h1").count() == 1, path
        assert ann.page.evaluate(TWICE) == [], path
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    guest = visit(site, "", reduced_motion="reduce", **LOOKS[look])
    guest.expects("status of 401", "status of 404")
    many = make_link(site.store, annotator=None, role="annotator", many=True)
    for path, words in (
        ("/", "Open your link"), ("/groups", "Open your link"), (f"/a/{many}", "Welcome"),
        ("/a/nothing", "does not work any more"),
    ):  # fmt: skip
        guest.go(path)
        guest.page.wait_for_timeout(100)
        check(guest.page, axe, f"{path} of nobody")
        assert words in guest.page.inner_text("main"), path


@pytest.mark.slow
@pytest.mark.parametrize("role", ["viewer", "annotator", "reviewer"])
def test_pages_of_each_role(full: Any, visit: Any, axe: str, role: str) -> None:
    """Whatever the menu of a role leads to is there, and passes axe."""
    eve = visit(full, "Eve", role, reduced_motion="reduce")
    eve.go("/")
    links = eve.page.eval_on_selector_all("#nav a", "all => all.map(a => new URL(a.href).pathname)")
    assert len(links) >= 4
    for path in links:
        eve.go(path)
        settle(eve.page, path)
        check(eve.page, axe, f"{path} of a {role}")
        assert eve.page.locator("h1").count() == 1, path


@pytest.mark.slow
def test_large_text(full: Any, visit: Any) -> None:
    """At 200 % text no page scrolls sideways, and no word of the answers is cut off."""
    ann = visit(full, viewport={"width": 1280, "height": 900})
    ann.expects("/nothing-here")
    for path in PAGES:
        ann.go(path)
        settle(ann.page, path)
        ann.page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        cut = ann.page.eval_on_selector_all(
            ".bar:not([hidden]) .ans, h1, .btn:not([hidden])",
            "all => all.filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map(e => e.outerHTML)",  # noqa: E501
        )
        assert cut == [], path


@pytest.mark.slow
def test_forced_colors(full: Any, visit: Any, axe: str) -> None:
    """In forced colors every page passes axe, and what is chosen differs from what is not."""
    bo = visit(full, "Bo", "reviewer", forced_colors="active", reduced_motion="reduce")
    for path in ("/ask", "/groups", "/map", "/review", "/progress", "/history", "/settings"):
        bo.go(path)
        settle(bo.page, path)
        # axe takes the text for one of the colors that the browser has replaced
        check(bo.page, axe, path, without="color-contrast")
    bo.go("/groups")
    picks = bo.page.locator(".shelf .pick")
    picks.nth(0).click()
    bo.page.wait_for_timeout(200)
    first, second = (picks.nth(at).screenshot() for at in (0, 1))
    assert first != second
    tick = "e => getComputedStyle(e.querySelector('.tick')).display + getComputedStyle(e.querySelector('.tick')).opacity + getComputedStyle(e.querySelector('.tick')).visibility"  # noqa: E501
    assert picks.nth(0).evaluate(tick) != picks.nth(1).evaluate(tick)


@pytest.mark.slow
def test_right_to_left(make_site: Any, visit: Any, axe: str) -> None:
    """Texts and names take their own direction; a page from right to left does not overflow."""
    from clew.items import Item

    arabic, hebrew = "مرحبا، طلبت الغلاية الزرقاء", "איפה הקומקום שלי?"
    items = [Item(f"{i}", "text", text=one) for i, one in enumerate((arabic, hebrew, "Where?"))]
    site = make_site(items, settings={"question": "هل هو الشيء نفسه؟", "name": hebrew})
    ann = visit(site)
    ann.go("/ask")
    settle(ann.page, "/ask")
    direction = "node => getComputedStyle(node).direction"
    assert ann.page.eval_on_selector("h1", direction) == "rtl"
    texts = ann.page.locator(".prose").all()
    assert len(texts) == 2
    for one in texts:
        expected = "ltr" if "Where" in one.inner_text() else "rtl"
        assert one.evaluate(direction) == expected
    for path in ("/ask", "/groups", "/settings", "/patterns/ask?kind=triplet&media=text"):
        ann.go(path)
        settle(ann.page, path)
        ann.page.evaluate("document.documentElement.dir = 'rtl'")
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        check(ann.page, axe, f"{path} from right to left")


@pytest.mark.slow
def test_the_look_is_kept(site: Any, visit: Any) -> None:
    """Dark, chosen in settings, is there from the first paint of the next page."""
    ann = visit(site, color_scheme="light")
    ann.go("/settings")
    ann.page.get_by_label("Dark").check()
    ann.go("/groups")
    assert ann.page.evaluate(
        "getComputedStyle(document.body).colorScheme + document.documentElement.dataset.theme"
    ).endswith("dark")


@pytest.mark.slow
def test_names_for_screen_readers(site: Any, visit: Any) -> None:
    """What is said of the question, its pictures and its buttons."""
    ann = visit(site)
    ann.go("/ask")
    settle(ann.page, "/ask")
    page = ann.page
    for role, name in (
        ("heading", "Same thing?"),
        ("img", "Photo A"),
        ("img", "Photo B"),
        ("button", "Same"),
        ("button", "Undo last answer"),
        ("region", "Answer"),
    ):
        assert page.get_by_role(role, name=name, exact=True).count() == 1, name
    page.wait_for_timeout(250)
    page.keyboard.press("1")
    page.locator("#ask > [aria-live]", has_text="Same, saved").wait_for(state="attached")


@pytest.mark.slow
def test_script_of_the_first_page_is_small(site: Any, visit: Any) -> None:
    """The asking page loads less than 50 kB of script, before compression."""
    ann = visit(site)
    sizes = []
    ann.page.on("response", lambda r: r.url.endswith(".js") and sizes.append(len(r.body())))
    ann.go("/ask")
    settle(ann.page, "/ask")
    assert 0 < sum(sizes) < 50_000


@contextmanager
def worker_that_says(store: Any, result_of: Callable[[], dict[str, Any]]) -> Iterator[None]:
    """Do jobs in a thread as a worker would, with these results."""
    done = Event()

    def work() -> None:
        worker = store.acquire_worker("test")
        while not done.wait(0.05):
            store.heartbeat(worker, "ready")
            job = store.take_job(worker)
            if job is not None:
                result = {"moves": [], "contradicts": [], "superfluous": [], **result_of()}
                store.finish_job(job.id, worker=worker, result=result)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


MOVE = {"id": "a", "before": 1, "after": 2}


def test_groups_are_edited_and_edits_taken_back(full: Any, visit: Any) -> None:
    """Choose two items, move them, see the consequence, apply, undo: two entries, none stands."""
    with worker_that_says(full.store, lambda: {"moves": [MOVE]}):
        ann = visit(full)
        ann.go("/groups")
        picks = ann.page.locator(".shelf .pick")
        picks.nth(0).click()
        picks.nth(1).click()
        assert ann.page.inner_text("#n-picked") == "2 chosen"
        ann.page.keyboard.press("m")
        ann.page.get_by_role("heading", name=re.compile("Move 2 items to")).wait_for()
        ann.page.get_by_text("1 item changes its group.").wait_for()
        ann.page.get_by_text("Goes against no answer.").wait_for()
        before = full.store.last_seq()
        ann.page.get_by_role("button", name="Move 2 items").click()
        ann.page.get_by_text(re.compile("2 items moved to")).wait_for()
        ann.page.get_by_role("button", name="Undo").click()
        ann.page.get_by_text("Taken back").wait_for()
        edit, retraction = [one.entry for one in full.store.log(after=before)]
        assert edit.kind == "move"
        assert retraction.revokes == edit.id


@pytest.mark.slow
def test_a_merge_of_three_is_previewed_part_by_part(full: Any, visit: Any) -> None:
    """The preview says which groups a part joins; all parts are kept, and taken back, at once."""
    with worker_that_says(full.store, lambda: {"moves": [MOVE]}):
        page = visit(full).go("/groups")
        for group in (0, 1, 2):
            page.locator(f".shelf .pick[data-group='{group}']").first.click()
        page.keyboard.press("j")
        page.locator("dialog .main:enabled").wait_for()
        parts = page.locator("dialog li strong").all_inner_texts()
        assert parts == ["Group 1 and Group 2", "Group 1 and Group 3"]
        before = full.store.last_seq()
        page.get_by_role("button", name="Merge the groups").click()
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Taken back").wait_for()
        entries = [one.entry for one in full.store.log(after=before)]
        assert [one.kind for one in entries[:2]] == ["merge", "merge"]
        assert [one.revokes for one in entries[2:]] == [one.id for one in entries[:2]]


@pytest.mark.slow
def test_a_preview_is_about_the_target_that_is_chosen(full: Any, visit: Any) -> None:
    """Another target is chosen while a preview is worked out; what moves nothing is not "moved"."""
    n_asked = [0]

    def result_of() -> dict[str, Any]:
        n_asked[0] += 1
        if n_asked[0] == 1:
            time.sleep(1)
            return {"moves": [MOVE]}
        return {"contradicts": [{"annotator": "Bo", "said": "same", "at": "2026-01-05T10:00:00Z"}]}

    with worker_that_says(full.store, result_of):
        page = visit(full).go("/groups")
        page.locator(".shelf .pick").first.click()
        page.keyboard.press("m")
        page.get_by_label("To which group?").select_option(index=1)
        page.get_by_text("Nothing moves yet").wait_for()
        page.get_by_text("Bo said same on 5 Jan. That answer stays").wait_for()
        page.wait_for_timeout(700)
        assert page.get_by_text("1 item changes its group.").count() == 0
        page.get_by_role("button", name="Move 1 item").click()
        page.get_by_text("Kept as your answer; nothing moves yet").wait_for()


@pytest.mark.slow
def test_groups_are_counted_from_one(full: Any, visit: Any) -> None:
    """The group whose id is 0 is Group 1 wherever it has no name; its address keeps the id."""
    ann = visit(full)
    for path in ("/groups", "/groups/0", "/map", "/progress"):
        ann.go(path)
        settle(ann.page, path)
        text = ann.page.inner_text("main")
        assert "Group 1" in text, path
        assert "Group 0" not in ann.page.content(), path
    ann.go("/groups")
    link = ann.page.get_by_role("link", name="Group 1", exact=True)
    assert link.get_attribute("href") == "/groups/0"


@pytest.mark.slow
def test_a_group_gets_a_name(full: Any, visit: Any) -> None:
    """A name given in the gallery is the group's."""
    ann = visit(full)
    ann.go("/groups")
    ann.page.get_by_role("button", name="Name it: Group 1").click()
    ann.page.get_by_label("Name", exact=True).fill("Discs")
    ann.page.get_by_role("button", name="Keep name").click()
    ann.page.get_by_role("link", name="Discs", exact=True).wait_for()
    assert {group.id: group.name for group in full.store.groups()}[0] == "Discs"


def test_a_doubtful_answer_is_corrected(full: Any, visit: Any) -> None:
    """Review takes the answer back and keeps the reviewer's."""
    bo = visit(full, "Bo", "reviewer")
    before = full.store.last_seq()
    bo.go("/review")
    assert "Ann’s answer is taken back, and yours counts" in bo.page.inner_text("#fix")
    assert bo.page.locator("#fix input:checked").count() == 0  # nothing is decided for a person
    assert bo.page.locator("#apply-fix").is_disabled()
    bo.page.get_by_label("It is wrong").check()
    bo.page.get_by_role("button", name="Correct the answer").click()
    wait_until(lambda: full.store.last_seq() > before, 10, "saving")
    (answer,) = [one.entry for one in full.store.log(after=before)]
    assert answer.annotator == "Bo"
    revoked = full.store.entry(answer.revokes)
    assert not revoked.is_standing
    assert revoked.entry.value != answer.value


def test_a_doubtful_answer_of_ones_own(full: Any, visit: Any) -> None:
    """Nobody is told of themselves by their name."""
    page = visit(full).go("/review")
    assert "You said" in page.inner_text(".page-head")
    words = page.inner_text("#fix")
    assert "Your answer becomes: " in words
    assert "Ann" not in words
    assert "keeps yours" not in words


def test_history_takes_an_answer_back(full: Any, visit: Any) -> None:
    """The newest answer of one's own is taken back by its button."""
    ann = visit(full)
    ann.go("/history")
    n = len(full.standing())
    ann.page.get_by_role("button", name=re.compile("^Take back")).first.click()
    ann.page.get_by_text("taken back").wait_for()
    assert len(full.standing()) == n - 1


@pytest.mark.slow
def test_a_group_is_scrolled_to_its_end(make_site: Any, visit: Any) -> None:
    """After the button's first press, what comes next comes by itself, however fast one scrolls."""
    site = make_site([Item(f"note {i}", "text", text=str(i)) for i in range(400)], result=True)
    ann = visit(site)
    ann.go("/groups/0")
    ann.page.locator("#more").click()
    wait_until(
        lambda: ann.page.evaluate(
            "scrollTo(0, document.body.scrollHeight), document.getElementById('more').hidden"
        ),
        20,
        "the end of the group",
    )
    assert len({one.get_attribute("data-id") for one in ann.page.locator(".pick").all()}) == 400


@pytest.mark.slow
def test_people_and_links(full: Any, visit: Any) -> None:
    """A link is made and shown once; a person is revoked after a second press."""
    ann = visit(full)
    ann.go("/people")
    ann.page.get_by_label("For whom").fill("Chidi")
    ann.page.get_by_role("button", name="Make link").click()
    ann.page.locator("output:visible").wait_for()
    ann.page.get_by_role("button", name="Revoke: Bo").click()
    ann.page.get_by_role("button", name="Revoke: Bo").click()
    ann.page.get_by_text("revoked").wait_for()
    assert full.store.annotator("Bo").is_active is False


def test_the_map_and_its_table(full: Any, visit: Any) -> None:
    """A lasso round everything chooses everything; the table chooses one by one."""
    ann = visit(full)
    ann.go("/map")
    settle(ann.page, "/map")
    ann.page.locator("#twin-body input").first.check()
    assert ann.page.inner_text("#n-picked") == "1 chosen"
    box = ann.page.locator("#map-canvas").bounding_box()
    corners = [(0.003, 0.003), (0.997, 0.003), (0.997, 0.997), (0.003, 0.997)]
    ann.page.mouse.move(box["x"] + 3, box["y"] + box["height"] / 2)
    ann.page.mouse.down()
    for x, y in corners:
        ann.page.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * y)
    ann.page.mouse.up()
    assert ann.page.inner_text("#n-picked") == f"{len(full.ids)} chosen"
