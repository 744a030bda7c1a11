"""An image as it is opened (upright, in RGB), and its features: shapes, colors and texture."""

from __future__ import annotations

import os
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from clew._warnings import all_silenced
from clew.exceptions import FileFormatError, MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

#: Formats of Pillow that are read. Those that start another program (EPS) are left out.
FORMATS = (
    *("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "DIB", "AVIF", "JPEG2000"),
    *("PPM", "TGA", "ICO", "PCX", "SGI"),
)
WHITE = (255, 255, 255, 255)

#: Images are described at this size; cells of 8 pixels for shapes, 4 × 4 parts for the rest.
SIDE, CELL, N_PARTS = 48, 8, 4
N_ORIENTATIONS = 9
#: Number of kinds of local binary patterns with 8 neighbors.
N_PATTERNS = 10
#: Root mean square of each part of the features, over all images.
SHAPES, COLORS, LIGHT, TEXTURE = 1.0, 0.7, 0.25, 0.5
#: Colors that vary less than this, in units of CIELAB, are noise: they are not scaled up.
LEAST_COLOR = 5.0
#: Directions of less than this share of the variance are rounding errors.
LEAST_VARIANCE = 1e-9

Floats = NDArray[np.float32]


def pillow() -> ModuleType:
    """Return ``PIL.Image``."""
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


class Descriptor(NamedTuple):
    """An image, or images, in numbers."""

    shapes: Floats
    """Histograms of oriented gradients, (900,)."""
    colors: Floats
    """Means and standard deviations of a* and b* in 16 parts, (64,)."""
    light: Floats
    """The same of L*, (32,)."""
    texture: Floats
    """Square roots of the shares of local binary patterns in 16 parts, (160,)."""


def describe(image: Image) -> Descriptor:
    """Describe an image."""
    try:
        from skimage.color import rgb2lab
        from skimage.feature import hog, local_binary_pattern
    except ImportError as error:
        raise MissingDependencyError(
            "features of images need scikit-image; install it with pip install 'clew[images]', or "
            "pass features of your own"
        ) from error
    small = image.resize((SIDE, SIDE), reducing_gap=2.0)
    gray = np.asarray(small.convert("L"))
    shapes = hog(
        gray / 255.0,
        orientations=N_ORIENTATIONS,
        pixels_per_cell=(CELL, CELL),
        cells_per_block=(2, 2),
    )
    lab = _parts(rgb2lab(np.asarray(small)))
    summary = np.concatenate((lab.mean(axis=(1, 3)), lab.std(axis=(1, 3))), axis=-1)
    light, colors = summary[..., [0, 3]], summary[..., [1, 2, 4, 5]]
    patterns = local_binary_pattern(gray, 8, 1, "uniform")  # type: ignore[no-untyped-call]
    parts = _parts(patterns.astype(np.int64))[..., 0].transpose(0, 2, 1, 3).reshape(N_PARTS**2, -1)
    shares = np.stack([np.bincount(part, minlength=N_PATTERNS) for part in parts]) / parts.shape[1]
    return Descriptor(
        shapes.astype(np.float32),
        colors.ravel().astype(np.float32),
        light.ravel().astype(np.float32),
        np.sqrt(shares).ravel().astype(np.float32),
    )


def _parts(image: NDArray[np.floating] | NDArray[np.integer]) -> NDArray[np.float64]:
    """Cut an image into 4 × 4 parts: axes 1 and 3 of the result run within a part."""
    side = SIDE // N_PARTS
    return image.reshape(N_PARTS, side, N_PARTS, side, -1)  # type: ignore[return-value]


def joined(described: Sequence[Descriptor], n_components: int) -> NDArray[np.float64]:
    """Return the features of described images; see `image_features`."""
    shapes, colors, light, texture = (_centered(parts) for parts in zip(*described, strict=True))
    whole = np.hstack([
        _scaled(shapes, SHAPES), _scaled(colors, COLORS, LEAST_COLOR * colors.shape[1] ** 0.5),
        _scaled(light, LIGHT), _scaled(texture, TEXTURE),
    ])  # fmt: skip
    n_components = min(n_components, *whole.shape)
    with all_silenced():  # no variance at all: equal images
        pca = PCA(n_components, random_state=0).fit(whole)
    is_kept = pca.explained_variance_ > LEAST_VARIANCE * max(pca.explained_variance_[0], 1e-12)
    is_kept[0] = True
    return np.ascontiguousarray(pca.transform(whole)[:, is_kept], np.float64)


def _centered(parts: tuple[Floats, ...]) -> NDArray[np.float64]:
    stacked = np.stack(parts).astype(np.float64)
    return np.asarray(stacked - stacked.mean(axis=0))


def _scaled(centered: NDArray[np.float64], size: float, least: float = 1e-6) -> NDArray[np.float64]:
    """Scale to a root mean square norm of `size`; smaller norms than `least` count as `least`."""
    norm = float(np.sqrt(np.mean((centered**2).sum(axis=1))))
    return np.asarray(centered * (size / max(norm, least)))


def image_features(images: Sequence[Image], n_components: int = 200) -> NDArray[np.float64]:
    """Return features of images: shapes, colors, light and texture.

    Parameters
    ----------
    images : sequence of PIL.Image.Image
        In mode "RGB", of any sizes; for example from `open_image`.
    n_components : int, default=200
        Largest number of features.

    Returns
    -------
    ndarray of shape (n_images, n_features)

    Raises
    ------
    MissingDependencyError
        If scikit-image is not installed.

    Notes
    -----
    Each image is scaled to 48 × 48 pixels. Histograms of oriented gradients (900 numbers) describe
    shapes; means and standard deviations in CIELAB, in 4 × 4 parts, describe colors (64) and light
    (32); shares of local binary patterns in the same parts describe texture (160). Their root mean
    square norms are scaled to 1, 0.7, 0.25 and 0.5, but colors are not scaled up if the images are
    nearly gray. A principal component analysis reduces the whole. Time 2 ms for each image and
    core.

    References
    ----------
    N. Dalal and B. Triggs, "Histograms of oriented gradients for human detection", CVPR 2005;
    T. Ojala, M. Pietikäinen and T. Mäenpää, "Multiresolution gray-scale and rotation invariant
    texture classification with local binary patterns", IEEE TPAMI 2002.

    Examples
    --------
    >>> from PIL import Image
    >>> from clew.items import image_features
    >>> colors = ("red", "crimson", "navy", "blue")
    >>> X = image_features([Image.new("RGB", (64, 48), color) for color in colors])
    >>> X.shape[0]
    4
    """
    return joined([describe(image) for image in images], n_components)
