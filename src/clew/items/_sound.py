"""A sound as it is opened: one channel, bounded in length; and its log-mel spectrogram."""

from __future__ import annotations

import io
import os
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._files import needs
from clew.exceptions import FileFormatError, InvalidDataError
from clew.items._open import MOST_SECONDS, pillow

if TYPE_CHECKING:
    from PIL.Image import Image

#: Files that say to have more of these are damaged.
MOST_CHANNELS, HIGHEST_RATE = 64, 768_000
#: Length and step of the windows of a spectrogram, in seconds; bands of it; lowest band, in Hz.
WINDOW, STEP, N_BANDS, LOWEST = 0.032, 0.010, 64, 50.0
#: Power, as a share of that of full scale, below which all is silence.
SILENCE = 1e-10
#: Width of a spectrogram in pixels at most; its height is that of its bands, twice.
WIDEST = 800
#: Decibels below the loudest point of a spectrogram that are drawn.
RANGE = 70.0
#: Colors of a spectrogram from silence to the loudest point.
PALETTE = ((8, 8, 24), (60, 16, 110), (160, 40, 120), (240, 110, 60), (252, 240, 180))

Floats = NDArray[np.float32]


class Sound(NamedTuple):
    """A sound."""

    samples: Floats
    """One channel, from -1 to 1, (n_samples,)."""
    rate: int
    """Samples a second."""
    is_cut: bool
    """Whether the sound goes on behind its last sample."""


def soundfile() -> Any:
    """Return the module ``soundfile``."""
    with needs("reading sounds needs soundfile; install it with pip install 'clew[sounds]'"):
        import soundfile
    return soundfile


def open_sound(
    path: str | os.PathLike[str],
    most_seconds: float = MOST_SECONDS,
    *,
    region: tuple[float, ...] | None = None,
) -> Sound:
    """Open a sound, or a part of it.

    Parameters
    ----------
    path : str or path-like
        A file: WAV, FLAC, Ogg, Opus, MP3, AIFF and what else libsndfile reads.
    most_seconds : float, default=60
        Longer sounds are cut off.
    region : tuple of 2 floats, default=None
        First and last second. None: from the beginning.

    Returns
    -------
    Sound
        The mean of its channels.

    Raises
    ------
    FileFormatError
        If the file is empty, damaged, or of a format that is not read.
    InvalidDataError
        If the sound ends before the region begins.
    MissingDependencyError
        If soundfile is not installed.
    OSError
        If the file cannot be read.
    """
    library = soundfile()
    # An open file, so that libsndfile does not go by the name.
    with open(path, "rb") as file:
        try:
            with library.SoundFile(file) as stored:
                rate, n, channels = int(stored.samplerate), int(stored.frames), stored.channels
                if not (0 < rate <= HIGHEST_RATE and 0 < channels <= MOST_CHANNELS):
                    raise FileFormatError(
                        f"{path}: {channels} channels at {rate:,} samples a second are damaged data"
                    )
                first, end = (0.0, np.inf) if region is None else region
                start = round(first * rate)
                if start >= n:
                    raise InvalidDataError(
                        f"{path}: has {n / rate:.1f} seconds, and the region begins at {first:g}"
                    )
                wanted = min(end - first, most_seconds)
                stored.seek(start)
                many = stored.read(round(wanted * rate), dtype="float32", always_2d=True)
        except (library.LibsndfileError, RuntimeError) as error:
            file.seek(0)
            is_empty = not file.read(1)
            why = "the file is empty" if is_empty else f"not a sound that can be read ({error})"
            raise FileFormatError(f"{path}: {why}") from error
    samples = np.nan_to_num(many.mean(axis=1), posinf=0.0, neginf=0.0)
    if len(samples) == 0:
        raise FileFormatError(f"{path}: has no samples, or is cut off")
    return Sound(samples, rate, start + len(samples) < min(n, end * rate))


def log_mel(sound: Sound) -> Floats:
    """Return the power in decibels in bands of equal width in mel, (n_frames, N_BANDS)."""
    size, step = round(WINDOW * sound.rate), max(1, round(STEP * sound.rate))
    samples = np.pad(sound.samples, (size // 2, size - size // 2))
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[::step]
    weights = _bands(sound.rate, size)
    window = np.hanning(size + 1)[:-1].astype(np.float32)
    power = np.empty((len(frames), N_BANDS), np.float32)
    for start in range(0, len(frames), 512):
        part = np.fft.rfft(frames[start : start + 512] * window, axis=1)
        power[start : start + 512] = (part.real**2 + part.imag**2) @ weights
    power /= np.float32((window.sum() / 2) ** 2)
    return np.asarray(10 * np.log10(np.maximum(power, SILENCE)), np.float32)


@cache
def _bands(rate: int, size: int) -> Floats:
    """Return triangles over frequencies, (n_frequencies, N_BANDS)."""
    mel = np.linspace(_mel(LOWEST), _mel(8000.0), N_BANDS + 2)
    edges = np.asarray(700 * (10 ** (mel / 2595) - 1))
    frequencies = np.fft.rfftfreq(size, 1 / rate)[:, None]
    # Low bands are narrower than the distance of two frequencies: none may be empty.
    least = rate / size
    low = np.minimum(edges[:-2], edges[1:-1] - least)
    high = np.maximum(edges[2:], edges[1:-1] + least)
    rising = (frequencies - low) / (edges[1:-1] - low)
    falling = (high - frequencies) / (high - edges[1:-1])
    return np.asarray(np.clip(np.minimum(rising, falling), 0, None), np.float32)


def _mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def flac(sound: Sound) -> bytes:
    """Return a sound as FLAC, at a rate that browsers play."""
    buffer = io.BytesIO()
    # FLAC takes rates up to 655,350 Hz; browsers play much fewer.
    step = max(1, round(sound.rate / 48_000))
    samples = np.clip(sound.samples[: len(sound.samples) // step * step], -1, 1)
    few = samples.reshape(-1, step).mean(axis=1) if step > 1 else samples
    soundfile().write(buffer, few, sound.rate // step, format="FLAC", subtype="PCM_16")
    return buffer.getvalue()


def spectrogram(sound: Sound) -> Image:
    """Draw a spectrogram: time to the right, mel upward."""
    levels = log_mel(sound)
    share = np.clip((levels - levels.max()) / RANGE + 1, 0, 1).T[::-1]
    colors = np.array(PALETTE, np.float64)
    at = share * (len(colors) - 1)
    pixels = np.stack(
        [np.interp(at, np.arange(len(colors)), channel) for channel in colors.T], axis=-1
    )
    image: Image = pillow().fromarray(pixels.astype(np.uint8))
    return image.resize((min(max(image.width, 128), WIDEST), 2 * image.height))
