"""Which features there are, by name: clew's own, and those of other packages."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import get_args

from clew.exceptions import InvalidParameterError
from clew.features._extractor import Extractor
from clew.items import ItemKind

__all__ = ["extractor", "extractors"]

GROUP = "clew.features"
#: Clew's own, by name; other packages name theirs in the entry point group.
OWN = {
    "shapes": "clew.features._shapes:Shapes",
    "efficientnet-lite0": "clew.features._efficientnet:EfficientNetLite",
    "log-mel": "clew.features._sounds:LogMel",
    "tf-idf": "clew.features._texts:TfIdf",
    "minilm": "clew.features._minilm:MiniLM",
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
