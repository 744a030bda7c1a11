"""A file with one text a line: ids, and features."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._text import at_path, content_of, decoded
from clew.exceptions import FileFormatError, InvalidDataError
from clew.features._computing import compute
from clew.features._registry import chosen_for_texts
from clew.features._without_networks import tf_idf
from clew.items import Item

__all__ = ["Texts", "read_texts"]

#: A text of at most `LONGEST_ID` characters is its own id; the id of a longer one begins with
#: `KEPT` characters of it.
LONGEST_ID, KEPT = 120, 100


class Texts(NamedTuple):
    """Texts, one an item."""

    ids: list[str]
    """The text itself; its beginning and a checksum if it is longer than 120 characters."""
    texts: list[str]
    """The texts, without repeated ones."""
    X: csr_array | NDArray[np.float64]
    """TF-IDF of words, rows of norm 1, (n_texts, n_words); or what `model` computes."""
    n_repeated: int
    """Number of lines that repeat another line, and are left out."""
    model: str
    """Name of the features; see `compute`."""
    note: str
    """What the features are, in a few words."""


def read_texts(
    path: str | os.PathLike[str],
    encoding: str | None = None,
    *,
    model: str = "auto",
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> Texts:
    r"""Read a file with one text a line.

    Parameters
    ----------
    path : str or path-like
        A text file, which may be compressed by gzip. Empty lines are left out; a repeated line is
        one item.
    encoding : str, default=None
        Encoding; None is UTF-8, or UTF-16 if the file begins like it.
    model : str, default="auto"
        What computes the features; see `compute`. "tf-idf" is not reduced here.
    cache : str or path-like, default=None
        A folder where what was computed is kept; see `compute`.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The result does not depend on it.
    callback : callable, default=None
        Called with the number of texts that are done, and of all.

    Returns
    -------
    Texts

    Raises
    ------
    FileFormatError
        If the file has another encoding, or is damaged; names the line.
    InvalidDataError
        If it has fewer than two different lines, or no words.
    OSError
        If it cannot be read.

    Notes
    -----
    The id of a text is the text, so that it stays the same if lines are added, removed or sorted.
    Time and memory are linear in the number of words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clew.features import read_texts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "birds.txt"
    ...     _ = path.write_text("a small brown bird\na large white bird\n")
    ...     texts = read_texts(path, model="tf-idf")
    >>> texts.ids, texts.X.shape
    (['a small brown bird', 'a large white bird'], (2, 6))
    """
    ids, texts, n_repeated = text_lines(path, encoding)
    name, note = chosen_for_texts() if model == "auto" else (model, f"by {model}")
    try:
        if name == "tf-idf":
            X: csr_array | NDArray[np.float64] = tf_idf(texts)
        else:
            items = [Item(str(at), "text", text=each) for at, each in enumerate(texts)]
            X = compute(items, ".", model=name, cache=cache, n_jobs=n_jobs, callback=callback).X
    except InvalidDataError as error:
        raise InvalidDataError(f"{path}: {error}") from error
    return Texts(ids, texts, X, n_repeated, name, note)


def text_lines(
    path: str | os.PathLike[str], encoding: str | None = None
) -> tuple[list[str], list[str], int]:
    """Return the ids and the texts of a file, and the number of lines that repeat others."""
    try:
        content = decoded(content_of(path), encoding)
    except FileFormatError as error:
        raise FileFormatError(at_path(path, error)) from error
    every = [" ".join(line.split()) for line in content.splitlines()]
    texts = list(dict.fromkeys(text for text in every if text))
    if len(texts) < 2:
        raise InvalidDataError(
            f"{path} has {'one line' if texts else 'no lines'}; grouping needs two texts or more"
        )
    return [_id(text) for text in texts], texts, sum(map(bool, every)) - len(texts)


def _id(text: str) -> str:
    if len(text) <= LONGEST_ID:
        return text
    return f"{text[:KEPT]}… {hashlib.sha256(text.encode()).hexdigest()[:8]}"
