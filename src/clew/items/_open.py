"""Images from files: upright, in RGB, and not larger than wanted."""

from __future__ import annotations

import os
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from clew._warnings import all_silenced
from clew.exceptions import FileFormatError, MissingDependencyError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["open_image", "pillow"]

#: Formats of Pillow that are read. Those that start another program (EPS) are left out.
FORMATS = (
    *("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "DIB", "AVIF", "JPEG2000"),
    *("PPM", "TGA", "ICO", "PCX", "SGI"),
)
WHITE = (255, 255, 255, 255)


def pillow() -> ModuleType:
    """Return ``PIL.Image``.

    Raises
    ------
    MissingDependencyError
        If Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError(
            "reading images needs Pillow and scikit-image; install them with "
            "pip install 'clew[images]'"
        ) from error
    return Image


def open_image(path: str | os.PathLike[str], longest: int | None = None) -> Image:
    """Open an image as people see it: upright, in RGB.

    Parameters
    ----------
    path : str or path-like
        A file. If it has several frames, the first one is read.
    longest : int, default=None
        Number of pixels that neither side may exceed; a larger image is made smaller. None: no
        limit.

    Returns
    -------
    PIL.Image.Image
        In mode "RGB". The orientation in the EXIF data is applied, transparent parts are white,
        and gray values of more than 8 bits are scaled from their smallest to their largest value.

    Raises
    ------
    FileFormatError
        If the file is empty, damaged, of a format that is not read, or has more than 178 million
        pixels.
    MissingDependencyError
        If Pillow is not installed.
    OSError
        If the file cannot be read.

    Notes
    -----
    JPEG files are decoded at a fraction of their size where `longest` allows it: a photo of 12
    million pixels takes about 30 ms.
    """
    image_module = pillow()
    from PIL import ImageOps, UnidentifiedImageError

    # Warnings about damaged metadata, and from half of Pillow's limit of pixels on.
    with all_silenced():
        try:
            with open(path, "rb") as file, image_module.open(file, formats=_formats()) as stored:
                if longest is not None:
                    stored.draft("RGB", (longest, longest))
                image = ImageOps.exif_transpose(stored)
                if longest is not None and image.mode in ("RGB", "L"):
                    image.thumbnail((longest, longest), reducing_gap=2.0)
                image = _as_rgb(image)
                if longest is not None:
                    image.thumbnail((longest, longest))
                image.load()
                return image
        except UnidentifiedImageError as error:
            is_empty = os.path.getsize(path) == 0
            raise FileFormatError(
                f"{path}: {'the file is empty' if is_empty else 'not an image that can be read'}"
            ) from error
        except image_module.DecompressionBombError as error:
            raise FileFormatError(f"{path}: more than 178 million pixels") from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise FileFormatError(f"{path}: {error}") from error
        # Pillow's readers raise many kinds of errors on damaged files.
        except (ValueError, SyntaxError, TypeError, KeyError, IndexError, EOFError) as error:
            raise FileFormatError(f"{path}: damaged ({error})") from error


@cache
def _formats() -> tuple[str, ...]:
    """Return the formats that are read, without those that this Pillow was built without."""
    image_module = pillow()
    image_module.init()
    return tuple(name for name in FORMATS if name in image_module.OPEN)


def _as_rgb(image: Any) -> Image:
    """Convert any mode to RGB."""
    image_module = pillow()
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        return _from_deep_gray(np.asarray(image).astype(np.float64))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = image_module.new("RGBA", image.size, WHITE)
        image = image_module.alpha_composite(paper, image)
    rgb: Image = image if image.mode == "RGB" else image.convert("RGB")
    return rgb


def _from_deep_gray(values: Any) -> Image:
    """Scale gray values to 8 bits, from the smallest to the largest."""
    values = np.nan_to_num(values, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    unit = (values - low) / (high - low) if high > low else np.zeros_like(values)
    gray = (255 * unit).round().astype(np.uint8)
    image: Image = pillow().fromarray(gray).convert("RGB")
    return image
