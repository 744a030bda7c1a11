"""One item of a collection: what it is, and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from clew.exceptions import InvalidDataError

ItemKind = Literal["image", "sound", "text", "row", "vector"]
KINDS: tuple[str, ...] = get_args(ItemKind)
#: Numbers that a region has; other kinds have none.
REGIONS = {"image": "x, y, width, height", "sound": "start, end"}


class LeftOut(NamedTuple):
    """A file or an item that cannot be used."""

    id: str
    """Path relative to the folder, or id of the item."""
    reason: str
    """Why it cannot be read."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a collection.

    Parameters
    ----------
    id : str
        Unique in the collection. Answers name it.
    kind : {"image", "sound", "text", "row", "vector"}
        What people are shown.
    path : str or None, default=None
        File that the item lies in, relative to the root of the collection, with "/". Several items
        may lie in one file, each in a region of its own.
    region : tuple of float or None, default=None
        Part of the file. Of an image: (x, y, width, height) in pixels of the upright picture, from
        the upper left. Of a sound: (start, end) in seconds. None: all of it.
    text : str or None, default=None
        The text itself, if it lies in no file of its own.
    columns : dict, default={}
        Cells of a row that people are shown, by the names of their columns.
    meta : dict, default={}
        Further columns, such as date, place or source. Rules read them.
    hash : str or None, default=None
        SHA-256 of the file's content, in hexadecimal digits. A file that was moved is known by it.
    set_aside : str or None, default=None
        Why the item is left out of questions and groups. None: it is not.

    Raises
    ------
    InvalidDataError
        If the id is empty, the kind is not one of the five, or the region is not one of that kind.

    Examples
    --------
    >>> from clew.items import Item
    >>> face = Item("p1-2", "image", path="photos/p1.jpg", region=(40, 25, 96, 96))
    >>> face.path, face.region
    ('photos/p1.jpg', (40, 25, 96, 96))
    """

    id: str
    kind: ItemKind
    path: str | None = None
    region: tuple[float, ...] | None = None
    text: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict, hash=False)
    meta: Mapping[str, Any] = field(default_factory=dict, hash=False)
    hash: str | None = None
    set_aside: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise InvalidDataError(f"an item needs an id, a string that is not empty: {self.id!r}")
        if self.kind not in KINDS:
            raise InvalidDataError(
                f"item {self.id}: kind {self.kind!r} is not one of {', '.join(KINDS)}"
            )
        if self.region is not None:
            self._check_region(self.region)

    def _check_region(self, region: tuple[float, ...]) -> None:
        names = REGIONS.get(self.kind)
        if names is None:
            raise InvalidDataError(
                f"item {self.id}: a {self.kind} has no region; images and sounds have"
            )
        if self.path is None:
            raise InvalidDataError(f"item {self.id}: a region needs the path of its file")
        if len(region) != names.count(",") + 1 or not all(math.isfinite(at) for at in region):
            raise InvalidDataError(
                f"item {self.id}: the region of {self.kind} is {names}, not {region}"
            )
        *corner, end = region
        is_there = min(region[2:]) > 0 if self.kind == "image" else 0 <= corner[0] < end
        if not is_there:
            raise InvalidDataError(f"item {self.id}: the region {names} = {region} is empty")
