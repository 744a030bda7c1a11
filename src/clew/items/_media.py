"""What people are shown of an item: thumbnails, spectrograms, texts; made once, within limits."""

from __future__ import annotations

import io
import os
import secrets
import stat
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from clew._files import content_of, decoded
from clew.exceptions import FileFormatError, InvalidDataError, InvalidParameterError
from clew.items._item import Item
from clew.items._open import MOST_SECONDS, open_image

if TYPE_CHECKING:
    from PIL.Image import Image

    from clew.items._sound import Sound

#: Changes whenever the same item would be drawn in another way.
VERSION = 1
#: Sides of thumbnails in pixels that may be asked for, and the side of a full image.
SMALLEST, LARGEST, FULL = 16, 1024, 2400
#: Texts are cut off here, in characters; files of more bytes are not read to their ends.
MOST_CHARACTERS = 100_000
#: The cache is looked through after this number of new files, and emptied to this share.
SWEEP_EVERY, SWEPT_TO = 200, 0.9
N_LOCKS = 32


class Media:
    """What people are shown of the items of a collection.

    All that is returned was decoded and encoded again, so that nothing of a file reaches a browser
    as it is. It is safe to call from several threads.

    Parameters
    ----------
    root : str or path-like
        Folder to which the paths of items are relative. No file outside of it is opened.
    cache : str or path-like, default=None
        Folder for what was drawn, so that it is drawn once. None: nothing is kept.
    most_bytes : int, default=1_000_000_000
        Size that the cache may have; what was used longest ago is removed first.

    Notes
    -----
    Images with more than 178 million pixels or a side above 32,767 are refused, SVG too; of a sound
    the first minute is opened, of a text 100,000 characters. A thumbnail takes 5 to 40 ms the first
    time and less than one after that.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from clew.items import Item, Media
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (640, 480), "navy").save(Path(folder) / "sea.png")
    ...     media = Media(folder)
    ...     thumbnail = media.thumbnail(Item("sea", "image", path="sea.png"), 160)
    >>> thumbnail[:4], thumbnail[8:12]
    (b'RIFF', b'WEBP')
    """

    #: Types of what `thumbnail`, `spectrogram` and `full` return.
    IMAGE_TYPE = "image/webp"
    SOUND_TYPE = "audio/flac"

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        cache: str | os.PathLike[str] | None = None,
        most_bytes: int = 1_000_000_000,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self._cache = None if cache is None else Path(cache)
        self._most_bytes = most_bytes
        self._n_new = 0
        self._sweeping = threading.Lock()
        self._locks = [threading.Lock() for _ in range(N_LOCKS)]

    def path(self, item: Item) -> Path:
        """Return where the file of an item lies.

        Parameters
        ----------
        item : Item
            An item with a path.

        Returns
        -------
        Path
            A file below the root, with all links followed.

        Raises
        ------
        InvalidDataError
            If the item has no path, or its path leads out of the root.
        FileFormatError
            If it is a folder, a pipe or a device.
        FileNotFoundError
            If there is no such file.
        """
        if item.path is None:
            raise InvalidDataError(f"item {item.id} is a {item.kind} without a file")
        named = PurePosixPath(item.path)
        is_plain = "\0" not in item.path and "\\" not in item.path
        if not is_plain or named.is_absolute() or ".." in named.parts:
            raise InvalidDataError(
                f"item {item.id}: the path {item.path!r} leads out of the folder"
            )
        real = Path(os.path.realpath(self.root / named))
        if not real.is_relative_to(self.root):
            raise InvalidDataError(
                f"item {item.id}: {item.path} is a link that leads out of the folder"
            )
        if not stat.S_ISREG(real.stat().st_mode):
            raise FileFormatError(f"item {item.id}: {item.path} is not a file")
        return real

    def image(self, item: Item, longest: int | None = None) -> Image:
        """Open the image of an item, or the region that the item is.

        Parameters
        ----------
        item : Item
            An item of the kind "image".
        longest : int, default=None
            Number of pixels that neither side may exceed. None: no limit.

        Returns
        -------
        PIL.Image.Image
            Upright, in mode "RGB".

        Raises
        ------
        FileFormatError, InvalidDataError, MissingDependencyError, OSError
            As `path` and `open_image` do; messages name the path relative to the root.
        """
        self._check_kind(item, "image")
        path = self.path(item)
        try:
            return open_image(path, longest, region=item.region)
        except (FileFormatError, InvalidDataError) as error:
            raise self._relative(error, path, item) from error

    def sound(self, item: Item, most_seconds: float = MOST_SECONDS) -> Sound:
        """Open the sound of an item, or the part of it that the item is.

        Parameters
        ----------
        item : Item
            An item of the kind "sound".
        most_seconds : float, default=60
            Longer sounds are cut off.

        Returns
        -------
        Sound
            Samples of one channel, and their rate.

        Raises
        ------
        FileFormatError, InvalidDataError, MissingDependencyError, OSError
            As `path` and `open_sound` do; messages name the path relative to the root.
        """
        self._check_kind(item, "sound")
        path = self.path(item)
        try:
            from clew.items._sound import open_sound  # loads NumPy

            return open_sound(path, most_seconds, region=item.region)
        except (FileFormatError, InvalidDataError) as error:
            raise self._relative(error, path, item) from error

    def text(self, item: Item) -> str:
        """Return the text of an item.

        Parameters
        ----------
        item : Item
            An item of the kind "text".

        Returns
        -------
        str
            At most 100,000 characters.

        Raises
        ------
        FileFormatError, InvalidDataError, OSError
            If its file is not a text in UTF-8 or UTF-16, cannot be read, or lies outside.
        """
        self._check_kind(item, "text")
        if item.path is None:
            return (item.text or "")[:MOST_CHARACTERS]
        path = self.path(item)
        if path.stat().st_size > 4 * MOST_CHARACTERS:
            with path.open("rb") as file:
                content, is_cut = file.read(4 * MOST_CHARACTERS), True
        else:
            content, is_cut = content_of(path), False
        try:
            return decoded(content, None, advice="", is_cut=is_cut)[:MOST_CHARACTERS]
        except FileFormatError as error:
            raise FileFormatError(f"{item.path}: {error}") from error

    def thumbnail(self, item: Item, size: int = 320) -> bytes:
        """Return a small picture of an item.

        Parameters
        ----------
        item : Item
            An image, or a sound, whose picture is its spectrogram.
        size : int, default=320
            Number of pixels that neither side exceeds, from 16 to 1024.

        Returns
        -------
        bytes
            WebP. An image that is smaller keeps its size.

        Raises
        ------
        InvalidParameterError
            If the size is out of its range.
        FileFormatError, InvalidDataError, MissingDependencyError, OSError
            As `image` and `sound` do.
        """
        if not SMALLEST <= size <= LARGEST:
            raise InvalidParameterError(
                f"size={size} is not from {SMALLEST} to {LARGEST} pixels; full() is the largest"
            )
        if item.kind == "sound":
            return self.spectrogram(item)
        self._check_kind(item, "image")
        return self._made(item, f"thumbnail-{size}.webp", size)

    def spectrogram(self, item: Item) -> bytes:
        """Return the spectrogram of a sound, from 50 Hz (below) to 8 kHz in mel.

        Parameters
        ----------
        item : Item
            An item of the kind "sound".

        Returns
        -------
        bytes
            WebP, 128 pixels high and at most 800 wide.

        Raises
        ------
        FileFormatError, InvalidDataError, MissingDependencyError, OSError
            As `sound` does.
        """
        self._check_kind(item, "sound")
        return self._made(item, "spectrogram.webp", 0)

    def full(self, item: Item) -> bytes:
        """Return an image or a sound as large as people need it.

        Parameters
        ----------
        item : Item
            An image or a sound.

        Returns
        -------
        bytes
            An image as WebP with sides of at most 2400 pixels; at most one minute of a sound as
            FLAC in one channel.

        Raises
        ------
        FileFormatError, InvalidDataError, MissingDependencyError, OSError
            As `image` and `sound` do.
        """
        if item.kind == "sound":
            return self._made(item, "full.flac", 0)
        self._check_kind(item, "image")
        return self._made(item, "full.webp", FULL)

    @staticmethod
    def _check_kind(item: Item, kind: str) -> None:
        if item.kind != kind:
            raise InvalidDataError(f"item {item.id} is of kind {item.kind}, not {kind}")

    @staticmethod
    def _relative(
        error: FileFormatError | InvalidDataError, path: Path, item: Item
    ) -> FileFormatError | InvalidDataError:
        return type(error)(str(error).replace(str(path), str(item.path)))

    def _made(self, item: Item, name: str, longest: int) -> bytes:
        """Return what was drawn of an item, from the cache if it is there."""
        path = self.path(item)
        found = path.stat()
        facts = (str(path), found.st_size, found.st_mtime_ns, item.region, name, VERSION)
        key = sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()
        if self._cache is None:
            return self._draw(item, name, longest)
        kept = self._cache / key[:2] / f"{key[2:40]}-{name}"
        with self._locks[int(key[:4], 16) % N_LOCKS]:
            if (before := _whole(kept)) is not None:
                with suppress(OSError):
                    os.utime(kept)  # used now: removed last
                return before
            content = self._draw(item, name, longest)
            # Kept for the next time, unless that is impossible.
            partial = kept.with_name(f".{secrets.token_hex(8)}.tmp")
            with suppress(OSError):
                kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                partial.write_bytes(content)
                os.replace(partial, kept)
                self._n_new += 1
            with suppress(OSError):
                partial.unlink(missing_ok=True)
        if self._n_new >= SWEEP_EVERY:
            self._sweep()
        return content

    def _draw(self, item: Item, name: str, longest: int) -> bytes:
        if name.endswith(".flac"):
            from clew.items._sound import flac

            return flac(self.sound(item))
        if name.startswith("spectrogram"):
            from clew.items._sound import spectrogram

            return _webp(spectrogram(self.sound(item)), 80)
        return _webp(self.image(item, longest), 82 if longest <= LARGEST else 90)

    def _sweep(self) -> None:
        """Remove what was used longest ago if the cache is larger than it may be."""
        if self._cache is None or not self._sweeping.acquire(blocking=False):
            return
        try:
            self._n_new = 0
            found: list[tuple[int, int, Path]] = []
            for path in self._cache.glob("??/*"):
                with suppress(OSError):
                    facts = path.stat()
                    found.append((facts.st_mtime_ns, facts.st_size, path))
            size = sum(each for _, each, _ in found)
            if size <= self._most_bytes:
                return
            for _, each, path in sorted(found):
                if size <= SWEPT_TO * self._most_bytes:
                    return
                with suppress(OSError):
                    path.unlink()
                size -= each
        finally:
            self._sweeping.release()


def _whole(path: Path) -> bytes | None:
    """Return a file of the cache; None if it is not there, or not whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if path.suffix == ".flac":
        return content if content.startswith(b"fLaC") else None
    is_webp = content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return (
        content if is_webp and int.from_bytes(content[4:8], "little") + 8 == len(content) else None
    )


def _webp(image: Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    image.info.clear()  # no metadata, such as where a photo was taken
    image.save(buffer, "WEBP", quality=quality, method=2)
    return buffer.getvalue()
