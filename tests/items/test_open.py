"""Images as they are opened: upright, in any mode; what is damaged is refused."""

import numpy as np
import pytest
from PIL import Image

from clew.exceptions import FileFormatError
from clew.items import open_image

#: EXIF orientations, each with the operation that undoes it.
ORIENTATIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def corner(width: int = 60, height: int = 40) -> Image.Image:
    """White, with a red corner at the top left."""
    image = Image.new("RGB", (width, height), "white")
    image.paste((200, 0, 0), (0, 0, width // 2, height // 2))
    return image


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_exif_orientation_is_applied(tmp_path, orientation, ending):
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"photo.{ending}"
    corner().transpose(ORIENTATIONS[orientation]).save(path, exif=exif)
    image = open_image(path)
    assert image.size == (60, 40)
    red = np.asarray(image)[:, :, 1] < 100
    assert red[:18, :28].all()
    assert not red[22:].any()


@pytest.mark.parametrize(
    ("mode", "color", "expected"),
    [
        ("CMYK", (0, 255, 255, 0), (255, 0, 0)),
        ("L", 120, (120, 120, 120)),
        ("1", 1, (255, 255, 255)),
        ("RGBA", (0, 0, 0, 0), (255, 255, 255)),
        ("LA", (0, 0), (255, 255, 255)),
        ("P", 0, (0, 0, 0)),
    ],
)
def test_every_mode_becomes_rgb(tmp_path, mode, color, expected):
    path = tmp_path / ("image.tif" if mode == "CMYK" else "image.png")
    Image.new(mode, (9, 7), color).save(path)
    image = open_image(path)
    assert image.mode == "RGB"
    assert image.getpixel((4, 4)) == expected


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_deep_gray_is_scaled_from_its_smallest_to_its_largest_value(tmp_path, dtype):
    path = tmp_path / ("image.png" if dtype == np.uint16 else "image.tif")
    Image.fromarray(np.array([[3000, 3500], [4000, 3000]], dtype)).save(path)
    assert np.asarray(open_image(path))[:, :, 0].tolist() == [[0, 128], [255, 0]]


def test_first_frame_of_several_is_read(tmp_path):
    frames = [Image.new("RGB", (8, 8), (0, 80 * at, 0)) for at in range(3)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert open_image(tmp_path / "a.gif").getpixel((0, 0)) == (0, 0, 0)


@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_large_image_is_made_smaller(tmp_path, ending):
    path = tmp_path / f"large.{ending}"
    Image.new("RGB", (3000, 1500), "navy").save(path)
    assert open_image(path, 100).size == (100, 50)
    assert open_image(path, 5000).size == (3000, 1500)


def test_damage_is_a_format_error(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    with pytest.raises(FileFormatError, match=r"a\.png"):
        open_image(tmp_path / "a.png")
