"""Networks: those with their weights in a package are what they should be; those of users load."""

import io
import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from clew.exceptions import FileFormatError, InvalidParameterError, MissingDependencyError
from clew.features import _networks, compute, extractor
from clew.features._efficientnet import (
    FLOAT,
    PACKAGE,
    EfficientNetLite,
    Graph,
    as_onnx,
    read_weights,
    tensors_of,
)
from clew.items import Item


def pictures(folder: Path, n: int = 4) -> list[Item]:
    rng = np.random.RandomState(0)
    for at in range(n):
        pixels = rng.randint(0, 255, (40, 50, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{at}.png")
    return [Item(f"{at}", "image", path=f"{at}.png") for at in range(n)]


def test_onnx_of_a_convolution_computes_what_numpy_does():
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.RandomState(0)
    kernel, bias = rng.normal(size=(5, 3, 3, 3)), rng.normal(size=5)
    graph = Graph()
    y = graph.add(
        "Conv", ("x", graph.constant(kernel), graph.constant(bias)), kernel_shape=(3, 3),
        strides=(2, 2), pads=(0, 0, 1, 1), group=1,
    )  # fmt: skip
    y = graph.add("Clip", (y, graph.constant(0.0), graph.constant(6.0)))
    y = graph.add("Flatten", (graph.add("GlobalAveragePool", (y,)),), axis=1)
    session = runtime.InferenceSession(graph.model({"x": (FLOAT, ("n", 3, 8, 8))}, y, 5))
    x = rng.normal(size=(1, 3, 8, 8)).astype(np.float32)
    padded = np.pad(x[0], ((0, 0), (0, 1), (0, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
    expected = np.einsum("cijkl,ockl->oij", windows, kernel) + bias[:, None, None]
    expected = expected.clip(0, 6).mean(axis=(1, 2))
    np.testing.assert_allclose(session.run(None, {"x": x})[0][0], expected, rtol=1e-4)


@pytest.mark.slow
def test_the_network_of_photos_knows_what_it_was_trained_on():
    # Its last layer, which features leave out, names one of a thousand kinds.
    pytest.importorskip("onnxruntime")
    pytest.importorskip(PACKAGE)
    data = pytest.importorskip("skimage.data")
    weights = read_weights(EfficientNetLite._path())
    photos = [Image.fromarray(each()) for each in (data.chelsea, data.coffee)]
    found = EfficientNetLite(n_jobs=1).extract(photos)
    assert found.shape == (2, 1280)
    kinds = (found @ weights["_fc.weight"].T + weights["_fc.bias"]).argmax(axis=1)
    assert kinds[0] in (281, 282, 285)  # cats
    assert kinds[1] in (504, 967, 968)  # mug, espresso, cup
    assert len(as_onnx(weights)) < 14_000_000


def test_weights_that_were_changed_are_refused(tmp_path):
    (tmp_path / "weights.pth").write_bytes(b"anything")
    with pytest.raises(FileFormatError, match="not the file of weights that clew knows"):
        read_weights(tmp_path / "weights.pth")


def test_weights_run_no_code():
    class Evil:
        def __reduce__(self):
            return (print, ("run",))

    with pytest.raises(pickle.UnpicklingError, match=r"does not hold __builtin__.print"):
        tensors_of(io.BytesIO(b"".join(pickle.dumps(each, 2) for each in (1, 2, {}, Evil()))))


def tiny_bert() -> dict[str, np.ndarray]:
    """Random weights of the form of MiniLM, with 12 heads of one number each."""
    rng = np.random.RandomState(0)
    shapes = {"embeddings.word_embeddings.weight": (9, 12)}
    shapes |= {
        f"embeddings.{name}_embeddings.weight": (20, 12) for name in ("position", "token_type")
    }
    linear = ("attention.self.query", "attention.self.key", "attention.self.value")
    for layer in range(_networks.N_LAYERS):
        at = f"encoder.layer.{layer}."
        for name in (*linear, "attention.output.dense"):
            shapes |= {f"{at}{name}.weight": (12, 12), f"{at}{name}.bias": (12,)}
        shapes |= {
            f"{at}intermediate.dense.weight": (24, 12),
            f"{at}intermediate.dense.bias": (24,),
        }
        shapes |= {f"{at}output.dense.weight": (12, 24), f"{at}output.dense.bias": (12,)}
        for name in ("attention.output", "output"):
            shapes |= {f"{at}{name}.LayerNorm.{part}": (12,) for part in ("weight", "bias")}
    shapes |= {f"embeddings.LayerNorm.{part}": (12,) for part in ("weight", "bias")}
    return {name: rng.normal(size=size).astype(np.float32) for name, size in shapes.items()}


def test_a_transformer_attends_to_all_words_and_to_their_order():
    weights = tiny_bert()
    one = _networks.embedded([1, 2, 3, 4], weights)
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-5)
    assert not np.allclose(one, _networks.embedded([1, 3, 2, 4], weights), atol=1e-3)
    assert not np.allclose(one, _networks.embedded([1, 2, 5, 4], weights), atol=1e-3)


def test_words_are_cut_into_the_longest_known_parts():
    words = ["[UNK]", "[CLS]", "[SEP]", "bird", "##s", "un", "##known", ",", "鳥", "cafe"]
    vocabulary = {word: at for at, word in enumerate(words)}
    numbers = _networks.words_of("Birds, unknown CAFÉ zebra 鳥鳥", vocabulary)
    assert numbers == [1, 3, 4, 7, 5, 6, 9, 0, 8, 8, 2]
    assert len(_networks.words_of("bird " * 999, vocabulary)) == _networks.MOST_WORDS


def test_safetensors_are_read(tmp_path):
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    head = json.dumps({
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]},
        "n": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
    }).encode()  # fmt: skip
    found = _networks.safe_tensors(
        struct.pack("<Q", len(head)) + head + bytes(8) + values.tobytes()
    )
    assert list(found) == ["a"]
    np.testing.assert_array_equal(found["a"], values)


def test_texts_of_one_meaning_are_near_each_other():
    pytest.importorskip(_networks.MINILM_PACKAGE)
    lines = (
        "A small brown bird sings", "The little sparrow is chirping",
        "The company's revenue fell this quarter", "Profits of the firm dropped",
    )  # fmt: skip
    by = extractor("minilm", n_jobs=1)
    found = by.extract([_networks.words_of(line, by._vocabulary) for line in lines])
    near = found @ found.T
    assert near[0, 1] > 0.4
    assert near[2, 3] > 0.4
    assert near[:2, 2:].max() < 0.2


def tiny_network(path: Path, side: int | str = "h") -> str:
    graph = Graph()
    kernel = np.random.RandomState(0).normal(size=(7, 3, 2, 2))
    y = graph.add(
        "Conv", ("x", graph.constant(kernel)), kernel_shape=(2, 2), strides=(2, 2),
        pads=(0, 0, 0, 0), group=1,
    )  # fmt: skip
    y = graph.add("Flatten", (graph.add("GlobalAveragePool", (y,)),), axis=1)
    path.write_bytes(graph.model({"x": (FLOAT, (1, 3, side, side))}, y, 7))
    return f"onnx:{path}"


@pytest.mark.parametrize("side", [16, "h"])
def test_a_network_in_a_file_describes_images(tmp_path, side):
    pytest.importorskip("onnxruntime")
    items = pictures(tmp_path)
    model = tiny_network(tmp_path / "tiny.onnx", side)
    features = compute(items, tmp_path, model=model, cache=tmp_path / "cache")
    assert features.X.shape[0] == 4
    assert len(features.version) == 16
    again = compute(items, tmp_path, model=model, cache=tmp_path / "cache", n_jobs=2)
    np.testing.assert_array_equal(again.X, features.X)


def test_a_file_that_is_no_network_is_refused(tmp_path):
    pytest.importorskip("onnxruntime")
    items = pictures(tmp_path)
    (tmp_path / "bad.onnx").write_bytes(b"no network")
    with pytest.raises(FileFormatError, match="not a network in ONNX"):
        compute(items, tmp_path, model=f"onnx:{tmp_path / 'bad.onnx'}")
    with pytest.raises(InvalidParameterError, match="cannot be read"):
        compute(items, tmp_path, model="onnx:gone.onnx")


def test_a_network_of_timm_with_weights_of_ones_own(tmp_path):
    torch, timm = pytest.importorskip("torch"), pytest.importorskip("timm")
    torch.manual_seed(0)
    model = timm.create_model("test_vit", num_classes=0)
    torch.save(model.state_dict(), tmp_path / "tiny.pth")
    items = pictures(tmp_path)
    name = f"timm:test_vit@{tmp_path / 'tiny.pth'}"
    features = compute(items, tmp_path, model=name, cache=tmp_path / "cache")
    assert features.X.shape[0] == 4
    assert timm.__version__ in features.version
    with pytest.raises(MissingDependencyError, match="without fetching its weights"):
        compute(items, tmp_path, model="timm:resnet18.a1_in1k")


def test_a_network_of_open_clip_with_weights_of_ones_own(tmp_path, monkeypatch):
    torch, open_clip = pytest.importorskip("torch"), pytest.importorskip("open_clip")
    tiny = {
        "embed_dim": 8,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
        "text_cfg": {"context_length": 8, "vocab_size": 99, "width": 64, "heads": 1, "layers": 1},
    }
    (tmp_path / "tiny.json").write_text(json.dumps(tiny))
    open_clip.add_model_config(tmp_path / "tiny.json")
    torch.save(open_clip.create_model("tiny").state_dict(), tmp_path / "tiny.pt")
    features = compute(pictures(tmp_path), tmp_path, model=f"open_clip:tiny@{tmp_path / 'tiny.pt'}")
    assert features.X.shape[0] == 4
    with pytest.raises(MissingDependencyError, match="without fetching its weights"):
        compute(pictures(tmp_path), tmp_path, model="open_clip:ViT-B-32@laion2b_s34b_b79k")


def test_a_network_of_sentence_transformers_in_a_folder(tmp_path):
    pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "bird", "cat", "small"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(tmp_path / "bert")
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "bert")
    texts = [Item(f"{at}", "text", text=text) for at, text in enumerate(("bird", "small cat"))]
    features = compute(texts, tmp_path, model=f"sentence-transformers:{tmp_path / 'bert'}")
    assert features.X.shape[0] == 2
    with pytest.raises(MissingDependencyError, match="without fetching its weights"):
        compute(texts, tmp_path, model="sentence-transformers:all-MiniLM-L12-v2")
