"""`clew serve`, below the command: a socket, the web process, a worker beside it, a browser."""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI

from clew.exceptions import InvalidParameterError
from clew.store.base import Annotator, Store
from clew.web.serving.projects import Projects

#: Seconds that the owner's link from the terminal may be used.
LINK_SECONDS = 24 * 3600.0
#: Parameter of `mallopt`, and its value: with more free bytes than this, memory is given back.
M_TRIM_THRESHOLD, FREE_BYTES = -1, 65_536


def listen(host: str, port: int, *, exact: bool) -> socket.socket:
    """Return a bound socket; if the port is taken and another one will do, a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for one in (port,) if exact else (port, 0):
        # Named, for asyncio: without it the end of each reply waits 40 ms for an acknowledgment.
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, one))
        except OSError as error:
            sock.close()
            if exact or one == 0:
                raise InvalidParameterError(
                    f"port {port} of {host} cannot be used ({error.strerror}); name another with "
                    "--port"
                ) from error
        else:
            return sock
    raise AssertionError


def owner_invite(store: Store, name: str = "") -> str:
    """Make the secret of a link that opens at once, for whoever started the server."""
    owners = [one for one in store.annotators() if one.role == "owner" and one.is_active]
    if not name:
        name = owners[0].name if owners else user_name()
    found = store.annotator(name)
    if found is None or found.role != "owner":
        store.put_annotator(Annotator(name, role="owner"))
    for token in store.tokens(name):  # of earlier starts; those in use have opened sessions
        if token.kind == "invite" and token.scope.get("at_once") and not token.is_revoked:
            store.revoke_token(token.id)
    return store.make_token(
        "invite", annotator=name, role="owner", seconds=LINK_SECONDS, scope={"at_once": True}
    )


def user_name() -> str:
    """Return the name of the user of this machine."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "owner"


class Server(uvicorn.Server):
    """A server that says when it is ready, and lets go of open pages when it ends."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of events, and then what else is open."""
        app: Any = self.config.app
        for one in app.apps if isinstance(app, Projects) else [app]:
            if hasattr(one.state, "watcher"):
                one.state.watcher.end()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def run(app: FastAPI | Projects, sock: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C. Paths are not logged: they may hold secrets."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False,
        proxy_headers=False, timeout_graceful_shutdown=5, timeout_keep_alive=30, backlog=2048,
        limit_concurrency=1000, loop="asyncio", lifespan="on",
    )  # fmt: skip
    # Let the C library of Linux give freed memory back at once: 15 MB after a large map.
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # there are other C libraries
            ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, FREE_BYTES)
    with contextlib.suppress(KeyboardInterrupt):  # after all connections have ended
        Server(config, on_ready).run(sockets=[sock])


def open_browser(url: str) -> None:
    """Open a browser without waiting for it."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


@contextlib.contextmanager
def served(app: FastAPI | Projects, sock: socket.socket) -> Iterator[Any]:
    """Serve in a thread, for tests and notebooks, within a ``with`` block."""
    ready = threading.Event()
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=1, loop="asyncio", lifespan="on",
    )  # fmt: skip
    server = Server(config, ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    try:
        if not ready.wait(20):
            raise InvalidParameterError("the server did not start; see its log")
        yield server
    finally:
        server.should_exit = True
        thread.join(10)
