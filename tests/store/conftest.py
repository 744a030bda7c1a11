"""The stores that every promise is tested on."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from clew.answers import Answer, Question
from clew.items import Item
from clew.store import Store, Suggestion, open_store

_NUMBERS = itertools.count()


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store is."""
    if request.param == "memory":
        return ":memory:"
    if request.param == "sqlite":
        return str(tmp_path / "clew.db")
    url = make_url(request.getfixturevalue("postgres"))
    named = url.update_query_dict({"project": f"test{next(_NUMBERS)}"})
    return named.render_as_string(hide_password=False)


@pytest.fixture
def store(address: str, clock: Clock) -> Iterator[Store]:
    """A store of twenty items, i0 to i19."""
    with open_store(address, clock=clock) as opened:
        opened.add_items(ITEMS)
        yield opened


ITEMS = [Item(f"i{row}", "text", text=f"text {row}") for row in range(20)]
Pair = Callable[..., Question]


@pytest.fixture
def pair() -> Pair:
    """Make a question about two items by their numbers."""

    def make(i: int, j: int, origin: str = "asked", **fields: object) -> Question:
        return Question("pair", (), origin, (f"i{i}", f"i{j}"), **fields)  # type: ignore[arg-type]

    return make


def said(question: Question, value: str | int = "same", annotator: str = "ann") -> Answer:
    return Answer(question, value, annotator, origin=question.origin)


def fill(store: Store, pair: Pair, n: int = 12, revision: int = 0, first: int = 0) -> None:
    store.replace_pool(
        [Suggestion(pair(first + at, first + at + 1), revision=revision) for at in range(n)]
    )


def ids_of(leases: object) -> list[object]:
    return [lease.question.ids for lease in leases]  # type: ignore[attr-defined]
