"""A file with one text a line: ids, and TF-IDF."""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from clew._text import at_path, content_of, decoded
from clew.exceptions import FileFormatError, InvalidDataError

__all__ = ["Texts", "as_texts", "read_texts"]

#: A text of at most `LONGEST_ID` characters is its own id; the id of a longer one begins with
#: `KEPT` characters of it.
LONGEST_ID, KEPT = 120, 100
#: With `MANY_TEXTS` texts or more, words that occur in fewer than `LEAST_TEXTS` are left out.
MANY_TEXTS, LEAST_TEXTS = 1000, 2


class Texts(NamedTuple):
    """Texts, one an item."""

    ids: list[str]
    """The text itself; its beginning and a checksum if it is longer than 120 characters."""
    texts: list[str]
    """The texts, without repeated ones."""
    X: csr_array
    """TF-IDF of words, rows of norm 1, (n_texts, n_words)."""
    n_repeated: int
    """Number of lines that repeat another line, and are left out."""


def read_texts(path: str | os.PathLike[str], encoding: str | None = None) -> Texts:
    r"""Read a file with one text a line.

    Parameters
    ----------
    path : str or path-like
        A text file, which may be compressed by gzip. Empty lines are left out; a repeated line is
        one item.
    encoding : str, default=None
        Encoding; None is UTF-8, or UTF-16 if the file begins like it.

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
    >>> from clew.items import read_texts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "birds.txt"
    ...     _ = path.write_text("a small brown bird\na large white bird\n")
    ...     texts = read_texts(path)
    >>> texts.ids, texts.X.shape
    (['a small brown bird', 'a large white bird'], (2, 6))
    """
    try:
        text = decoded(content_of(path), encoding)
    except FileFormatError as error:
        raise FileFormatError(at_path(path, error)) from error
    return as_texts(text.splitlines(), str(path))


def as_texts(lines: list[str], source: str) -> Texts:
    """Return texts with ids and TF-IDF; `source` is named in errors."""
    every = [" ".join(line.split()) for line in lines]
    texts = list(dict.fromkeys(text for text in every if text))
    if len(texts) < 2:
        raise InvalidDataError(
            f"{source} has {'one line' if texts else 'no lines'}; grouping needs two texts or more"
        )
    least = LEAST_TEXTS if len(texts) >= MANY_TEXTS else 1
    # The default pattern ignores words of one letter, and so all words of some languages.
    tfidf = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", sublinear_tf=True, min_df=least)
    try:
        X = csr_array(tfidf.fit_transform(texts))
    except ValueError as error:
        raise InvalidDataError(f"{source} has no words") from error
    n_repeated = sum(map(bool, every)) - len(texts)
    return Texts([_id(text) for text in texts], texts, X, n_repeated)


def _id(text: str) -> str:
    if len(text) <= LONGEST_ID:
        return text
    return f"{text[:KEPT]}… {hashlib.sha256(text.encode()).hexdigest()[:8]}"
