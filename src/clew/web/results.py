"""The newest result, read once for each change, with the names of its groups, and the events."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from fastapi import Depends, Request

from clew.exceptions import ClewError
from clew.exports import Doubt, doubts_of
from clew.store.base import Counts, Group, Store, StoredResult, WorkerState
from clew.web.problems import Problem
from clew.web.words import say

#: From this probability on the thread is solid; from the second on dashed; below it dotted.
SURE = 0.9
FAIRLY_SURE = 0.5  # below it, tables say doubtful, too
#: Widest interval of a group's quality that is shown: wider ones are of no use.
WIDEST = 0.5
#: Seconds after which the log is counted anew; own answers are added in between.
COUNTED_FOR = 1.0
#: States of a worker that has no model yet.
NOT_READY = ("starting", "waiting", "warming up", "failed")
#: Seconds after its own start in which a web process does not miss a worker: one is starting too.
SOON = 10.0


@dataclass(frozen=True)
class View:
    """A result as pages need it: rows by group, the surest first."""

    stored: StoredResult

    @property
    def body(self) -> Mapping[str, Any]:
        """The result as JSON."""
        return self.stored.body

    @cached_property
    def ids(self) -> Sequence[str]:
        """Ids of the items, one a row."""
        return list(map(str, self.body.get("ids", ())))

    @cached_property
    def group_of(self) -> dict[str, int]:
        """The group of each item; -1 for none."""
        groups = (-1 if one is None else int(one) for one in self.body.get("group_ids", ()))
        return dict(zip(self.ids, groups, strict=False))

    @cached_property
    def confidence(self) -> dict[str, float]:
        """How sure each item's group is."""
        values = (float(one or 0) for one in self.body.get("confidence") or ())
        return dict(zip(self.ids, values, strict=False))

    @cached_property
    def exemplars(self) -> dict[int, list[str]]:
        """Examples of each group, the most typical first."""
        found = self.body.get("exemplars") or {}
        return {int(group): [str(one) for one in ids] for group, ids in found.items()}

    @cached_property
    def members(self) -> dict[int, list[str]]:
        """Items of each group, examples first, then the surest first; large groups first."""
        groups: dict[int, list[str]] = {}
        for one, group in self.group_of.items():
            groups.setdefault(group, []).append(one)
        for group, ids in groups.items():
            first = {one: at for at, one in enumerate(self.exemplars.get(group, ()))}
            ids.sort(key=lambda one: (first.get(one, len(first)), -self.confidence.get(one, 0.0)))
        return dict(sorted(groups.items(), key=lambda pair: (pair[0] < 0, -len(pair[1]), pair[0])))

    @cached_property
    def knots(self) -> frozenset[str]:
        """Items that are examples of their own group."""
        return frozenset(
            one
            for group, ids in self.exemplars.items()
            for one in ids
            if self.group_of.get(one) == group
        )

    def line_of(self, item: str) -> str:
        """How the thread of an item looks: knot, sure, fair or doubt."""
        if item in self.knots:
            return "knot"
        p = self.confidence.get(item, 0.0)
        return "sure" if p >= SURE else "fair" if p >= FAIRLY_SURE else "doubt"

    @cached_property
    def doubtful_items(self) -> list[str]:
        """Items whose group is in doubt, the least sure first."""
        found = [
            one for one in self.ids if self.line_of(one) == "doubt" and self.group_of[one] >= 0
        ]
        return sorted(found, key=lambda one: self.confidence.get(one, 0.0))

    @property
    def is_enough(self) -> bool:
        """Whether further answers would rarely move anything."""
        return bool((self.body.get("stop") or {}).get("is_enough"))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return sum(group >= 0 for group in self.members)


class Results:
    """Keeps what pages read again and again: the newest result, names, and counts of the log."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.began = time.monotonic()
        self._lock = threading.Lock()
        self._seen: int | None = None
        self._view: View | None = None
        self._counts: tuple[float, Counts] | None = None
        self._doubts: tuple[tuple[int, int], list[Doubt]] | None = None
        self._made: dict[str, tuple[Hashable, bytes]] = {}

    def newest(self) -> View | None:
        """Return the newest result; None if there is none."""
        seen = self._store.changes()["results"]
        with self._lock:
            if self._seen != seen:
                stored = self._store.result()
                self._view, self._seen = View(stored) if stored else None, seen
            return self._view

    def counts(self) -> Counts:
        """Return counts of the log, at most a second old; own answers are in them at once."""
        with self._lock:
            if self._counts is None or time.monotonic() - self._counts[0] > COUNTED_FOR:
                self._counts = time.monotonic(), self._store.counts()
            return self._counts[1]

    def add(self, name: str, n_answers: int, n_entries: int, since: float) -> None:
        """Count what a person stored after a moment; counts begun since then are made again."""
        with self._lock:
            if self._counts is None:
                return
            at, counts = self._counts
            if at >= since:  # they may have been read before these entries were in the log
                self._counts = None
                return
            n, last = counts.n_answers + n_answers, counts.last_seq + n_entries
            mine = {name: counts.by_annotator.get(name, 0) + n_answers}
            people = {**counts.by_annotator, **mine}
            self._counts = at, replace(counts, n_answers=n, last_seq=last, by_annotator=people)

    def doubts(self) -> list[Doubt]:
        """Return the entries that look wrong and stand, the most doubtful first."""
        view, changes = self.newest(), self._store.changes()
        seen = changes["results"], changes["log"]
        with self._lock:
            if self._doubts is None or self._doubts[0] != seen:
                self._doubts = seen, doubts_of(self._store, view.body) if view else []
            return self._doubts[1]

    def once(self, name: str, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return what `make` makes of the result with this key; it is made once."""
        with self._lock:
            if self._made.get(name, (None,))[0] != key:
                self._made[name] = key, make()
            return self._made[name][1]

    def groups(self) -> list[Group]:
        """Return the groups of the newest result."""
        return self._store.groups()

    def names(self) -> dict[int, str]:
        """Return the title of each group."""
        return {group.id: title_of(group.id, group.name) for group in self.groups()}

    def worker(self) -> WorkerState | None:
        """Return what the worker says of itself."""
        return self._store.worker()


async def results_of(request: Request) -> Results:
    """Return the results of the app."""
    results: Results = request.app.state.results
    return results


ResultsOf = Annotated[Results, Depends(results_of)]


def view_of(results: ResultsOf) -> View:
    """Return the newest result, or the failure that there is none."""
    view = results.newest()
    if view is None:
        raise Problem(404, "There is no result yet; the worker is still warming up.")
    return view


ViewOf = Annotated[View, Depends(view_of)]


def title_of(group: int, name: str = "") -> str:
    """Return the name of a group, or "Group 1" for the one whose id is 0: people count from 1."""
    return name or (say("group.unnamed", n=group + 1) if group >= 0 else say("group.nobody"))


def remaining_of(view: View | None) -> dict[str, Any] | None:
    """Return how many questions are left, in words too, and the answers it was estimated from."""
    left = view.body.get("remaining") if view else None
    if not left or left.get("median") is None:
        return None
    low, median, high = (round(left[name]) for name in ("low", "median", "high"))
    return {
        **left,
        "answered": view.body.get("n_answers", 0) if view else 0,
        "about": say("left.about", n=median) if median else say("left.few"),
        "between": say("left.between", low=low, high=high)
        if median
        else say("left.up_to", high=max(high, 1)),
        "pace": pace_words(left.get("minutes")),
    }


def pace_words(minutes: Sequence[float] | None) -> str:
    """Say how many minutes are left, of the median and an interval; never that it is none."""
    if not minutes:
        return ""
    low, high = round(minutes[1]), max(1, round(minutes[2]))
    if low:
        return say("left.minutes", low=low, high=high)
    return say("left.minutes.up_to", n=high)


def quality_words(view: View | None) -> tuple[str, str]:
    """Say how many of 100 pairs are right, and the interval; the same words on every page."""
    jaccard = ((view.body.get("quality") or {}) if view else {}).get("jaccard")
    if not jaccard or None in jaccard:
        return "", ""
    value, low, high = (round(100 * float(one)) for one in jaccard)
    return say("quality.of", value=value), say("quality.between", low=low, high=high)


def group_quality(view: View | None) -> dict[int, dict[str, Sequence[float]]]:
    """Return how pure and how complete groups are, of those about which enough can be said."""
    groups = ((view.body.get("quality") or {}) if view else {}).get("groups") or {}
    known = {
        int(group): {
            name: found
            for name, found in one.items()
            if None not in found and found[2] - found[1] <= WIDEST
        }
        for group, one in groups.items()
    }
    return known if any(known.values()) else {}


def has_no_model(worker: WorkerState | None) -> bool:
    """Whether no worker chooses questions: there is none, or it has no model yet."""
    return worker is None or not worker.is_alive or worker.state in NOT_READY


def behind_of(worker: WorkerState | None, last_seq: int) -> int:
    """Return the number of entries that the worker has still to learn."""
    return 0 if worker is None or has_no_model(worker) else max(0, last_seq - worker.revision)


def news_of(results: Results, view: View | None) -> dict[str, Any]:
    """Return what an open page is told: revision, how far the worker is, and what is left."""
    worker, counts = results.worker(), results.counts()
    return {
        "revision": view.stored.revision if view else None,
        "behind": behind_of(worker, counts.last_seq),
        "model": model_of(results),
        "n_answered": counts.n_answers,
        "progress": remaining_of(view),
    }


def model_of(results: Results) -> str:
    """Say how the model is: ready, warming up, waiting, failed, or away (no worker runs it)."""
    worker = results.worker()
    if worker is None or not worker.is_alive:
        return "warming_up" if time.monotonic() - results.began < SOON else "away"
    named = {"starting": "warming_up", "warming up": "warming_up"}
    return named.get(worker.state, worker.state if worker.state in NOT_READY else "ready")


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
