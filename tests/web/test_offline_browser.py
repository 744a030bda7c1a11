"""Answers without a connection, a session, or a server that takes them: none is lost or doubled."""

from __future__ import annotations

import time
from typing import Any

import pytest

from clew.answers import DIFFERENT, SAME, Question
from clew.store.base import Suggestion

pytestmark = pytest.mark.browser


def _ask_without_a_connection(ann: Any) -> None:
    """Open the page of questions; nothing reaches the server from then on."""
    ann.go("/ask")
    ann.asked()
    ann.expects("net::ERR_FAILED")
    ann.page.route("**/api/v1/**", lambda route: route.abort())


def test_answers_are_kept_while_the_connection_is_lost(make_site: Any, visit: Any) -> None:
    """Offline, answers wait in the browser and survive a reload; back online they are sent once."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    ann.press("1")
    ann.saved(1)
    ann.expects("net::ERR_FAILED")  # the browser itself reports requests that fail
    ann.page.route("**/api/v1/**", lambda route: route.abort())
    for key in "121":
        ann.press(key)
    ann.page.wait_for_selector(".note-strip:not([hidden])")
    assert "3 answers kept in this browser" in ann.page.inner_text(".note-strip")
    assert ann.page.locator("#saved").inner_text() == "3 kept here"
    assert len(site.standing()) == 1
    ann.page.unroute("**/api/v1/**")
    ann.page.reload()
    ann.saved(4)
    assert [one.value for one in site.standing()] == [SAME, SAME, DIFFERENT, SAME]


@pytest.mark.slow
def test_a_retry_does_not_move_the_focus(make_site: Any, visit: Any) -> None:
    """Offline, without a question left, Undo keeps the focus; a tap on it is not lost."""
    ann = visit(make_site())
    ann.go("/ask")
    ann.asked()
    ann.expects("net::ERR_FAILED")
    tries: list[str] = []
    ann.page.route("**/api/v1/**", lambda route: route.abort())
    ann.page.on("request", lambda r: "lease" in r.url and tries.append(r.url))
    while ann.page.locator(".state").count() == 0:
        ann.press("1")
    undo = ann.page.locator(".state button")
    undo.focus()
    before = len(tries)
    while len(tries) < before + 1:
        ann.page.wait_for_timeout(50)
    ann.page.wait_for_timeout(100)
    assert undo.evaluate("one => document.activeElement === one")


@pytest.mark.slow
def test_fifty_answers_without_a_connection(make_site: Any, visit: Any) -> None:
    """Who holds fifty questions goes on without a connection; all answers arrive, each once."""
    site = make_site()
    pairs = [(i, j) for i in range(12) for j in range(i + 1, 12)][:60]
    site.store.replace_pool(
        [Suggestion(Question("pair", ids=(site.ids[i], site.ids[j]))) for i, j in pairs]
    )
    ann = visit(site)
    ann.expects("net::ERR_INTERNET_DISCONNECTED")
    ann.go("/settings")
    ann.page.get_by_label("Questions held in this browser").select_option("50")
    ann.go("/ask")
    ann.asked()
    ann.page.wait_for_load_state("load")
    ann.page.wait_for_timeout(600)  # until all pictures are decoded
    ann.page.context.set_offline(True)
    given = []
    for i in range(50):
        ann.asked()
        given.append((frozenset(ann.shown()), i % 2 == 0))
        ann.press("12"[i % 2])
    assert "50 answers kept in this browser" in ann.page.inner_text(".note-strip")
    assert len(site.standing()) == 0
    ann.page.context.set_offline(False)
    ann.saved(50)
    ann.page.locator("#saved", has_text="All answers saved").wait_for()
    assert len(site.entries()) == len({one.id for one in site.entries()}) == 50
    stored = {(frozenset(map(str, one.question.ids)), bool(one.value)) for one in site.entries()}
    assert stored == set(given)
    ann.press("1")
    ann.saved(51)


@pytest.mark.slow
def test_the_last_answer_is_taken_back_without_a_connection(make_site: Any, visit: Any) -> None:
    """When all questions that were held are answered, there is still a button for it."""
    site = make_site()
    pairs = [Question("pair", ids=(site.ids[0], site.ids[at])) for at in (1, 2)]
    site.store.replace_pool(map(Suggestion, pairs))
    ann = visit(site)
    ann.expects("net::ERR_INTERNET_DISCONNECTED")
    ann.go("/ask")
    ann.asked()
    ann.page.wait_for_timeout(600)  # until all pictures are decoded
    ann.page.context.set_offline(True)
    for _ in pairs:
        ann.asked()
        last = sorted(ann.shown())
        ann.press("1")
    ann.page.get_by_role("heading", name="No connection").wait_for()
    ann.page.locator(".state").get_by_role("button", name="Undo").click()
    ann.asked()
    assert sorted(ann.shown()) == last
    ann.press("2")
    ann.page.context.set_offline(False)
    ann.page.locator("#saved", has_text="All answers saved").wait_for()
    ann.saved(2)
    assert [one.value for one in site.standing()] == [SAME, DIFFERENT]


@pytest.mark.slow
def test_an_answer_taken_back_without_a_connection_is_not_counted(
    make_site: Any, visit: Any
) -> None:
    """Neither it nor the undo is an answer that waits."""
    site = make_site()
    ann = visit(site)
    _ask_without_a_connection(ann)
    for key in "12":
        ann.press(key)
    ann.page.keyboard.press("u")
    ann.page.locator(".note-strip", has_text="1 answer kept in this browser").wait_for()
    assert ann.page.locator("#saved").inner_text() == "1 kept here"
    ann.page.unroute("**/api/v1/**")
    ann.page.reload()
    ann.page.locator("#saved", has_text="All answers saved").wait_for()
    ann.saved(1)
    ann.page.locator(".done", has_text="1 answered").wait_for()


@pytest.mark.slow
def test_questions_asked_for_before_answers_arrived_do_not_count_them_out(
    make_site: Any, visit: Any
) -> None:
    """The server counts answers when it leases questions; its reply may come after newer ones."""
    site = make_site()
    ann = visit(site)
    _ask_without_a_connection(ann)
    ann.press("1")
    ann.page.locator(".note-strip", has_text="1 answer kept in this browser").wait_for()
    ann.page.unroute("**/api/v1/**")
    late: dict[str, Any] = {}
    ann.page.route("**/events", lambda route: route.abort())
    ann.page.route("**/questions:lease", lambda route: late.update(route=route))
    ann.page.route("**/answers", lambda route: late.update(send=route))
    ann.page.reload()
    while len(late) < 2:
        ann.page.wait_for_timeout(20)
    reply = late["route"].fetch()
    with ann.page.expect_response("**/answers") as arrived:
        late["send"].continue_()
    arrived.value.finished()
    ann.page.wait_for_timeout(200)
    with ann.page.expect_response("**/questions:lease") as arrived:
        late["route"].fulfill(response=reply)
    arrived.value.finished()
    ann.page.wait_for_timeout(200)
    assert ann.page.inner_text(".done") == "1 answered"
    assert len(site.standing()) == 1


@pytest.mark.slow
def test_answers_never_go_under_another_name(make_site: Any, visit: Any) -> None:
    """What Ann answered offline is not sent when Bo signs in in the same browser."""
    site = make_site()
    ann = visit(site)
    _ask_without_a_connection(ann)
    ann.press("1")
    ann.page.wait_for_selector(".note-strip:not([hidden])")
    ann.page.unroute("**/api/v1/**")
    ann.page.close()
    context = ann.page.context
    context.add_cookies([{"name": "clew_session", "value": site.session("Bo"), "url": site.url}])
    bo = visit(site, context=context)
    bo.go("/ask")
    bo.press("2")
    bo.saved(1)
    assert [one.annotator for one in site.standing()] == ["Bo"]
    context.add_cookies([{"name": "clew_session", "value": site.session("Ann"), "url": site.url}])
    bo.go("/ask")
    bo.saved(2)
    assert sorted(one.annotator for one in site.standing()) == ["Ann", "Bo"]


@pytest.mark.slow
def test_a_session_that_ended_says_so_and_keeps_answers(make_site: Any, visit: Any) -> None:
    """After a revoked session the page says what to do; the answer is sent after signing in."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    ann.asked()
    for token in site.store.tokens("Ann"):
        site.store.revoke_token(token.id)
    ann.expects("401")
    ann.press("1")
    ann.page.get_by_role("heading", name="Your session has ended").wait_for()
    assert len(site.standing()) == 0
    ann.page.context.add_cookies(
        [{"name": "clew_session", "value": site.session("Ann"), "url": site.url}]
    )
    ann.go("/ask")
    ann.saved(1)


@pytest.mark.slow
def test_a_refused_answer_brings_its_question_back(make_site: Any, visit: Any) -> None:
    """What is refused is announced, and asked again."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    ann.asked()
    before = sorted(ann.shown())
    body = '{"results": [{"status": "refused", "detail": "the item is gone"}], "held": [], "questions": []}'  # noqa: E501
    ann.page.route(
        "**/api/v1/answers",
        lambda route: route.fulfill(status=200, content_type="application/json", body=body),
        times=1,
    )
    ann.press("1")
    ann.page.wait_for_selector(".note-strip:not([hidden])")
    assert "the item is gone" in ann.page.inner_text(".note-strip")
    ann.asked()
    assert sorted(ann.shown()) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "words"), [(429, "The server is busy"), (507, "could not be saved")]
)
def test_a_busy_server_and_a_full_disk_are_announced(
    make_site: Any, visit: Any, status: int, words: str
) -> None:
    """The answer waits in the browser as long as Retry-After says, and then it is stored."""
    site = make_site()
    ann = visit(site)
    ann.go("/ask")
    ann.asked()
    ann.page.route(
        "**/api/v1/answers",
        lambda route: route.fulfill(
            status=status,
            headers={"Retry-After": "1"},
            content_type="application/problem+json",
            body='{"detail": "The disk is full."}',
        ),
        times=1,
    )
    ann.expects(f"status of {status}", f"status: {status}")
    started = time.monotonic()
    ann.press("1")
    ann.page.wait_for_selector(".note-strip:not([hidden])")
    assert words in ann.page.inner_text(".note-strip")
    ann.saved(1)
    assert time.monotonic() - started >= 1
