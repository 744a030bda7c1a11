"""What every request and every reply go through: hosts, origins, limits, headers.

A page that is open in the same browser may send requests to this server, and a name that somebody
else controls may point to this machine. So a request names an allowed host; one that writes comes
from this very origin and has a JSON body, which a foreign form cannot send; and no page runs a
script or loads anything that is not served here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.web.problems import problem_response
from clew.web.settings import WebSettings

#: Largest body of a request, in bytes.
MAX_BODY = 1_000_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "media-src 'self'; connect-src 'self'; font-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
#: Share of a request that a picture or sound of an item counts as: a gallery loads 40 at a time.
MEDIA_COST = 1 / 16
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class RateLimit:
    """A bucket of `per_minute` requests for each person or address, that refills evenly."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._full, self._clock = float(per_minute), clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, who: str, cost: float = 1.0) -> float:
        """Take from a bucket; return 0, or the seconds until there is enough again."""
        now = self._clock()
        left, at = self._buckets.get(who, (self._full, now))
        left = min(self._full, left + (now - at) * self._full / 60)
        if left < cost:
            return (cost - left) * 60 / self._full
        if len(self._buckets) > 20_000:  # forget those that are full again
            self._buckets = {k: v for k, v in self._buckets.items() if now - v[1] < 60}
        self._buckets[who] = (left - cost, now)
        return 0.0


class Security:
    """Middleware: refuses what must not pass, and adds headers to what does."""

    def __init__(
        self, app: ASGIApp, settings: WebSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.app = app
        names = {"localhost", "127.0.0.1", "[::1]", settings.host.casefold()}
        self._hosts = names | {host.casefold() for host in settings.hosts}
        self._base, self._cookie = settings.base_path, settings.cookie
        self._media = f"{self._base}/api/v1/media/"
        self._requests = RateLimit(settings.requests_per_minute, clock)
        self._addresses = RateLimit(20 * settings.requests_per_minute, clock)
        self._sign_ins = RateLimit(30, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                message["headers"] = headers.raw
            await send(message)

        if self._base:
            scope = _below(scope, self._base)
        refusal = self._refusal(scope)
        if refusal is None:
            await self.app(scope, _limited(receive), send_safely)
        else:
            status, detail, wait = refusal
            headers = {"Retry-After": str(max(1, round(wait)))} if wait else None
            await problem_response(status, detail, headers)(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> tuple[int, str, float] | None:
        headers, method = Headers(scope=scope), scope["method"]
        host = headers.get("host", "")
        if _name_of(host) not in self._hosts:
            return 421, f"This server does not answer for {host!r}; start it with --allow-host.", 0
        if method not in _SAFE:
            reason = _foreign(headers, host)
            if reason:
                return 403, reason, 0
            length = headers.get("content-length", "0")
            if length.isdigit() and int(length) > MAX_BODY:
                return 413, f"The body may have {MAX_BODY:,} bytes.", 0
            kind = headers.get("content-type", "").split(";")[0].strip().casefold()
            has_body = length != "0" or "transfer-encoding" in headers
            if has_body and kind != "application/json":
                return 415, "Send JSON, with Content-Type: application/json.", 0
        client = scope.get("client")
        address = client[0] if client else ""
        if scope["path"].endswith("/sign-in") and method == "POST":
            wait = self._sign_ins.wait(address)
            if wait:
                return 429, "Too many attempts; wait a little.", wait
        cost = MEDIA_COST if scope["path"].startswith(self._media) else 1.0
        wait = self._addresses.wait(address, cost) or self._requests.wait(
            _session_of(headers, self._cookie) or address, cost
        )
        return (429, "Too many requests; wait a little.", wait) if wait else None


def _below(scope: Scope, base: str) -> Scope:
    """Return a request below the base path, whether or not the proxy has cut it off."""
    path = scope["path"]
    if path != base and not path.startswith(f"{base}/"):
        path = base + path
    return {**scope, "path": path, "root_path": base, "raw_path": path.encode()}


def _name_of(host: str) -> str:
    """Return a Host header without its port."""
    host = host.casefold()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _foreign(headers: Headers, host: str) -> str:
    """Why a request that writes does not come from a page of this server; empty if it does."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return f"Requests from other sites are refused (Sec-Fetch-Site: {site})."
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.casefold() != host.casefold():
        return f"Requests from {origin} are refused."
    return ""


def _session_of(headers: Headers, cookie: str) -> str:
    """Return what names the sender: the cookie's or the token's secret."""
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == cookie:
            return value
    return headers.get("authorization", "")


def _limited(receive: Receive) -> Receive:
    """Refuse a body that is longer than it said."""
    n_bytes = 0

    async def receive_some() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > MAX_BODY:
            return {"type": "http.disconnect"}
        return message

    return receive_some
