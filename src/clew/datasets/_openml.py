"""Data sets of OpenML, with their numbers there and their expected shapes."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from sklearn.datasets import fetch_openml

from clew.datasets._dataset import Dataset, as_features, as_labels
from clew.exceptions import DatasetNotFoundError, InvalidDataError

__all__ = ["OPENML", "Entry", "fetch"]


class Entry(NamedTuple):
    """Number of a set on OpenML, its expected shape, and the classes that are used."""

    data_id: int
    shape: tuple[int, int]
    n_classes: int
    classes: tuple[str, ...] = ()
    """The classes to keep; empty for all."""


OPENML: Final[Mapping[str, Entry]] = MappingProxyType(
    {
        "ionosphere": Entry(59, (351, 34), 2),
        "glass": Entry(41, (214, 9), 6),
        "segment_full": Entry(36, (2310, 19), 7),
        "pima_diabetes": Entry(37, (768, 8), 2),
        "balance_scale": Entry(11, (625, 4), 3),
        "vehicle": Entry(54, (846, 18), 4),
        "digits389": Entry(32, (3165, 16), 3, ("3", "8", "9")),
        "letters_ijlt": Entry(6, (3059, 16), 4, ("I", "J", "L", "T")),
        "olivetti_64x64": Entry(41083, (400, 4096), 40),
    }
)


def fetch(name: str) -> Dataset:
    """Fetch a set from OpenML, or from scikit-learn's cache of it.

    Parameters
    ----------
    name : str
        A key of `OPENML`.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetNotFoundError
        If OpenML cannot be reached, or its set has another shape than expected.
    """
    entry = OPENML[name]
    advice = (
        f"Connect to the network, or put {name}.npz (X or D, y, class_names) into a folder and "
        "set the environment variable CLEW_DATA to it"
    )
    try:
        bunch = fetch_openml(data_id=entry.data_id, as_frame=False, parser="liac-arff", n_retries=1)
    # OSError without a network; the others with proxies and broken servers.
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DatasetNotFoundError(
            f"{name} could not be fetched from OpenML ({error}). {advice}"
        ) from error
    target = np.asarray(bunch.target).astype(str)
    kept = np.isin(target, entry.classes) if entry.classes else np.full(target.shape, True)
    try:
        X = as_features(np.asarray(bunch.data)[kept])
        y, class_names = as_labels(target[kept], None, len(X))
    except InvalidDataError as error:
        raise DatasetNotFoundError(f"OpenML's {name} is not usable: {error}. {advice}") from error
    if X.shape != entry.shape or len(class_names) != entry.n_classes:
        raise DatasetNotFoundError(
            f"OpenML's data set {entry.data_id} is not {name}: it has shape {X.shape} and "
            f"{len(class_names)} classes, not {entry.shape} and {entry.n_classes}. {advice}"
        )
    source = f"OpenML {entry.data_id}"
    return Dataset(name=name, X=X, y=y, class_names=class_names, source=source)
