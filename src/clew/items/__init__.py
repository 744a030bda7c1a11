"""Items: what a collection holds, and what people are shown of it. No models are imported."""

from typing import TYPE_CHECKING

from clew._lazy import imported_when_used
from clew.items._item import Item, ItemKind as ItemKind, LeftOut

if TYPE_CHECKING:
    from clew.items._media import Media as Media
    from clew.items._open import open_image as open_image
    from clew.items._sound import Sound as Sound, open_sound as open_sound

__all__ = ["Item", "LeftOut", "Media", "Sound", "open_image", "open_sound"]


if not TYPE_CHECKING:  # mypy would accept any attribute
    # Items themselves need neither NumPy nor Pillow.
    __getattr__, __dir__ = imported_when_used(
        __name__,
        {"Media": "_media", "Sound": "_sound", "open_image": "_open", "open_sound": "_sound"},
    )
