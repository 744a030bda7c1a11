import urllib.error

import numpy as np
import pytest
from sklearn.utils import Bunch

from clew.datasets import load
from clew.exceptions import ClewError, DatasetNotFoundError, FileFormatError, InvalidParameterError

X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])
D = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
Y = np.array([1, 0, 1])
NAMES = np.array(["oak", "elm"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def unreachable(**_):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr("clew.datasets._load.fetch_openml", unreachable)


@pytest.mark.parametrize(
    ("name", "n_samples", "n_features", "n_classes"),
    [
        ("iris", 150, 4, 3),
        ("wine", 178, 13, 3),
        ("digits", 1797, 64, 10),
        ("breast_cancer", 569, 30, 2),
    ],
)
def test_data_sets_of_scikit_learn(folder, name, n_samples, n_features, n_classes):
    np.savez(folder / f"{name}.npz", X=X, y=Y)  # comes second, so it is not looked at
    data = load(name)
    assert (data.name, data.source) == (name, "scikit-learn")
    assert data.X.shape == (n_samples, n_features)
    assert data.X.dtype == np.float64
    assert data.D is None
    assert data.y.dtype == np.int64
    assert (data.n_samples, data.n_classes) == (n_samples, n_classes)
    assert sorted(set(data.y.tolist())) == list(range(n_classes))


def test_features_from_the_folder(folder):
    np.savez(folder / "trees.npz", X=X, y=Y, class_names=NAMES, more=np.zeros(3))
    data = load("trees")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    assert data.class_names == ("oak", "elm")
    assert data.source == str(folder / "trees.npz")


def test_distances_from_the_folder(folder):
    np.savez(folder / "trees.npz", D=D, y=Y, class_names=NAMES)
    data = load("trees")
    assert data.X is None
    np.testing.assert_array_equal(data.D, D)
    with pytest.raises(InvalidParameterError, match="trees has distances only"):
        load("trees", scale="minmax")


def test_labels_without_names_are_numbered(folder):
    np.savez(folder / "a.npz", X=X, y=np.array(["oak", "elm", "oak"]))
    np.savez(folder / "b.npz", X=X, y=np.array([7, 3, 7]))
    for name, names in (("a", ("elm", "oak")), ("b", ("3", "7"))):
        assert load(name).class_names == names
        np.testing.assert_array_equal(load(name).y, [1, 0, 1])


def test_scales_and_constant_columns(folder):
    np.savez(folder / "trees.npz", X=X, y=Y)
    np.testing.assert_allclose(load("trees", scale="minmax").X, [[0, 0], [0.5, 0], [1, 0]])
    standard = load("trees", scale="standard").X
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0), [1, 0], atol=1e-12)
    with pytest.raises(InvalidParameterError, match="scale must be"):
        load("trees", scale="log")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": Y}, "holds no array X or D"),
        ({"X": X}, "holds no array y"),
        ({"X": X, "y": Y[:2]}, r"y must have shape \(3,\)"),
        ({"X": X[0], "y": Y}, "X must have shape"),
        ({"X": np.empty((0, 2)), "y": []}, "X must have shape"),
        ({"X": X * np.nan, "y": Y}, "X must be finite"),
        ({"X": X.astype(str), "y": Y}, None),
        ({"X": np.array([["a"]]), "y": [0]}, "X must hold numbers"),
        ({"X": X, "y": Y, "class_names": NAMES[:1]}, "positions in class_names"),
        ({"X": X, "y": Y - 1, "class_names": NAMES}, "positions in class_names"),
        ({"X": X, "y": Y.astype(str), "class_names": NAMES}, "positions in class_names"),
        ({"D": D[:2], "y": Y}, "D must have shape"),
        ({"D": D + 1, "y": Y}, "0 on the diagonal"),
        ({"D": -D, "y": Y}, "must not be negative"),
        ({"D": np.triu(D), "y": Y}, "symmetric"),
        ({"X": X[:2], "D": D, "y": Y}, "X has 2 rows, but D has 3"),
    ],
)
def test_bad_contents_are_named(folder, arrays, message):
    np.savez(folder / "bad.npz", **arrays)
    if message is None:  # numbers written as text are numbers
        assert load("bad").X.shape == X.shape
        return
    with pytest.raises(FileFormatError, match=rf"bad\.npz.*{message}"):
        load("bad")


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 cut off"])
def test_damaged_files_are_named(folder, content):
    (folder / "bad.npz").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"bad\.npz cannot be read"):
        load("bad")


def test_a_bare_array_and_pickles_are_refused(folder):
    with (folder / "bare.npz").open("wb") as file:
        np.save(file, X)
    np.savez(folder / "pickled.npz", X=np.array([{}], dtype=object), y=[0])
    for name in ("bare", "pickled"):
        with pytest.raises(FileFormatError, match=rf"{name}\.npz cannot be read"):
            load(name)


def test_a_missing_data_set_raises_with_advice(folder, monkeypatch):
    with pytest.raises(DatasetNotFoundError, match=r"nothing\.npz does not exist.*Put no"):
        load("nothing")
    monkeypatch.delenv("CLEW_DATA")
    with pytest.raises(FileNotFoundError, match="CLEW_DATA is not set") as caught:
        load("nothing")
    assert isinstance(caught.value, ClewError)


@pytest.mark.parametrize("name", ["", "../secret", "a/b", "a\\b", "a.b", "/etc/passwd", None])
def test_a_path_is_not_accepted_as_a_name(folder, name):
    with pytest.raises(DatasetNotFoundError, match="not a name of a data set"):
        load(name)


def test_without_a_network_the_folder_is_named(folder):
    with pytest.raises(DatasetNotFoundError, match=r"no route to host.*put glass\.npz") as caught:
        load("glass")
    assert isinstance(caught.value.__cause__, urllib.error.URLError)


def test_the_folder_comes_before_openml(folder):
    np.savez(folder / "glass.npz", X=X, y=Y)
    assert load("glass").n_samples == 3


def test_openml_is_asked_for_what_is_meant(monkeypatch):
    monkeypatch.delenv("CLEW_DATA", raising=False)
    target = np.repeat(list("IJLTX"), [755, 747, 761, 796, 50])
    asked = {}

    def fetch(**arguments):
        asked.update(arguments)
        return Bunch(data=np.arange(len(target) * 16.0).reshape(-1, 16), target=target)

    monkeypatch.setattr("clew.datasets._load.fetch_openml", fetch)
    data = load("letters_ijlt")
    assert asked["data_id"] == 6
    assert (data.X.shape, data.class_names) == ((3059, 16), ("I", "J", "L", "T"))
    assert data.source == "OpenML 6"
    with pytest.raises(DatasetNotFoundError, match=r"is not glass: it has shape \(3109, 16\)"):
        load("glass")
