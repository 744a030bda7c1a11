"""Which features are computed if nobody says: by the kind of the items, and by what images are."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np

from clew._parallel import in_threads
from clew.exceptions import ClewError, InvalidDataError
from clew.features import _efficientnet, _minilm
from clew.items import Item, Media

#: Images that are looked at, evenly over all, and the side at which they are.
N_LOOKED_AT, SIDE = 64, 32
#: An image is gray if the channels of its pixels differ by less than this on average, of 255.
GRAY = 6.0


def chosen(kind: str, items: Sequence[Item], media: Media) -> tuple[str, str]:
    """Return the name of the features of items of a kind, and why, in a sentence."""
    if kind == "sound":
        return "log-mel", "pitch, timbre, course and length of sounds"
    if kind == "text":
        return chosen_for_texts()
    if are_gray(items, media):
        return "shapes", "shapes, light and texture of images, which are gray"
    if find_spec(_efficientnet.PACKAGE) is None or find_spec("onnxruntime") is None:
        return "shapes", (
            "shapes, colors and texture of images; with pip install 'clew[images]' a network "
            "describes color photos, and fewer questions are needed"
        )
    return "efficientnet-lite0", "color images by EfficientNet-Lite0"


def chosen_for_texts() -> tuple[str, str]:
    """Return the name of the features of texts, and why."""
    if find_spec(_minilm.PACKAGE) is not None:
        return "minilm", "meaning of texts by MiniLM"
    return "tf-idf", "TF-IDF of words"


def are_gray(items: Sequence[Item], media: Media) -> bool:
    """Whether most of a sample of images are gray."""
    n = min(N_LOOKED_AT, len(items))
    sample = [items[at] for at in np.linspace(0, len(items) - 1, n).astype(int)]
    found = in_threads(lambda item: colorfulness(item, media), sample, n_jobs=None)
    colors = [each for each in found if each is not None]
    if not colors:
        raise InvalidDataError(
            f"none of the first {n} images can be read; {items[0].path} is one of them"
        )
    return bool(np.median(colors) < GRAY)


def colorfulness(item: Item, media: Media) -> float | None:
    """Return by how much the channels of an image differ on average; None if it cannot be read."""
    try:
        pixels = np.asarray(media.image(item, longest=SIDE), np.float64)
    except ImportError:
        raise
    except (ClewError, OSError, MemoryError):
        return None
    return float(np.ptp(pixels, axis=2).mean())
