"""What must not pass: foreign hosts and origins, forms, floods, scripts; and what every reply says."""  # noqa: E501

from __future__ import annotations

from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from clew.cli import main
from clew.exceptions import InvalidParameterError
from clew.web.security import RateLimit
from clew.web.settings import WebSettings, is_loopback


def ask(
    site: Any, method: str = "POST", path: str = "/api/v1/questions:lease", **more: Any
) -> httpx.Response:
    """Send a request of Ann's."""
    cookies = {"clew_session": site.session("Ann", "owner")}
    return httpx.request(method, site.url + path, cookies=cookies, **more)


@pytest.mark.slow
def test_every_reply_has_the_headers(site: Any) -> None:
    """A strict policy without inline scripts or styles, no sniffing, no framing, no caching."""
    for path in ("/ask", "/api/v1/status", "/static/ask.js", "/nothing", "/healthz"):
        headers = ask(site, "GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers
    assert ask(site, "GET", "/ask").headers["cache-control"] == "no-store"


def test_pages_hold_no_inline_script_or_style(site: Any) -> None:
    """Nothing on a page needs a weaker policy."""
    import re

    for path in (
        "/ask",
        "/groups",
        "/groups/1",
        "/map",
        "/review",
        "/progress",
        "/settings",
        "/people",
        "/patterns",
    ):
        text = ask(site, "GET", path).text
        for script in re.findall(r"<script([^>]*)>", text):
            assert "src=" in script or 'type="application/json"' in script
        assert " style=" not in text
        assert "<style" not in text
        assert not re.search(r"\son\w+=", text)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", ""])
def test_other_hosts_are_refused(site: Any, host: str) -> None:
    """A name that somebody else controls does not open the app (DNS rebinding)."""
    assert ask(site, "GET", "/ask", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_are_refused(site: Any, headers: dict[str, str]) -> None:
    """A foreign page cannot write, even with the cookie."""
    assert ask(site, json={}, headers=headers).status_code == 403


def test_forms_are_refused(site: Any) -> None:
    """Only JSON is taken: what a foreign form can send is not."""
    assert ask(site, data={"n": "4"}).status_code == 415
    assert ask(site, content=b'{"n": 4}', headers={"Content-Type": "text/plain"}).status_code == 415


@pytest.mark.slow
def test_large_and_broken_bodies(site: Any) -> None:
    """Too much is 413, what is no JSON 422, unknown fields 422: problems, each with a sentence."""
    assert ask(site, json={"keep": ["x" * 1_100_000]}).status_code == 413
    for content in (b"{", b"[]", b'{"n": 4, "x": 1}', b'{"n": 1e9}'):
        reply = ask(site, content=content, headers={"Content-Type": "application/json"})
        assert reply.status_code == 422
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["detail"]


class Clock:
    """A clock that tests set."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.now


def test_floods_are_slowed_down(make_site: Any) -> None:
    """Beyond the limit: 429 with Retry-After; other people go on."""
    site = make_site(requests_per_minute=20, clock=Clock())
    cookies = {"clew_session": site.session("Ann")}
    with httpx.Client(cookies=cookies) as client:
        replies = [client.get(f"{site.url}/api/v1/me") for _ in range(30)]
    assert [one.status_code for one in replies] == [200] * 20 + [429] * 10
    assert int(replies[-1].headers["retry-after"]) >= 1
    assert (
        httpx.get(f"{site.url}/api/v1/me", cookies={"clew_session": site.session("Bo")}).status_code
        == 200
    )


@pytest.mark.slow
def test_pictures_count_less(make_site: Any) -> None:
    """Somebody who scrolls through a gallery of thousands is not taken for a flood."""
    site = make_site(requests_per_minute=5, clock=Clock())
    with httpx.Client(cookies={"clew_session": site.session("Ann")}) as client:
        path = f"{site.url}/api/v1/media/{site.ids[0]}"
        codes = [client.get(path).status_code for _ in range(81)]
    assert codes == [200] * 80 + [429]


@pytest.mark.slow
def test_a_project_named_media_has_no_cheaper_requests(make_site: Any) -> None:
    site = make_site(requests_per_minute=20, clock=Clock(), base_path="/media")
    with httpx.Client(cookies={"clew_session": site.session("Ann")}) as client:
        codes = [client.get(f"{site.url}/api/v1/me").status_code for _ in range(21)]
    assert codes == [200] * 20 + [429]


@pytest.mark.slow
def test_links_cannot_be_guessed_quickly(make_site: Any) -> None:
    """After 30 attempts a minute, signing in waits for two seconds each time."""
    clock = Clock()
    site = make_site(clock=clock)
    with httpx.Client(base_url=site.url) as client:

        def attempt() -> httpx.Response:
            return client.post("/api/v1/sign-in", json={"token": "x"})

        assert [attempt().status_code for _ in range(33)] == [404] * 30 + [429] * 3
        assert attempt().headers["retry-after"] == "2"
        clock.now += 2
        assert [attempt().status_code for _ in range(2)] == [404, 429]


def test_the_bucket_refills() -> None:
    """A full bucket lets its size pass, and says how long to wait."""
    clock = Clock()
    limit = RateLimit(60, clock)
    assert sum(limit.wait("a") == 0 for _ in range(70)) == 60
    clock.now = 0.25
    assert limit.wait("a") == 0.75
    assert limit.wait("b") == 0
    clock.now = 1.0
    assert [limit.wait("a") for _ in range(2)] == [0, 1]


def test_other_machines_need_accounts() -> None:
    """A host that others reach is refused without accounts."""
    from pathlib import Path

    with pytest.raises(InvalidParameterError, match="--accounts"):
        WebSettings("x.db", Path(), Path(), host="0.0.0.0")
    assert WebSettings("x.db", Path(), Path(), host="0.0.0.0", accounts=True).accounts
    assert [
        is_loopback(h) for h in ("localhost", "127.9.9.9", "::1", "0.0.0.0", "example.org")
    ] == [True] * 3 + [False] * 2


def test_the_command_refuses_other_machines(tmp_path: Any) -> None:
    """`clew serve --host 0.0.0.0` without accounts is refused at start, in one sentence."""
    (tmp_path / "a.txt").write_text("a")
    done = CliRunner().invoke(main, ["serve", str(tmp_path), "--host", "0.0.0.0", "--no-worker"])
    assert done.exit_code == 1
    assert "--accounts" in done.stderr


@pytest.mark.slow
def test_no_cell_of_an_export_is_a_formula(site: Any) -> None:
    """Spreadsheets take the name of a group for a text."""
    ask(site, "PATCH", "/api/v1/groups/0", json={"name": "=1+1"})
    assert ",'=1+1," in ask(site, "GET", "/api/v1/export/groups").text


@pytest.mark.slow
def test_behind_a_proxy_with_a_base_path(make_site: Any) -> None:
    """With a base path, pages name it in every link."""
    import re

    site = make_site(result=True, base_path="/leaves")
    origin = site.url.removesuffix("/leaves")
    text = httpx.get(
        f"{origin}/groups", cookies={"clew_session": site.session("Ann", "owner")}
    ).text
    links = re.findall(r'(?:href|src)="(/[^"]*)"', text)
    assert links
    assert all(one.startswith("/leaves/") for one in links)
