"""Features: one class for each kind, which other packages may add, and the choice among them."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from clew._parallel import in_threads
from clew._warnings import all_silenced
from clew.exceptions import ClewError, InvalidDataError, InvalidParameterError
from clew.items import Item, ItemKind, Media

#: Directions of less than this share of the variance are rounding errors.
LEAST_VARIANCE = 1e-9


class Extractor(ABC):
    """Computes features of items of one kind.

    A package adds its own under the entry point group ``clew.features``: the name of the entry
    point is what ``--features NAME`` and `compute` take, and its object is a subclass.

    Parameters
    ----------
    model : str, default=""
        What follows a colon in the name: ``timm:resnet18`` makes an extractor with
        ``model="resnet18"``.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The result must not depend on it.

    Attributes
    ----------
    name, version : str
        Numbers are kept under both. Change the version whenever an item would get other numbers.
    kinds : frozenset of str
        Kinds of items that it describes.
    batch_size : int or None
        Number of items that are loaded, described and kept at a time. None: all of them are
        described together, and nothing is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from clew.features import Extractor
    >>> class MeanColor(Extractor):
    ...     name, version, kinds = "mean-color", "1", frozenset({"image"})
    ...
    ...     def load(self, item, media):
    ...         return media.image(item, longest=32)
    ...
    ...     def extract(self, batch):
    ...         return np.stack([np.asarray(image).mean(axis=(0, 1)) for image in batch])
    """

    name: str = ""
    version: str = ""
    kinds: ClassVar[frozenset[ItemKind]] = frozenset()
    batch_size: ClassVar[int | None] = 64

    def __init__(self, model: str = "", *, n_jobs: int | None = None) -> None:
        self.model, self.n_jobs = model, n_jobs

    @abstractmethod
    def load(self, item: Item, media: Media) -> Any:
        """Open an item.

        Parameters
        ----------
        item : Item
            Of one of `kinds`.
        media : Media
            Opens its file.

        Returns
        -------
        object
            What `extract` takes a list of.

        Raises
        ------
        ClewError, OSError
            If the item cannot be read: it is then left out, with the message as the reason.
        """

    @abstractmethod
    def extract(self, batch: Sequence[Any]) -> NDArray[np.float32]:
        """Compute numbers of each item, whatever the other items are.

        Parameters
        ----------
        batch : sequence of object
            What `load` returned.

        Returns
        -------
        ndarray of shape (n_items, n_numbers)
            Finite numbers, as many for each item.
        """

    def combine(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        """Make features of the numbers of all items: scale, center, reduce.

        Parameters
        ----------
        raw : ndarray of shape (n_items, n_numbers)
            What `extract` returned, of all items.

        Returns
        -------
        ndarray of shape (n_items, n_features)
            The numbers themselves, if a class does not say otherwise.
        """
        return np.asarray(raw, np.float64)


def reduced(X: NDArray[np.float64], n_components: int) -> NDArray[np.float64]:
    """Return principal components, without those that are rounding errors."""
    from sklearn.decomposition import PCA

    n_components = min(n_components, *X.shape)
    with all_silenced():  # no variance at all: equal items
        pca = PCA(n_components, random_state=0).fit(X)
    is_kept = pca.explained_variance_ > LEAST_VARIANCE * max(pca.explained_variance_[0], 1e-12)
    is_kept[0] = True
    return np.ascontiguousarray(pca.transform(X)[:, is_kept], np.float64)


GROUP = "clew.features"
#: Clew's own, by name; other packages name theirs in the entry point group.
OWN = {
    "shapes": "clew.features._without_networks:Shapes",
    "efficientnet-lite0": "clew.features._efficientnet:EfficientNetLite",
    "log-mel": "clew.features._without_networks:LogMel",
    "tf-idf": "clew.features._without_networks:TfIdf",
    "minilm": "clew.features._networks:MiniLM",
    "onnx": "clew.features._networks:Onnx",
    "timm": "clew.features._networks:Timm",
    "open_clip": "clew.features._networks:OpenClip",
    "sentence-transformers": "clew.features._networks:SentenceTransformers",
}


def extractors(kind: ItemKind | None = None) -> list[str]:
    """Return the names of the features that there are.

    Parameters
    ----------
    kind : {"image", "sound", "text", "row", "vector"}, default=None
        Only those of this kind of items. Packages are imported to know. None: all of them.

    Returns
    -------
    list of str
        Names for `extractor` and `compute`, in ascending order.

    Examples
    --------
    >>> from clew.features import extractors
    >>> "shapes" in extractors()
    True
    """
    names = sorted({*OWN, *(point.name for point in entry_points(group=GROUP))})
    return names if kind is None else [name for name in names if kind in _class(name).kinds]


def extractor(name: str, *, n_jobs: int | None = None) -> Extractor:
    """Return what computes features of a name.

    Parameters
    ----------
    name : str
        One of `extractors`, with a model after a colon where it takes one: "timm:resnet18".
    n_jobs : int or None, default=None
        Number of threads, as in joblib.

    Returns
    -------
    Extractor

    Raises
    ------
    InvalidParameterError
        If there are no features of that name, or a model is missing or not taken.

    Examples
    --------
    >>> from clew.features import extractor
    >>> sorted(extractor("shapes").kinds)
    ['image']
    """
    base, _, model = name.partition(":")
    return _class(base)(model, n_jobs=n_jobs)


def _class(name: str) -> type[Extractor]:
    if name in OWN:
        module, _, member = OWN[name].partition(":")
        found: object = getattr(importlib.import_module(module), member)
    else:
        points = entry_points(group=GROUP, name=name)
        if not points:
            raise InvalidParameterError(
                f"there are no features named {name!r}; there are {', '.join(extractors())}"
            )
        found = next(iter(points)).load()
    if not (isinstance(found, type) and issubclass(found, Extractor)):
        raise InvalidParameterError(f"the features {name!r} are {found!r}, not an Extractor")
    if not (found.name or name in OWN) or not found.kinds <= set(get_args(ItemKind)):
        raise InvalidParameterError(f"the features {name!r} have no name, or unknown kinds")
    return found


#: Images that are looked at, evenly over all, and the side at which they are.
N_LOOKED_AT, SIDE = 64, 32
#: An image is gray if the channels of its pixels differ by less than this on average, of 255.
GRAY = 6.0


def chosen(kind: str, items: Sequence[Item], media: Media) -> tuple[str, str]:
    """Return the name of the features of items of a kind, and why, in a sentence."""
    from clew.features import _efficientnet  # which imports this file

    if kind == "sound":
        return "log-mel", "pitch, timbre, course and length of sounds"
    if kind == "text":
        return chosen_for_texts()
    if are_gray(items, media):
        return "shapes", "shapes, light and texture of images, which are gray"
    if find_spec(_efficientnet.PACKAGE) is None or find_spec("onnxruntime") is None:
        return "shapes", (
            "shapes, colors and texture of images; with pip install 'clew[images]' a network "
            "describes color photos, and fewer questions are needed"
        )
    return "efficientnet-lite0", "color images by EfficientNet-Lite0"


def chosen_for_texts() -> tuple[str, str]:
    """Return the name of the features of texts, and why."""
    from clew.features import _networks

    if find_spec(_networks.MINILM_PACKAGE) is not None:
        return "minilm", "meaning of texts by MiniLM"
    return "tf-idf", "TF-IDF of words, or of letters if few texts share a word"


def are_gray(items: Sequence[Item], media: Media) -> bool:
    """Whether most of a sample of images are gray."""
    n = min(N_LOOKED_AT, len(items))
    sample = [items[at] for at in np.linspace(0, len(items) - 1, n).astype(int)]
    found = in_threads(lambda item: colorfulness(item, media), sample, n_jobs=None)
    colors = [each for each in found if each is not None]
    if not colors:
        raise InvalidDataError(
            f"none of the first {n} images can be read; {items[0].path} is one of them"
        )
    return bool(np.median(colors) < GRAY)


def colorfulness(item: Item, media: Media) -> float | None:
    """Return by how much the channels of an image differ on average; None if it cannot be read."""
    try:
        pixels = np.asarray(media.image(item, longest=SIDE), np.float64)
    except ImportError:
        raise
    except (ClewError, OSError, MemoryError):
        return None
    return float(np.ptp(pixels, axis=2).mean())
