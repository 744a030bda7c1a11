"""Features of the items of a collection: kept by content, resumed where they stopped."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew._parallel import in_threads
from clew.exceptions import ClewError, InvalidDataError, InvalidParameterError
from clew.features._extractor import Extractor, chosen, extractor
from clew.items import Item, LeftOut, Media

#: Files whose hashes are kept at a time.
N_HASHED = 1000


class Features(NamedTuple):
    """Features of the items of a collection."""

    X: NDArray[np.float64]
    """Features, (n_items, n_features)."""
    ids: list[str]
    """Id of each row."""
    left_out: list[LeftOut]
    """Items that cannot be read, with reasons; they have no row."""
    name: str
    """What they were computed by; `compute` takes it as `model`."""
    version: str
    """Version of what they were computed by. Features of other versions do not compare."""
    note: str
    """How they were chosen, and what they are, in a sentence."""


def compute(
    items: Sequence[Item],
    root: str | os.PathLike[str] | Media,
    *,
    model: str = "auto",
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> Features:
    """Compute features of items: images, sounds or texts.

    Parameters
    ----------
    items : sequence of Item
        Items of one kind. Those that are set aside are described too.
    root : str, path-like or Media
        Folder to which their paths are relative.
    model : str, default="auto"
        Name of what computes them, one of `extractors`, with a model after a colon where it takes
        one. "auto": by the kind, and by what images are: those with colors by
        "efficientnet-lite0", gray or tiny ones by "shapes"; sounds by "log-mel", texts by "minilm"
        if it is installed and "tf-idf" otherwise.
    cache : str or path-like, default=None
        A folder where numbers are kept by the content of the items: a further call, also after one
        that was killed, computes only what is new. The result does not depend on it. None: nothing
        is written.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The result does not depend on it.
    callback : callable, default=None
        Called with the number of items that are done, and of all.

    Returns
    -------
    Features
        Without the items that cannot be read, which are listed in `left_out`.

    Raises
    ------
    InvalidDataError
        If the items are of several kinds, are rows or vectors, or fewer than two can be read.
    InvalidParameterError
        If there are no such features, or not for items of this kind.
    MissingDependencyError
        If what computes them is not installed.

    Notes
    -----
    Nothing is downloaded. Memory, and disk in `cache`, 5 kB for each image.

    Examples
    --------
    >>> from clew.features import compute
    >>> from clew.items import Item
    >>> texts = ("a small brown bird", "a small black bird", "a large white swan")
    >>> items = [Item(f"t{at}", "text", text=text) for at, text in enumerate(texts)]
    >>> features = compute(items, ".", model="tf-idf")
    >>> features.ids, len(features.X)
    (['t0', 't1', 't2'], 3)
    """
    media = root if isinstance(root, Media) else Media(root)
    kinds = sorted({item.kind for item in items})
    if len(kinds) != 1 or kinds[0] in ("row", "vector"):
        raise InvalidDataError(
            f"features are computed of items of one kind, images, sounds or texts, not of "
            f"{' and '.join(kinds) or 'none'}; rows of a table and vectors are features themselves"
        )
    if len({item.id for item in items}) != len(items):
        raise InvalidDataError("two items have the same id")
    name, note = chosen(kinds[0], items, media) if model == "auto" else (model, "")
    by = extractor(name, n_jobs=n_jobs)
    if kinds[0] not in by.kinds:
        raise InvalidParameterError(
            f"model={name!r} describes {' and '.join(sorted(by.kinds))} items, not {kinds[0]} items"
        )
    report = callback or (lambda *_: None)
    with Cache(None if cache is None else Path(cache)) as kept:
        raw, left_out = _Run(by, items, media, kept, report).numbers()
    ids = [item.id for item in items if item.id in raw]
    if len(ids) < 2:
        first = f"; {left_out[0].id}: {left_out[0].reason}" if left_out else ""
        raise InvalidDataError(
            f"{len(ids)} of {len(items)} items can be read, and grouping needs two or more{first}"
        )
    X = by.combine(np.stack([raw[each] for each in ids]))
    if not np.isfinite(X).all():
        raise InvalidDataError(f"the features {name!r} are not all finite numbers")
    return Features(X, ids, left_out, name, by.version, note or f"by {name}")


class _Run:
    """One computation: what is kept is read, the rest is computed batch by batch."""

    def __init__(
        self,
        by: Extractor,
        items: Sequence[Item],
        media: Media,
        cache: Cache,
        report: Callable[[int, int], None],
    ) -> None:
        self._by, self._items, self._media = by, items, media
        self._cache, self._report = cache, report
        self._left_out: dict[str, str] = {}

    def numbers(self) -> tuple[dict[str, NDArray[np.float32]], list[LeftOut]]:
        """Return the numbers of each item by id, and the items that cannot be read."""
        found: dict[str, NDArray[np.float32]] = {}
        if self._by.batch_size is None:
            batches, keys = [self._items], {}
        else:
            keys = self._keys()
            before = self._cache.read(list(dict.fromkeys(keys.values())))
            found = {name: before[key] for name, key in keys.items() if key in before}
            rest = [item for item in self._items if item.id in keys and item.id not in found]
            size = self._by.batch_size
            batches = [rest[at : at + size] for at in range(0, len(rest), size)]
        self._report(len(found) + len(self._left_out), len(self._items))
        for batch in batches:
            loaded = self._loaded(batch)
            if loaded:
                numbers = self._checked(self._by.extract(list(loaded.values())), len(loaded))
                new = dict(zip(loaded, numbers, strict=True))
                found |= new
                self._cache.keep({keys[name]: each for name, each in new.items() if name in keys})
            self._report(len(found) + len(self._left_out), len(self._items))
        order = [item.id for item in self._items if item.id in self._left_out]
        return found, [LeftOut(name, self._left_out[name]) for name in order]

    def _checked(self, numbers: NDArray[Any], n: int) -> NDArray[np.float32]:
        numbers = np.asarray(numbers, np.float32)
        if numbers.ndim != 2 or len(numbers) != n or not np.isfinite(numbers).all():
            raise InvalidDataError(
                f"the features {self._by.name!r} of {n} items are an array of shape "
                f"{numbers.shape} or not finite; it should have a row of finite numbers for each"
            )
        return numbers

    def _loaded(self, batch: Sequence[Item]) -> dict[str, Any]:
        """Open items, in threads; those that cannot be read are left out."""

        def load(item: Item) -> Any:
            try:
                return self._by.load(item, self._media)
            except ImportError:
                raise
            except (ClewError, OSError, MemoryError) as error:
                return _Failed(reason_of(error, item))

        results = in_threads(load, batch, n_jobs=self._by.n_jobs, what="items")
        loaded = {}
        for item, result in zip(batch, results, strict=True):
            if isinstance(result, _Failed):
                self._left_out[item.id] = result.reason
            else:
                loaded[item.id] = result
        return loaded

    def _keys(self) -> dict[str, bytes]:
        """Return under which key the numbers of each item are kept: by content, part and model."""
        hashes = self._hashes()
        salt = f"{self._by.name}\0{self._by.model}\0{self._by.version}"
        keys = {}
        for item in self._items:
            if item.id in self._left_out:
                continue
            content = item.hash or hashes.get(item.path or "") or item.text or ""
            words = f"{salt}\0{content}\0{item.region}".encode("utf-8", "surrogatepass")
            keys[item.id] = hashlib.sha256(words).digest()
        return keys

    def _hashes(self) -> dict[str, str]:
        """Return the hash of each file whose item does not say it, by path."""
        known = self._cache.hashes()
        files: dict[str, list[Item]] = {}
        for item in self._items:
            if item.hash is None and item.path is not None:
                files.setdefault(item.path, []).append(item)

        def facts_of(name: str) -> tuple[str, tuple[int, int, str]] | _Failed:
            try:
                path = self._media.path(files[name][0])
                there = path.stat()
                facts = there.st_size, there.st_mtime_ns
                if (before := known.get(str(path))) is not None and before[:2] == facts:
                    return str(path), before
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                return str(path), (*facts, digest)
            except (ClewError, OSError) as error:
                return _Failed(reason_of(error, files[name][0]))

        found: dict[str, str] = {}
        names = list(files)
        for at in range(0, len(names), N_HASHED):
            some = names[at : at + N_HASHED]
            results = in_threads(facts_of, some, n_jobs=self._by.n_jobs, what="files")
            new: dict[str, tuple[int, int, str]] = {}
            for name, result in zip(some, results, strict=True):
                if isinstance(result, _Failed):
                    self._left_out |= {item.id: result.reason for item in files[name]}
                    continue
                place, facts = result
                found[name] = facts[2]
                if known.get(place) != facts:
                    new[place] = facts
            self._cache.keep_hashes(new)
        return found


class _Failed(NamedTuple):
    """An item cannot be read."""

    reason: str


def reason_of(error: BaseException, item: Item) -> str:
    """Return why an item cannot be read, without its own name."""
    text = getattr(error, "strerror", None) or str(error)
    for start in (f"{item.path}: ", f"item {item.id}: "):
        text = text.removeprefix(start)
    return text or type(error).__name__


FILE = "features.sqlite"
SCHEMA = """
CREATE TABLE IF NOT EXISTS numbers (key BLOB PRIMARY KEY, numbers BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL, hash TEXT NOT NULL
) WITHOUT ROWID;
"""
#: Parameters in one statement.
MOST_PARAMETERS = 500


class Cache:
    """A SQLite file, one transaction a `keep`; where it cannot be written, nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._database: sqlite3.Connection | None = None
        if folder is None:
            return
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / FILE
        for _ in range(2):
            try:
                self._database = sqlite3.connect(path, timeout=10.0, isolation_level=None)
                self._database.execute("PRAGMA synchronous=NORMAL")
                self._database.executescript(SCHEMA)
                self._database.execute("SELECT count(*) FROM (SELECT 1 FROM numbers LIMIT 1)")
                return
            except sqlite3.OperationalError:  # read-only, locked, or no such folder
                self.close()
                return
            except sqlite3.DatabaseError:  # damaged: all of it can be computed again
                self.close()
                with suppress(OSError):
                    path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what is asked for is then no longer there."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def read(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the numbers that are kept, by key."""
        found: dict[bytes, NDArray[np.float32]] = {}
        for some in _parts(keys):
            marks = ",".join("?" * len(some))
            query = f"SELECT key, numbers FROM numbers WHERE key IN ({marks})"
            for key, numbers in self._rows(query, some):
                found[key] = np.frombuffer(numbers, "<f4")
        return found

    def keep(self, numbers: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keep numbers by key."""
        rows = [(key, each.astype("<f4").tobytes()) for key, each in numbers.items()]
        self._write("INSERT OR REPLACE INTO numbers VALUES (?, ?)", rows)

    def hashes(self) -> dict[str, tuple[int, int, str]]:
        """Return size, time and hash of the files whose content was read, by path."""
        rows = self._rows("SELECT path, size, mtime, hash FROM files", ())
        return {path: (size, mtime, each) for path, size, mtime, each in rows}

    def keep_hashes(self, files: Mapping[str, tuple[int, int, str]]) -> None:
        """Keep size, time and hash of files by path."""
        self._write(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
            [(path, *facts) for path, facts in files.items()],
        )

    def _rows(self, query: str, parameters: Sequence[object]) -> list[tuple]:  # type: ignore[type-arg]
        if self._database is None:
            return []
        try:
            return self._database.execute(query, tuple(parameters)).fetchall()
        except sqlite3.DatabaseError:
            return []

    def _write(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        if self._database is None:
            return
        try:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(query, rows)
            self._database.execute("COMMIT")
        except sqlite3.DatabaseError:
            with suppress(sqlite3.DatabaseError):
                self._database.execute("ROLLBACK")


def _parts(keys: Sequence[bytes]) -> Iterable[Sequence[bytes]]:
    return (keys[at : at + MOST_PARAMETERS] for at in range(0, len(keys), MOST_PARAMETERS))
