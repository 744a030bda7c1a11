"""Rotations, principal components, a factor, constant and repeated columns change no groups."""

import os
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from clew import Constraints, Session
from clew.cluster import GuidedClustering
from clew.cluster.guided._features import FeatureSpace
from clew.datasets import load
from clew.exceptions import InvalidArgumentError, InvalidParameterError
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle
from clew.questions import COBRAS, Guided

pytestmark = pytest.mark.usefixtures("fair_search")

Floats = NDArray[np.float64]
N = 120
SETS = ["digits", "embeddings", "smooth"]
#: Copies in which distances are the same but for a factor, and one in which they nearly are.
COPIES = ["all components", "rotation", "factor", "constant", "repeated", "all repeated"]
REDUCED = "95 % of the variance"


@cache
def features(name: str) -> tuple[Floats, NDArray[np.int64]]:
    """Features that share a unit, and classes."""
    rng = np.random.default_rng(0)
    if name == "olivetti":
        dataset = load("olivetti_64x64")
        chosen = dataset.y < 20
        return dataset.X[chosen], dataset.y[chosen]
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        chosen = rng.choice(len(y), 300, replace=False)
        return X[chosen].astype(np.float64), y[chosen]
    # Groups in the directions of largest variance; the others decay slowly or fast.
    n_columns, last = (384, 0.3) if name == "embeddings" else (600, 0.01)
    y = rng.integers(6, size=N)
    scores = rng.normal(size=(N, 40)) * np.geomspace(1, last, 40)
    scores[:, :6] += 4 * np.eye(6)[y]
    axes = np.linalg.qr(rng.normal(size=(n_columns, 40)))[0]
    return scores @ axes.T + 0.003 * rng.normal(size=(N, n_columns)), y


@cache
def copy_of(name: str, how: str) -> Floats:
    X, _ = features(name)
    n_columns = X.shape[1]
    match how:
        case "all components":
            return np.asarray(PCA(svd_solver="full").fit_transform(X)[:, : len(X) - 1])
        case "95 % of the variance":
            return np.asarray(PCA(0.95, svd_solver="full").fit_transform(X))
        case "rotation":
            return X @ np.linalg.qr(np.random.default_rng(1).normal(size=(n_columns,) * 2))[0]
        case "factor":
            return 37.5 * X
        case "constant":
            return np.insert(X, n_columns // 2, 1000.0, axis=1)
        case "repeated":
            return np.hstack([X, X[:, : n_columns // 3]])
        case _:
            return np.hstack([X, X])


def columns(X: Floats) -> Floats:
    return FeatureSpace.fit(X).transform(X)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("how", COPIES)
def test_distances_between_rows_stay_the_same(name: str, how: str) -> None:
    X, _ = features(name)
    wanted, found = pdist(columns(X)), pdist(columns(copy_of(name, how)))
    if name == "digits" and "repeated" in how:
        # Columns that are 0 but for a few rows may be equal by accident, and are left as they are.
        assert np.corrcoef(wanted, found)[0, 1] > 0.999
        return
    ratio = found / wanted
    # Above 256 columns, distances are those in the leading components.
    np.testing.assert_allclose(ratio, np.median(ratio), rtol=1e-6 if name == "digits" else 0.02)


@pytest.mark.parametrize("name", SETS)
def test_distances_are_nearly_those_of_the_leading_components(name: str) -> None:
    X, _ = features(name)
    wanted, found = pdist(columns(X)), pdist(columns(copy_of(name, REDUCED)))
    assert np.corrcoef(wanted, found)[0, 1] > 0.97


def start(X: Floats, y: NDArray[np.int64]) -> float:
    """ARI of a session without answers."""
    return float(adjusted_rand_score(y, Session(X, random_state=0).labels()))


def asked(X: Floats, y: NDArray[np.int64], n_answers: int, n_seeds: int = 1) -> float:
    """ARI of sessions after answers, of which 5 % are wrong; a mean, as one row decides much."""
    found = []
    for seed in range(n_seeds):
        oracle = SimulatedOracle(y, error=0.05, random_state=seed)
        labels = Session(X, random_state=seed).run(oracle, n_answers, batch=6).labels()
        found.append(adjusted_rand_score(y, labels))
    return float(np.mean(found))


def grouped(X: Floats, y: NDArray[np.int64], n_seeds: int = 1) -> float:
    """ARI of guided clustering with two answers a row, of which 10 % are wrong."""
    found = []
    for seed in range(n_seeds):
        answers = Constraints.from_labels(y, n_pairs=2 * len(y), error=0.1, random_state=seed)
        model = GuidedClustering(len(np.unique(y)), random_state=seed).fit(X, constraints=answers)
        found.append(adjusted_rand_score(y, model.labels_))
    return float(np.mean(found))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_session_starts_with_the_same_groups(name: str) -> None:
    X, y = features(name)
    wanted = start(X, y)
    for how in COPIES if name == "digits" else (*COPIES, REDUCED):
        assert abs(start(copy_of(name, how), y) - wanted) < 0.03, how


@pytest.mark.slow
@pytest.mark.parametrize(("name", "how"), [("embeddings", "rotation"), ("smooth", REDUCED)])
def test_answers_about_components_and_rotated_features_have_the_same_effect(
    name: str, how: str
) -> None:
    X, y = features(name)
    wanted, copy = (asked(X, y, 36), grouped(X, y)), copy_of(name, how)
    np.testing.assert_allclose((asked(copy, y, 36), grouped(copy, y)), wanted, atol=0.03)


@pytest.mark.slow
def test_a_session_starts_as_well_with_leading_components() -> None:
    X, y = load_digits(return_X_y=True)
    found = []
    for seed in range(8):  # a few rows may join another group
        chosen = np.random.default_rng(seed).choice(len(y), 200, replace=False)
        copy = PCA(0.95, svd_solver="full").fit_transform(X[chosen])
        found.append(start(copy, y[chosen]) - start(X[chosen].astype(np.float64), y[chosen]))
    assert abs(np.mean(found)) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("how", ["rotation", REDUCED])
@pytest.mark.parametrize("name", ["digits", "olivetti"])
def test_rotated_images_lose_nothing(name: str, how: str) -> None:
    if name == "olivetti" and "CLEW_DATA" not in os.environ:
        pytest.skip("needs the folder CLEW_DATA")
    X, y = features(name)
    copy = copy_of(name, how)
    assert asked(copy, y, 150, 4) > asked(X, y, 150, 4) - 0.03
    assert grouped(copy, y, 4) > grouped(X, y, 4) - 0.03


def in_units() -> tuple[Floats, NDArray[np.int64]]:
    """A table whose first column does not depend on the classes, and is in the smallest unit."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    X = 6 * np.eye(3)[y] + rng.normal(size=(60, 3))
    return np.column_stack([1000 * rng.normal(size=60), X]), y


@pytest.mark.parametrize(
    "strategy", ["guided", "uncertain", Guided(random_state=0), COBRAS(random_state=0)]
)
def test_a_session_standardizes_or_does_not(strategy: Any) -> None:
    X, _ = in_units()
    for standardize in (True, "auto"):
        session = Session(X, strategy=strategy, standardize=standardize, random_state=0)
        of_one_unit = Session(X / X.std(axis=0), strategy=strategy, random_state=0)
        assert session.ask(3) == of_one_unit.ask(3)
    as_they_are = Session(X, strategy=strategy, standardize=False, random_state=0)
    assert as_they_are.ask(3) != of_one_unit.ask(3)


def test_a_strategy_keeps_its_own_choice() -> None:
    X, _ = in_units()
    own = Session(X, strategy=Guided(standardize=False, random_state=0))
    wanted = Guided(standardize=False, random_state=0).start(X)
    np.testing.assert_array_equal(own.labels(), wanted.labels())


def test_standardize_is_refused_where_it_has_no_effect() -> None:
    X, _ = in_units()
    with pytest.raises(InvalidParameterError, match="standardize must be True, False or 'auto'"):
        Session(X, standardize="yes")  # type: ignore[arg-type]
    for given in ({"distances": np.ones((4, 4)) - np.eye(4)}, {"items": ["a", "b"]}):
        with pytest.raises(InvalidArgumentError, match="no effect without features"):
            Session(**given, standardize=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="standardize"):
        Guided(standardize="yes").start(X)  # type: ignore[arg-type]
