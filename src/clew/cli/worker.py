"""``clew worker``: learn the answers of a project, and suggest questions."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import click

from clew.cli._options import QUIET
from clew.cli._projects import PROJECT, find_project


@click.command("worker")
@PROJECT
@click.option(
    "--once", is_flag=True, help="End when everything is learned and published, and no job waits."
)
@click.option("--until-closed", is_flag=True, hidden=True, help="End when standard input closes.")
@QUIET
def worker_command(project: Path | None, once: bool, until_closed: bool, quiet: bool) -> None:
    """Learn the answers of a project, publish its groups and suggest questions.

    One worker at a time has a project; a second one waits until the first has ended, or was not
    seen for ten seconds. The app starts one by itself; start it by hand on the machine that
    has the memory, when the store is on a server. Ctrl-C ends it after the step that it is at.

    \b
    clew worker
    clew worker --project birds --once
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._progress import Words
    from clew.items import Media
    from clew.worker import Worker, rows_of

    found, words, stop = find_project(project), Words(quiet=quiet), threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())

    def wait_for_end() -> None:
        os.read(0, 1)  # nothing is ever written
        stop.set()

    if until_closed:
        threading.Thread(target=wait_for_end, daemon=True).start()
    with found.open_store() as store, words.bar("Features") as advance:
        words.say(f"working on {found.name}; Ctrl-C ends it")
        media = Media(found.root, cache=found.cache)

        def read(n: int, n_all: int) -> None:
            advance(n, n_all)
            worker.read_items(n, n_all)

        rows = rows_of(found, store, callback=read)
        worker = Worker(store, rows, cache=found.cache, media=media)
        worker.run(stop, until_rest=once)
    result = None if stop.is_set() else worker.previous
    if result is not None:
        words.say(f"everything is learned, up to entry {worker.revision}")
