"""``clew serve``, the labelling app of a project, and ``clew worker``, which learns its answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli._options import PROJECT, QUIET, find_project
from clew.exceptions import InvalidParameterError, MissingDependencyError, ProjectNotFoundError
from clew.web.settings import WebSettings, is_loopback

if TYPE_CHECKING:
    from clew.collections import Project


@click.command()
@click.argument("places", metavar="[PROJECT]...", type=click.Path(path_type=Path), nargs=-1)
@PROJECT
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, help="Port; 0: any.")
@click.option("--accounts", is_flag=True, help="Several people, each with a link of their own.")
@click.option(
    "--base-path", default="", show_default=False, help="What a proxy puts before all paths."
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="A name that browsers use.")
@click.option("--https", is_flag=True, help="Browsers come by HTTPS, through a proxy.")
@click.option("--browser/--no-browser", default=True, help="Open a browser.")
@click.option("--worker/--no-worker", default=True, help="Start a worker beside the app.")
@click.option("--name", default="", show_default="the user's", help="Your name, as others see it.")
def serve(
    places: tuple[Path, ...],
    project: Path | None,
    host: str,
    port: int,
    accounts: bool,
    base_path: str,
    allow_host: tuple[str, ...],
    https: bool,
    browser: bool,
    worker: bool,
    name: str,
) -> None:
    """Ask people in a browser: `clew serve ./photos`.

    PROJECT is a project, or a folder of photos, sounds or texts, or a table: then it becomes a
    project first. Several are served below paths of their own, with a list of them at `/`. A link
    is printed that works once, and a browser opens on the first question, or on the list. Nothing
    leaves this machine; other machines are served with --host and --accounts.
    """
    places = (project,) if project is not None else places or (Path(),)
    if not is_loopback(host) and not accounts:
        WebSettings("", places[0], places[0], host)  # says why that is refused
    making = [begin_project(place) for place in places]
    try:
        from clew.web.serving.app import create_app
        from clew.web.serving.projects import Projects, paths_of
        from clew.web.serving.server import listen, open_browser, owner_invite, run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("clew"):
            raise
        raise MissingDependencyError(
            f"clew serve needs {error.name}: pip install 'clew[web]'"
        ) from error
    found = [project_of(place, begun) for place, begun in zip(places, making, strict=True)]
    sock = listen(host, port, exact=port not in (0, 8765))
    bound = sock.getsockname()[1]
    base, is_one = base_path.rstrip("/"), len(found) == 1
    paths = [""] if is_one else paths_of(one.name for one in found)
    settings = [
        WebSettings(
            one.url, one.root, one.cache / "media", host, bound, base + path,
            None if is_one else base, allow_host, accounts, https,
        )
        for one, path in zip(found, paths, strict=True)
    ]  # fmt: skip
    shown = f"[{host}]" if ":" in host else "127.0.0.1" if host in ("0.0.0.0", "::") else host
    is_proxied = https and bool(allow_host)
    url = f"https://{allow_host[0]}" if is_proxied else f"http://{shown}:{bound}"
    invites = []
    for one in found:
        with one.open_store() as store:
            invites.append(owner_invite(store, name))
    several = None if is_one else Projects(settings, invites)
    link = f"{url}{base}/a/{several.secret if several else invites[0]}"

    from clew.worker import WorkerProcess

    processes = [WorkerProcess(os.fspath(one.folder)) for one in found]

    def ready() -> None:
        click.echo(f"Open {link}", err=True)
        click.echo("It works once; Ctrl-C ends the app, and nothing is lost.", err=True)
        if browser:
            open_browser(link)
        for process in processes if worker else ():  # the first question waits for no model
            process.start()

    try:
        run(several or create_app(settings[0]), sock, ready)
    finally:
        for process in processes:
            process.stop()


def begin_project(place: Path) -> subprocess.Popen[bytes] | None:
    """Make a project of a folder or table in a process of its own, so that this one stays small."""
    from clew.collections import Project

    if not place.exists():
        raise InvalidParameterError(f"there is no {place}; name a project, a folder or a table")
    try:
        Project.open(place if place.is_dir() else place.parent)
    except ProjectNotFoundError:
        folder, source = (place, []) if place.is_dir() else (place.parent, ["--from", str(place)])
        command = [sys.executable, "-m", "clew.cli", "init", str(folder), *source, "--to-serve"]
        return subprocess.Popen(command)
    return None


def project_of(place: Path, making: subprocess.Popen[bytes] | None) -> Project:
    """Return the project of a place, when it is made."""
    from clew.collections import Project

    if making is not None and making.wait():
        raise click.exceptions.Exit(making.returncode)
    return Project.open(place if place.is_dir() else place.parent)


@click.command("worker")
@PROJECT
@click.option(
    "--once",
    is_flag=True,
    help="End when everything is learned, published and on the map, and no job waits.",
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
    from clew.cli._words import Words
    from clew.items import Media
    from clew.worker import Worker, rows_of

    found, words, stop = find_project(project), Words(quiet=quiet), threading.Event()
    ends = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(name, lambda *_: stop.set()) for name in ends]

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
        if once and len(store.item_ids()) > 1:
            store.add_job("map", {})  # others draw it when people rest
        try:
            worker.run(stop, until_rest=once)
        finally:
            for name, handler in zip(ends, before, strict=True):
                signal.signal(name, handler)
    result = None if stop.is_set() else worker.previous
    if result is not None:
        words.say(f"everything is learned, up to entry {worker.revision}")
