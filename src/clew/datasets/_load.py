"""Loads a data set by its name."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets

from clew.datasets._dataset import (
    Dataset,
    Scale,
    as_distances,
    as_features,
    as_labels,
    scaled,
)
from clew.datasets._openml import OPENML, fetch
from clew.exceptions import DatasetNotFoundError, FileFormatError, InvalidDataError

__all__ = ["load"]

#: Sets that come with scikit-learn.
_BUNDLED = ("iris", "wine", "digits", "breast_cancer")


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
        return _from_sklearn(name)
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


def _from_sklearn(name: str) -> Dataset:
    bunch = getattr(sklearn_datasets, f"load_{name}")()
    X = as_features(bunch.data)
    y, class_names = as_labels(bunch.target, bunch.target_names, len(X))
    return Dataset(name=name, X=X, y=y, class_names=class_names, source="scikit-learn")


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
