"""Collections of files, rows and vectors as items, and the folder of a project that keeps them.

`Project` needs no other library until it reads vectors; what reads collections is imported when it
is first used.
"""

import importlib
from typing import TYPE_CHECKING

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

    def __getattr__(name: str) -> object:
        """Import a name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module 'clew.collections' has no attribute {name!r}")
        return getattr(importlib.import_module("clew.collections.collection"), name)
