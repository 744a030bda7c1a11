"""Data sets with known classes, loaded by name, and the pictures of clew."""

from __future__ import annotations

import csv
import http.client
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import datasets as sklearn_datasets
from sklearn.datasets import fetch_openml
from sklearn.preprocessing import minmax_scale, scale

from clew.exceptions import (
    DatasetNotFoundError,
    FileFormatError,
    InvalidDataError,
    InvalidParameterError,
)

Scale = Literal["standard", "minmax"]
#: A type that type checkers accept in place of an array and of None: the caller knows whether a
#: data set has features.
MaybeNone = Any

#: Sets that come with scikit-learn.
_BUNDLED = ("iris", "wine", "digits", "breast_cancer")


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Items with known classes.

    Parameters
    ----------
    name : str
        Its name, as `load` takes it.
    X : ndarray of shape (n_samples, n_features), float64, or None
        Features; None if there are none.
    D : ndarray of shape (n_samples, n_samples), float64, or None
        Distances, symmetric, with zeros on the diagonal; None if there are none.
    y : ndarray of shape (n_samples,), int64
        The class of each item, as a position in `class_names`.
    class_names : tuple of str
        Names of the classes.
    source : str
        Where it was loaded from.

    Examples
    --------
    >>> from clew.datasets import load
    >>> iris = load("iris")
    >>> iris.X.shape, iris.n_classes, iris.class_names[0]
    ((150, 4), 3, 'setosa')
    """

    name: str
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    source: str
    X: NDArray[np.float64] | MaybeNone = None
    D: NDArray[np.float64] | MaybeNone = None

    @property
    def n_samples(self) -> int:
        """Number of items."""
        return int(self.y.size)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)


def scaled(dataset: Dataset, how: Scale | None) -> Dataset:
    """Scale the features; constant ones become 0."""
    if how is None:
        return dataset
    if how not in ("standard", "minmax"):
        raise InvalidParameterError(f'scale must be "standard", "minmax" or None, got {how!r}')
    if dataset.X is None:
        raise InvalidParameterError(
            f"{dataset.name} has distances only, which scale={how!r} cannot change; use scale=None"
        )
    return replace(dataset, X=scale(dataset.X) if how == "standard" else minmax_scale(dataset.X))


def as_features(values: ArrayLike) -> NDArray[np.float64]:
    """Check features: two-dimensional, finite, at least one row and column."""
    X = _as_finite(values, "X")
    if X.ndim != 2 or 0 in X.shape:
        raise InvalidDataError(f"X must have shape (n_samples, n_features), got {X.shape}")
    return X


def as_distances(values: ArrayLike) -> NDArray[np.float64]:
    """Check distances: square, finite, not negative, symmetric, zero on the diagonal."""
    D = _as_finite(values, "D")
    if D.ndim != 2 or D.shape[0] != D.shape[1] or D.size == 0:
        raise InvalidDataError(f"D must have shape (n_samples, n_samples), got {D.shape}")
    if (D < 0).any() or D.diagonal().any():
        raise InvalidDataError("D must not be negative, and 0 on the diagonal")
    if not np.allclose(D, D.T):
        raise InvalidDataError("D must be symmetric")
    return D


def _as_finite(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"{name} must hold numbers: {error}") from error
    if not np.isfinite(array).all():
        raise InvalidDataError(f"{name} must be finite, but holds NaN or infinite values")
    return array


def as_labels(
    values: ArrayLike, class_names: ArrayLike | None, n_samples: int
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Check labels; without names of classes, number the distinct values."""
    labels = np.asarray(values)
    if labels.shape != (n_samples,):
        raise InvalidDataError(f"y must have shape ({n_samples},), got {labels.shape}")
    if class_names is None:
        found, y = np.unique(labels, return_inverse=True)
        return y.astype(np.int64), tuple(map(str, found))
    names = tuple(map(str, np.asarray(class_names).ravel()))
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= len(names):
        raise InvalidDataError(
            f"y must hold positions in class_names: integers from 0 to {len(names) - 1}"
        )
    return labels.astype(np.int64), names


def load(name: str, *, scale: Scale | None = None) -> Dataset:
    """Load a data set from scikit-learn, from the folder `CLEW_DATA`, or from OpenML.

    Parameters
    ----------
    name : str
        "iris", "wine", "digits" and "breast_cancer" come with scikit-learn. Any other name means
        the file ``<name>.npz`` in the folder that the environment variable ``CLEW_DATA`` names.
        It holds ``X`` (n_samples, n_features) or ``D`` (n_samples, n_samples), ``y``
        (n_samples,) and, if y holds positions in it, ``class_names``. Some
        sets of OpenML, such as "ionosphere" and "glass", are fetched from there if the folder does
        not have them, and kept in scikit-learn's cache.
    scale : {"standard", "minmax"} or None, default=None
        "standard": each feature to mean 0 and variance 1. "minmax": to the range from 0 to 1.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetNotFoundError
        If it is in none of these places; the message says what to do.
    FileFormatError
        If the file is damaged, or arrays are missing or invalid.
    InvalidParameterError
        If `scale` is unknown, or the set has distances only.

    Examples
    --------
    >>> from clew.datasets import load
    >>> digits = load("digits", scale="minmax")
    >>> digits.X.shape, float(digits.X.max()), digits.source
    ((1797, 64), 1.0, 'scikit-learn')
    """
    return scaled(_find(name), scale)


def _find(name: str) -> Dataset:
    if name in _BUNDLED:
        bunch = getattr(sklearn_datasets, f"load_{name}")()
        X = as_features(bunch.data)
        y, class_names = as_labels(bunch.target, bunch.target_names, len(X))
        return Dataset(name=name, X=X, y=y, class_names=class_names, source="scikit-learn")
    # A name, not a path: nothing outside the folder is ever opened.
    if not isinstance(name, str) or not name.replace("_", "").replace("-", "").isalnum():
        raise DatasetNotFoundError(
            f"{name!r} is not a name of a data set: use letters, digits, - and _ only"
        )
    folder = os.environ.get("CLEW_DATA")
    path = Path(folder) / f"{name}.npz" if folder else None
    if path is not None and path.is_file():
        return _from_npz(path)
    if name in OPENML:
        return fetch(name)
    looked = f"{path} does not exist" if path else "the environment variable CLEW_DATA is not set"
    raise DatasetNotFoundError(
        f"no data set {name!r}: {looked}. Put {name}.npz (X or D, y, class_names) into a folder "
        f"and set CLEW_DATA to it, or use one of {', '.join((*_BUNDLED, *OPENML))}"
    )


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    try:
        # NumPy leaves a damaged file open if it opens the file itself.
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array without a name")
            return {key: stored[key] for key in ("X", "D", "y", "class_names") if key in stored}
    # Damage raises many errors, from the zip archive down to the headers of arrays.
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, KeyError) as error:
        raise FileFormatError(f"{path} cannot be read as an .npz file: {error}") from error


def _from_npz(path: Path) -> Dataset:
    arrays = _read_npz(path)
    missing = [] if "X" in arrays or "D" in arrays else ["X or D"]
    missing += [] if "y" in arrays else ["y"]
    if missing:
        raise FileFormatError(f"{path} holds no array {' and no '.join(missing)}")
    try:
        X = as_features(arrays["X"]) if "X" in arrays else None
        D = as_distances(arrays["D"]) if "D" in arrays else None
        if X is not None and D is not None and len(X) != len(D):
            raise InvalidDataError(f"X has {len(X)} rows, but D has {len(D)}")
        n_samples = len(arrays.get("X", arrays.get("D", ())))
        y, class_names = as_labels(arrays["y"], arrays.get("class_names"), n_samples)
    except InvalidDataError as error:
        raise FileFormatError(f"{path}: {error}") from error
    return Dataset(name=path.stem, X=X, D=D, y=y, class_names=class_names, source=str(path))


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
    """Fetch a set from OpenML, or from scikit-learn's cache of it."""
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


FOLDER = Path(__file__).parent / "pictures"


@dataclass(frozen=True, kw_only=True, eq=False)
class Pictures:
    """A folder of pictures with known kinds, and answers about them.

    Parameters
    ----------
    folder : Path
        Folder of the images; its README tells their source and license.
    ids : list of str
        Name of each file, in ascending order.
    y : ndarray of shape (n_pictures,), int64
        The kind of each picture, as a position in `class_names`.
    class_names : tuple of str
        Names of the kinds.
    answers : Path
        File of 300 answers of three simulated people, as `clew ask` writes it; 6 % are wrong.
    """

    folder: Path
    ids: list[str]
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    answers: Path


def load_pictures() -> Pictures:
    """Return the collection of pictures that clew ships.

    Returns
    -------
    Pictures
        109 color pictures, 128 × 128 pixels, of eight kinds: birds, buildings, clothing, flowers,
        fruit, mammals, sweets and vehicles.

    Notes
    -----
    The pictures are drawings of the font Noto Color Emoji (Apache License 2.0).

    Examples
    --------
    >>> from clew.datasets import load_pictures
    >>> pictures = load_pictures()
    >>> len(pictures.ids), pictures.ids[0], pictures.class_names[pictures.y[0]]
    (109, 'ambulance.webp', 'vehicle')
    """
    with (FOLDER / "kinds.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names, y = np.unique([row["kind"] for row in rows], return_inverse=True)
    return Pictures(
        folder=FOLDER,
        ids=[row["id"] for row in rows],
        y=y.astype(np.int64),
        class_names=tuple(names.tolist()),
        answers=FOLDER / "answers.jsonl",
    )
