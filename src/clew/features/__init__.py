"""Features of images, sounds and texts: computed once, kept by content, of any network."""

from clew.features._computing import Features, compute
from clew.features._extractor import Extractor, extractor, extractors
from clew.features._read import Images, Texts, read_images, read_texts

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
