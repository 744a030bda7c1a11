"""Pictures as PNG files and as data URIs."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["data_uri", "png"]

#: PNG's code of the kind of picture, by its number of channels.
COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode a picture.

    Parameters
    ----------
    pixels : ndarray of shape (height, width, channels), uint8
        Gray, gray and alpha, RGB, or RGBA.

    Returns
    -------
    bytes
    """
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, COLOR_TYPES[channels], 0, 0, 0)
    # Each line begins with the code of its filter; 0 means no filter.
    lines = np.zeros((height, 1 + width * channels), np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """Encode a picture as a data URI."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode("ascii")


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
