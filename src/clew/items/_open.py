"""An image as it is opened: upright, in RGB, all of it or a region; what is hostile is refused."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from math import ceil
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from clew._files import needs
from clew._warnings import all_silenced
from clew.exceptions import ClewError, FileFormatError, InvalidDataError

if TYPE_CHECKING:
    from PIL.Image import Image

#: Formats of Pillow that are read. Those that start another program (EPS) are left out.
FORMATS = (
    *("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "DIB", "AVIF", "JPEG2000"),
    *("PPM", "TGA", "ICO", "PCX", "SGI", "HEIF"),
)
#: Marks of HEIC at the bytes 4 to 12, which need another package.
HEIC = tuple(b"ftyp" + mark for mark in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1"))
WHITE = (255, 255, 255, 255)
#: Largest number of pixels, which is also Pillow's, and longest side.
MOST_PIXELS, LONGEST_SIDE = 178_956_970, 32_767
#: Longer sounds are cut off here, in seconds.
MOST_SECONDS = 60.0
#: Images of more pixels are decoded one after the other, so that several do not fill the memory.
MANY_PIXELS = 16_000_000
_MANY = threading.Lock()

Region = tuple[float, ...]


def pillow() -> ModuleType:
    """Return ``PIL.Image``."""
    with needs("reading images needs Pillow; install it with pip install 'clew[images]'"):
        from PIL import Image
    return Image


def open_image(
    path: str | os.PathLike[str], longest: int | None = None, *, region: Region | None = None
) -> Image:
    """Open an image as people see it: upright, in RGB.

    Parameters
    ----------
    path : str or path-like
        A file. If it has several frames, the first one is read.
    longest : int, default=None
        Number of pixels that neither side may exceed; a larger image is made smaller. None: no
        limit.
    region : tuple of 4 floats, default=None
        Part of the upright image: x, y, width and height in pixels, from the upper left. What lies
        outside of the image is cut off. None: all of it.

    Returns
    -------
    PIL.Image.Image
        In mode "RGB". The orientation in the EXIF data is applied, transparent parts are white,
        and gray values of more than 8 bits are scaled from their smallest to their largest value.

    Raises
    ------
    FileFormatError
        If the file is empty, damaged, of a format that is not read (SVG among them), or has more
        than 178 million pixels or a side of more than 32,767.
    InvalidDataError
        If the region lies outside of the image.
    MissingDependencyError
        If Pillow is not installed, or pillow-heif for a photo in HEIC.
    OSError
        If the file cannot be read.

    Notes
    -----
    JPEG files are decoded at a fraction of their size where `longest` allows it: a photo of 12
    million pixels takes about 30 ms.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from clew.items import open_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "photo.png"
    ...     Image.new("RGB", (640, 480), "navy").save(path)
    ...     open_image(path, 100).size, open_image(path, region=(600, 0, 80, 60)).size
    ((100, 75), (40, 60))
    """
    with open(path, "rb") as file, _errors_named(path, file):
        return _opened(path, file, longest, region)


def _opened(
    path: str | os.PathLike[str], file: BinaryIO, longest: int | None, region: Region | None
) -> Image:
    image_module = pillow()
    from PIL import ImageOps

    head = file.read(16)
    file.seek(0)
    if head[4:12] in HEIC:
        with needs(
            "photos in HEIC need pillow-heif; install it with pip install 'clew[images]', or "
            "save them as JPEG"
        ):
            from pillow_heif import register_heif_opener
        register_heif_opener(thumbnails=False)
    with image_module.open(file, formats=_formats(head[4:12] in HEIC)) as stored:
        width, height = stored.size
        if max(width, height) > LONGEST_SIDE or width * height > MOST_PIXELS:
            raise FileFormatError(
                f"{path}: {width:,} × {height:,} pixels are more than 178 million, or a side is "
                f"longer than {LONGEST_SIDE:,}"
            )
        with _MANY if width * height > MANY_PIXELS else nullcontext():
            if longest is not None:
                # As much larger as the region is smaller than all of the image.
                shown = max(width, height) if region is None else max(region[2:])
                scale = longest / max(shown, 1.0)
                stored.draft("RGB", (max(1, ceil(width * scale)), max(1, ceil(height * scale))))
            image = ImageOps.exif_transpose(stored)
            if region is not None:
                full = max(width, height) / max(image.size)
                image = image.crop(_box(path, image, region, full))
            if longest is not None and image.mode in ("RGB", "L"):
                image.thumbnail((longest, longest), reducing_gap=2.0)
            image = _as_rgb(image)
            if longest is not None:
                image.thumbnail((longest, longest))
            image.load()
            return image


def _box(
    path: str | os.PathLike[str], image: Image, region: Region, scale: float
) -> tuple[int, int, int, int]:
    """Return the corners of a region in an image that was decoded at 1 / `scale`."""
    x, y, width, height = region
    left, top = max(0, round(x / scale)), max(0, round(y / scale))
    right = min(image.width, max(left + 1, round((x + width) / scale)))
    bottom = min(image.height, max(top + 1, round((y + height) / scale)))
    if right <= left or bottom <= top:
        raise InvalidDataError(
            f"{path}: the region x, y, width, height = {x:g}, {y:g}, {width:g}, {height:g} lies "
            f"outside of the image, which has {image.width * scale:.0f} × "
            f"{image.height * scale:.0f} pixels"
        )
    return left, top, right, bottom


@contextmanager
def _errors_named(path: str | os.PathLike[str], file: BinaryIO) -> Iterator[None]:
    """Make errors of Pillow say which file it is, and what is wrong with it."""
    image_module = pillow()
    from PIL import UnidentifiedImageError

    # Warnings about damaged metadata, and from half of Pillow's limit of pixels on.
    with all_silenced():
        try:
            yield
        except ClewError:
            raise
        except UnidentifiedImageError as error:
            raise FileFormatError(f"{path}: {_why_not(file)}") from error
        except image_module.DecompressionBombError as error:
            raise FileFormatError(f"{path}: more than 178 million pixels") from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise FileFormatError(f"{path}: damaged ({error})") from error
        # Pillow's readers raise many kinds of errors on damaged files.
        except (
            *(ValueError, SyntaxError, TypeError, LookupError, EOFError, ArithmeticError),
            *(RuntimeError, AttributeError),
        ) as error:
            raise FileFormatError(f"{path}: damaged ({error})") from error


def _why_not(file: BinaryIO) -> str:
    file.seek(0)
    head = file.read(1024)
    if not head:
        return "the file is empty"
    if b"<svg" in head or (head.lstrip().startswith(b"<?xml") and b"svg" in head):
        return "SVG is a program, not an image; save it as PNG"
    return "not an image that can be read"


@cache
def _formats(is_heic: bool) -> tuple[str, ...]:
    """Return the formats that are read, without those that this Pillow was built without."""
    image_module = pillow()
    image_module.init()
    if is_heic:
        return ("HEIF",)
    return tuple(name for name in FORMATS if name in image_module.OPEN)


def _as_rgb(image: Any) -> Image:
    """Convert any mode to RGB."""
    image_module = pillow()
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        return _from_deep_gray(image)
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = image_module.new("RGBA", image.size, WHITE)
        image = image_module.alpha_composite(paper, image)
    rgb: Image = image if image.mode == "RGB" else image.convert("RGB")
    return rgb


def _from_deep_gray(image: Image) -> Image:
    """Scale gray values to 8 bits, from the smallest to the largest."""
    import numpy as np

    values = np.nan_to_num(np.asarray(image).astype(np.float64), posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    unit = (values - low) / (high - low) if high > low else np.zeros_like(values)
    gray: Image = pillow().fromarray((255 * unit).round().astype(np.uint8)).convert("RGB")
    return gray
