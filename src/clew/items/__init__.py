"""Items: what a collection holds, and what people are shown of it. No models are imported."""

import importlib
from typing import TYPE_CHECKING

from clew.items._item import Item, ItemKind as ItemKind, LeftOut

if TYPE_CHECKING:
    from clew.items._media import Media as Media
    from clew.items._open import open_image as open_image
    from clew.items._sound import Sound as Sound, open_sound as open_sound

__all__ = ["Item", "LeftOut", "Media", "Sound", "open_image", "open_sound"]

#: Imported when they are first used: items themselves need neither NumPy nor Pillow.
_MODULES = {"Media": "_media", "Sound": "_sound", "open_image": "_open", "open_sound": "_sound"}


if not TYPE_CHECKING:  # mypy would accept any attribute

    def __getattr__(name: str) -> object:
        """Import a name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module 'clew.items' has no attribute {name!r}")
        return getattr(importlib.import_module(f"clew.items.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
