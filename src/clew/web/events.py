"""Server-sent events: the number of the newest result, when there is a new one."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator

from fastapi import Request

from clew.exceptions import ClewError
from clew.store.base import Store
from clew.web.results import Results, news_of

#: Seconds between two looks at the store.
EVERY = 0.25


class Watcher:
    """One thread that waits for changes of the store, for all open pages."""

    def __init__(self, store: Store, results: Results) -> None:
        self._store, self._results = store, results
        self._queues: set[tuple[asyncio.AbstractEventLoop, asyncio.Queue[str]]] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clew-watcher", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def end(self) -> None:
        """Let go of all open pages: the server ends, and would wait for them."""
        self._stop.set()
        self._tell("")

    def stop(self) -> None:
        """Stop, within a second."""
        self.end()
        self._thread.join(timeout=3)

    def message(self) -> str:
        """Return what pages are told."""
        news = news_of(self._results, self._results.newest())
        return f"event: revision\ndata: {json.dumps(news)}\n\n"

    def _run(self) -> None:
        seen, message = self._store.changes(), ""
        while not self._stop.wait(EVERY):
            try:
                if not self._queues:
                    continue
                changed = self._store.changes()
                is_new = any(changed[one] != seen[one] for one in ("results", "worker"))
                seen = changed
                if is_new:
                    message, before = self.message(), message
                    if message != before:
                        self._tell(message)
            except ClewError:  # the store is busy or away; pages see it in their own requests
                self._stop.wait(1)

    def _tell(self, message: str) -> None:
        for loop, queue in list(self._queues):
            loop.call_soon_threadsafe(queue.put_nowait, message)

    async def listen(self, request: Request) -> AsyncIterator[str]:
        """Yield messages until the page goes away."""
        mine = asyncio.get_running_loop(), asyncio.Queue[str]()
        self._queues.add(mine)
        try:
            yield await asyncio.to_thread(self.message)
            while not self._stop.is_set():
                try:
                    message = await asyncio.wait_for(mine[1].get(), 1.0)
                    if message:
                        yield message
                except TimeoutError:
                    if await request.is_disconnected():
                        return
                    yield ": still here\n\n"
        finally:
            self._queues.discard(mine)
