"""What the model is given of the items: vectors, distances or features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.items import Item

if TYPE_CHECKING:
    from pandas import DataFrame
    from scipy.sparse import csr_array

    from clew.collections import Project
    from clew.store import Store


class Rows(NamedTuple):
    """The items that a model is about."""

    ids: list[str]
    """Ids of the rows; items that cannot be read are left out."""
    data: Mapping[str, Any]
    """{"X": …} or {"distances": …} of `Session`; empty: answers alone say something."""
    note: str = ""
    """What was assumed about the items, in words."""

    @property
    def X(self) -> Any:  # noqa: N802 - the field's name for features
        """The features; None if there are none."""
        return self.data.get("X")

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `Session`."""
        return {**self.data, "ids": self.ids} if self.data else {"items": self.ids}


def no_rows(items: Sequence[Item]) -> Rows:
    """Return rows of which nothing is known."""
    return Rows([item.id for item in items], {})


def is_continued(before: Rows, after: Rows) -> bool:
    """Whether rows are those before, unchanged, and further ones."""
    n = len(before.ids)
    if before.X is None or after.X is None or after.ids[:n] != before.ids:
        return False
    if before.X.shape[1] != after.X.shape[1]:
        return False
    at = np.arange(n)
    return content_of(before.X, at) == content_of(after.X, at)


def content_of(data: Any, at: NDArray[np.int64]) -> bytes:
    """Return the content of some rows of an array, a sparse matrix or a data frame."""
    if hasattr(data, "iloc"):
        return bytes(data.iloc[at].to_json(), "utf-8")
    values = data[at].toarray() if hasattr(data, "toarray") else data[at]
    return np.ascontiguousarray(values).tobytes()


def records_of(frame: DataFrame, n_clusters: int | None = None) -> tuple[csr_array, str] | None:
    """N-grams of a table whose rows name the same things, and words; None if few groups."""
    from clew.cluster.guided._records import features_of_records

    found = features_of_records(frame, n_clusters)
    if found is None:
        return None
    recipe, X = found
    used = [str(column.name) for column in recipe.columns_ if column.use != "dropped"]
    unused = [str(column.name) for column in recipe.columns_ if column.use == "dropped"]
    left = f"; {', '.join(unused)} are not used" if unused else ""
    return X, (
        f"many small groups: records of the same thing? The characters of {', '.join(used)} are "
        f"compared{left}. -k with a small number groups the rows as a table"
    )


def rows_of(
    project: Project,
    store: Store | None = None,
    *,
    callback: Callable[[int, int], None] | None = None,
) -> Callable[[Sequence[Item]], Rows]:
    """Return what finds the rows of the items of a project.

    Parameters
    ----------
    project : Project
        The project. Distances or vectors that people gave come first; then the columns of a table;
        of images, sounds and texts features are computed, and kept in the project's cache. Tables
        in which rows describe the same things, with typing errors, are compared by characters.
    store : Store, default=None
        The store of the project, whose setting `n_clusters` tells few large groups from records.
    callback : callable, default=None
        Called with the number of items whose features are computed, and of all.

    Returns
    -------
    callable
        Takes the items and returns `Rows`; `Worker` takes it.
    """
    chosen = [project.features]

    def rows(items: Sequence[Item]) -> Rows:
        ids = [item.id for item in items]
        distances = project.distances(ids)
        if distances is not None:
            return Rows(ids, {"distances": distances})
        X: Any = project.vectors(ids)
        if X is not None:
            return Rows(ids, {"X": X})
        if {item.kind for item in items} <= {"row", "vector"}:
            from pandas import DataFrame

            columns = DataFrame([dict(item.columns) for item in items], index=ids)
            n_clusters = None if store is None else store.settings()["n_clusters"]
            from clew.cluster.guided._records import reduced

            records = records_of(columns, n_clusters)
            if records is not None:
                return Rows(ids, {"X": reduced(records[0])}, records[1])
            return Rows(ids, {"X": columns}) if len(columns.columns) else no_rows(items)
        from clew.features import compute

        features = compute(
            items, project.root, model=chosen[0], cache=project.cache, callback=callback
        )
        if chosen[0] == "auto":
            # Items that are added later do not change the choice, nor what was computed.
            chosen[0] = features.name
            with suppress(OSError):
                replace(project, features=features.name).write()
        return Rows(features.ids, {"X": features.X})

    return rows
