"""Features without a network: shapes of images, log-mel spectrograms of sounds, words of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._files import needs
from clew._parallel import in_threads
from clew.exceptions import InvalidDataError
from clew.features._extractor import Extractor, reduced
from clew.items._sound import N_BANDS, log_mel

if TYPE_CHECKING:
    from PIL.Image import Image

    from clew.items import Item, Media, Sound

#: Images are described at this size; cells of 8 pixels for shapes, 4 × 4 parts for the rest.
SIDE, CELL, N_PARTS = 48, 8, 4
N_ORIENTATIONS = 9
#: Largest number of features.
N_COMPONENTS = 200
#: Number of kinds of local binary patterns with 8 neighbors.
N_PATTERNS = 10
#: Root mean square of each part of the features, over all images.
SHAPES, COLORS, LIGHT, TEXTURE = 1.0, 0.7, 0.25, 0.5
#: Colors that vary less than this, in units of CIELAB, are noise: they are not scaled up.
LEAST_COLOR = 5.0

Floats = NDArray[np.float32]


#: Columns of a description: histograms of oriented gradients; means and standard deviations of a*
#: and b* in 16 parts; the same of L*; square roots of the shares of local binary patterns in them.
PARTS = {"shapes": 900, "colors": 64, "light": 32, "texture": 160}


class Shapes(Extractor):
    """Shapes, colors, light and texture of images: 1,156 numbers an image, without a network.

    At 48 × 48 pixels, histograms of oriented gradients (Dalal and Triggs, CVPR 2005) are shapes;
    means and standard deviations in CIELAB, in 4 × 4 parts, colors and light; shares of local
    binary patterns (Ojala et al., IEEE TPAMI 2002) in them, texture. 2 ms an image and core.
    """

    name = "shapes"
    version = "1"
    kinds = frozenset({"image"})

    def load(self, item: Item, media: Media) -> Image:
        """Open an image at twice the size at which it is described."""
        return media.image(item, longest=2 * SIDE)

    def extract(self, batch: Sequence[Image]) -> NDArray[np.float32]:
        """Describe images, (n_images, 1156)."""
        return np.stack(in_threads(describe, batch, n_jobs=self.n_jobs))

    def combine(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scale the four parts of the description, and reduce them by principal components."""
        centered = raw.astype(np.float64)
        centered -= centered.mean(axis=0)
        shapes, colors, light, texture = np.split(
            centered, np.cumsum(list(PARTS.values()))[:-1], axis=1
        )
        whole = np.hstack([
            _scaled(shapes, SHAPES), _scaled(colors, COLORS, LEAST_COLOR * colors.shape[1] ** 0.5),
            _scaled(light, LIGHT), _scaled(texture, TEXTURE),
        ])  # fmt: skip
        return reduced(whole, N_COMPONENTS)


def describe(image: Image) -> Floats:
    """Describe an image; the parts of the description follow each other."""
    with needs(
        "features of images need scikit-image; install it with pip install 'clew[images]', or "
        "pass features of your own"
    ):
        from skimage.color import rgb2lab
        from skimage.feature import hog, local_binary_pattern
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
    described = (shapes, colors.ravel(), light.ravel(), np.sqrt(shares).ravel())
    return np.concatenate(described).astype(np.float32)


def _parts(image: NDArray[np.floating] | NDArray[np.integer]) -> NDArray[np.float64]:
    """Cut an image into 4 × 4 parts: axes 1 and 3 of the result run within a part."""
    side = SIDE // N_PARTS
    return image.reshape(N_PARTS, side, N_PARTS, side, -1)  # type: ignore[return-value]


def _scaled(centered: NDArray[np.float64], size: float, least: float = 1e-6) -> NDArray[np.float64]:
    """Scale to a root mean square norm of `size`; smaller norms than `least` count as `least`."""
    norm = float(np.sqrt(np.mean((centered**2).sum(axis=1))))
    return np.asarray(centered * (size / max(norm, least)))


#: Decibels below the loudest point of a sound that count, and those below its loudest frame within
#: which a frame is audible.
RANGE, AUDIBLE = 80.0, 40.0
#: Points of the course of loudness.
N_POINTS = 32
#: Numbers of each part, and its root mean square norm over all sounds: mean, standard deviation and
#: change of each band, the course of loudness, and the length.
SOUND_PARTS = {
    "mean": N_BANDS,
    "deviation": N_BANDS,
    "change": N_BANDS,
    "course": N_POINTS,
    "length": 2,
}
SOUND_NORMS = (1.0, 0.5, 0.5, 0.5, 0.3)
N_SOUND_COMPONENTS = 60


class LogMel(Extractor):
    """Sounds by their pitch, timbre, course and length: 226 numbers a sound, without a network.

    From a log-mel spectrogram (Davis and Mermelstein, IEEE TASSP 1980) in steps of 10 ms. Of frames
    at most 40 dB below the loudest: mean of each band, without that over all, and its deviation; of
    all frames: changes, loudness at 32 points, length. The first minute counts; 5 ms a second.
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
        parts = np.split(centered, np.cumsum(list(SOUND_PARTS.values()))[:-1], axis=1)
        scaled = [_scaled(part, norm) for part, norm in zip(parts, SOUND_NORMS, strict=True)]
        return reduced(np.hstack(scaled), N_SOUND_COMPONENTS)


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


#: With `MANY_TEXTS` texts or more, words that occur in fewer than `LEAST_TEXTS` are left out.
MANY_TEXTS, LEAST_TEXTS = 1000, 2
N_TEXT_COMPONENTS = 100
#: If this share of the texts with words has none in common with another one, letters are compared.
MOSTLY_ALONE = 0.5


class TfIdf(Extractor):
    """Texts in any language, by the words that they share: SVD of TF-IDF.

    If most texts share no word, as names with typing errors, one to three letters are the words.

    All texts are described together: numbers change if texts are added, and none are kept.
    """

    name = "tf-idf"
    version = "2"
    kinds = frozenset({"text"})
    batch_size = None

    def load(self, item: Item, media: Media) -> str:
        """Return the text."""
        return media.text(item)

    def extract(self, batch: Sequence[str]) -> NDArray[np.float32]:
        """Return the largest singular vectors of TF-IDF, with rows of norm 1."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.preprocessing import normalize

        X = tf_idf(batch)
        n_components = min(N_TEXT_COMPONENTS, min(X.shape) - 1)
        if n_components < 1:
            return np.asarray(X.toarray(), np.float32)
        svd = TruncatedSVD(n_components, random_state=0)
        return np.asarray(normalize(svd.fit_transform(X)), np.float32)


def tf_idf(texts: Sequence[str]) -> csr_array:
    """Return TF-IDF of words, or of letters, rows of norm 1, (n_texts, n_words)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    least = LEAST_TEXTS if len(texts) >= MANY_TEXTS else 1
    # The default pattern ignores words of one letter, and so all words of some languages.
    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", sublinear_tf=True)
    try:
        X = csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:
        raise InvalidDataError("the texts have no words") from error
    n_texts = np.bincount(X.indices, minlength=X.shape[1])
    is_alone = np.diff(X[:, n_texts > 1].indptr) == 0
    if is_alone[np.diff(X.indptr) > 0].mean() < MOSTLY_ALONE:
        return csr_array(normalize(X[:, n_texts >= least]))
    letters = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(1, 3), sublinear_tf=True, min_df=least
    )
    return csr_array(letters.fit_transform(texts))
