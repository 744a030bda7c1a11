"""Collections of files, rows and vectors as items, and the folder of a project that keeps them.

`Project` needs no other library until it reads vectors; what reads collections is imported when it
is first used.
"""

from typing import TYPE_CHECKING

from clew._lazy import imported_when_used
from clew.collections.project import Project

if TYPE_CHECKING:
    from clew.collections.collection import (
        Additions as Additions,
        Collection as Collection,
        compare as compare,
        read_collection as read_collection,
    )

__all__ = ["Additions", "Collection", "Project", "compare", "read_collection"]


if not TYPE_CHECKING:  # mypy would accept any attribute
    __getattr__, __dir__ = imported_when_used(
        __name__,
        dict.fromkeys(("Additions", "Collection", "compare", "read_collection"), "collection"),
    )
