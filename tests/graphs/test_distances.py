"""One check of distances, for everything that takes them."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.spatial.distance import pdist, squareform

from clew._validation import seems_distances
from clew.exceptions import InvalidDataError
from clew.graphs import _distances as module, check_distances, check_triangles, n_rows_of_condensed


@pytest.fixture
def square(rng):
    return squareform(pdist(rng.normal(size=(12, 3))))


@pytest.fixture
def rng():
    return np.random.RandomState(0)


def test_valid_distances_are_returned_without_a_copy(square):
    before = square.copy()
    assert np.shares_memory(check_distances(square), square)
    assert np.array_equal(square, before)


def test_condensed_distances_are_those_of_scipy(square):
    assert np.array_equal(check_distances(squareform(square)), square)
    assert np.array_equal(check_distances(squareform(square).tolist()), square)


@pytest.mark.parametrize("n", [2, 3, 7, 20_000, 100_003])
def test_number_of_rows_of_condensed(n):
    assert n_rows_of_condensed(n * (n - 1) // 2) == n


@pytest.mark.parametrize("length", [0, 2, 4, 7, 199_990_001])
def test_other_lengths_are_refused(length):
    with pytest.raises(InvalidDataError, match="not the condensed distances"):
        n_rows_of_condensed(length)


def test_rounding_is_averaged_in_a_copy(square, rng):
    off = square.astype(np.float32) * (1 + 1e-7 * rng.normal(size=square.shape)).astype(np.float32)
    np.fill_diagonal(off, 3e-4 * off.max())
    before = off.copy()
    checked = check_distances(off)
    assert checked.dtype == np.float64
    assert np.array_equal(checked, checked.T)
    assert not np.diagonal(checked).any()
    assert np.allclose(checked, square, rtol=1e-5)
    assert np.array_equal(off, before)


def test_whole_numbers_and_frames_are_taken(square):
    pandas = pytest.importorskip("pandas")
    whole = (square * 100).astype(np.uint8)
    assert np.array_equal(check_distances(whole), whole)
    names = [f"row {at}" for at in range(len(square))]
    assert np.array_equal(check_distances(pandas.DataFrame(square, names, names)), square)


def changed(D, **how):
    D = D.copy()
    for (i, j), value in how["entries"].items():
        D[i, j] = value
    return D


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({(2, 5): 9.0}, r"symmetric, but the entry of row 2, column 5 is 9, and that of row 5"),
        ({(1, 4): -1.0, (4, 1): -1.0}, r"0 or more, got -1 in row 1, column 4; subtract simil"),
        ({(3, 0): np.nan}, r"finite, but row 3, column 0 is NaN; fill"),
        ({(3, 0): np.nan, (4, 1): np.nan}, r"row 3, column 0 is NaN, as is another entry"),
        ({(7, 2): np.inf, (2, 7): np.inf}, r"row 2, column 7 is infinity, as"),
        ({(6, 6): 1.0}, r"diagonal of distances must be 0, but that of row 6 is 1; .* set it to 0"),
    ],
)
@pytest.mark.parametrize("size", [1024, 5])
def test_the_first_wrong_entry_is_named(square, entries, words, size, monkeypatch):
    monkeypatch.setattr(module, "ROWS_PER_BLOCK", size)
    with pytest.raises(InvalidDataError, match=words):
        check_distances(changed(square, entries=entries))


def test_similarities_are_recognized_by_their_diagonal(square):
    with pytest.raises(InvalidDataError, match=r"is 1; is this an affinity \(similarity\) matrix"):
        check_distances(np.exp(-(square**2)))


@pytest.mark.parametrize(("half", "name"), [(np.triu, "upper"), (np.tril, "lower")])
def test_one_triangle_is_recognized(square, half, name):
    with pytest.raises(InvalidDataError, match=rf"only the {name} triangle is filled; give D \+"):
        check_distances(half(square))


def test_features_are_refused(rng):
    with pytest.raises(InvalidDataError, match=r"square.* shape \(12, 3\); are these features"):
        check_distances(rng.normal(size=(12, 3)))


def test_memory_mapped_distances_are_not_copied(square, tmp_path):
    np.save(tmp_path / "D.npy", square)
    mapped = np.load(tmp_path / "D.npy", mmap_mode="r")
    assert np.shares_memory(check_distances(mapped), mapped)


def test_single_precision_is_kept_for_many_rows_if_wanted(square, monkeypatch):
    single = square.astype(np.float32)
    assert check_distances(single, keep_single=True).dtype == np.float64
    monkeypatch.setattr(module, "ALL_PAIRS_ROWS", 10)
    assert check_distances(single).dtype == np.float64
    assert check_distances(single, keep_single=True) is single
    condensed = check_distances(squareform(square), keep_single=True)
    assert condensed.dtype == np.float32
    assert np.array_equal(condensed, single)


class TestNeighborGraphs:
    def test_a_pair_stored_once_is_stored_twice_and_zeros_are_kept(self):
        graph = csr_array(([2.0, 0.0, 1.0], ([0, 1, 3], [1, 2, 0])), shape=(4, 4))
        checked = check_distances(graph, accept_sparse=True)
        stored = coo_array(checked)
        found = set(zip(*(of.tolist() for of in stored.coords), stored.data.tolist(), strict=True))
        assert found == {
            *((0, 1, 2.0), (1, 0, 2.0), (1, 2, 0.0), (2, 1, 0.0), (0, 3, 1.0), (3, 0, 1.0))
        }

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ([2.0, 1.0, 1.0], r"rows 0 and 1 have the distances 1 and 2"),
            ([2.0, 2.0, -1.0], r"row 2, column 3 is -1"),
            ([2.0, 2.0, np.nan], r"row 2, column 3 is nan"),
        ],
    )
    def test_wrong_entries_are_named(self, values, words):
        graph = csr_array((values, ([0, 1, 2], [1, 0, 3])), shape=(4, 4))
        with pytest.raises(InvalidDataError, match=words):
            check_distances(graph, accept_sparse=True)

    def test_sparse_graphs_are_refused_where_all_distances_are_needed(self, square):
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            check_distances(csr_array(square))


class TestTriangles:
    def test_euclidean_distances_have_no_violations(self, square):
        found = check_triangles(square)
        assert found.n_violated == 0
        assert found.n_checked == 12 * 11 * 10 // 2
        assert str(found) == "the triangle inequality holds"

    def test_all_violations_are_counted(self, square):
        square = square**2
        n = len(square)
        violated = sum(
            square[i, j] > square[i, k] + square[k, j] + 1e-6 * square.max()
            for i in range(n)
            for j in range(i)
            for k in range(n)
        )
        found = check_triangles(square)
        assert found.n_violated == violated > 0
        assert "triples break the triangle inequality, which is allowed" in str(found)

    def test_many_rows_are_sampled(self, rng):
        found = check_triangles(squareform(pdist(rng.normal(size=(200, 2)))))
        assert found.n_checked == 120 * 119 * 118 // 2


class TestSeemsDistances:
    def test_distances_are_recognized(self, square, rng):
        assert seems_distances(square)
        noise = (1 + 1e-7 * rng.normal(size=square.shape)).astype(np.float32)
        assert seems_distances(square.astype(np.float32) * noise)

    @pytest.mark.parametrize(
        "X", [np.zeros((4, 4)), np.ones((4, 4)), np.eye(4), np.array([[0.0, 1.0], [1.0, 0.0]])]
    )
    def test_other_square_matrices_are_not_taken_for_distances(self, X):
        assert not seems_distances(X)

    def test_features_are_not_taken_for_distances(self, square, rng):
        assert not seems_distances(rng.normal(size=(12, 3)))
        assert not seems_distances(square[:, ::-1])
        assert not seems_distances(np.triu(square))
