"""What computes features: one class for each kind of features; other packages may add theirs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clew._warnings import all_silenced

if TYPE_CHECKING:
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
