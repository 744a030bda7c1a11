"""Texts by their words: TF-IDF, reduced to a few hundred numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.exceptions import InvalidDataError
from clew.features._extractor import Extractor

if TYPE_CHECKING:
    from clew.items import Item, Media

#: With `MANY_TEXTS` texts or more, words that occur in fewer than `LEAST_TEXTS` are left out.
MANY_TEXTS, LEAST_TEXTS = 1000, 2
N_COMPONENTS = 100


class TfIdf(Extractor):
    """Texts by the words that they share: TF-IDF and a singular value decomposition.

    Notes
    -----
    Works in any language that separates words. All texts are described together, so numbers change
    if texts are added, and none are kept.
    """

    name = "tf-idf"
    version = "1"
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
        n_components = min(N_COMPONENTS, min(X.shape) - 1)
        if n_components < 1:
            return np.asarray(X.toarray(), np.float32)
        svd = TruncatedSVD(n_components, random_state=0)
        return np.asarray(normalize(svd.fit_transform(X)), np.float32)


def tf_idf(texts: Sequence[str]) -> csr_array:
    """Return TF-IDF of words, rows of norm 1, (n_texts, n_words)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    least = LEAST_TEXTS if len(texts) >= MANY_TEXTS else 1
    # The default pattern ignores words of one letter, and so all words of some languages.
    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", sublinear_tf=True, min_df=least)
    try:
        return csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:
        raise InvalidDataError("the texts have no words") from error
