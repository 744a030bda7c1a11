"""Sounds by statistics of their log-mel spectrograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clew._parallel import in_threads
from clew.features._extractor import Extractor, reduced
from clew.items._sound import N_BANDS, log_mel

if TYPE_CHECKING:
    from clew.items import Item, Media, Sound

#: Decibels below the loudest point of a sound that count, and those below its loudest frame within
#: which a frame is audible.
RANGE, AUDIBLE = 80.0, 40.0
#: Points of the course of loudness.
N_POINTS = 32
#: Numbers of each part, and its root mean square norm over all sounds: mean, standard deviation and
#: change of each band, the course of loudness, and the length.
PARTS = {"mean": N_BANDS, "deviation": N_BANDS, "change": N_BANDS, "course": N_POINTS, "length": 2}
NORMS = (1.0, 0.5, 0.5, 0.5, 0.3)
N_COMPONENTS = 60

Floats = NDArray[np.float32]


class LogMel(Extractor):
    """Sounds by their pitch, timbre, course and length: 226 numbers a sound, without a network.

    Notes
    -----
    A log-mel spectrogram of 64 bands from 50 Hz to 8 kHz in steps of 10 ms. Of the frames that are
    at most 40 dB below the loudest: mean (without that over all bands, so loudness does not
    count) and standard deviation of each band; of all frames: the mean change of each band, the
    loudness at 32 points, and the length. Needs soundfile (``pip install 'clew[sounds]'``). Time
    about 5 ms for a second of sound; of longer sounds the first minute counts.

    References
    ----------
    S. Davis and P. Mermelstein, "Comparison of parametric representations for monosyllabic word
    recognition in continuously spoken sentences", IEEE TASSP 1980.
    """

    name = "log-mel"
    version = "1"
    kinds = frozenset({"sound"})

    def load(self, item: Item, media: Media) -> Sound:
        """Open a sound."""
        return media.sound(item)

    def extract(self, batch: Sequence[Sound]) -> Floats:
        """Describe sounds, (n_sounds, 226)."""
        return np.stack(in_threads(described, batch, n_jobs=self.n_jobs))

    def combine(self, raw: Floats) -> NDArray[np.float64]:
        """Scale the five parts of the description, and reduce them by principal components."""
        centered = raw.astype(np.float64)
        centered -= centered.mean(axis=0)
        parts = np.split(centered, np.cumsum(list(PARTS.values()))[:-1], axis=1)
        norms = [max(float(np.sqrt((part**2).sum(axis=1).mean())), 1e-6) for part in parts]
        scaled = [
            part * (wanted / norm) for part, norm, wanted in zip(parts, norms, NORMS, strict=True)
        ]
        return reduced(np.hstack(scaled), N_COMPONENTS)


def described(sound: Sound) -> Floats:
    """Describe a sound; the parts of the description follow each other."""
    levels = log_mel(sound)
    levels = np.maximum(levels, levels.max() - RANGE)
    loudness = levels.mean(axis=1)
    audible = levels[loudness >= loudness.max() - AUDIBLE]
    mean = audible.mean(axis=0)
    change = np.abs(np.diff(levels, axis=0)).mean(axis=0) if len(levels) > 1 else 0 * mean
    at = np.linspace(0, len(levels) - 1, N_POINTS)
    course = np.interp(at, np.arange(len(levels)), loudness) - loudness.max()
    length = 10 * np.log([len(levels), len(audible)])
    parts = (mean - mean.mean(), audible.std(axis=0), change, course, length)
    return np.concatenate(parts).astype(np.float32)
