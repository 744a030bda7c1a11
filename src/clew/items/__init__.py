"""Items other than rows of numbers: folders of images and lines of text, with their features."""

from clew.items._descriptors import image_features, open_image
from clew.items.images import Images, LeftOut, read_images
from clew.items.texts import Texts, read_texts

__all__ = [
    "Images",
    "LeftOut",
    "Texts",
    "image_features",
    "open_image",
    "read_images",
    "read_texts",
]
