"""Networks as ONNX, written by hand: the format is protocol buffers, of which four fields suffice.

Numbers of the fields are those of ``onnx.proto3``. A model of 19 MB takes 30 ms to write, and the
package onnx, which is larger, is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

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
