"""Features by networks that the user has: a file of ONNX, timm, open_clip, sentence-transformers.

Weights come from a file or from the cache of the library. None is fetched over the network.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clew._parallel import in_threads
from clew._warnings import all_silenced
from clew.exceptions import FileFormatError, InvalidParameterError, MissingDependencyError
from clew.features._efficientnet import session_of
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

    Notes
    -----
    The network takes one array of 32-bit numbers (1, 3, height, width), RGB scaled as ImageNet's
    images are: minus (.485, .456, .406), divided by (.229, .224, .225) of 255. Its first output is
    averaged over all but the first two axes. Where the file leaves the height or the width open,
    it is 224. Needs ONNX Runtime.
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
        try:
            return importlib.import_module(self.package)
        except ImportError as error:
            raise MissingDependencyError(
                f"features by {self.name} need the package {self.distribution}; install it with "
                f"pip install {self.distribution}"
            ) from error


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
