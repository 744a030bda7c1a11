"""The loop of a worker: learn what people say, suggest what to ask, publish groups, keep state."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from clew._files import atomic_write
from clew.exceptions import ClewError, LeaseLostError, StoreError
from clew.items import Item, Media
from clew.store import Store, Suggestion, warm_up
from clew.worker._rows import Rows, content_of, is_continued, no_rows

if TYPE_CHECKING:
    from clew.answers import Entry
    from clew.session import Session, SessionResult

logger = logging.getLogger("clew")

FORMAT: Final = 1
NAME: Final = "session.snapshot"
#: Rows whose content tells whether features are those of the snapshot.
N_COMPARED: Final = 1000


def write_snapshot(folder: Path, rows: Rows, content: bytes) -> None:
    """Write a snapshot in place of the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {
        "format": FORMAT, "rows": fingerprint(rows), "sha256": hashlib.sha256(content).hexdigest()
    }  # fmt: skip
    with atomic_write(folder / NAME, "wb") as file:
        file.write(json.dumps(head).encode() + b"\n" + content)


def read_snapshot(folder: Path | None, rows: Rows) -> bytes | None:
    """Read the snapshot of the same rows; None if there is none, or if it is damaged."""
    path = None if folder is None else folder / NAME
    if path is None or not path.exists():
        return None
    try:
        first, _, content = path.read_bytes().partition(b"\n")
        head = json.loads(first)
        is_good = head["sha256"] == hashlib.sha256(content).hexdigest()
        is_same = head["format"] == FORMAT and head["rows"] == fingerprint(rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("%s is damaged, the model learns the log anew: %r", path, error)
        return None
    if not is_good:
        logger.warning("%s is damaged, the model learns the log anew", path)
    return content if is_good and is_same else None


def fingerprint(rows: Rows) -> str:
    """Return the same text for the same ids and features; of many rows, some are read."""
    digest = hashlib.sha256("\n".join(rows.ids).encode())
    for name, data in rows.data.items():
        at = np.unique(np.linspace(0, data.shape[0] - 1, N_COMPARED, dtype=np.int64))
        digest.update(f"{name} {data.shape}".encode() + content_of(data, at))
    return digest.hexdigest()


#: Free questions in the pool, and further ones for each person who holds some.
N_POOL, N_POOL_A_PERSON = 24, 4
#: A result is published after this number of new entries, or when people rest for so long.
PUBLISH_EVERY, PUBLISH_AFTER = 10, 2.0
#: Seconds without a new entry after which what is only looked at is computed: affinity and map.
REST = 10.0
#: Seconds between two snapshots, at least.
SNAPSHOT_EVERY = 60.0
#: Seconds between two heartbeats; a worker is taken for dead after ten.
PULSE = 2.0
#: Seconds of learning after which the pool is filled again.
LEARN_SECONDS = 2.0
#: Number of entries behind from which on a worker says so.
BEHIND = 10
#: Number of items from which on there is something to compare.
FEWEST = 2


class Worker:
    """Learns what people say, and says what to ask next.

    Parameters
    ----------
    store : Store
        The store of the project.
    rows : callable, default=None
        Takes the items and returns `Rows`; `rows_of` makes one of a project. None: nothing is known
        of the items, which are grouped by answers alone.
    cache : Path, default=None
        Folder for snapshots of the model. None: it learns the whole log when it starts.
    media : Media, default=None
        Draws thumbnails, when a client asks for all of them.
    name : str, default=""
        How the worker is called in the app. Empty: the names of the computer and the process.

    Notes
    -----
    While there is no model, pairs drawn at random fill the pool; afterwards suggestions of the
    session do, anew after each answer. Results are published every 10 entries, or 2 seconds after
    the last one. An error is told in `Store.worker`, and the worker begins again from the log;
    asking goes on meanwhile.

    Examples
    --------
    >>> from clew.items import Item, Media
    >>> from clew.store import open_store
    >>> from clew.worker import Worker
    >>> with open_store(":memory:") as store:
    ...     _ = store.add_items([Item(name, "text", text=name) for name in ("wren", "owl", "emu")])
    ...     Worker(store).run(until_rest=True)
    ...     len(store.lease("ann", 2)), store.worker().state
    (2, 'ready')
    """

    def __init__(
        self,
        store: Store,
        rows: Callable[[Sequence[Item]], Rows] | None = None,
        *,
        cache: Path | None = None,
        media: Media | None = None,
        name: str = "",
    ) -> None:
        self.store, self.media = store, media
        self._rows_of = rows or no_rows
        self._cache = cache
        self._say: Callable[..., None] = lambda *_: None
        self._name = name or f"{socket.gethostname()} {os.getpid()}"
        self._forget()

    def _forget(self) -> None:
        """Begin again from the log."""
        self._session: Session | None = None
        self.rows = Rows([], {})
        #: The newest result: an object, or after a restart what its `to_dict` returned.
        self.previous: SessionResult | Mapping[str, Any] | None = None
        self.revision = self._applied = 0
        self._n_left, self._published, self._drawn = -1, -1, -1
        self._learned_at = self._saved_at = time.monotonic()
        self._seen_items = -1

    def read_items(self, n: int, n_all: int) -> None:
        """Say how many items have been read; what computes features calls it.

        Parameters
        ----------
        n : int
            Number of items whose features are known.
        n_all : int
            Number of all items.
        """
        if n < n_all:
            self._say("warming up", f"{n:,} of {n_all:,} items read")

    @property
    def session(self) -> Session:
        """The session; it is there while the worker works."""
        assert self._session is not None
        return self._session

    def run(self, stop: threading.Event | None = None, *, until_rest: bool = False) -> None:
        """Work until `stop` is set; wait first while another worker has the project.

        Parameters
        ----------
        stop : threading.Event, default=None
            Ends the work between two steps.
        until_rest : bool, default=False
            Whether to end when everything is learned and published, and no job waits; then errors
            are raised.

        Raises
        ------
        LeaseLostError
            With `until_rest`, if another worker has the project.
        StoreError
            With `until_rest`, if the store cannot be read or written.
        """
        stop, n_failed = stop or threading.Event(), 0
        while not stop.is_set():
            pulse = _Pulse(self.store, self._name)
            try:
                if not pulse.begin():
                    if until_rest:
                        raise LeaseLostError("another worker has this project; end it first")
                    stop.wait(1.0)
                    continue
                with pulse:
                    while True:
                        try:
                            self._work(pulse, stop, until_rest=until_rest)
                            return
                        except (StoreError, LeaseLostError):
                            raise
                        except Exception as error:  # the pulse goes on, and so does asking
                            if until_rest:
                                raise
                            if isinstance(error, ClewError):
                                logger.warning("the worker failed: %s", error)
                            else:
                                logger.exception("the worker failed")
                            n_failed += 1
                            pulse.say("failed", f"{_message(error)}; it tries again")
                            self._forget()
                            if stop.wait(min(2.0**n_failed, 60.0)):
                                return
            except (StoreError, LeaseLostError) as error:
                if until_rest:
                    raise
                logger.warning("%s", error)
                self._forget()
                stop.wait(1.0)
            finally:
                pulse.end()

    def read(self) -> Session:
        """Make the session of the whole log, to look at it: the project is not taken.

        Returns
        -------
        Session
            That of the last run, if everything was learned since.
        """
        if self._session is None or self._applied < self.store.last_seq():
            self._open()
        return self.session

    def _work(self, pulse: _Pulse, stop: threading.Event, *, until_rest: bool) -> None:
        self._pulse, self._say = pulse, pulse.say
        while not stop.is_set():
            pulse.check()
            seen = self.store.changes()  # read first, so that no change is missed
            if self._session is None:
                if len(self.store.item_ids()) < FEWEST:
                    pulse.say("waiting")
                    if until_rest:
                        return
                    self.store.wait(seen, timeout=0.5, topics=("items",))
                    continue
                self._open()
            self._follow_items(seen["items"])
            is_busy = self._learn()
            if self._n_left == 0:
                is_busy |= self._publish(is_wanted=until_rest)
                pulse.say("ready", revision=self.revision)
                is_busy |= self._do_job()
                self._save(is_wanted=until_rest and not is_busy)
                self._draw()
            if is_busy:
                continue
            if until_rest:
                return
            now = self.store.wait(seen, timeout=0.5, topics=("log", "jobs", "items", "settings"))
            if now["settings"] != seen["settings"]:
                self._forget()
        self._save(is_wanted=True)

    def _open(self) -> None:
        """Make the session, from a snapshot if there is a good one."""
        items = self.store.items()
        self._say("warming up", f"reading {len(items):,} items")
        self.rows = self._rows_of(items)
        self._say("warming up", f"making the model of {len(self.rows.ids):,} items")
        from clew.session import Session

        entries = self.store.log()
        content = read_snapshot(self._cache, self.rows)
        if content is not None:
            data = {name: each for name, each in self.rows.arguments.items() if name != "X"}
            try:
                self._session = Session.restore(
                    self.rows.X,
                    content,
                    [each.entry for each in entries],
                    **data,
                    **self._parameters(),
                )
            except ClewError as error:
                logger.warning("the snapshot of the model is not used: %s", error)
        if self._session is None:
            self._session = self.new_session([each.entry for each in entries])
        self._applied = entries[-1].seq if entries else 0
        self._n_left = -1
        result = self.store.result()
        self.previous = None if result is None else result.body

    def _parameters(self) -> dict[str, Any]:
        settings = self.store.settings()
        names = ("n_clusters", "kinds", "check_every", "n_examples", "random_state")
        return {name: settings[name] for name in names}

    def new_session(self, entries: Iterable[Entry] = ()) -> Session:
        """Make another session of the same items.

        Parameters
        ----------
        entries : iterable of Entry, default=()
            What it learns first.

        Returns
        -------
        Session
        """
        from clew.session import Session

        session = Session(**self.rows.arguments, **self._parameters())
        session.apply(entries)
        return session

    def _follow_items(self, number: int) -> None:
        """Add items that came since."""
        if number == self._seen_items:
            return
        if self._seen_items >= 0 and len(self.store.item_ids()) != len(self.rows.ids):
            before, self.rows = self.rows, self._rows_of(self.store.items())
            n = len(before.ids)
            if is_continued(before, self.rows):
                self.session.add_items(self.rows.X[n:], self.rows.ids[n:])
            elif self.rows.ids != before.ids:
                self._session = self.new_session([each.entry for each in self.store.log()])
            self._n_left = self._published = -1
        self._seen_items = number

    def _learn(self) -> bool:
        """Learn for a while and suggest questions; return whether there was anything to learn."""
        new = self.store.log(after=self._applied)
        if not new and self._n_left == 0:
            return False
        if new:
            self.session.apply([each.entry for each in new])
            self._applied = new[-1].seq
        self._n_left = self.session.learn(LEARN_SECONDS)
        if self._n_left > BEHIND:
            what = f"learning {self._n_left:,} answers"
            self._pulse.say("learning", what, revision=self.revision)
        if self._n_left == 0:
            self.revision = self._applied
        known = set(self.rows.ids)
        held = [
            lease for lease in self.store.leases() if known.issuperset(lease.question.ids or ())
        ]
        n = N_POOL + N_POOL_A_PERSON * len({lease.annotator for lease in held})
        suggestions = self.session.suggest(
            n, exclude=[lease.question for lease in held], learn=False
        )
        self.store.replace_pool(
            [
                Suggestion(
                    each.question, each.is_check, each.probability, each.score, self._applied
                )
                for each in suggestions
            ],
            worker=self._pulse.token,
        )
        self._learned_at = time.monotonic()
        return True

    def _publish(self, *, is_wanted: bool) -> bool:
        """Publish a result if one is due; return whether."""
        n_new = self.revision - self._published
        is_resting = time.monotonic() - self._learned_at > PUBLISH_AFTER
        is_due = n_new >= PUBLISH_EVERY or self._published < 0 or is_resting or is_wanted
        if not n_new or not is_due:
            return False
        self.publish()
        return True

    def publish(self) -> None:
        """Publish the groups that people and features imply now."""
        result = self.session.result(previous=self.previous)
        body = result.to_dict() | {"revision": self.revision}
        self.store.publish(self.revision, body, worker=self._pulse.token)
        self.previous, self._published = result, self.revision

    def _save(self, *, is_wanted: bool) -> None:
        """Write a snapshot from time to time."""
        is_due = time.monotonic() - self._saved_at > SNAPSHOT_EVERY
        if self._cache is not None and self._session is not None and (is_due or is_wanted):
            try:
                write_snapshot(self._cache, self.rows, self.session.snapshot())
            except OSError as error:  # a full disk: the log is enough
                logger.warning("no snapshot of the model is kept: %s", error)
            self._saved_at = time.monotonic()

    def _draw(self) -> None:
        """Keep affinity and map of the last result, when people rest."""
        if time.monotonic() - self._learned_at < REST or self._drawn == self._published:
            return
        from clew.worker._jobs import draw

        draw(self, {})
        self._drawn = self._published

    def _do_job(self) -> bool:
        """Do one job; return whether there was one."""
        job = self.store.take_job(self._pulse.token)
        if job is None:
            return False
        from clew.worker._jobs import do

        try:
            result, error = do(self, job), None
        except Exception as failure:
            if not isinstance(failure, ClewError):
                logger.exception("job %s failed", job.kind)
            result, error = None, _message(failure)
        self.store.finish_job(job.id, worker=self._pulse.token, result=result, error=error)
        return True

    def put_artifact(self, name: str, content: bytes) -> None:
        """Keep a binary product of the last result.

        Parameters
        ----------
        name : str
            What it is; it replaces the last one of this name.
        content : bytes
            The product.

        Raises
        ------
        LeaseLostError
            If another worker has taken over. Nothing is written.
        """
        self.store.put_artifact(name, self.revision, content, worker=self._pulse.token)


class _Pulse:
    """Says every two seconds that the worker is alive, and lets asking go on while it is busy."""

    def __init__(self, store: Store, name: str) -> None:
        self.token = ""
        self._store, self._name = store, name
        self._said: tuple[str, str, int] = ("starting", "", 0)
        self._news, self._is_over, self._is_lost = threading.Event(), False, False
        self._thread = threading.Thread(target=self._beat, name="clew-worker-pulse", daemon=True)

    def begin(self) -> bool:
        """Take the project; return whether it was free."""
        self.token = self._store.acquire_worker(self._name) or ""
        return bool(self.token)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._news.set()
        self._thread.join()

    def end(self) -> None:
        """Give the project back."""
        if self.token:
            with suppress(ClewError):
                self._store.heartbeat(self.token, *self._said)
                self._store.release_worker(self.token)

    def say(self, state: str, detail: str = "", revision: int | None = None) -> None:
        """Tell in the store what the worker does."""
        said = state, detail, self._said[2] if revision is None else revision
        if said != self._said:
            self._said = said
            self._news.set()

    def check(self) -> None:
        """Raise an error if another worker has taken over."""
        if self._is_lost:
            raise LeaseLostError("another worker has taken the project over")

    def _beat(self) -> None:
        last = 0.0
        while not self._is_over:
            try:
                if self._news.is_set() or time.monotonic() - last > PULSE:
                    self._news.clear()
                    self._store.heartbeat(self.token, *self._said)
                    last = time.monotonic()
                if self._said[0] != "ready":
                    warm_up(self._store, N_POOL // 3, worker=self.token)
            except LeaseLostError:
                self._is_lost = True
                return
            except ClewError as error:
                logger.warning("%s", error)
            self._news.wait(PULSE / 8)


def _message(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return f"there was not enough memory{f': {error}' if str(error) else ''}"
    return f"{type(error).__name__}: {error}" if not isinstance(error, ClewError) else str(error)
