"""Opening the store of a path or a URL, and the first questions of a project, at random."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from clew.answers import Kind, Question
from clew.exceptions import MissingDependencyError, StoreError
from clew.store.base import Store, Suggestion


def open_store(
    path_or_url: str | os.PathLike[str],
    *,
    create: bool = True,
    clock: Callable[[], float] = time.time,
) -> Store:
    """Open the store of a project.

    Parameters
    ----------
    path_or_url : str or path-like
        A file of SQLite, such as ``birds/.clew/clew.db``; ``":memory:"``, a store that ends with
        this process; or the address of a database of PostgreSQL,
        ``postgresql://user@host/database?project=birds``, where the project is a schema.
    create : bool, default=True
        Whether to make the tables if there are none. False: an error.
    clock : callable, default=time.time
        Returns seconds since 1970; leases run by it.

    Returns
    -------
    Store

    Raises
    ------
    StoreError
        If it cannot be opened or written, or a newer clew has made it.
    MissingDependencyError
        If SQLAlchemy, or psycopg for PostgreSQL, is not installed.

    Examples
    --------
    >>> from clew import Answer, Question
    >>> from clew.items import Item
    >>> from clew.store import open_store
    >>> with open_store(":memory:") as store:
    ...     _ = store.add_items([Item("wren", "text", text="a"), Item("owl", "text", text="b")])
    ...     question = Question("pair", ids=("wren", "owl"))
    ...     _ = store.append([Answer(question, "different", annotator="ann")])
    ...     store.counts().n_answers
    1
    """
    try:
        from clew.store._sql_store import SqlStore
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("clew"):
            raise
        raise MissingDependencyError(
            "a project needs SQLAlchemy and Alembic: pip install 'clew[web]'"
        ) from error
    text = os.fspath(path_or_url)
    if "://" in text:
        return SqlStore(text, create=create, clock=clock)
    if text == ":memory:":
        return SqlStore("sqlite://", create=create, clock=clock)
    path = Path(text)
    if path.is_dir():
        raise StoreError(
            f"{path} is a folder; name its database, or open its project with "
            "clew.collections.Project.open"
        )
    if not path.exists() and not create:
        raise StoreError(f"there is no {path}; `clew init` makes a project")
    from sqlalchemy.engine import URL

    address = URL.create("sqlite", database=os.path.abspath(path))
    return SqlStore(address.render_as_string(hide_password=False), create=create, clock=clock)


#: Rows of the kinds of questions that can be drawn without a model.
N_DRAWN: dict[Kind, int] = {"pair": 2, "triplet": 3, "odd_one_out": 3}


def warm_up(store: Store, n: int, *, worker: str | None = None) -> int:
    """Fill the pool up with `n` free questions about items drawn at random.

    Their origin is "imported": only the checks of a session, whose probability is known, say how
    good groups are.

    Parameters
    ----------
    store : Store
        The store of the project.
    n : int
        Number of questions that nobody holds.
    worker : str, default=None
        Token of the worker, if one fills the pool.

    Returns
    -------
    int
        Number of questions that were added: 0 with fewer than two items, or if the settings want
        only kinds of questions that need groups.
    """
    kinds = [kind for kind in store.settings()["kinds"] if kind in N_DRAWN]
    held = {lease.question for lease in store.leases()}
    free = [suggestion for suggestion in store.pool() if suggestion.question not in held]
    ids = store.item_ids()
    if len(free) >= n or not kinds or len(ids) < max(N_DRAWN[kind] for kind in kinds):
        return 0
    questions = {suggestion.question for suggestion in free}
    drawn: dict[Question, None] = {}
    for at in range(
        2 * (n - len(free))
    ):  # some are drawn twice, were answered, or are about items set aside
        kind = kinds[at % len(kinds)]
        names = tuple(random.sample(ids, N_DRAWN[kind]))
        question = Question(kind, (), "imported", tuple(sorted(names)) if kind == "pair" else names)
        if question not in questions and question not in held:
            drawn[question] = None
    new = [Suggestion(question) for question in drawn]
    before = len(store.pool())
    store.replace_pool([*free, *new], worker=worker)
    return len(store.pool()) - before
