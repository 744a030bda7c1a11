"""Items: what a collection holds, and what people are shown of it.

`Item` needs no other library. Folders of images and files of texts, with their features, load
scikit-learn when they are first used.
"""

import importlib
from typing import TYPE_CHECKING

from clew.items._item import Item, ItemKind as ItemKind

if TYPE_CHECKING:
    from clew.items._descriptors import image_features as image_features, open_image as open_image
    from clew.items.images import Images as Images, LeftOut as LeftOut, read_images as read_images
    from clew.items.texts import Texts as Texts, read_texts as read_texts

__all__ = [
    "Images",
    "Item",
    "LeftOut",
    "Texts",
    "image_features",
    "open_image",
    "read_images",
    "read_texts",
]

#: Imported when they are first used, so that a process without models stays small.
_MODULES = {
    "Images": "images",
    "LeftOut": "images",
    "Texts": "texts",
    "image_features": "_descriptors",
    "open_image": "_descriptors",
    "read_images": "images",
    "read_texts": "texts",
}


if not TYPE_CHECKING:  # mypy would accept any attribute

    def __getattr__(name: str) -> object:
        """Import a name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module 'clew.items' has no attribute {name!r}")
        return getattr(importlib.import_module(f"clew.items.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
