"""A project on disk: its folder, its settings, the vectors of its items, and its store."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Container, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from clew._files import atomic_write
from clew.exceptions import FileFormatError, InvalidDataError, ProjectNotFoundError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.store import Store

__all__ = ["Project"]

#: The folder of a project within the one that it is about, and what lies in it.
FOLDER, SETTINGS, DATABASE = ".clew", "settings.toml", "clew.db"


class _Part(NamedTuple):
    """One file of vectors."""

    path: Path
    ids: list[str]


@dataclass(frozen=True)
class Project:
    """The folder ``.clew`` of a project.

    It holds ``settings.toml``, the database ``clew.db`` unless the settings name another store,
    ``vectors`` and ``distances.npz`` that people gave, and ``cache``, which may be deleted.

    Parameters
    ----------
    folder : Path
        The folder ``.clew`` itself.
    media : str, default=".."
        Folder to which paths of items are relative, from `folder`.
    store : str, default=""
        URL of the store. Empty: ``clew.db``.
    name : str, default=""
        Name of the project.
    features : str, default="auto"
        What describes images, sounds and texts, as `clew.features.compute` takes it. What "auto"
        chose is kept here, so that items that are added do not change it.
    id_column : str, default=""
        Column of ids of the tables that are added. Empty: the one named id.

    Raises
    ------
    ProjectNotFoundError
        By `find` and `open`, if there is no project.

    Examples
    --------
    >>> import tempfile
    >>> from clew.collections import Project
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Project.create(folder, name="birds")
    ...     Project.find(folder).name, made.root.samefile(folder)
    ('birds', True)
    """

    folder: Path
    media: str = ".."
    store: str = ""
    name: str = ""
    features: str = "auto"
    id_column: str = ""

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str],
        *,
        media: str | os.PathLike[str] | None = None,
        store: str = "",
        name: str = "",
        features: str = "auto",
        id_column: str = "",
    ) -> Self:
        """Make the folder and the settings of a project.

        Parameters
        ----------
        place : str or path-like
            Folder that gets a folder ``.clew``; made if it is not there.
        media : str or path-like, default=None
            Folder of the media. None: `place`.
        store : str, default=""
            URL of the store. Empty: a database in the folder.
        name : str, default=""
            Name of the project. Empty: that of the folder.
        features : str, default="auto"
            What describes images, sounds and texts, as `clew.features.compute` takes it.
        id_column : str, default=""
            Column of ids of the tables that are added. Empty: the one named id.

        Returns
        -------
        Project

        Raises
        ------
        FileExistsError
            If there is a project already.
        OSError
            If the folder cannot be made.
        """
        top = Path(os.path.abspath(place))
        folder = top / FOLDER
        if (folder / SETTINGS).exists():
            raise FileExistsError(
                f"{top} has a project already; clew add puts further items into it"
            )
        folder.mkdir(parents=True, exist_ok=True)
        where = os.path.realpath(media) if media is not None else os.path.realpath(top)
        relative = os.path.relpath(where, os.path.realpath(folder))
        media = relative.replace(os.sep, "/")
        made = cls(folder, media, store, name or top.name, features, id_column)
        made.write()
        return made

    @classmethod
    def open(cls, place: str | os.PathLike[str]) -> Self:
        """Open the project of a folder.

        Parameters
        ----------
        place : str or path-like
            The folder ``.clew``, or the one that it is in.

        Returns
        -------
        Project
        """
        top = Path(os.path.abspath(place))
        folder = top if top.name == FOLDER else top / FOLDER
        path = folder / SETTINGS
        if not path.is_file():
            raise ProjectNotFoundError(
                f"there is no project in {place}; make one with clew init {place}"
            )
        try:
            stored = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileFormatError(f"{path}: {error}") from error
        known = {each.name for each in fields(cls)} - {"folder"}
        texts = {name: stored[name] for name in known & stored.keys()}
        for name, value in texts.items():
            if not isinstance(value, str):
                raise FileFormatError(f"{path}: {name} must be text in quotes, got {value!r}")
        return cls(folder, **texts)

    @classmethod
    def find(cls, start: str | os.PathLike[str] = ".") -> Self:
        """Open the project of a folder, or else of the nearest folder above it.

        Parameters
        ----------
        start : str or path-like, default="."
            Where to begin.

        Returns
        -------
        Project
        """
        top = Path(os.path.abspath(start))
        for each in (top, *top.parents):
            if (each / FOLDER / SETTINGS).is_file():
                return cls.open(each)
        raise ProjectNotFoundError(
            f"neither {start} nor a folder above it is a project; make one with clew init, or name "
            "one with --project"
        )

    def write(self) -> None:
        """Write the settings."""
        names = ("name", "media", "store", "features", "id_column")
        texts = {name: getattr(self, name) for name in names}
        # JSON quotes and escapes texts as TOML does.
        lines = [f"{name} = {json.dumps(text)}" for name, text in texts.items() if text]
        with atomic_write(self.folder / SETTINGS) as file:
            file.write("\n".join(lines) + "\n")
        (self.folder / SETTINGS).chmod(0o600)  # the URL of a store may hold a password

    @property
    def root(self) -> Path:
        """Folder to which paths of items are relative."""
        return Path(os.path.realpath(self.folder / self.media))

    @property
    def cache(self) -> Path:
        """Folder of what can be computed again."""
        return self.folder / "cache"

    @property
    def url(self) -> str:
        """Where the store is, as `clew.store.open_store` takes it."""
        return self.store or str(self.folder / DATABASE)

    def open_store(self) -> Store:
        """Open the store.

        Returns
        -------
        Store
        """
        from clew.store import open_store

        return open_store(self.url)

    # Vectors and distances that people gave ------------------------------------------------

    def add_vectors(self, ids: Sequence[str], X: NDArray[Any]) -> None:
        """Keep vectors of items; those of the same id that were given before no longer count.

        Parameters
        ----------
        ids : sequence of str
            Ids of the items.
        X : ndarray of shape (n, n_features)
            Their vectors.

        Raises
        ------
        InvalidDataError
            If earlier vectors have another number of features.
        """
        import numpy as np

        parts = self._parts()
        if parts:
            n_before = np.load(parts[-1].path, mmap_mode="r", allow_pickle=False).shape[1]
            if n_before != X.shape[1]:
                raise InvalidDataError(
                    f"the vectors have {X.shape[1]} features, those before {n_before}; all vectors "
                    "of a project have as many. Make a new project for other vectors"
                )
        folder = self.folder / "vectors"
        folder.mkdir(exist_ok=True)
        number = 1 + max((int(part.path.stem) for part in parts), default=0)
        # The ids are written last: a file of vectors without ids does not count.
        with atomic_write(folder / f"{number:04}.npy", "wb") as file:
            np.save(file, np.asarray(X))
        with atomic_write(folder / f"{number:04}.json") as file:
            json.dump(list(ids), file, ensure_ascii=False)

    def vectors(self, ids: Sequence[str]) -> NDArray[Any] | None:
        """Return the vectors that were given for items.

        Parameters
        ----------
        ids : sequence of str
            Ids of all items, in the order of the rows.

        Returns
        -------
        ndarray of shape (n_items, n_features) or None
            None if no vectors were given. One file that has all items in order is mapped from the
            disk, not read.

        Raises
        ------
        InvalidDataError
            If some items have vectors, and others none.
        """
        parts = self._parts()
        if not parts:
            return None
        import numpy as np

        arrays: list[NDArray[Any]] = [
            np.load(part.path, mmap_mode="r", allow_pickle=False) for part in parts
        ]
        if len(parts) == 1 and parts[0].ids == list(ids):
            return arrays[0]
        place = {
            name: (at, row) for at, part in enumerate(parts) for row, name in enumerate(part.ids)
        }
        refuse_lacking(ids, place, "vectors", "add them with clew add … --vectors")
        X = np.empty((len(ids), arrays[0].shape[1]), arrays[0].dtype)
        at = np.array([place[name] for name in ids], np.int64)
        for number, array in enumerate(arrays):
            rows = np.flatnonzero(at[:, 0] == number)
            X[rows] = array[at[rows, 1]]
        return X

    def _parts(self) -> list[_Part]:
        """Return the files of vectors, the oldest first."""
        names = sorted((self.folder / "vectors").glob("*.json"))
        return [
            _Part(path.with_suffix(".npy"), json.loads(path.read_text(encoding="utf-8")))
            for path in names
        ]

    def set_distances(self, ids: Sequence[str], D: NDArray[Any]) -> None:
        """Keep distances between items, in place of those before.

        Parameters
        ----------
        ids : sequence of str
            Ids of the items.
        D : ndarray of shape (n, n)
            Distances between them.
        """
        import numpy as np

        with atomic_write(self.folder / "distances.npz", "wb") as file:
            np.savez(file, D=np.asarray(D), ids=np.array(list(ids)))

    def distances(self, ids: Sequence[str]) -> NDArray[Any] | None:
        """Return the distances that were given between items.

        Parameters
        ----------
        ids : sequence of str
            Ids of all items, in the order of the rows.

        Returns
        -------
        ndarray of shape (n_items, n_items) or None
            None if no distances were given.

        Raises
        ------
        InvalidDataError
            If an item has no distances.
        """
        path = self.folder / "distances.npz"
        if not path.is_file():
            return None
        import numpy as np

        with np.load(path, allow_pickle=False) as stored:
            names: list[str] = stored["ids"].tolist()
            D: NDArray[Any] = stored["D"]
        row_of = {name: row for row, name in enumerate(names)}
        refuse_lacking(ids, row_of, "distances", "add all items again with clew add … --distances")
        rows = [row_of[name] for name in ids]
        return D if rows == list(range(len(names))) else D[np.ix_(rows, rows)]


def refuse_lacking(ids: Sequence[str], there: Container[str], what: str, remedy: str) -> None:
    """Refuse items that something lacks: vectors, distances, or the rows of a file."""
    lacking = [name for name in ids if name not in there]
    if lacking:
        raise InvalidDataError(
            f"{len(lacking):,} of {len(ids):,} items have no {what}, such as {lacking[0]!r}; "
            f"{remedy}"
        )
