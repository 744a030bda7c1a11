"""Features of images, sounds and texts: computed once, kept by content, of any network."""

from clew.features._computing import Features, compute
from clew.features._extractor import Extractor
from clew.features._registry import extractor, extractors
from clew.features.images import Images, read_images
from clew.features.texts import Texts, read_texts

__all__ = [
    "Extractor",
    "Features",
    "Images",
    "Texts",
    "compute",
    "extractor",
    "extractors",
    "read_images",
    "read_texts",
]
